/**
 * What a store does in the background after it wrote: it folds the counts (`fold_1`), so that the table of changes stays
 * short, and vacuums the messages when many dead rows have gathered: autovacuum comes once a minute, which is too late for
 * a queue that turns over a hundred thousand messages meanwhile. Both are taken by one process at a time, and a failure of
 * either harms nothing.
 */
import type { Clock, Timer } from '../../clock.ts'
import type { Logger } from '../../core/log.ts'
import type { FunctionCalls } from './calls.ts'
import { PostgresConnection, type ConnectionTarget } from './link/connection.ts'

const FOLD_AFTER_MS = 2_000
const FOLD_ROWS = 10_000
/** Between two looks at the number of dead rows, this process has settled so many. */
const LOOK_AFTER_ENDED = 50_000
const DEAD_ROWS = 150_000

export type UpkeepOptions = ConnectionTarget & {
  readonly schema: string
  readonly clock: Clock
  readonly logger: Logger
  readonly calls: FunctionCalls
}

export class Upkeep {
  readonly #options: UpkeepOptions
  #timer: Timer | undefined
  #work: Promise<void> | undefined
  #vacuuming: PostgresConnection | undefined
  #ended = 0
  /** Grows while a vacuum does not help: somebody's old transaction keeps the rows. */
  #patience = 1
  #isClosed = false

  constructor(options: UpkeepOptions) {
    this.#options = options
  }

  /** So many messages were written, of which so many are gone. */
  wrote(ended: number): void {
    this.#ended += ended
    if (this.#isClosed || this.#timer !== undefined || this.#work !== undefined) return
    this.#timer = this.#options.clock.schedule(FOLD_AFTER_MS, () => {
      this.#timer = undefined
      this.#work = this.#run().finally(() => (this.#work = undefined))
    })
    // A program that only produces need not wait for it: the next one that writes folds what it left.
    this.#timer.unref?.()
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#vacuuming?.destroy()
  }

  async #run(): Promise<void> {
    try {
      await this.#fold()
      if (this.#ended >= LOOK_AFTER_ENDED * this.#patience) await this.#vacuum()
    } catch {
      // The store's own calls tell that the server is away; this is tried again after the next write.
    }
  }

  async #fold(): Promise<void> {
    for (let folded = FOLD_ROWS; folded === FOLD_ROWS && !this.#isClosed;) {
      const row = await this.#options.calls.one<{ fold_1: number }>('fold_1', [FOLD_ROWS])
      folded = row.fold_1
    }
  }

  async #vacuum(): Promise<void> {
    this.#ended = 0
    const { schema } = this.#options
    const connection = new PostgresConnection(this.#options, 'punctual:vacuum', () => undefined)
    this.#vacuuming = connection
    try {
      await connection.open()
      const before = await deadRows(connection, schema)
      if (before.dead < DEAD_ROWS || !before.is_allowed) return
      // Where another one vacuums, the server or a process like us, it is skipped.
      await connection.send({
        text: `vacuum (skip_locked, truncate false) "${schema}".message, "${schema}".delta`,
      })
      const after = await deadRows(connection, schema)
      this.#patience = after.dead > before.dead / 2 ? Math.min(this.#patience * 2, 64) : 1
    } finally {
      this.#vacuuming = undefined
      connection.destroy()
    }
  }
}

type DeadRows = { readonly dead: number; readonly is_allowed: boolean }

async function deadRows(connection: PostgresConnection, schema: string): Promise<DeadRows> {
  const rows = await connection.send({
    text: `select pg_stat_get_dead_tuples(c.oid) as dead,
        pg_has_role(c.relowner, 'USAGE') or pg_has_role(d.datdba, 'USAGE')
          or case when current_setting('server_version_num')::int >= 170000
            then has_table_privilege(c.oid, 'MAINTAIN') else false end as is_allowed
      from pg_class c, pg_database d where c.oid = to_regclass($1) and d.datname = current_database()`,
    values: [`"${schema}".message`],
  })
  return (rows[0] as DeadRows | undefined) ?? { dead: 0, is_allowed: false }
}
