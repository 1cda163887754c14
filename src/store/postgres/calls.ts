/**
 * Calls of the SQL functions. A call is one statement, one round trip and one transaction; `sql/server/repeating` sends it again
 * where it was rolled back.
 */
import type { Clock } from '../../clock.ts'
import type { Random } from '../../random.ts'
import { repeating } from '../sql/server/repeating.ts'
import { REFUSALS } from './link/refusals.ts'
import type { PgQuery } from './link/client.ts'
import type { PostgresLink } from './link/postgres-link.ts'

const TRIES_MAX = 6

export type CallsOptions = {
  readonly schema: string
  readonly server: string
  readonly clock: Clock
  readonly random: Random
  /** False behind a pooler, where a prepared statement may be gone at the next call. */
  readonly isPrepared: boolean
}

export class FunctionCalls {
  readonly #link: PostgresLink
  readonly #options: CallsOptions
  readonly #texts = new Map<string, PgQuery>()

  constructor(link: PostgresLink, options: CallsOptions) {
    this.#link = link
    this.#options = options
  }

  /** All rows that a function answers with. `columns`: what to select of them. */
  run<Row>(name: string, values: readonly unknown[], columns = '*'): Promise<readonly Row[]> {
    const query = { ...this.#query(name, values.length, columns), values }
    const how = { ...this.#options, refusals: REFUSALS, triesMax: TRIES_MAX }
    return repeating(async () => (await this.#link.call(query)) as readonly Row[], how)
  }

  /** The one row of a function that answers with one. */
  async one<Row>(name: string, values: readonly unknown[]): Promise<Row> {
    const [row] = await this.run<Row>(name, values)
    return row as Row
  }

  #query(name: string, count: number, columns: string): PgQuery {
    const key = `${name} ${columns}`
    const known = this.#texts.get(key)
    if (known !== undefined) return known
    const text = callText(this.#options.schema, name, count, columns)
    const query = this.#options.isPrepared ? { text, name: `punctual_${this.#texts.size}_${name}` } : { text }
    this.#texts.set(key, query)
    return query
  }
}

export function callText(schema: string, name: string, count: number, columns = '*'): string {
  const places = Array.from({ length: count }, (_, i) => `$${i + 1}`).join(', ')
  return `select ${columns} from "${schema}".${name}(${places})`
}
