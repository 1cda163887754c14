/**
 * The verbs about leases: claim, extend, settle, and what an owner holds. Claims, settlements and writes have a session
 * each, so that none waits for the commit of another.
 */
import { decodeCursor, encodeCursor } from '../../core/encoding/cursor.ts'
import type * as contract from '../contract/store.ts'
import type { StoreContext } from '../engine.ts'
import { isStorable, nextAt } from '../shared/moments.ts'
import type { Ring } from '../sql/wakeups/bell.ts'
import { extendInDoubt, type ExtendWord } from '../sql/extending.ts'
import { toMicros, toMs } from '../sql/micros.ts'
import { toLease } from '../sql/rows.ts'
import { makeToken } from '../sql/tokens.ts'
import { nowOf, readClock, type QueuePlace } from './sql/clock.ts'
import { sql, textOf, textOrNull, type SqlRow } from './sql/statement.ts'
import type { Transactions } from './transactions.ts'
import { leasesSeen, lookAtLeases, takeOver } from './verbs/claim/lapsed.ts'
import { lockRows } from './verbs/write/locked-row.ts'
import { MysqlDueClaims } from './verbs/claim/due-claims.ts'
import { acksByToken, settleAcks } from './verbs/write/acks.ts'
import { settle } from './verbs/write/settling.ts'

const LAPSED_BYTES_MAX = 8 * 1024 * 1024
const OWNED_PAGE = 5_000
const OWNED_CURSOR = [/^owned$/, /^\d{1,19}$/, /^\d{1,19}$/]

export type MysqlLeasingOptions = {
  readonly context: StoreContext
  readonly claims: Transactions
  readonly settles: Transactions
  /** The clock of a test. */
  readonly now: (() => number) | undefined
  /** After each write. */
  readonly wrote: (ring: Ring | undefined) => void
}

export class MysqlLeasing {
  readonly #options: MysqlLeasingOptions
  readonly #due: MysqlDueClaims

  constructor(options: MysqlLeasingOptions) {
    this.#options = options
    this.#due = new MysqlDueClaims(options)
  }

  forget(owner: string): void {
    this.#due.forget(owner)
  }

  /** Something was put or given back. */
  heard(): void {
    this.#due.heard()
  }

  claim(where: QueuePlace, request: contract.ClaimRequest): Promise<contract.ClaimReply> {
    return request.from === 'due' ? this.#due.claim(where, request) : this.#claimLapsed(where, request)
  }

  extend(
    where: QueuePlace,
    leases: readonly contract.LeaseRef[],
    leaseMs: number,
  ): Promise<contract.ExtendResult[]> {
    const once = (some: readonly contract.LeaseRef[]): Promise<readonly ExtendWord[]> =>
      this.#extendFree(where, some, leaseMs)
    return extendInDoubt(leases, once, this.#options.context.clock)
  }

  /** One that an open transaction has locked (a handler completes its message there) is not touched: the lock protects it. */
  async #extendFree(
    { queue, at }: QueuePlace,
    leases: readonly contract.LeaseRef[],
    leaseMs: number,
  ): Promise<readonly ExtendWord[]> {
    const ids = [...new Set(leases.map(({ id }) => id))]
    const tokens = new Set(leases.map(({ id, token }) => `${id}\n${token}`))
    const [now, held] = await this.#options.claims.run(async (steps) => {
      const [, clock, locked = []] = await steps.send(...readClock(at), lockRows(queue, ids, true))
      const until = nowOf(clock) + Number(toMicros(leaseMs))
      const seqs = locked.filter((row) => tokens.has(keyOf(row))).map((row) => Number(row['seq']))
      const [, rows = []] = await steps.commit(
        sql`update punctual_message force index (primary) set until = ${until} where seq in (${seqs})`,
        sql`select id, cast(token as char) as token, until, is_cancelling
          from punctual_message force index (punctual_message_id) where queue = ${queue} and id in (${ids})`,
      )
      return [nowOf(clock), rows] as const
    })
    const words = new Map(
      held.map((row): [string, ExtendWord] => {
        const word = Number(row['is_cancelling']) === 1 ? 'cancelling' : 'extended'
        return [keyOf(row), Number(row['until']) <= now ? `${word}?` : word]
      }),
    )
    return leases.map(({ id, token }) => words.get(`${id}\n${token}`) ?? 'lost')
  }

  async settle(
    where: QueuePlace,
    settlements: readonly contract.Settlement[],
  ): Promise<contract.SettleResult[]> {
    const results: contract.SettleResult[] = settlements.map(() => 'refused')
    let left = [...settlements.keys()].filter((i) => isStorable(settlements[i] as contract.Settlement))
    const acks = acksByToken(settlements)
    if (acks !== undefined) {
      const { settled, ring } = await this.#options.settles.run((steps) => settleAcks(steps, where, acks))
      this.#options.wrote(ring)
      for (const i of left) if (settled.has(settlements[i]?.id ?? '')) results[i] = 'settled'
      left = left.filter((i) => results[i] !== 'settled')
    }
    if (left.length === 0) return results
    const entries = left.map((i) => settlements[i] as contract.Settlement)
    const { answers, ring } = await this.#options.settles.run((steps) => settle(steps, where, entries))
    this.#options.wrote(ring)
    for (const [n, i] of left.entries()) results[i] = answers[n] ?? 'lost'
    return results
  }

  async owned({ queue }: QueuePlace, owner: string, cursor: string | undefined): Promise<contract.OwnedPage> {
    const [, until = '', seq = ''] =
      cursor === undefined ? ['', '-1', '-1'] : decodeCursor(cursor, OWNED_CURSOR)
    const [rows = []] = await this.#options.claims.flight(
      sql`select id, cast(token as char) as token, topic, is_taken, until, seq, owner
        from punctual_message force index (punctual_message_until)
        where queue = ${queue} and state = 1 and until >= ${Number(until)}
          and (until > ${Number(until)} or seq > ${Number(seq)}) order by until, seq limit ${OWNED_PAGE}`,
    )
    const leases = rows
      .filter((row) => textOrNull(row['owner']) === owner)
      .map((row) => ({
        id: textOf(row['id']),
        token: textOf(row['token']),
        topic: textOf(row['topic']),
        isTakenOver: Number(row['is_taken']) === 1,
      }))
    const end = rows.at(-1)
    if (end === undefined || rows.length < OWNED_PAGE) return { leases }
    return { leases, cursor: encodeCursor(['owned', String(end['until']), String(end['seq'])]) }
  }

  async #claimLapsed(where: QueuePlace, request: contract.ClaimLapsed): Promise<contract.ClaimReply> {
    const { claims, context } = this.#options
    const token = makeToken(context.random)
    const lease = Number(toMicros(request.leaseMs))
    const seen = leasesSeen((await claims.flight(lookAtLeases(where, request.owner)))[0])
    const terms = { request, token, lease, bytesMax: LAPSED_BYTES_MAX }
    const reply =
      seen.nextAt === null || seen.nextAt > seen.now
        ? { ...seen, rows: [] }
        : await claims.run((steps) => takeOver(steps, where, terms, seen.now))
    const { rows, now, nextAt: next, isOwnLapsed } = reply
    const leases = rows.map((row) => toLease(row, token, now))
    const answer = { leases, next: nextAt(next === null ? undefined : toMs(next - now), 0) }
    return isOwnLapsed ? { ...answer, isOwnLapsed } : answer
  }
}

function keyOf(row: SqlRow): string {
  return `${textOf(row['id'])}\n${textOrNull(row['token'])}`
}
