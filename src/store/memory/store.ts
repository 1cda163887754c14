/**
 * The memory engine: a timing wheel for what is to come, a ready line per topic and priority for what is due.
 *
 *   put ─► wheel (delayed) ──advance──► line (ready) ──claim──► lease (running) ──settle──► gone, wheel or dead
 *
 * Nothing runs on its own: time moves when a caller asks, so an idle store costs nothing. Every verb works
 * synchronously in one turn of the event loop, which makes it atomic. Durable as long as the process lives.
 */
import type { Clock } from '../../clock.ts'
import { UnavailableError, UsageError, assertNever } from '../../core/errors.ts'
import { PRIORITIES } from '../../core/message.ts'
import { TimingWheel } from '../../core/wheel.ts'
import type * as contract from '../store.ts'
import { count, inspect, type Parts } from './inspection.ts'
import { Leases } from './leases.ts'
import { DEAD, MessageTable, RUNNING, WAITING } from './table.ts'
import { Topics, lineOf, type Topic } from './topics.ts'

const BATCH_MAX = 10_000
/** How many messages one call moves from the wheel to the lines; a longer backlog is moved in several calls. */
const MOVE_MAX = 50_000

export class MemoryStore implements contract.Store {
  readonly capabilities: contract.Capabilities = {
    engine: 'memory',
    durability: 'process',
    shared: false,
    wakes: 'sure',
    batchMax: BATCH_MAX,
    leadMs: 0,
  }

  readonly #clock: Clock
  readonly #table = new MessageTable()
  readonly #topics = new Topics((slot, dueAt, order) => this.#isInLine(slot, dueAt, order))
  readonly #wheel: TimingWheel
  readonly #leases: Leases
  readonly #parts: Parts
  readonly #listeners = new Set<() => void>()
  /** The latest moment until which a claimer was told that it may sleep. What is due before it must wake them. */
  #promisedAt = Infinity
  #mustWake = false
  #latest = 0
  #closed = false

  constructor(clock: Clock) {
    this.#clock = clock
    this.#wheel = new TimingWheel(this.#now())
    this.#leases = new Leases(this.#now())
    this.#parts = { table: this.#table, topics: this.#topics, wheel: this.#wheel, leases: this.#leases }
  }

  async open(): Promise<void> {}

  async close(): Promise<void> {
    this.#closed = true
    this.#listeners.clear()
  }

