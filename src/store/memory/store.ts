/**
 * The memory engine: a timing wheel for what is to come, a ready line per topic and priority for what is due.
 *
 *   put ─► wheel (delayed) ──advance──► line (ready) ──claim──► lease (running) ──settle──► gone, wheel or dead
 *
 * Nothing runs on its own: time moves when a caller asks, so an idle store costs nothing. Every verb works
 * synchronously in one turn of the event loop, which makes it atomic. Durable as long as the process lives.
 */
import type { Clock } from '../../clock.ts'
import { UnavailableError, assertNever } from '../../core/errors.ts'
import { PRIORITIES } from '../../core/message.ts'
import { warning } from '../contract/findings.ts'
import type * as contract from '../contract/store.ts'
import { admitEntries } from '../shared/admission.ts'
import { dueAtOf, nextAt } from '../shared/moments.ts'
import { topicsPage } from '../shared/topics-page.ts'
import { FeaturelessStore } from '../shared/unsupported.ts'
import { count, inspect, type Parts } from './inspection.ts'
import { Leases } from './leases.ts'
import type { ReadyLine } from './line.ts'
import { DEAD, MessageTable, RUNNING, WAITING } from './table.ts'
import type { Topic, Topics } from './topics.ts'
import { Waiting } from './waiting.ts'

const BATCH_MAX = 10_000

const ENDS_WITH_PROCESS = warning(
  'messages live in this process and end with it',
  'use another store, such as file:PATH, for messages that must survive',
)
export class MemoryStore extends FeaturelessStore implements contract.Store {
  protected readonly engine = 'memory'
  readonly capabilities: contract.Capabilities = {
    engine: 'memory',
    durability: 'process',
    shared: false,
    wakes: 'sure',
    batchMax: BATCH_MAX,
    batchBytesMax: 256 * 1024 * 1024,
    wantsMax: BATCH_MAX,
    leadMs: 0,
    features: [],
  }

  readonly #clock: Clock
  readonly #table = new MessageTable()
  readonly #waiting: Waiting
  readonly #topics: Topics
  readonly #leases: Leases
  readonly #listeners = new Set<() => void>()
  #latest: number
  #closed = false

  constructor(clock: Clock) {
    super()
    this.#clock = clock
    this.#latest = Math.floor(clock.now())
    this.#waiting = new Waiting(this.#table, this.#latest)
    this.#topics = this.#waiting.topics
    this.#leases = new Leases(this.#latest)
  }

  async open(): Promise<void> {}

  async close(): Promise<void> {
    this.#closed = true
    this.#listeners.clear()
  }

  async put(messages: readonly contract.NewMessage[]): Promise<contract.PutResult[]> {
    this.#admit(messages.length)
    const now = this.#now()
    return this.#waking(messages.map((message) => this.#putOne(message, now)))
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
      this.#waiting.leave(slot)
      this.#table.dueAt[slot] = dueAtOf(when, now)
      this.#waiting.enter(slot)
      return 'rescheduled'
    })
    return this.#waking(results)
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
    return this.#waking(settlements.map((settlement) => this.#settleOne(settlement, now)))
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
    return this.#waking(results)
  }

  async inspect(query: contract.InspectQuery): Promise<contract.Page> {
    this.#admit('ids' in query ? query.ids.length : query.limit)
    return inspect(this.#parts(), query, this.#now())
  }

  async count(): Promise<contract.Counts> {
    this.#admit(0)
    const now = this.#now()
    while (!this.#waiting.advance(now));
    const { topics: _topics, ...counts } = count(this.#parts())
    return counts
  }

  async countTopics(query: contract.TopicsQuery): Promise<contract.TopicsPage> {
    this.#admit(0)
    return topicsPage(count(this.#parts()).topics, query)
  }

  async doctor(): Promise<contract.Finding[]> {
    return [ENDS_WITH_PROCESS]
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
    const isMoved = this.#waiting.advance(now)
    const wanted = request.wants.map(({ topic, limit }) => ({
      topic: this.#topics.named(topic),
      left: limit,
    }))
    const leases: contract.Lease[] = []
    for (const priority of PRIORITIES.keys()) {
      for (const want of wanted) {
        const line = want.topic?.lines[priority]
        if (line === undefined) continue
        const room = Math.min(want.left, request.limit - leases.length)
        want.left -= this.#leaseFrom(line, room, now, request.leaseMs, leases)
      }
    }
    const isMoreDue = !isMoved || wanted.some(({ topic }) => topic?.lines.some((line) => !line.isEmpty()))
    return { leases, next: isMoreDue ? { state: 'EXPIRED' } : this.#waiting.promise(now) }
  }

  /** Moves up to `room` messages from a line to `leases`; answers how many. */
  #leaseFrom(line: ReadyLine, room: number, now: number, leaseMs: number, leases: contract.Lease[]): number {
    for (let taken = 0; taken < room; taken += 1) {
      const slot = line.pop()
      if (slot === undefined) return taken
      leases.push(this.#lease(slot, now, leaseMs))
    }
    return room
  }

  #claimLapsed(request: contract.ClaimLapsed): contract.ClaimReply {
    const now = this.#now()
    const isMoved = this.#leases.advance(now)
    const leases: contract.Lease[] = []
    while (leases.length < request.limit) {
      const slot = this.#leases.firstLapsed()
      if (slot === undefined) break
      this.#leases.end(slot)
      leases.push(this.#leaseAgain(slot, now, request.leaseMs))
    }
    if (!isMoved || this.#leases.firstLapsed() !== undefined) return { leases, next: { state: 'EXPIRED' } }
    return { leases, next: nextAt(this.#leases.nextEndAt(), now) }
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
      firstDueAt: dueAt,
      lapses: 0,
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
      case 'lapse':
        this.#table.setError(slot, settlement.error)
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
    this.#waiting.enter(slot)
  }

  /** A waiting or dead one leaves for good. Its ghost in a line is recognised there. */
  #discard(slot: number): void {
    const topic = this.#topicOf(slot)
    if (this.#table.state(slot) === DEAD) {
      topic.dead -= 1
    } else {
      this.#waiting.leave(slot)
      topic.waiting -= 1
    }
    this.#table.drop(slot)
  }

  #slotHeldBy({ id, token }: contract.LeaseRef): number | undefined {
    const slot = this.#table.slotOf(id)
    return slot !== undefined && this.#leases.isHeld(slot, token) ? slot : undefined
  }

  #topicOf(slot: number): Topic {
    return this.#topics.numbered(this.#table.topic[slot] as number)
  }

  /** After a change: wakes sleepers if something is due sooner than they were told. */
  #waking<T>(results: T): T {
    if (this.#waiting.takeWake()) for (const listener of this.#listeners) listener()
    return results
  }

  #parts(): Parts {
    return { table: this.#table, waiting: this.#waiting, leases: this.#leases }
  }

  /**
   * The wall clock, as for every engine of this machine. When it was set back, everything finds its place anew: a queue
   * that held on to the latest time it saw would stand still for a year after a clock that was a year ahead.
   */
  #now(): number {
    const now = Math.floor(this.#clock.now())
    if (now < this.#latest) {
      this.#waiting.restart(now)
      this.#leases.restart(now)
    }
    this.#latest = now
    return now
  }

  #admit(entries: number): void {
    if (this.#closed)
      throw new UnavailableError('STORE_CLOSED', 'the memory store is closed; open a new queue.')
    admitEntries(entries, BATCH_MAX)
  }
}
