/**
 * The ledger: what must be true of every message, kept by somebody who only watches. It sees each call at the moment
 * when it takes effect in the store, together with the store's answer, works out for itself what that answer had to
 * be, and complains of every difference. It is the second entry in a double-entry bookkeeping: the store may be
 * clever, this is plain.
 *
 *   put ─► waiting ──claim──► running ──settle──► gone, waiting or dead ──revive──► waiting
 *
 * Whether a settlement was the right one for what the handler did is judged in `settlement-rules`.
 */
import { isControl } from '../../src/core/control.ts'
import { decodePolicy } from '../../src/core/encoding/codec.ts'
import { followUpsOf } from '../../src/store/contract/sizes.ts'
import type * as contract from '../../src/store/contract/store.ts'
import { keepSettlement, type Kept } from './kept.ts'
import type { KeysJudge } from './keys.ts'
import type { Holder, LeasePolicy, LeaseRecord } from './lease-record.ts'
import { isMisfit } from '../world/schemas.ts'
import { judgeSettlement } from './settlement-rules.ts'
import type { Violations } from './violations.ts'

export type Known = {
  message: contract.NewMessage
  readonly order: number
  place: 'waiting' | 'running' | 'dead'
  dueAt: number
  attempt: number
  lease: LeaseRecord | undefined
  /** While it runs: what takes its place, and whether somebody asked for it to be cancelled. */
  successor: KnownSuccessor | undefined
  isCancelling: boolean
  /** By the store's doing it waits again, and its key was allowed one at a time then: others of its key wait for it. */
  isHolding: boolean
  readonly kept: Kept
  /** Since when it waits, and from when on it could be handed out unless the clock of the store is set; simulated time. */
  wait: Wait
}

type KnownSuccessor = {
  readonly message: contract.NewMessage
  readonly dueAt: number
  readonly producedAt: number
}

type Wait = { readonly since: number; readonly readyAt: number }

/** An id that only schedules make. */
const OCCURRENCE = /^\{.*\}@[^+]*Z$/
type RemoveFrom = { readonly from: 'waiting' | 'dead'; readonly now: number }

export type LedgerParts = {
  readonly violations: Violations
  /** Simulated time. */
  readonly elapsed: () => number
  /** A message that was due since `readyAt`, in simulated time, is handed out. */
  readonly onGranted: (topic: string, id: string, readyAt: number) => void
  /** Simulated time when the store's clock was last set; -1 for never. */
  readonly jumpedAt: () => number
  /** By how much the store's clock was set back so far. */
  readonly setBackMs: () => number
  /** A topic that is paused or has a limit: what waits for that is `ControlsJudge`'s. */
  readonly isControlled: (topic: string) => boolean
  readonly keys: KeysJudge
  /** Whether a handler's time may be over before it starts. */
  readonly isSchemaSlow: boolean
  readonly leadMs: number
  readonly policyOf: (topic: string) => LeasePolicy
}

export class Ledger {
  readonly #parts: LedgerParts
  readonly #known = new Map<string, Known>()
  readonly #leases = new Map<string, LeaseRecord>()
  /** Ids that were ever stored, and when that was for the first time, by the store's clock. */
  readonly #stored = new Map<string, number>()
  readonly #withdrawn = new Map<string, number>()
  /** Occurrences that a user moved: one may run ahead of its moment, and be owed again when an edit dies half-way. */
  readonly #moved = new Set<string>()
  readonly #completed = new Set<string>()
  /** Ids of messages that are done, until when they are taken, and how far the store's clock had been set back by then. */
  readonly #remembered = new Map<string, { readonly until: number; readonly setBackMs: number }>()
  #produced = 0

  constructor(parts: LedgerParts) {
    this.#parts = parts
  }

  get messages(): ReadonlyMap<string, Known> {
    return this.#known
  }

  get leases(): Iterable<LeaseRecord> {
    return this.#leases.values()
  }

  wasStored(id: string): boolean {
    return this.#stored.has(id)
  }

  /** Undefined for one that never was. */
  firstStoredAt(id: string): number | undefined {
    return this.#stored.get(id)
  }

  /** When an occurrence was removed that was not stored again since. */
  withdrawnAt(id: string): number | undefined {
    return this.#withdrawn.get(id)
  }

  /** Whether a user moved this occurrence. */
  wasMoved(id: string): boolean {
    return this.#moved.has(id)
  }

  wasCompleted(id: string): boolean {
    return this.#completed.has(id)
  }