  async put(messages: readonly contract.NewMessage[]): Promise<contract.PutResult[]> {
    this.#admit(messages.length)
    const now = this.#now()
    const results = messages.map((message) => this.#putOne(message, now))
    this.#wakeSleepers()
    return results
  }

  async remove(ids: readonly string[], from: 'waiting' | 'dead'): Promise<contract.RemoveResult[]> {
    this.#admit(ids.length)
    const wanted = from === 'waiting' ? WAITING : DEAD
    return ids.map((id) => {
      const slot = this.#table.slotOf(id)
      if (slot === undefined) return 'missing'
      if (this.#table.state(slot) === RUNNING) return 'running'
      if (this.#table.state(slot) !== wanted) return 'missing'
      this.#discard(slot)
      return 'removed'
    })
  }

  async reschedule(moves: readonly contract.Move[]): Promise<contract.RescheduleResult[]> {
    this.#admit(moves.length)
    const now = this.#now()
    const results = moves.map(({ id, when }): contract.RescheduleResult => {
      const slot = this.#table.slotOf(id)
      if (slot === undefined || this.#table.state(slot) === DEAD) return 'missing'
      if (this.#table.state(slot) === RUNNING) return 'running'
      this.#wheel.cancel(slot)
      this.#table.dueAt[slot] = dueAtOf(when, now)
      this.#await(slot)
      return 'rescheduled'
    })
    this.#wakeSleepers()
    return results
  }

  async claim(request: contract.ClaimRequest): Promise<contract.ClaimReply> {
    this.#admit(0)
    switch (request.from) {
      case 'due':
        return this.#claimDue(request)
      case 'lapsed':
        return this.#claimLapsed(request)
      default:
        return assertNever(request)
    }
  }

  async extend(leases: readonly contract.LeaseRef[], leaseMs: number): Promise<contract.ExtendResult[]> {
    this.#admit(leases.length)
    const endsAt = this.#now() + leaseMs
    return leases.map((lease) => {
      const slot = this.#slotHeldBy(lease)
      if (slot === undefined) return 'lost'
      this.#leases.extend(slot, endsAt)
      return 'extended'
    })
  }

  async settle(settlements: readonly contract.Settlement[]): Promise<contract.SettleResult[]> {
    this.#admit(settlements.length)
    const now = this.#now()
    const results = settlements.map((settlement) => this.#settleOne(settlement, now))
    this.#wakeSleepers()
    return results
  }

  async revive(ids: readonly string[]): Promise<contract.ReviveResult[]> {
    this.#admit(ids.length)
    const now = this.#now()
    const results = ids.map((id): contract.ReviveResult => {
      const slot = this.#table.slotOf(id)
      if (slot === undefined || this.#table.state(slot) !== DEAD) return 'missing'
      this.#table.unbury(slot)
      this.#topicOf(slot).dead -= 1
      this.#table.setError(slot, '')
      this.#table.attempt[slot] = 0
      this.#table.dueAt[slot] = now
      this.#beginWaiting(slot)
      return 'revived'
    })
    this.#wakeSleepers()
    return results
  }

  async inspect(query: contract.InspectQuery): Promise<contract.Page> {
    this.#admit('ids' in query ? query.ids.length : query.limit)
    return inspect(this.#parts, query, this.#now())
  }

  async count(): Promise<contract.Counts> {
    this.#admit(0)
    const now = this.#now()
    while (!this.#advance(now));
    return count(this.#parts)
  }

  async doctor(): Promise<contract.Finding[]> {
    return [
      {
        level: 'warning',
        what: 'messages live in this process and end with it',
        remedy: 'use a file: or redis: store for messages that must survive',
      },
    ]
  }

  onWake(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #putOne(message: contract.NewMessage, now: number): contract.PutResult {
    const existing = this.#table.slotOf(message.id)
    if (existing !== undefined) {
      if (message.ifExists === 'keep') return 'duplicate'
      if (this.#table.state(existing) === RUNNING) return 'running'
      this.#discard(existing)
    }
    const topic = this.#topics.intern(message.topic)
    this.#beginWaiting(this.#table.add(message, topic.number, dueAtOf(message.when, now)))
    return existing === undefined ? 'stored' : 'replaced'
  }

  #claimDue(request: contract.ClaimDue): contract.ClaimReply {
    const now = this.#now()
    const isMoved = this.#advance(now)
    const wanted = request.wants.map(({ topic, limit }) => ({
      topic: this.#topics.named(topic),
      left: limit,
    }))
    const leases: contract.Lease[] = []
    for (const priority of PRIORITIES.keys()) {
      for (const want of wanted) {
        const line = want.topic?.lines[priority]
        while (line !== undefined && want.left > 0 && leases.length < request.limit) {
          const slot = line.pop()
          if (slot === undefined) break
          leases.push(this.#lease(slot, now, request.leaseMs))
          want.left -= 1
        }
      }
    }
    if (
      !isMoved ||
      wanted.some(({ topic }) => topic?.lines.some((line) => line.firstDueAt() !== undefined))
    ) {
      return { leases, next: { state: 'EXPIRED' } }
    }
    return { leases, next: this.#promise(this.#wheel.nextAt(), now) }
  }

  #claimLapsed(request: contract.ClaimLapsed): contract.ClaimReply {
    const now = this.#now()
    const isMoved = this.#leases.advance(now, MOVE_MAX)
    const leases: contract.Lease[] = []
    while (leases.length < request.limit) {
      const slot = this.#leases.firstLapsed()
      if (slot === undefined) break
      this.#leases.end(slot)
      leases.push(this.#leaseAgain(slot, now, request.leaseMs))
    }
    if (!isMoved || this.#leases.firstLapsed() !== undefined) return { leases, next: { state: 'EXPIRED' } }
    return { leases, next: nextAfter(this.#leases.nextEndAt(), now) }
  }

  #lease(slot: number, now: number, leaseMs: number): contract.Lease {
    const topic = this.#topicOf(slot)
    topic.waiting -= 1
    topic.running += 1
    this.#table.setState(slot, RUNNING)
    this.#table.attempt[slot] = (this.#table.attempt[slot] as number) + 1
    return this.#leaseAgain(slot, now, leaseMs)
  }

  #leaseAgain(slot: number, now: number, leaseMs: number): contract.Lease {
    const dueAt = this.#table.dueAt[slot] as number
    return {
      id: this.#table.id(slot),
      token: this.#leases.grant(slot, now + leaseMs),
      topic: this.#topicOf(slot).name,
      body: this.#table.body(slot),
      meta: this.#table.meta(slot),
      priority: this.#table.priority(slot),
      dueAt,
      attempt: this.#table.attempt[slot] as number,
      latenessMs: now - dueAt,
    }
  }

  #settleOne(settlement: contract.Settlement, now: number): contract.SettleResult {
    const slot = this.#slotHeldBy(settlement)
    if (slot === undefined) return 'lost'
    const topic = this.#topicOf(slot)
    this.#leases.end(slot)
    topic.running -= 1
    switch (settlement.kind) {
      case 'ack':
        this.#table.drop(slot)
        break
      case 'retry':
        this.#table.setError(slot, settlement.error)
        this.#table.dueAt[slot] = now + settlement.delayMs
        this.#beginWaiting(slot)
        break
      case 'release':
        this.#table.attempt[slot] = (this.#table.attempt[slot] as number) - 1
        this.#beginWaiting(slot)
        break
      case 'dead':
        this.#table.setError(slot, settlement.error)
        this.#table.bury(slot, { reason: settlement.reason, diedAt: now })
        topic.dead += 1
        break
      default:
        return assertNever(settlement)
    }
    return 'settled'
  }

  #beginWaiting(slot: number): void {
    this.#table.setState(slot, WAITING)
    this.#topicOf(slot).waiting += 1
    this.#await(slot)
  }

  /** Into the wheel if its moment is to come, into its line if not. */
  #await(slot: number): void {
    const dueAt = this.#table.dueAt[slot] as number
    if (dueAt > this.#wheel.now) this.#wheel.place(slot, dueAt)
    else this.#enterLine(slot)
    if (dueAt < this.#promisedAt) {
      this.#promisedAt = dueAt
      this.#mustWake = true
    }
  }

  #enterLine(slot: number): void {
    const line = lineOf(this.#topicOf(slot), this.#table.priority(slot))
    line.push(slot, this.#table.dueAt[slot] as number, this.#table.order[slot] as number)
  }

  #isInLine(slot: number, dueAt: number, order: number): boolean {
    return (
      this.#table.state(slot) === WAITING &&
      this.#table.dueAt[slot] === dueAt &&
      this.#table.order[slot] === order
    )
  }

  /** A waiting or dead one leaves for good. Its ghost in a line is recognised there. */
  #discard(slot: number): void {
    const topic = this.#topicOf(slot)
    if (this.#table.state(slot) === DEAD) {
      topic.dead -= 1
    } else {
      this.#wheel.cancel(slot)
      topic.waiting -= 1
    }
    this.#table.drop(slot)
  }

  #advance(to: number): boolean {
    return this.#wheel.advance(to, MOVE_MAX, (slot) => this.#enterLine(slot))
  }

  #slotHeldBy({ id, token }: contract.LeaseRef): number | undefined {
    const slot = this.#table.slotOf(id)
    return slot !== undefined && this.#leases.isHeld(slot, token) ? slot : undefined
  }

  #topicOf(slot: number): Topic {
    return this.#topics.numbered(this.#table.topic[slot] as number)
  }

  #promise(at: number | undefined, now: number): contract.Next {
    this.#promisedAt = Math.max(this.#promisedAt, at ?? Infinity)
    return nextAfter(at, now)
  }

  #wakeSleepers(): void {
    if (!this.#mustWake) return
    this.#mustWake = false
    for (const listener of this.#listeners) listener()
  }

  /** The store's time never goes back, even if the wall clock does: what came out of the wheel stays due. */
  #now(): number {
    this.#latest = Math.max(this.#latest, Math.floor(this.#clock.now()))
    return this.#latest
  }

  #admit(entries: number): void {
    if (this.#closed)
      throw new UnavailableError('STORE_CLOSED', 'the memory store is closed; open a new queue.')
    if (entries > BATCH_MAX) {
      throw new UsageError('BATCH_TOO_LARGE', `${entries} entries in one call; allowed: ${BATCH_MAX}.`, {
        value: entries,
      })
    }
  }
}

function dueAtOf(when: contract.When, now: number): number {
  return 'at' in when ? when.at : now + when.delayMs
}

function nextAfter(at: number | undefined, now: number): contract.Next {
  return at === undefined ? { state: 'NO_TASK' } : { state: 'WAITING', ms: Math.max(0, at - now) }
}
