/** What an operator should know about a store on MySQL or MariaDB. */
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
import { isMariaDb } from './link/identity.ts'
import { SCHEMA_VERSION } from './migration.ts'
import { clockReading } from './sql/clock.ts'
import { numberOrNull, sql, textOf, textOrNull, type SqlRow } from './sql/statement.ts'
import type { Transactions } from './transactions.ts'

export type MysqlExamination = {
  readonly calls: Transactions
  readonly clock: Clock
  readonly server: string
  readonly hearing: Hearing
}

const PACKET_MIN = 16 * 1024 * 1024
const NEEDED = ['SELECT', 'INSERT', 'UPDATE', 'DELETE']

const FACTS = sql`select version() as version, @@global.innodb_flush_log_at_trx_commit as flush,
  @@global.innodb_doublewrite as doublewrite, @@global.log_bin as has_binlog, @@global.sync_binlog as sync_binlog,
  @@global.max_allowed_packet as packet, @@global.max_connections as connections_most, ${clockReading(null)} as now_at,
  (select max(version) from punctual_migration) as schema_version`
const SIZES = sql`select table_name as name, table_rows as n from information_schema.tables
  where table_schema = database() and table_name in ('punctual_message', 'punctual_delta')`
const ISOLATION = sql`show variables where variable_name in ('transaction_isolation', 'tx_isolation')`
const GRANTS = sql`show grants`
const CONNECTIONS = sql`show global status like 'Threads_connected'`
/** Needs a right of its own (PROCESS) where it is another user's; without it only our own are seen. */
const OLDEST = sql`select trx_mysql_thread_id as id, timestampdiff(second, trx_started, now()) as age_s
  from information_schema.innodb_trx order by trx_started limit 1`

export async function examine({ calls, clock, server, hearing }: MysqlExamination): Promise<Finding[]> {
  const [[facts] = [], sizes = [], isolation = [], grants = [], [connections] = []] = await calls.flight(
    FACTS,
    SIZES,
    ISOLATION,
    GRANTS,
    CONNECTIONS,
  )
  const heardAt = clock.now()
  const [[oldest] = []] = await calls.flight(OLDEST).catch(() => [[]])
  if (facts === undefined) return [problem('the tables are not there', 'run punctual migrate')]
  return [
    fine(
      `${server}: ${isMariaDb(textOf(facts['version'])) ? 'MariaDB' : 'MySQL'} ${textOf(facts['version'])}`,
    ),
    ...aboutServer(facts),
    ...versionFindings('the tables have', numberOrNull(facts['schema_version']) ?? 0, SCHEMA_VERSION),
    ...aboutSession(isolation),
    ...aboutGrants(grants),
    ...aboutRows(sizes, oldest),
    ...hearingFindings(
      hearing,
      'sessions cannot be woken (no KILL QUERY for our own account arrives)',
      'connect past a proxy that shares or hides sessions',
    ),
    ...connectionFindings(Number(connections?.['Value']), Number(facts['connections_most']), 4),
    clockFinding(Number(facts['now_at']) / 1000 - heardAt),
  ]
}

function aboutServer(facts: SqlRow): Finding[] {
  const found: Finding[] = []
  const flush = Number(facts['flush'])
  if (flush === 1)
    found.push(fine('an acknowledged message is on the disk (innodb_flush_log_at_trx_commit = 1)'))
  else
    found.push(
      problem(
        `innodb_flush_log_at_trx_commit is ${flush}: a crash of the ${flush === 0 ? 'server' : 'machine'} loses acknowledged messages of the last second`,
        'set innodb_flush_log_at_trx_commit = 1',
      ),
    )
  if (['OFF', '0'].includes(String(facts['doublewrite'])))
    found.push(
      warning('innodb_doublewrite is off: a power cut can tear pages', 'set innodb_doublewrite = ON'),
    )
  if (Number(facts['has_binlog']) === 1 && Number(facts['sync_binlog']) !== 1)
    found.push(
      warning(
        `sync_binlog is ${String(facts['sync_binlog'])}: after a crash of the machine replicas may have other messages than this server`,
        'set sync_binlog = 1',
      ),
    )
  if (Number(facts['packet']) < PACKET_MIN)
    found.push(
      warning(
        `max_allowed_packet is ${String(facts['packet'])} bytes: batches of large messages are refused`,
        'set max_allowed_packet = 16M or more',
      ),
    )
  return found
}

function aboutSession(isolation: readonly SqlRow[]): Finding[] {
  const levels = isolation.map((row) => textOf(row['Value']))
  return levels.every((level) => level === 'READ-COMMITTED')
    ? []
    : [
        problem(
          `our sessions run in ${levels.join(', ')}, not READ COMMITTED: inserts wait for gaps that others have locked`,
          'look for a proxy that changes sessions, and connect past it',
        ),
      ]
}

/** Rights on the whole database or server, as far as they are told. */
function aboutGrants(grants: readonly SqlRow[]): Finding[] {
  const lines = grants.map((row) => String(Object.values(row)[0]).toUpperCase())
  const missing = NEEDED.filter(
    (right) => !lines.some((line) => line.includes(right) || line.includes('ALL PRIVILEGES')),
  )
  return missing.length === 0 || lines.length === 0
    ? []
    : [
        problem(
          `this user may not ${missing.join(', ').toLowerCase()}`,
          `grant ${missing.join(', ')} on the database`,
        ),
      ]
}

function aboutRows(sizes: readonly SqlRow[], oldest: SqlRow | undefined): Finding[] {
  const found: Finding[] = []
  const rowsIn = (name: string): number =>
    Number(sizes.find((row) => textOrNull(row['name']) === name)?.['n'] ?? 0)
  const age = Number(oldest?.['age_s'] ?? 0)
  if (age > HELD_S_MAX)
    found.push(
      warning(
        `a transaction (connection ${String(oldest?.['id'])}) is open for ${age} s and keeps old rows of the whole server`,
        'end it; until then claims have to step over what is gone',
      ),
    )
  found.push(fine(`about ${rowsIn('punctual_message')} messages`))
  if (rowsIn('punctual_delta') > DELTAS_MAX)
    found.push(
      warning(
        `about ${rowsIn('punctual_delta')} changes of counts are not added up`,
        'keep a worker running: it adds them up',
      ),
    )
  return found
}
