/**
 * What a PostgreSQL store does after it wrote (`sql/upkeep`): it folds the counts (`fold_1`), and vacuums the messages when
 * many dead rows have gathered: autovacuum comes once a minute, which is too late for a queue that turns over a hundred
 * thousand messages meanwhile. Both are taken by one process at a time.
 */
import type { Clock } from '../../clock.ts'
import { SqlUpkeep, foldAll } from '../sql/upkeep.ts'
import type { FunctionCalls } from './calls.ts'
import { PostgresConnection, type ConnectionTarget } from './link/connection.ts'

const FOLD_ROWS = 10_000
/** Between two looks at the number of dead rows, this process has settled so many. */
const LOOK_AFTER_ENDED = 50_000
const DEAD_ROWS = 150_000

export type UpkeepOptions = ConnectionTarget & {
  readonly schema: string
  readonly clock: Clock
  readonly calls: FunctionCalls
}

export class Upkeep {
  readonly #options: UpkeepOptions
  readonly #work: SqlUpkeep
  #vacuuming: PostgresConnection | undefined
  #ended = 0
  /** Grows while a vacuum does not help: somebody's old transaction keeps the rows. */
  #patience = 1

  constructor(options: UpkeepOptions) {
    this.#options = options
    this.#work = new SqlUpkeep(options.clock, async (isClosed) => {
      await foldAll(FOLD_ROWS, (size) => this.#fold(size), isClosed)
      if (this.#ended >= LOOK_AFTER_ENDED * this.#patience) await this.#vacuum()
    })
  }

  /** So many messages were written, of which so many are gone. */
  wrote(ended: number): void {
    this.#ended += ended
    this.#work.wrote()
  }

  close(): void {
    this.#work.close()
    this.#vacuuming?.destroy()
  }

  async #fold(size: number): Promise<number> {
    return (await this.#options.calls.one<{ fold_1: number }>('fold_1', [size])).fold_1
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
        text: `vacuum (skip_locked, truncate false) "${schema}".message, "${schema}".delta, "${schema}".note, "${schema}".turn`,
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
