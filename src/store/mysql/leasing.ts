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
import { DueClaiming } from '../sql/claiming.ts'
import type { GatedClaim, GateRow } from '../sql/gating.ts'
import { toMicros, toMs } from '../sql/micros.ts'
import { Presence } from '../sql/presence.ts'
import { toLease } from '../sql/rows.ts'
import { makeToken } from '../sql/tokens.ts'
import { metersMoved, readGate } from './controlling.ts'
import { KnownHeads, lookAgainAt } from './known-heads.ts'
import { clockReading, nowOf, readClock } from './sql/clock.ts'
import { sql, textOf, textOrNull, type SqlRow, type Statement } from './sql/statement.ts'
import type { Steps, Transactions } from './transactions.ts'
import { dueHeads, firstOfEach, take, takeAtOnce, type DueTerms, type Taken } from './verbs/claiming.ts'
import { lookAtHeads, toHeads } from './verbs/heads.ts'
import { leasesSeen, lookAtLeases, takeOver } from './verbs/lapsed.ts'
import { lockRows } from './verbs/locked-row.ts'
import { acksByToken, settleAcks } from './verbs/acks.ts'
import { seeWorker } from './verbs/workers.ts'
import { settle, type QueuePlace } from './verbs/writing.ts'

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
  readonly #presence = new Presence()
  readonly #due = new DueClaiming()
  readonly #known = new KnownHeads()

  constructor(options: MysqlLeasingOptions) {
    this.#options = options
  }

  forget(owner: string): void {
    this.#presence.forget(owner)
  }

  /** Something was put or given back. */
  heard(): void {
    this.#known.forget()
  }

  claim(where: QueuePlace, request: contract.ClaimRequest): Promise<contract.ClaimReply> {
    return request.from === 'due' ? this.#claimDue(where, request) : this.#claimLapsed(where, request)
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

  #claimDue(where: QueuePlace, request: contract.ClaimDue): Promise<contract.ClaimReply> {
    const topics = request.wants.map(({ topic }) => topic)
    return this.#due.claim<GateRow>(request, {
      free: () => this.#claimFree(where, request),
      readGate: () => readGate(this.#options.claims, where, topics, this.#seen(where, request)),
      gated: (gate, gated) => this.#claimGated(where, request, gate, gated),
    })
  }

  /** What is due, after a look, or without one where something is due for sure. Undefined: the queue has pauses or limits. */
  async #claimFree(where: QueuePlace, request: contract.ClaimDue): Promise<contract.ClaimReply | undefined> {
    const { claims, context } = this.#options
    const token = makeToken(context.random)
    const lead = Number(toMicros(request.leadMs))
    const terms = claimTerms(request, token, {
      limits: request.wants.map(({ limit }) => limit),
      leads: request.wants.map(() => lead),
      isLimited: [],
      limitedAll: 0,
    })
    const { rings } = this.#known
    const seen = this.#seen(where, request)
    const known = this.#known.for(terms, context.clock.monotonic())
    const taken =
      known === undefined
        ? await this.#takeSeen(where, terms, seen)
        : await claims.run((steps) => takeAtOnce(steps, where, terms, known, seen))
    if (taken === undefined) return undefined
    if (taken.rows.length > 0) this.#options.wrote(undefined)
    const leases = taken.rows.map((row) => toLease(row, token, taken.now))
    const sleepsUntil = context.clock.monotonic() + msUntil(taken, request.leadMs)
    // Before a longer sleep: what was overlooked may be due before the first that we know.
    const isLooking = known !== undefined && sleepsUntil > lookAgainAt(known)
    const left = isLooking ? await this.#look(where, terms.topics, []) : taken
    if (left === undefined) return { leases, next: nextAt(0, 0) }
    const [next, now] = [msUntil(left, request.leadMs), context.clock.monotonic()]
    const lookedAt = known === undefined || isLooking ? now : known.lookedAt
    const isBehind = next <= 0
    this.#known.keep(terms, { heads: left.left, lookedAt, dueAt: now + next, isBehind }, rings)
    return { leases, next: nextAt(next, 0) }
  }

  /** A look, and then what is due. Undefined: the queue has pauses or limits. */
  async #takeSeen(
    where: QueuePlace,
    terms: DueTerms,
    seen: readonly Statement[],
  ): Promise<Taken | undefined> {
    const look = await this.#look(where, terms.topics, seen)
    if (look === undefined) return undefined
    const { now, left: heads } = look
    return dueHeads(heads, terms, now).length === 0 || terms.limitAll === 0
      ? { rows: [], now, left: heads, taken: [] }
      : this.#options.claims.run((steps) => take(steps, where, terms, { heads, now }, () => []))
  }

  /** The first moments of all that is wanted. Undefined: the queue has pauses or limits. */
  async #look(
    { queue, at }: QueuePlace,
    topics: readonly string[],
    seen: readonly Statement[],
  ): Promise<HeadsLeft | undefined> {
    const also = sql`, ${clockReading(at)} as now_at,
      exists (select 1 from punctual_control where queue = ${queue}) as is_controlled`
    const [found = []] = await this.#options.claims.flight(lookAtHeads({ queue, topics, also }), ...seen)
    return Number(found[0]?.['is_controlled']) === 1 ? undefined : { now: nowOf(found), left: toHeads(found) }
  }

  /** Undefined: the controls have changed since they were read. */
  async #claimGated(
    where: QueuePlace,
    request: contract.ClaimDue,
    gate: GateRow,
    gated: GatedClaim,
  ): Promise<contract.ClaimReply | undefined> {
    const { claims, context } = this.#options
    const token = makeToken(context.random)
    const terms = claimTerms(request, token, {
      limits: gated.limits,
      leads: gated.leads.map(Number),
      isLimited: gated.isLimited,
      limitedAll: gated.limitedAll,
    })
    const taken = await claims.run((steps) => takeGated(steps, where, terms, gate, gated))
    if (taken === undefined) return undefined
    if (taken.rows.length > 0) this.#options.wrote(undefined)
    // The moment at which the limits were read: neither early nor charged twice.
    const leases = taken.rows.map((row) => toLease(row, token, gate.now_at))
    return gated.reply(leases, firstOfEach(terms.topics, taken.left))
  }

  /** Notes that a worker claims, now and then. */
  #seen(where: QueuePlace, { owner, facts }: contract.ClaimDue): ReturnType<typeof seeWorker> {
    const { now, context } = this.#options
    return this.#presence.tells(owner, facts, now?.() ?? context.clock.now())
      ? seeWorker(where, owner, facts)
      : []
  }
}

