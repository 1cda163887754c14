/**
 * Transactions of our own: a few flights of statements, of which the last one commits. A deadlock, a lock that did not come
 * in time, or an id that came meanwhile rolls it back whole, and it begins again (`sql/server/repeating`).
 *
 *   work ──send──► start transaction; select … for update      what is decided here, in between, is decided under locks
 *        ──commit► delete …; insert …; commit
 */
import type { Clock } from '../../clock.ts'
import type { Random } from '../../random.ts'
import type { SendFlight, SessionWork, TransactionGuard } from './link/connection.ts'
import type { MysqlLink } from './link/mysql-link.ts'
import { repeating } from '../sql/server/repeating.ts'
import { REFUSALS } from './link/refusals.ts'
import { sql, type SqlRow, type Statement } from './sql/statement.ts'

const TRIES_MAX = 8

export type Rows = readonly SqlRow[]

export interface Steps {
  /** One round trip inside the transaction. */
  send(...statements: readonly Statement[]): Promise<readonly Rows[]>
  /** The last round trip: these, and the commit. Work that never says so leaves no trace. */
  commit(...statements: readonly Statement[]): Promise<readonly Rows[]>
}

export type TransactionsOptions = { readonly server: string; readonly clock: Clock; readonly random: Random }

const BEGIN = sql`start transaction`
const COMMIT = sql`commit`
const ROLLBACK = sql`rollback`
/** All of its statements see the same rows. */
const SNAPSHOT = [
  sql`set transaction isolation level repeatable read`,
  sql`start transaction with consistent snapshot, read only`,
]

export class Transactions {
  readonly #link: MysqlLink
  readonly #options: TransactionsOptions

  constructor(link: MysqlLink, options: TransactionsOptions) {
    this.#link = link
    this.#options = options
  }

  run<R>(work: (steps: Steps) => Promise<R>): Promise<R> {
    return this.#repeat((send, guard) => within(send, guard, [BEGIN], work))
  }

  /** Reads only, all of the same moment. */
  look<R>(work: (steps: Steps) => Promise<R>): Promise<R> {
    return this.#repeat((send, guard) => within(send, guard, SNAPSHOT, work))
  }

  /** Statements in one round trip, each a transaction of its own. */
  flight(...statements: readonly Statement[]): Promise<readonly Rows[]> {
    return this.#repeat((send) => send(statements))
  }

  #repeat<R>(work: SessionWork): Promise<R> {
    const how = { ...this.#options, refusals: REFUSALS, triesMax: TRIES_MAX }
    return repeating(async () => (await this.#link.call(work)) as R, how)
  }
}

async function within<R>(
  send: SendFlight,
  guard: TransactionGuard,
  begin: readonly Statement[],
  work: (steps: Steps) => Promise<R>,
): Promise<R> {
  let state: 'not begun' | 'open' | 'over' = 'not begun'
  const fly = async (
    statements: readonly Statement[],
    end: readonly Statement[],
  ): Promise<readonly Rows[]> => {
    const isOne = state === 'not begun' && end.length > 0 // The server does it whole, whatever becomes of us.
    const before = state === 'not begun' ? [...(isOne ? [] : guard.before), ...begin] : []
    state = 'open'
    const replies = await send([
      ...before,
      ...statements,
      ...end,
      ...(isOne || end.length === 0 ? [] : guard.after),
    ])
    if (end.length > 0) state = 'over'
    return replies.slice(before.length, before.length + statements.length)
  }
  try {
    return await work({
      send: (...statements) => fly(statements, []),
      commit: (...statements) => fly(statements, [COMMIT]),
    })
  } finally {
    // `state` changes in the calls above, which the compiler does not see.
    if ((state as string) === 'open') await send([ROLLBACK, ...guard.after])
  }
}
