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
import { warning } from '../contract/findings.ts'
import type * as contract from '../contract/store.ts'
import { admitClaim, admitEntries, admitSettlements } from '../shared/admission.ts'
import { FiguresBook } from '../shared/figures.ts'
import { changeControls, changeKeyLimit, describeControls } from '../shared/controls.ts'
import { unsupported } from '../shared/unsupported.ts'
import { WorkerList } from '../shared/worker-list.ts'
import { claimDue, claimLapsed } from './claiming.ts'
import { count, countTopics, forecast } from './counting.ts'
import { inspect, keysPage, owned, remembered } from './inspection.ts'
import { Messages } from './messages.ts'
import { restore } from './restoring.ts'

const BATCH_MAX = 10_000

const ENDS_WITH_PROCESS = warning(
  'messages live in this process and end with it',
  'use another store, such as file:PATH, for messages that must survive',
)

export class MemoryStore implements contract.Store {
  readonly capabilities: contract.Capabilities = {
    engine: 'memory',
    durability: 'process',
    shared: false,
    wakes: 'sure',
    batchMax: BATCH_MAX,
    batchBytesMax: 256 * 1024 * 1024,
    wantsMax: BATCH_MAX,
    leadMs: 0,
    features: ['controls', 'limits', 'keys'],
  }

  readonly #clock: Clock
  readonly #messages: Messages
  readonly #workers = new WorkerList()
  readonly #figures = new FiguresBook()
  #latest: number
  #closed = false

  constructor(clock: Clock) {
    this.#clock = clock
    this.#latest = Math.floor(clock.now())
    this.#messages = new Messages(this.#latest)
  }

  async open(): Promise<void> {}

  async close(): Promise<void> {
    this.#closed = true
    this.#messages.sleepers.clear()
  }

  async put(messages: readonly contract.NewMessage[]): Promise<contract.PutResult[]> {
    const now = this.#admit(messages.length)
    return this.#waking(messages.map((message) => this.#messages.put(message, now)))
  }

  async remove(
    ids: readonly string[],
    from: 'waiting' | 'dead',
    options?: contract.RemoveOptions,
  ): Promise<contract.RemoveResult[]> {
    const now = this.#admit(ids.length)
    return this.#waking(ids.map((id) => this.#messages.remove(id, from, { ...options, now })))
  }

  async reschedule(moves: readonly contract.Move[]): Promise<contract.RescheduleResult[]> {
    const now = this.#admit(moves.length)
    return this.#waking(moves.map((move) => this.#messages.reschedule(move, now)))
  }

  async revive(ids: readonly string[]): Promise<contract.ReviveResult[]> {
    const now = this.#admit(ids.length)
    return this.#waking(ids.map((id) => this.#messages.revive(id, now)))
  }

  async claim(request: contract.ClaimRequest): Promise<contract.ClaimReply> {
    const now = this.#admit(0)
    admitClaim(request, this.capabilities)
    switch (request.from) {
      case 'due':
        this.#workers.see(request.owner, request.facts, now)
        return claimDue(this.#messages, request, now)
      case 'lapsed':
        return claimLapsed(this.#messages, request, now)
      default:
        return assertNever(request)
    }
  }

  async extend(leases: readonly contract.LeaseRef[], leaseMs: number): Promise<contract.ExtendResult[]> {
    const endsAt = this.#admit(leases.length) + leaseMs
    return leases.map((lease) => this.#messages.extend(lease, endsAt))
  }

  async settle(settlements: readonly contract.Settlement[]): Promise<contract.SettleResult[]> {
    const now = this.#admit(settlements.length)
    admitSettlements(settlements, BATCH_MAX)
    return this.#waking(settlements.map((settlement) => this.#messages.settle(settlement, now)))
  }

  async owned(owner: string, cursor?: string): Promise<contract.OwnedPage> {
    this.#admit(0)
    return owned(this.#messages, owner, cursor)
  }

  async leave(owner: string): Promise<void> {
    this.#workers.leave(owner, this.#admit(0))
  }

  async workers(): Promise<contract.WorkersReply> {
    const now = this.#admit(0)
    return { now, workers: this.#workers.list(now) }
  }

  async control(change: contract.ControlChange): Promise<void> {
    const { controls, keyLimits } = this.#messages
    const now = this.#admit(0)
    if (change.kind === 'limit' && change.key !== undefined) changeKeyLimit(controls, keyLimits, change, now)
    else changeControls(controls, change, now)
    this.#messages.ruleKeys(change.topic)
    this.#messages.sleepers.wakeAll('controls')
  }

  async controls(): Promise<contract.ControlsReply> {
    const now = this.#admit(0)
    return { now, controls: describeControls(this.#messages.controls, now) }
  }

  async keys(query: contract.KeysQuery): Promise<contract.KeysPage> {
    return keysPage(this.#messages, query, this.#admit('keys' in query ? query.keys.length : query.limit))
  }

  async record(figures: readonly contract.TopicFigures[]): Promise<void> {
    this.#figures.record(figures, this.#admit(figures.length))
  }

  async figures(query: contract.FiguresQuery): Promise<contract.FiguresPage> {
    return this.#figures.read(query, this.#admit(0))
  }

  async inspect(query: contract.InspectQuery): Promise<contract.Page> {
    const now = this.#admit('ids' in query ? query.ids.length : query.limit)
    return inspect(this.#messages, query, now)
  }

  async count(): Promise<contract.Counts> {
    return count(this.#messages, this.#admit(0))
  }

  async countTopics(query: contract.TopicsQuery): Promise<contract.TopicsPage> {
    this.#admit('topics' in query ? query.topics.length : query.limit)
    return countTopics(this.#messages, query)
  }

  async forecast(query: contract.ForecastQuery): Promise<contract.Forecast> {
    this.#admit(0)
    return forecast(this.#messages, query)
  }

  async doctor(): Promise<contract.Finding[]> {
    return [ENDS_WITH_PROCESS]
  }

  async remembered(query: contract.RememberedQuery): Promise<contract.Page> {
    return remembered(this.#messages, query, this.#admit(query.limit))
  }

  async restore(messages: readonly contract.RestoredMessage[]): Promise<contract.RestoreResult[]> {
    const now = this.#admit(messages.length)
    return this.#waking(messages.map((message) => restore(this.#messages, message, now)))
  }

  join(): Promise<never> {
    return unsupported('memory', 'transactions', 'keep the messages in the SQL database of your transactions')
  }

  backup(_directory: string): Promise<void> {
    return unsupported('memory', 'backup', 'use the file engine')
  }

  onWake(listener: (wake: contract.WakeUp) => void, owner?: string): () => void {
    return this.#messages.sleepers.add(listener, owner)
  }

  /** After a change: wakes sleepers if something is due sooner than they were told. */
  #waking<T>(results: T): T {
    this.#messages.sleepers.wake()
    return results
  }

  /**
   * Refuses what is too much; answers the time. It is the wall clock, as for every engine of this machine. When it was
   * set back, everything finds its place anew: a queue that held on to the latest time it saw would stand still for a
   * year after a clock that was a year ahead.
   */
  #admit(entries: number): number {
    if (this.#closed)
      throw new UnavailableError('STORE_CLOSED', 'the memory store is closed; open a new queue.')
    admitEntries(entries, BATCH_MAX)
    const now = Math.floor(this.#clock.now())
    if (now < this.#latest) this.#messages.restart(now)
    this.#latest = now
    this.#messages.remembered.prune(now)
    return now
  }
}
