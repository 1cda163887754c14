/**
 * Jobs of pg-boss 10 to 12. All its queues lie in the tables of one schema; a queue's name is what we call a topic.
 *
 *   keys (name, id) of all that can be carried over, in their order     one look, in a cursor that outlives transactions
 *     └─ a page of them ─► their rows, as they are now
 *          └─ taking: locked, stored here, cancelled there, in one transaction; pg-boss's workers pass locked rows over
 *
 * If we die between storing and cancelling, the jobs are in both; the next import finds them here and cancels them there, or,
 * if pg-boss has run them meanwhile, tells that they wait here too.
 * The columns of a version that others have not are read as JSON, where what is absent is null.
 */
import { UsageError } from '../../../core/errors.ts'
import {
  ACTIVE_THERE,
  type ForeignDone,
  type ForeignJob,
  type ForeignPlace,
  type ForeignQueue,
  type ForeignRest,
  type ForeignSchedule,
} from '../../foreign.ts'
import { parsePostgresUrl } from '../address/url.ts'
import { readTimeouts } from '../../shared/url-options.ts'
import { PostgresConnection } from '../link/connection.ts'
import { REFUSALS } from '../link/refusals.ts'
import { jobOf, scheduleOf, type BossJob, type BossSchedule } from './pg-boss-rows.ts'

const PAGE = 200
const RIGHT_MISSING = '42501'
/** Of the first release of pg-boss 10. */
const VERSION_NEEDED = 21

const OWN = String.raw`'\_\_pgboss\_\_%'`
/** What waits for others, and what others wait for, stay there: only pg-boss can start the ones when the others are done. */
const IS_BLOCKED = `to_jsonb(j) -> 'blocked' is not distinct from 'true'`
const IS_BLOCKING = `to_jsonb(j) -> 'blocking' is not distinct from 'true' and j.state <> 'failed'`
const IS_FREE = `not (${IS_BLOCKED}) and not (${IS_BLOCKING})`
const IN_FLOW = {
  why: 'it waits for other jobs, or they for it',
  remedy: 'let the workers there finish these, and import again',
}

export async function openPgBoss(url: string, where: ForeignPlace): Promise<ForeignQueue> {
  const { urls, server, settings } = parsePostgresUrl(url)
  const { allowed = [] } = settings
  const target = { urls, allowed, isPipelined: false, ...readTimeouts(settings) }
  const connection = new PostgresConnection(target, 'punctual:import', () => undefined)
  const queue = new PgBossQueue(connection, server, where)
  try {
    await connection.open()
    await queue.check()
    return queue
  } catch (error) {
    connection.destroy()
    throw REFUSALS.toError(error, server)
  }
}

class PgBossQueue implements ForeignQueue {
  readonly #connection: PostgresConnection
  readonly #server: string
  readonly #where: ForeignPlace
  readonly #schema: string

  constructor(connection: PostgresConnection, server: string, where: ForeignPlace) {
    this.#connection = connection
    this.#server = server
    this.#where = where
    this.#schema = `"${where.prefix.replaceAll('"', '""')}"`
  }

  close(): void {
    this.#connection.destroy()
  }

