/** What an operator should know about a PostgreSQL store. */
import type { Clock } from '../../clock.ts'
import { fine, problem, warning } from '../contract/findings.ts'
import type { Finding } from '../contract/store.ts'
import {
  DELTAS_MAX,
  HELD_S_MAX,
  clockFinding,
  connectionFindings,
  hearingFindings,
  versionFindings,
} from '../sql/server/doctor.ts'
import type { Hearing } from '../sql/wakeups/hearing.ts'
import { SCHEMA_VERSION } from './migration.ts'

export type ExamineOptions = {
  readonly query: (text: string) => Promise<unknown>
  readonly clock: Clock
  readonly schema: string
  readonly server: string
  readonly isPooled: boolean
  readonly isReplicated: boolean
  readonly hearing: Hearing
}

type Facts = {
  readonly version: string
  readonly is_standby: boolean
  readonly fsync: string
  readonly full_page_writes: string
  readonly level: string
  readonly standbys: string
  readonly now_ms: number
  readonly notifications: number
  readonly dead: number
  readonly live: number
  readonly deltas: number
  readonly schema_version: number
  readonly rights: readonly string[]
  readonly is_owner: boolean
  readonly connections: number
  readonly connections_most: number
}
type XminHolder = { readonly pid: number; readonly what: string; readonly age_s: number }

const DEAD_ROWS = 1_000_000

const factsQuery = (
  schema: string,
): string => `select version() as version, pg_is_in_recovery() as is_standby,
  current_setting('fsync') as fsync, current_setting('full_page_writes') as full_page_writes,
  current_setting('synchronous_commit') as level, current_setting('synchronous_standby_names') as standbys,
  extract(epoch from clock_timestamp())::float8 * 1000 as now_ms, pg_notification_queue_usage() as notifications,
  pg_stat_get_dead_tuples(m.oid) as dead, pg_stat_get_live_tuples(m.oid) as live,
  pg_stat_get_live_tuples(to_regclass('"${schema}".delta')) as deltas,
  (select max(version) from "${schema}".migration) as schema_version,
  array(select right_name from unnest(array['select', 'insert', 'update', 'delete']) as right_name
    where not has_table_privilege(m.oid, right_name)) as rights,
  pg_has_role(m.relowner, 'USAGE') as is_owner,
  (select count(*) from pg_stat_activity where backend_type = 'client backend')::int4 as connections,
  current_setting('max_connections')::int4 - current_setting('superuser_reserved_connections')::int4 as connections_most
  from pg_class m where m.oid = to_regclass('"${schema}".message')`

/** Who keeps dead rows from being taken away: the oldest transaction, slot or standby. */
const HOLDERS = `select pid, 'a transaction of ' || coalesce(nullif(application_name, ''), usename, 'somebody') as what,
    extract(epoch from clock_timestamp() - xact_start)::float8 as age_s
  from pg_stat_activity where backend_xmin is not null and xact_start is not null and pid <> pg_backend_pid()
    and datname = current_database()
  union all select 0, 'a prepared transaction ' || gid, extract(epoch from clock_timestamp() - prepared)::float8
    from pg_prepared_xacts
  order by age_s desc nulls last limit 1`

export async function examine(options: ExamineOptions): Promise<Finding[]> {
  const { query, schema, server, isPooled, isReplicated, hearing, clock } = options
  const [facts] = (await query(factsQuery(schema))) as readonly Facts[]
  const heardAt = clock.now()
  const holders = (await query(HOLDERS).catch(() => [])) as readonly XminHolder[]
  if (facts === undefined) return [problem(`the schema ${schema} is not there`, 'run punctual migrate')]
  return [
    fine(`${server}: ${facts.version.split(' on ')[0] ?? facts.version}, schema ${schema}`),
    ...aboutServer(facts, isReplicated),
    ...versionFindings('the schema has', facts.schema_version, SCHEMA_VERSION),
    ...aboutRights(facts, schema),
    ...aboutRows(facts, holders[0]),
    ...aboutWakeUps(facts, hearing, isPooled),
    ...connectionFindings(facts.connections, facts.connections_most, 3),
    clockFinding(facts.now_ms - heardAt),
  ]
}

function aboutServer(
  { is_standby, fsync, full_page_writes, level, standbys }: Facts,
  isReplicated: boolean,
): Finding[] {
  const found: Finding[] = []
  if (is_standby)
    found.push(problem('this server is a standby and takes no writes', 'point the URL at the primary'))
  if (fsync === 'off')
    found.push(problem('fsync is off: a power cut can destroy the database', 'set fsync = on'))
  if (full_page_writes === 'off')
    found.push(warning('full_page_writes is off: a power cut can tear pages', 'set full_page_writes = on'))
  if (level === 'off')
    found.push(
      warning(
        'synchronous_commit is off: a crash of the server can lose acknowledged messages of the last moment',
        'set synchronous_commit = on, for this user or the whole server',
      ),
    )
  else found.push(fine(`an acknowledged message is on the disk (synchronous_commit = ${level})`))
  if (isReplicated && standbys === '')
    found.push(
      problem(
        'durability is replicated, but no synchronous standby is configured',
        'set synchronous_standby_names',
      ),
    )
  return found
}

function aboutRights({ rights, is_owner }: Facts, schema: string): Finding[] {
  if (rights.length > 0)
    return [
      problem(
        `this user may not ${rights.join(', ')} in ${schema}.message`,
        `grant ${rights.join(', ')} on all tables in schema ${schema}`,
      ),
    ]
  return is_owner
    ? []
    : [
        fine(
          'this user does not own the tables: autovacuum alone takes dead rows away, and migrations are the owner’s',
        ),
      ]
}

function aboutRows({ dead, live, deltas }: Facts, holder: XminHolder | undefined): Finding[] {
  const found: Finding[] = []
  if (holder !== undefined && holder.age_s > HELD_S_MAX)
    found.push(
      warning(
        `${holder.what} (pid ${holder.pid}) is open for ${Math.round(holder.age_s)} s and keeps dead rows of the whole database`,
        'end it; claims stay fast meanwhile, but tables and indexes grow',
      ),
    )
  if (dead > DEAD_ROWS && dead > live)
    found.push(
      warning(
        `${dead} dead rows beside ${live} rows of messages, schedules and remembered ids`,
        'vacuum the table, and look who holds an old transaction',
      ),
    )
  else
    found.push(
      fine(`${live} rows of messages, schedules and remembered ids, ${dead} dead ones to be taken away`),
    )
  if (deltas > DELTAS_MAX)
    found.push(warning(`${deltas} changes of counts are not folded`, 'keep a worker running: it folds them'))
  return found
}

function aboutWakeUps({ notifications }: Facts, hearing: Hearing, isPooled: boolean): Finding[] {
  const found: Finding[] = []
  if (notifications > 0.5)
    found.push(
      problem(
        `the server’s queue of notifications is ${Math.round(notifications * 100)} % full; when it is full, commits fail`,
        'end the session that listens and never reads: the oldest one idle in a transaction',
      ),
    )
  return [
    ...found,
    ...hearingFindings(
      hearing,
      `wake-ups do not arrive (${isPooled ? 'a pooler in transaction mode' : 'no echo'})`,
      'name the server itself with ?listen=postgres://…',
    ),
  ]
}