function keyOf(row: SqlRow): string {
  return `${textOf(row['id'])}\n${textOrNull(row['token'])}`
}

type HeadsLeft = Pick<Taken, 'now' | 'left'>

/** Until the first of them may be handed out. */
function msUntil({ now, left }: HeadsLeft, leadMs: number): number {
  const firstAt = Math.min(...left.map(({ at, askAt = at }) => askAt))
  return firstAt === Infinity ? Infinity : toMs(firstAt - now) - leadMs
}

type Gating = Pick<DueTerms, 'limits' | 'leads' | 'isLimited' | 'limitedAll'>

function claimTerms(request: contract.ClaimDue, token: string, gating: Gating): DueTerms {
  const { owner, wants, limit, bytesMax, leaseMs } = request
  return {
    ...gating,
    owner,
    token,
    topics: wants.map(({ topic }) => topic),
    limitAll: limit,
    bytesMax,
    lease: Number(toMicros(leaseMs)),
  }
}

/** Undefined: the controls have changed since they were read. Claims under limits take turns. */
async function takeGated(
  steps: Steps,
  where: QueuePlace,
  terms: DueTerms,
  gate: GateRow,
  gated: GatedClaim,
): Promise<Taken | undefined> {
  const { queue } = where
  const [revisions = [], found = []] = await steps.send(
    sql`select revision from punctual_revision where queue = ${queue} and revision = ${gate.revision ?? 0} for update`,
    lookAtHeads({ queue, topics: terms.topics }),
  )
  if (revisions.length === 0) return undefined
  const seen = { heads: toHeads(found), now: gate.now_at }
  return take(steps, where, terms, seen, (taken) => [
    sql`update punctual_revision set revision = revision + 1 where queue = ${queue}`,
    ...metersMoved(queue, gate, gated, { topics: terms.topics, taken, isLimited: terms.isLimited }),
  ])
}
