/**
 * Claims of what is due, as a worker asks for them: with a look at first moments or from those that the last claim left
 * (`known-heads`), and under pauses and limits only for the controls that were read. What is then locked and leased: `due`.
 */
import type * as contract from '../../../contract/store.ts'
import type { StoreContext } from '../../../engine.ts'
import { nextAt } from '../../../shared/moments.ts'
import { DueClaiming, withKeyed } from '../../../sql/claiming.ts'
import type { GatedClaim, GateRow } from '../../../sql/gating.ts'
import { toMicros, toMs } from '../../../sql/micros.ts'
import { Presence } from '../../../sql/presence.ts'
import { toLease } from '../../../sql/rows.ts'
import { makeToken } from '../../../sql/tokens.ts'
import { metersMoved, readGate } from '../../controlling.ts'
import { KnownHeads, lookAgainAt } from './known-heads.ts'
import { clockReading, nowOf, readClock, type QueuePlace } from '../../sql/clock.ts'
import { sql, type Statement } from '../../sql/statement.ts'
import type { Steps, Transactions } from '../../transactions.ts'
import { dueHeads, firstOfEach, refusalOf, take, takeAtOnce, type NotFree, type Taken } from './due.ts'
import { lookAtHeads, toHeads } from './heads.ts'
import { takeInTurn, type KeyedTopics } from '../keys/taking.ts'
import { hasKeys, selectKeyed, toKeyed } from '../keys/topics.ts'
import type { DueTerms } from './picking.ts'
import { seeWorker } from './workers.ts'

export type DueClaimsOptions = {
  readonly context: StoreContext
  readonly claims: Transactions
  /** The clock of a test. */
  readonly now: (() => number) | undefined
  /** After each claim that took something. */
  readonly wrote: (ring: undefined) => void
}

export class MysqlDueClaims {
  readonly #options: DueClaimsOptions
  readonly #presence = new Presence()
  readonly #due = new DueClaiming()
  readonly #known = new KnownHeads()
  /** The queue has keys, as far as we know. */
  #hasKeys = false

  constructor(options: DueClaimsOptions) {
    this.#options = options
  }

  forget(owner: string): void {
    this.#presence.forget(owner)
  }

  /** Something was put or given back. */
  heard(): void {
    this.#known.forget()
  }

  claim(where: QueuePlace, request: contract.ClaimDue): Promise<contract.ClaimReply> {
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
    const seen = this.#seen(where, request)
    const reply = this.#hasKeys ? 'keyed' : await this.#claimKnown(where, request, terms, seen)
    if (reply === 'controlled') return undefined
    if (reply !== 'keyed') return reply
    this.#hasKeys = true
    const turns = await claims.run((steps) => this.#takeWithKeys(steps, where, terms, seen))
    if (turns === undefined) return undefined
    const leases = this.#leasesOf(turns.taken, token)
    const left = msUntil(turns.taken, request.leadMs)
    return withKeyed({ leases, next: nextAt(left, 0) }, turns.keyed)
  }

  /** Where no messages have keys. */
  async #claimKnown(
    where: QueuePlace,
    request: contract.ClaimDue,
    terms: DueTerms,
    seen: readonly Statement[],
  ): Promise<contract.ClaimReply | NotFree> {
    const { claims, context } = this.#options
    const { rings } = this.#known
    const known = this.#known.for(terms, context.clock.monotonic())
    const taken =
      known === undefined
        ? await this.#takeSeen(where, terms, seen)
        : await claims.run((steps) => takeAtOnce(steps, where, terms, known, seen))
    if (typeof taken === 'string') return taken
    const leases = this.#leasesOf(taken, terms.token)
    const sleepsUntil = context.clock.monotonic() + msUntil(taken, request.leadMs)
    // Before a longer sleep: what was overlooked may be due before the first that we know.
    const isLooking = known !== undefined && sleepsUntil > lookAgainAt(known)
    const left = isLooking ? await this.#look(where, terms.topics, []) : taken
    if (typeof left === 'string') return { leases, next: nextAt(0, 0) }
    const [next, now] = [msUntil(left, request.leadMs), context.clock.monotonic()]
    const lookedAt = known === undefined || isLooking ? now : known.lookedAt
    const isBehind = next <= 0
    this.#known.keep(terms, { heads: left.left, lookedAt, dueAt: now + next, isBehind }, rings)
    return { leases, next: nextAt(next, 0) }
  }