  leaseOf({ id, token }: { id: string; token: string }): LeaseRecord | undefined {
    return this.#leases.get(`${id} ${token}`)
  }

  put(messages: readonly contract.NewMessage[], results: readonly contract.PutResult[], now: number): void {
    for (const [i, message] of messages.entries()) {
      this.#expect('P5', `put ${message.id}`, results[i], this.#putResult(message, now, results[i]))
      this.#enter(message, results[i] ?? 'duplicate', now)
    }
  }

  /** What becomes of a message that the store has answered so. */
  #enter(message: contract.NewMessage, result: contract.PutResult, now: number): void {
    const existing = this.#known.get(message.id)
    switch (result) {
      case 'duplicate':
        return
      case 'succeeds': {
        if (existing === undefined) return
        const moment = boundedBy(message, existing.successor?.producedAt, now)
        existing.successor = { message, ...moment }
        if (!this.#stored.has(message.id)) this.#stored.set(message.id, now)
        return
      }
      case 'stored':
      case 'replaced': {
        const replacedAt = existing?.place === 'waiting' ? existing.kept.producedAt : undefined
        this.#store(message, boundedBy(message, replacedAt, now), now)
      }
    }
  }

  /** `answer`: what the store said, where it may say either. */
  #putResult(
    { id, ifExists, ifBody }: contract.NewMessage,
    now: number,
    answer?: contract.PutResult,
  ): contract.PutResult {
    const existing = this.#known.get(id)
    const isRemembered = existing === undefined && this.#isRemembered(id, now, answer !== 'stored')
    if (ifBody !== undefined && existing?.message.body !== ifBody) return 'duplicate'
    if (ifExists === 'keep' && (existing !== undefined || isRemembered)) return 'duplicate'
    if (existing === undefined) return 'stored'
    return existing.place === 'running' && ifExists === 'replace' ? 'succeeds' : 'replaced'
  }

  #store(
    message: contract.NewMessage,
    { dueAt, producedAt }: { readonly dueAt: number; readonly producedAt: number },
    now: number,
  ): void {
    this.#remembered.delete(message.id)
    this.#known.set(message.id, {
      message,
      order: this.#produced,
      place: 'waiting',
      dueAt,
      attempt: 0,
      lease: undefined,
      successor: undefined,
      isCancelling: false,
      isHolding: false,
      kept: { producedAt, firstDueAt: dueAt, lapses: 0 },
      wait: this.#wait(dueAt, now),
    })
    this.#produced += 1
    const isAgain = this.#stored.has(message.id) && !this.#withdrawn.delete(message.id)
    if (OCCURRENCE.test(message.id) && isAgain && !this.#moved.has(message.id))
      this.#parts.violations.add('P13', `${message.id} fires a second time`)
    if (!this.#stored.has(message.id)) this.#stored.set(message.id, now)
  }

  /** A store may have forgotten an id whose time was over, although its clock was set back since: then what it says counts. */
  #isRemembered(id: string, now: number, isSaid: boolean): boolean {
    const remembered = this.#remembered.get(id)
    if (remembered === undefined || remembered.until <= now) return false
    return remembered.setBackMs === this.#parts.setBackMs() || isSaid
  }

  remove(
    ids: readonly string[],
    { from, isRunningToo = false, now }: contract.RemoveOptions & RemoveFrom,
    results: readonly contract.RemoveResult[],
  ): void {
    for (const [i, id] of ids.entries()) {
      const known = this.#known.get(id)
      const isForgotten = from === 'dead' && this.#isRemembered(id, now, results[i] === 'removed')
      const isRemoved = known?.place === from || (known === undefined && isForgotten)
      const running = isRunningToo ? 'cancelling' : 'running'
      const expected = known?.place === 'running' ? running : isRemoved ? 'removed' : 'missing'
      this.#expect('P2', `remove ${id} from ${from}`, results[i], expected)
      this.#remembered.delete(id)
      if (results[i] === 'removed') {
        this.#known.delete(id)
        if (OCCURRENCE.test(id)) this.#withdrawn.set(id, this.#parts.elapsed())
      }
      if (known?.place !== 'running') continue
      known.successor = undefined
      known.isCancelling ||= isRunningToo
      if (isRunningToo && known.lease !== undefined) known.lease.isCancelled = true
    }
  }

  reschedule(
    moves: readonly contract.Move[],
    results: readonly contract.RescheduleResult[],
    now: number,
  ): void {
    for (const [i, { id, when }] of moves.entries()) {
      const known = this.#known.get(id)
      const place = known?.successor === undefined ? (known?.place ?? 'dead') : 'waiting'
      const expected = place === 'dead' ? 'missing' : place === 'running' ? 'running' : 'rescheduled'
      this.#expect('P2', `reschedule ${id}`, results[i], expected)
      if (known === undefined || results[i] !== 'rescheduled') continue
      if (known.successor !== undefined) {
        known.successor = { ...known.successor, dueAt: momentOf(when, now) }
        continue
      }
      if (OCCURRENCE.test(id)) this.#moved.add(id)
      known.dueAt = momentOf(when, now)
      known.isHolding = false
      known.kept.firstDueAt = known.dueAt
      known.wait = this.#wait(known.dueAt, now)
    }
  }

  revive(ids: readonly string[], results: readonly contract.ReviveResult[], now: number): void {
    for (const [i, id] of ids.entries()) {
      const known = this.#known.get(id)
      this.#expect('P2', `revive ${id}`, results[i], known?.place === 'dead' ? 'revived' : 'missing')
      if (known === undefined || results[i] !== 'revived') continue
      known.place = 'waiting'
      known.attempt = 0
      known.isHolding = false
      known.dueAt = now
      known.kept.firstDueAt = now
      known.kept.lapses = 0
      known.wait = this.#wait(now, now)
    }
  }

  claim(holder: Holder, request: contract.ClaimRequest, reply: contract.ClaimReply, now: number): void {
    if (reply.leases.length > request.limit)
      this.#parts.violations.add('P10', `${reply.leases.length} leases for a limit of ${request.limit}`)
    if (request.from === 'due') this.#checkKeys(request, reply, now)
    for (const lease of reply.leases) {
      const known = this.#known.get(lease.id)
      if (known === undefined) {
        this.#parts.violations.add('P2', `${lease.id} is handed out, but gone`)
        continue
      }
      if (request.from === 'due') {
        this.#checkDue(known, request, now)
        if (this.#parts.jumpedAt() < known.wait.since)
          this.#parts.onGranted(known.message.topic, lease.id, known.wait.readyAt)
      } else this.#checkLapsed(known, request.owner, now)
      this.#checkCarried(known, lease)
      const { from, owner } = request
      this.#grant(known, lease, { holder, from, owner, endsAt: now + request.leaseMs })
    }
    if (request.from === 'due') {
      this.#checkOrder(reply.leases, now)
      this.#checkNext(request, reply, now)
    } else this.#checkNextLapse(request.owner, reply, now)
  }

  /** One page of what the store holds for an owner; `isWhole`: there is no other. */
  owned(owner: string, { leases }: contract.OwnedPage, isWhole: boolean): void {
    const { violations } = this.#parts
    for (const ref of leases)
      if (this.#heldBy(ref)?.lease?.owner !== owner)
        violations.add('P3', `${ref.id} is shown as ${owner}'s, which does not hold it`)
    const held = this.#running().filter((lease) => lease.owner === owner)
    if (isWhole && held.length !== leases.length)
      violations.add('P3', `${owner} holds ${held.length}, and is shown ${leases.length}`)
  }

  extend(
    leases: readonly contract.LeaseRef[],
    leaseMs: number,
    results: readonly contract.ExtendResult[],
    now: number,
  ): void {
    for (const [i, ref] of leases.entries()) {
      const held = this.#heldBy(ref)
      const extended = held?.isCancelling === true ? 'cancelling' : 'extended'
      this.#expect('P4', `extend ${ref.id}`, results[i], held === undefined ? 'lost' : extended)
      if (held?.lease !== undefined && results[i] === extended) held.lease.endsAt = now + leaseMs
    }
  }

  settle(
    holder: Holder,
    settlements: readonly contract.Settlement[],
    results: readonly contract.SettleResult[],
    now: number,
  ): void {
    for (const [i, settlement] of settlements.entries()) {
      const held = this.#heldBy(settlement)
      const verdict = judgeSettlement(settlement, this.leaseOf(settlement), holder, this.#parts.elapsed())
      if (verdict !== undefined)
        this.#parts.violations.add('P6', `${settlement.kind} of ${settlement.id}: ${verdict}`)
      const isOwnWord = settlement.kind === 'ack' && settlement.isOwnWord === true
      const isCancelled = held?.isCancelling === true && !isOwnWord
      const successor = held?.successor
      const counted = successor === undefined || settlement.kind === 'ack' ? 'settled' : 'succeeded'
      const expected = held === undefined ? 'lost' : isCancelled ? 'cancelled' : counted
      this.#expect('P4', `${settlement.kind} ${settlement.id}`, results[i], expected)
      if (held === undefined || results[i] !== expected) continue
      if (isCancelled || successor !== undefined) this.#leave(held, settlement, isCancelled)
      else this.#settleOne(held, settlement, now)
      if (!isCancelled)
        for (const message of followUpsOf(settlement))
          this.#enter(message, this.#putResult(message, now), now)
      if (successor !== undefined) this.#store(successor.message, successor, now)
    }
  }

  /** It was cancelled, or its successor takes its place: however the attempt ended, it is gone. */
  #leave(known: Known, { id, kind }: contract.Settlement, isCancelled: boolean): void {
    if (known.lease !== undefined) known.lease.settledAs = kind
    known.place = 'dead'
    this.#known.delete(id)
    if (kind === 'ack' && !isCancelled) this.#completed.add(id)
  }

  /** Everything in the store, against everything that should be. */
  compare(found: readonly contract.StoredMessage[], now: number): void {
    const { violations } = this.#parts
    const seen = new Set<string>()
    for (const message of found) {
      const { id, state, dueAt, attempt } = message
      seen.add(id)
      const known = this.#known.get(id)
      if (known === undefined) {
        violations.add('P2', `${id} is ${state}, but should be gone`)
        continue
      }
      const place = known.place === 'waiting' ? (known.dueAt <= now ? 'ready' : 'delayed') : known.place
      this.#expect('P8', `${id} stands`, state, place)
      this.#expect('P6', `the attempts of ${id}`, attempt, known.attempt)
      this.#expect('P2', `the moment of ${id}`, dueAt, known.dueAt)
      this.#expect('P2', `the first moment of ${id}`, message.firstDueAt, known.kept.firstDueAt)
      this.#expect('P2', `when ${id} was produced`, message.producedAt, known.kept.producedAt)
      this.#expect('P6', `the lapses of ${id}`, message.lapses, known.kept.lapses)
      this.#expect('P3', `the owner of ${id}`, message.owner, known.lease?.owner ?? '')
      this.#expect('P5', `the successor of ${id}`, message.successor?.body, known.successor?.message.body)
      this.#expect('P5', `its moment, of ${id}`, message.successor?.dueAt, known.successor?.dueAt)
      this.#expect('P2', `the key of ${id}`, message.key, known.message.key)
      this.#expect('P5', `its key, of ${id}`, message.successor?.key, known.successor?.message.key)
      this.#expect('P5', `the tags of ${id}`, message.tags.join(), (known.message.tags ?? []).join())
    }
    for (const [id, { place, message }] of this.#known)
      if (!seen.has(id) && !isControl(message.topic))
        violations.add('P2', `${id} is lost; it should be ${place}`)
  }

  #settleOne(known: Known, settlement: contract.Settlement, now: number): void {
    if (known.lease !== undefined) known.lease.settledAs = settlement.kind
    known.lease = undefined
    known.place = 'waiting'
    keepSettlement(known.kept, settlement)
    known.wait = this.#wait(known.dueAt, now)
    switch (settlement.kind) {
      case 'ack':
        this.#known.delete(settlement.id)
        this.#completed.add(settlement.id)
        if (settlement.remember !== undefined)
          this.#remembered.set(settlement.id, {
            until: now + settlement.remember.ms,
            setBackMs: this.#parts.setBackMs(),
          })
        return
      case 'retry':
        known.isHolding = this.#isSerial(known)
        known.dueAt = now + settlement.delayMs
        known.wait = this.#wait(known.dueAt, now)
        return
      case 'again':
        known.attempt -= 1
        known.dueAt = momentOf(settlement.when, now)
        known.kept.firstDueAt = known.dueAt
        known.message = { ...known.message, ...settlement.content }
        known.wait = this.#wait(known.dueAt, now)
        return
      case 'lapse':
        known.isHolding = this.#isSerial(known)
        return
      case 'release':
        known.attempt -= 1
        return
      case 'dead':
        known.place = 'dead'
    }
  }

  #wait(dueAt: number, now: number): Wait {
    const since = this.#parts.elapsed()
    return { since, readyAt: since + Math.max(0, dueAt - now) }
  }

  #grant(
    known: Known,
    { id, token, topic }: contract.Lease,
    { holder, from, owner, endsAt }: Pick<LeaseRecord, 'holder' | 'from' | 'owner' | 'endsAt'>,
  ): void {
    const key = `${id} ${token}`
    if (this.#leases.has(key)) this.#parts.violations.add('P4', `${id} gets the token ${token} a second time`)
    const { policyOf } = this.#parts
    const own = decodePolicy(known.message.meta) ?? {}
    const topical = policyOf(topic)
    const lease: LeaseRecord = {
      id,
      token,
      topic,
      from,
      holder,
      owner,
      endsAt,
      attempt: known.attempt,
      lapses: known.kept.lapses,
      dueAt: known.dueAt,
      grantedAt: this.#parts.elapsed(),
      setBackMs: this.#parts.setBackMs(),
      isMisfit: isMisfit(known.message.body),
      isSchemaSlow: this.#parts.isSchemaSlow,
      policy: {
        limit: own.retry?.limit ?? topical.limit,
        timeoutMs: own.timeoutMs ?? topical.timeoutMs,
        ttlMs: own.ttlMs,
        isSkipped: own.ifExpired === 'skip',
        window: own.within?.[0],
      },
      isDelivered: false,
      deliveredAt: Infinity,
      isLost: false,
      isAnswered: false,
      answer: undefined,
      startedAt: undefined,
      endedAt: undefined,
      ended: undefined,
      isCancelled: known.isCancelling,
      isComplete: false,
      attached: [],
      hasExtended: false,
      abortedAt: undefined,
      settledAs: undefined,
    }
    this.#leases.set(key, lease)
    known.lease = lease
    known.place = 'running'
    known.isHolding = false
  }

  #checkDue(known: Known, request: contract.ClaimDue, now: number): void {
    const { violations, leadMs } = this.#parts
    const { id, topic } = known.message
    if (known.place !== 'waiting') violations.add('P3', `${id} is handed out while it is ${known.place}`)
    const earlyMs = known.dueAt - now
    if (earlyMs > Math.min(leadMs, request.leadMs))
      violations.add('P1', `${id} is handed out ${earlyMs} ms before its moment`)
    if (!request.wants.some((want) => want.topic === topic))
      violations.add('P10', `${id} of ${topic} is handed out to one who did not ask for it`)
    known.attempt += 1
  }

  #checkLapsed({ message, place, lease }: Known, owner: string, now: number): void {
    const { violations } = this.#parts
    if (place !== 'running' || lease === undefined) {
      violations.add('P3', `${message.id} is taken over while it is ${place}`)
      return
    }
    if (lease.owner === owner) violations.add('P3', `${owner} takes over ${message.id} from itself`)
    if (lease.endsAt > now)
      violations.add('P3', `${message.id} is taken over ${lease.endsAt - now} ms before its lease ends`)
    if (this.#isWell(lease))
      violations.add('P3', `${message.id} is taken over from ${lease.holder.name}, which had no trouble`)
  }

  /** Whether its holder had every chance to keep it. */
  #isWell({ holder, grantedAt, isDelivered }: LeaseRecord): boolean {
    const { troubledAt, isDead, stopEndedAt } = holder
    const wasTroubled = Math.max(troubledAt, this.#parts.jumpedAt()) >= grantedAt
    return isDelivered && !isDead && stopEndedAt === undefined && !wasTroubled
  }

  #checkCarried(known: Known, lease: contract.Lease): void {
    const { id, topic, body, meta, priority, key } = known.message
    this.#expect('P2', `the key of ${id}`, lease.key, key)
    this.#expect('P6', `the attempt of ${id}`, lease.attempt, known.attempt)
    this.#expect('P2', `the moment of ${id}`, lease.dueAt, known.dueAt)
    this.#expect('P2', `the first moment of ${id}`, lease.firstDueAt, known.kept.firstDueAt)
    this.#expect('P6', `the lapses of ${id}`, lease.lapses, known.kept.lapses)
    this.#expect('P2', `the topic of ${id}`, lease.topic, topic)
    this.#expect('P2', `the body of ${id}`, lease.body, body)
    this.#expect('P2', `the policy of ${id}`, lease.meta, meta)
    this.#expect('P2', `the priority of ${id}`, lease.priority, priority)
  }

  #isSerial({ message: { topic, key } }: Known): boolean {
    return key !== undefined && this.#parts.keys.rules.isSerial(topic, key)
  }

  #checkKeys(request: contract.ClaimDue, reply: contract.ClaimReply, now: number): void {
    const taken = reply.leases.flatMap(({ id }) => this.#known.get(id) ?? [])
    this.#parts.keys.claimed({ request, reply, taken, all: this.#known.values(), now })
  }

  /**
   * Nothing due was passed over: what stayed behind comes after what was handed out, topic by topic. A message with a key has
   * its turn at its moment or later, so that one without waits for it only where it comes first; which of two keys comes first
   * is a matter of `shares`.
   */
  #checkOrder(leases: readonly contract.Lease[], now: number): void {
    if (leases.length === 0) return
    const lastOf = new Map<string, Known>()
    for (const { id, topic } of leases) {
      const known = this.#known.get(id)
      if (known === undefined || known.dueAt > now) continue // Leased ahead: not yet anybody's turn.
      const before = lastOf.get(topic)
      const isPlain = known.message.key === undefined
      if (before !== undefined && isPlain && comesBefore(known, before))
        this.#parts.violations.add(
          'P7',
          `${id} is handed out after ${before.message.id}, but comes before it`,
        )
      if (before === undefined || comesBefore(before, known)) lastOf.set(topic, known)
    }
    for (const known of this.#known.values()) {
      if (known.place !== 'waiting' || known.dueAt > now || known.message.key !== undefined) continue
      const last = lastOf.get(known.message.topic)
      if (last !== undefined && comesBefore(known, last))
        this.#parts.violations.add('P7', `${last.message.id} is handed out before ${known.message.id}`)
    }
  }

  /**
   * Whoever sleeps as long as it was told must not sleep over a message. Of those that a store counts on, others may watch
   * it; whether they do is seen by what is late in the end.
   */
  #checkNext(request: contract.ClaimDue, { next, lookMs }: contract.ClaimReply, now: number): void {
    if (next.state === 'EXPIRED' || lookMs !== undefined) return
    const until = next.state === 'NO_TASK' ? Infinity : now + next.ms
    for (const { place, dueAt, message } of this.#known.values()) {
      if (place !== 'waiting' || dueAt >= until) continue
      if (!request.wants.some(({ topic }) => topic === message.topic)) continue
      if (this.#parts.isControlled(message.topic)) continue
      this.#parts.violations.add('P9', `a claim says ${next.state}, but ${message.id} is due before that`)
    }
  }

  /** An owner hears of its own leases that ended, and must not sleep over those of others. */
  #checkNextLapse(owner: string, { next, isOwnLapsed = false }: contract.ClaimReply, now: number): void {
    const running = this.#running()
    const own = running.some((lease) => lease.owner === owner && lease.endsAt <= now)
    this.#expect('P3', `${owner} is told that leases of its own lapsed`, isOwnLapsed, own)
    if (next.state === 'EXPIRED') return
    const until = next.state === 'NO_TASK' ? Infinity : now + next.ms
    for (const lease of running)
      if (lease.owner !== owner && lease.endsAt < until)
        this.#parts.violations.add(
          'P8',
          `a claim of lapsed leases says ${next.state}, but ${lease.id} ends before`,
        )
  }

  #running(): LeaseRecord[] {
    return [...this.#known.values()].flatMap(({ place, lease }) =>
      place === 'running' && lease !== undefined ? [lease] : [],
    )
  }

  #heldBy(ref: contract.LeaseRef): Known | undefined {
    const known = this.#known.get(ref.id)
    return known?.place === 'running' && known.lease?.token === ref.token ? known : undefined
  }

  #expect(promise: Parameters<Violations['add']>[0], what: string, actual: unknown, expected: unknown): void {
    if (actual !== expected)
      this.#parts.violations.add(promise, `${what}: ${String(actual)}, expected ${String(expected)}`)
  }
}

function momentOf(when: contract.DueTime, now: number): number {
  return 'at' in when ? when.at : now + when.delayMs
}

/** With a latest moment, what replaces one that waits is due at most so long after the first was produced. */
function boundedBy(
  { when, latestMs }: contract.NewMessage,
  replacedAt: number | undefined,
  now: number,
): { readonly dueAt: number; readonly producedAt: number } {
  const producedAt = latestMs === undefined ? now : (replacedAt ?? now)
  return { dueAt: Math.min(momentOf(when, now), producedAt + (latestMs ?? Infinity)), producedAt }
}

export function comesBefore(a: Known, b: Known): boolean {
  return (a.message.priority - b.message.priority || a.dueAt - b.dueAt || a.order - b.order) < 0
}
