/**
 * The worker: wires its parts together, and nothing else.
 *
 *   scheduler ──when──► dispatcher ──claims──► consumers ──outcomes──► settler ──► store
 *                           ▲    └─leases─► keeper, reaper    │
 *                           └───────────── room ──────────────┘
 *
 * All but the consumers are there once for each partition of the queue (`feed`), and a queue is one unless its store says
 * otherwise.
 */
import type { Clock } from '../clock.ts'
import type { LatenessGauge } from '../core/metrics/lateness.ts'
import type { Logger } from '../core/log.ts'
import type { Random } from '../random.ts'
import { partitionsOf } from '../store/contract/partitions.ts'
import type { Store } from '../store/contract/store.ts'
import { Consumers } from './consumers.ts'
import { PauseBook } from './claiming/controls.ts'
import type { Events } from './telling/events.ts'
import { Feed } from './feed.ts'
import { Figures } from './telling/figures.ts'
import type { QueueMeter } from './telling/meter.ts'
import type { Tracing } from './telling/tracing.ts'
import { nameOwner } from './identity.ts'
import { Notices } from './telling/notices.ts'
import { Reports } from './telling/reports.ts'
import { OwnLooks } from './claiming/looks.ts'
import { RoomSharing } from './claiming/sharing.ts'
import type { MakeFollowUp } from './runs/follow-ups.ts'
import type { WindowBook } from '../core/windows/windows.ts'
import type { Lanes } from './runs/lanes.ts'
import { schedulesLane } from './schedules.ts'

export type RuntimeParts = {
  readonly clock: Clock
  readonly random: Random
  readonly store: Store
  readonly events: Events
  readonly logger: Logger
  readonly lanes: Lanes
  readonly gauge: LatenessGauge
  readonly meter: QueueMeter
  readonly tracing: Tracing | undefined
  readonly leaseMs: number
  readonly fallbackMs: number
  readonly lateAfterMs: number
  readonly windows: WindowBook
  readonly makeFollowUp: MakeFollowUp
  /** Its handlers are elsewhere, and may outlive this process. */
  readonly isRemote?: true
}

export class Runtime {
  readonly consumers: Consumers
  readonly #parts: RuntimeParts
  readonly #figures: Figures
  readonly #notices: Notices
  /** Of a queue with several partitions. */
  readonly #sharing: RoomSharing | undefined
  readonly #looks: OwnLooks | undefined
  readonly #feeds: readonly Feed[]

  constructor(parts: RuntimeParts) {
    const { clock, random, store, events, lanes, gauge, leaseMs, fallbackMs, lateAfterMs } = parts
    this.#parts = parts
    this.#addOwnLane()
    const name = nameOwner(clock, random, parts.isRemote === true)
    this.#figures = new Figures({
      clock,
      store,
      meter: parts.meter,
      onFailure: (error) => events.report('recording figures failed', error),
    })
    this.#notices = new Notices(clock, parts.logger)
    const reports = new Reports({ events, figures: this.#figures, notices: this.#notices })
    this.consumers = new Consumers({
      clock,
      random,
      events,
      reports,
      lanes,
      gauge,
      leaseMs,
      lateAfterMs,
      windows: parts.windows,
      makeFollowUp: parts.makeFollowUp,
      tracing: parts.tracing,
      join: (transaction) => store.join(transaction),
      find: async (id) => (await store.inspect({ ids: [id] })).items[0],
      followUpBytesMax: store.capabilities.batchBytesMax,
      onRoom: () => this.offerRoom(),
    })
    const { homeOf, stores } = partitionsOf(store)
    if (stores.length > 1) {
      this.#sharing = new RoomSharing(clock)
      if (OwnLooks.isPossible(fallbackMs)) this.#looks = new OwnLooks(clock, fallbackMs)
    }
    const shared = {
      clock,
      random,
      lanes,
      leaseMs,
      fallbackMs,
      reports,
      consumers: this.consumers,
      sharing: this.#sharing,
      looks: this.#looks,
      pauses: new PauseBook(events),
    }
    this.#feeds = stores.map(
      (partition, index) =>
        new Feed({
          ...shared,
          store: partition,
          isHome: (id) => homeOf(id) === index,
          name,
          onRoom: () => this.offerRoom(),
          report: (what, error) => events.report(what, error),
        }),
    )
  }

  /** Handlers at work, and messages that are held here. */
  get load(): { readonly running: number; readonly leased: number } {
    return { running: this.consumers.running, leased: this.consumers.runs.size }
  }

  start(): void {
    for (const feed of this.#feeds) feed.start()
  }

  /** A topic was added: what is due for it was not asked for yet. */
  lanesChanged(): void {
    for (const feed of this.#feeds) feed.lanesChanged()
  }

  /** More could be handed out now: a slot came free, or a caller that runs messages elsewhere asked for more. */
  offerRoom(): void {
    if (this.#sharing === undefined) this.#feeds[0]?.noteRoom()
    else this.#sharing.offer()
  }

  async quiet(): Promise<void> {
    this.#sharing?.stop()
    this.#looks?.stop()
    await Promise.all(this.#feeds.map((feed) => feed.quiet()))
  }

  async settle(): Promise<void> {
    await Promise.all(this.#feeds.map((feed) => feed.settle(() => this.#figures.flush())))
  }

  endSettling(): void {
    for (const feed of this.#feeds) feed.endSettling()
    this.#figures.end()
    this.#notices.end()
  }

  /** Every worker fires schedules. */
  #addOwnLane(): void {
    const { events, lanes, store } = this.#parts
    const onFailure = (name: string, error: unknown): void =>
      events.report(`the schedule "${name}" failed, trying again`, error)
    lanes.add(schedulesLane({ store, onFailure }))
  }
}