  #leasesOf(taken: Taken, token: string): contract.Lease[] {
    if (taken.rows.length > 0) this.#options.wrote(undefined)
    return taken.rows.map((row) => toLease(row, token, taken.now))
  }

  /** Where some topics of the queue have keys. Undefined: the queue has pauses or limits. */
  async #takeWithKeys(
    steps: Steps,
    where: QueuePlace,
    terms: DueTerms,
    seen: readonly Statement[],
  ): Promise<TurnsTaken | undefined> {
    const { queue, at } = where
    const [, found = [], heads = [], ofKeys = []] = await steps.send(
      ...readClock(at),
      lookAtHeads({ queue, topics: terms.topics, also: whatElse(queue) }),
      selectKeyed(queue, terms.topics),
      ...seen,
    )
    const refusal = refusalOf(heads)
    if (refusal === 'controlled') return undefined
    this.#hasKeys = refusal === 'keyed'
    const seenHeads = { heads: toHeads(heads), now: nowOf(found) }
    return takeTurns(steps, where, terms, { ...seenHeads, keyed: toKeyed(ofKeys), rules: [] }, () => [])
  }

  /** A look, and then what is due. */
  async #takeSeen(where: QueuePlace, terms: DueTerms, seen: readonly Statement[]): Promise<Taken | NotFree> {
    const look = await this.#look(where, terms.topics, seen)
    if (typeof look === 'string') return look
    const { now, left: heads } = look
    return dueHeads(heads, terms, now).length === 0 || terms.limitAll === 0
      ? { rows: [], now, left: heads, taken: [] }
      : this.#options.claims.run((steps) => take(steps, where, terms, { heads, now }, () => []))
  }

  /** The first moments of all that is wanted. */
  async #look(
    { queue, at }: QueuePlace,
    topics: readonly string[],
    seen: readonly Statement[],
  ): Promise<HeadsLeft | NotFree> {
    const also = sql`, ${clockReading(at)} as now_at${whatElse(queue)}`
    const [found = []] = await this.#options.claims.flight(lookAtHeads({ queue, topics, also }), ...seen)
    return refusalOf(found) ?? { now: nowOf(found), left: toHeads(found) }
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
    const turns = await claims.run((steps) => takeGated(steps, where, terms, gate, gated))
    if (turns === undefined) return undefined
    const { taken, keyed } = turns
    if (taken.rows.length > 0) this.#options.wrote(undefined)
    // The moment at which the limits were read: neither early nor charged twice.
    const leases = taken.rows.map((row) => toLease(row, token, gate.now_at))
    return withKeyed(gated.reply(leases, firstOfEach(terms.topics, taken.left)), keyed)
  }

  /** Notes that a worker claims, now and then. */
  #seen(where: QueuePlace, { owner, facts }: contract.ClaimDue): ReturnType<typeof seeWorker> {
    const { now, context } = this.#options
    return this.#presence.tells(owner, facts, now?.() ?? context.clock.now())
      ? seeWorker(where, owner, facts)
      : []
  }
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
): Promise<TurnsTaken | undefined> {
  const { queue } = where
  const [revisions = [], found = []] = await steps.send(
    sql`select revision, ${hasKeys(queue)} as is_keyed from punctual_revision
      where queue = ${queue} and revision = ${gate.revision ?? 0} for update`,
    lookAtHeads({ queue, topics: terms.topics }),
  )
  if (revisions.length === 0) return undefined
  const [ofKeys = []] =
    refusalOf(revisions) === 'keyed' ? await steps.send(selectKeyed(queue, terms.topics)) : []
  const seen = { heads: toHeads(found), now: gate.now_at, keyed: toKeyed(ofKeys), rules: gated.keyRules }
  // The moment at which the limits were read holds for keys, too.
  return takeTurns(steps, { queue, at: gate.now_at }, terms, seen, (taken) => [
    sql`update punctual_revision set revision = revision + 1 where queue = ${queue}`,
    ...metersMoved(queue, gate, gated, { topics: terms.topics, taken, isLimited: terms.isLimited }),
  ])
}

type TurnsTaken = {
  readonly taken: Taken
  /** Names of topics that have keys. */
  readonly keyed: readonly string[]
}

async function takeTurns(
  steps: Steps,
  where: QueuePlace,
  terms: DueTerms,
  seen: KeyedTopics,
  write: (taken: readonly number[]) => readonly Statement[],
): Promise<TurnsTaken> {
  const names = seen.keyed.map((topic) => terms.topics[topic] ?? '')
  const taken = await (seen.keyed.length > 0 ? takeInTurn : take)(steps, where, terms, seen, write)
  return { taken, keyed: names }
}

/** Further columns of a look: whether the claim must go another way. */
function whatElse(queue: number): Statement {
  return sql`, exists (select 1 from punctual_control where queue = ${queue}) as is_controlled,
      ${hasKeys(queue)} as is_keyed`
}