  /** Throws where pg-boss is not, or is too old. */
  async check(): Promise<void> {
    const [found] = await this.#ask<{ version: string | null }>(`select to_regclass($1)::text as version`, [
      `${this.#schema}.version`,
    ])
    const refuse = (what: string): UsageError =>
      new UsageError('STORE_REFUSED', `${this.#server}: ${what}`, { value: this.#where.prefix })
    if (found?.version === null)
      throw refuse(
        `there is no pg-boss in the schema ${this.#where.prefix}; name its schema with --prefix, or another database.`,
      )
    const [row] = await this.#ask<{ version: number }>(
      `select max(version)::int as version from ${this.#schema}.version`,
    )
    if (Number(row?.version) < VERSION_NEEDED)
      throw refuse(
        `the schema ${this.#where.prefix} is of a pg-boss before 10 (version ${row?.version}); start pg-boss 10 or newer once, which migrates it.`,
      )
  }

  isPaused(): Promise<undefined> {
    return Promise.resolve(undefined)
  }

  isThere(): Promise<boolean> {
    return Promise.resolve(true) // Else it was not opened.
  }

  neighbours(): Promise<readonly string[]> {
    return Promise.resolve([])
  }

  async *jobs(): AsyncGenerator<readonly ForeignJob[]> {
    await this.#ask(
      `declare punctual_import cursor with hold for
        select j.name, j.id::text as id from ${this.#schema}.job j
        where j.state in ('created', 'retry', 'failed') and j.name not like ${OWN} and ${IS_FREE}
        order by j.state = 'failed', j.start_after, j.created_on, j.id`,
    )
    for (;;) {
      const keys = await this.#ask<{ name: string; id: string }>(`fetch ${PAGE} from punctual_import`)
      if (keys.length === 0) return
      if (this.#where.isTaking === true) await this.#ask('begin')
      yield (await this.#read(keys)).map(jobOf)
      if (this.#where.isTaking === true) await this.#ask('commit')
    }
  }

  /** They are stored here, and are not to run there. */
  async taken(jobs: readonly ForeignJob[]): Promise<void> {
    if (jobs.length === 0) return
    await this.#ask(
      `update ${this.#schema}.job j set state = 'cancelled', completed_on = now()
        from unnest($1::text[], $2::uuid[]) as k(name, id)
        where j.name = k.name and j.id = k.id and j.state in ('created', 'retry')`,
      [jobs.map(({ name }) => name), jobs.map(({ id }) => id)],
    )
  }

  async *done(): AsyncGenerator<readonly ForeignDone[]> {
    await this.#ask('begin')
    await this.#ask(
      `declare punctual_done no scroll cursor for
        select j.id::text as id, j.name, (extract(epoch from j.created_on) * 1000)::text as created_at
        from ${this.#schema}.job j where j.state = 'completed' and j.name not like ${OWN}`,
    )
    for (;;) {
      const rows = await this.#ask<Pick<BossJob, 'id' | 'name' | 'created_at'>>(
        `fetch ${PAGE} from punctual_done`,
      )
      if (rows.length === 0) break
      yield rows.map(({ id, name, created_at: at }) => ({ id, name, producedAt: Number(at) }))
    }
    await this.#ask('commit')
  }

  async schedules(): Promise<readonly ForeignSchedule[]> {
    const rows = await this.#ask<BossSchedule>(
      `select to_jsonb(s)::text as schedule, coalesce(to_jsonb(q), '{}')::text as queue
        from ${this.#schema}.schedule s left join ${this.#schema}.queue q on q.name = s.name
        order by to_jsonb(s) ->> 'name', to_jsonb(s) ->> 'key'`,
    )
    return rows.map(scheduleOf)
  }

  async rest(): Promise<readonly ForeignRest[]> {
    const rows = await this.#ask<{ why: string; name: string; count: string }>(
      `select * from (
        select case
            when j.state = 'active' then '${ACTIVE_THERE.why}'
            when j.state = 'completed' then 'it is done'
            when j.state in ('created', 'retry') and j.name like ${OWN} then 'of pg-boss itself: its schedule came due, and it was not sent yet'
            when j.state in ('created', 'retry') and not (${IS_FREE}) then '${IN_FLOW.why}'
          end as why, j.name, count(*)::text as count
          from ${this.#schema}.job j group by 1, 2) as counted
        where why is not null and (name not like ${OWN} or why like 'of pg-boss%') order by 1, 2`,
    )
    return rows.map(({ why, name, count }) => ({
      ...([ACTIVE_THERE, IN_FLOW].find((known) => known.why === why) ?? { why }),
      name,
      count: Number(count),
    }))
  }

  /** Those that left meanwhile, and those that somebody else has locked, are passed over. */
  #read(keys: readonly { readonly name: string; readonly id: string }[]): Promise<readonly BossJob[]> {
    return this.#ask(
      `select j.id::text as id, j.name, coalesce(j.data::text, 'null') as data, j.state::text as state,
          coalesce(j.output ->> 'message', j.output -> 'value' ->> 'message', j.output ->> 'value', j.output::text, '') as error,
          (extract(epoch from j.start_after) * 1000)::text as due_at,
          (extract(epoch from j.created_on) * 1000)::text as created_at,
          (extract(epoch from j.completed_on) * 1000)::text as completed_at,
          extract(epoch from (to_jsonb(j) ->> 'expire_in')::interval)::text as expire_in,
          (to_jsonb(j) - 'data' - 'output')::text as job
        from unnest($1::text[], $2::uuid[]) with ordinality as k(name, id, o)
        join ${this.#schema}.job j on j.name = k.name and j.id = k.id
        where j.state in ('created', 'retry', 'failed') and ${IS_FREE} order by k.o
        ${this.#where.isTaking === true ? 'for update of j skip locked' : ''}`,
      [keys.map(({ name }) => name), keys.map(({ id }) => id)],
    )
  }

  async #ask<Row>(text: string, values?: readonly unknown[]): Promise<readonly Row[]> {
    try {
      return (await this.#connection.send(
        values === undefined ? { text } : { text, values },
      )) as readonly Row[]
    } catch (error) {
      if ((error as { code?: unknown }).code === RIGHT_MISSING)
        throw new UsageError(
          'STORE_REFUSED',
          `${this.#server}: the user of --postgres lacks a right on the schema ${this.#where.prefix}: usage, select on its tables, and with --cancel update on its table job (${(error as Error).message}).`,
          { cause: error },
        )
      throw REFUSALS.toError(error, this.#server)
    }
  }
}
