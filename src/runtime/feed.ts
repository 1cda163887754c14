/**
 * What one partition of a queue needs in a worker: who claims from it, keeps its leases, settles there and takes over what
 * others left. Most queues are one partition. Of a queue with many, each has all of these for itself, so that one which is
 * away stops nothing but itself; lanes, slots and handlers are the worker's, and `sharing` divides them.
 */
import type { Clock } from '../clock.ts'
import { TIMER_MS_MAX } from '../core/input/duration.ts'
import type { Random } from '../random.ts'
import type { LeaseRef, Store, WakeUp } from '../store/contract/store.ts'
import type { Consumers } from './consumers.ts'
import { Controls, type PauseBook } from './claiming/controls.ts'
import { Dispatcher } from './claiming/dispatcher.ts'
import type { Looker, OwnLooks } from './claiming/looks.ts'
import type { RoomSharing } from './claiming/sharing.ts'
import { Identity, type OwnerName } from './identity.ts'
import { Keeper } from './leases/keeper.ts'
import { Reaper } from './leases/reaper.ts'
import type { Reports } from './telling/reports.ts'
import type { Lane } from './runs/lane.ts'
import type { Lanes } from './runs/lanes.ts'
import type { Run, RunSource } from './runs/run.ts'
import { StoreClock } from './runs/store-clock.ts'
import { Scheduler } from './claiming/scheduler.ts'
import { Settler } from './leases/settler.ts'
import { Strays } from './claiming/strays.ts'

/** What lapses within so many leases after the store was away for us did so for that reason. */
const FORGIVEN_LEASES = 2

export type FeedParts = {
  readonly clock: Clock
  readonly random: Random
  /** This partition. */
  readonly store: Store
  readonly isHome: (id: string) => boolean
  readonly name: OwnerName
  readonly lanes: Lanes
  readonly consumers: Consumers
  readonly reports: Reports
  /** With the other partitions of the queue; undefined where there are none. */
  readonly sharing: RoomSharing | undefined
  readonly looks: OwnLooks | undefined
  readonly pauses: PauseBook
  readonly leaseMs: number
  readonly fallbackMs: number
  /** There may be room for more, in any partition. */
  readonly onRoom: () => void
  readonly report: (what: string, error: unknown) => void
}

/**
 * Each part is made after those that it calls:
 *
 *   scheduler ◄── strays ◄──────────┐
 *       ▲           ▲               │
 *       │         reaper ──► settler, keeper
 *       │           ▲          ▲
 *       └─────── dispatcher ───┘
 */
export class Feed implements RunSource, Looker {
  readonly clock = new StoreClock()
  readonly settler: Settler
  readonly #parts: FeedParts
  readonly #scheduler: Scheduler
  /** What was taken over from other workers, and is not yet settled. */
  readonly #takenOver = new Set<LeaseRef>()
  readonly #strays: Strays
  readonly #keeper: Keeper
  readonly #reaper: Reaper
  readonly #controls: Controls
  readonly #dispatcher: Dispatcher
  #endWakes: (() => void) | undefined
  /** Resolves when the last claims were answered. */
  #claimsEnded: Promise<unknown> = Promise.resolve()

  constructor(parts: FeedParts) {
    const { clock, random, store, lanes, consumers, leaseMs, fallbackMs, reports } = parts
    const { owner } = parts.name
    const report = (what: string) => (error: unknown) => parts.report(what, error)
    this.#parts = parts
    const scheduler = new Scheduler({
      clock,
      random,
      limits: {
        fallbackMs: store.capabilities.wakes === 'sure' ? TIMER_MS_MAX : fallbackMs,
        slackMs: store.capabilities.leadMs / 2,
      },
      onFailure: (error) => {
        // While the store is away, leases of others end too.
        lanes.suspects.forgive(clock.monotonic() + FORGIVEN_LEASES * leaseMs)
        parts.report('claiming failed, trying again', error)
      },
    })
    const strays = new Strays({
      store,
      owner,
      held: () => this.#held(),
      onReleased: () => scheduler.wake(),
    })
    const settler = new Settler({
      clock,
      random,
      store,
      onFailure: report('settling failed, trying again'),
      onRecovered: parts.onRoom,
    })
    const keeper = new Keeper({
      clock,
      store,
      leaseMs,
      runs: () => consumers.runs,
      isOwn: (run) => run.source === this,
      onLost: (run) => consumers.tell(run, 'lost'),
      onCancelling: (run) => consumers.tell(run, 'cancel'),
      onDoubt: (run) => consumers.tell(run, 'doubt'),
      onFailure: report('extending leases failed, trying again'),
    })
    const reaper = new Reaper({
      clock,
      random,
      store,
      owner,
      lanes,
      strays,
      reports,
      leaseMs,
      fallbackMs,
      settler,
      held: this.#takenOver,
      onOwnLapsed: () => {
        lanes.suspects.forgive(clock.monotonic() + FORGIVEN_LEASES * leaseMs)
        keeper.renewAll()
      },
      onFailure: report('looking for lapsed leases failed, trying again'),
    })
    this.#dispatcher = new Dispatcher({
      clock,
      store,
      source: this,
      sharing: parts.sharing,
      strays,
      lanes,
      leaseMs,
      fallbackMs,
      lookMsMax: () => parts.looks?.lookMsMax,
      identity: new Identity(clock, lanes, parts.name),
      consumers,
      settler,
      onLeased: () => {
        keeper.watch()
        reaper.watch()
      },
      onTold: ({ lapseMs, lookMs, next }) => {
        reaper.told(lapseMs, lookMs)
        parts.looks?.note(this, lookMs, next)
      },
      onFailure: report('resigning failed'),
      onRoom: () => scheduler.room(),
    })
    this.#controls = new Controls({
      clock,
      store,
      lanes,
      consumers,
      source: this,
      book: parts.pauses,
      onFailure: report('asking for pauses failed'),
    })
    this.#scheduler = scheduler
    this.#strays = strays
    this.settler = settler
    this.#keeper = keeper
    this.#reaper = reaper
    parts.looks?.join(this)
  }

  start(): void {
    // Armed before the first read, so that no wake-up falls between.
    this.#endWakes = this.#parts.store.onWake((wake) => this.#hear(wake), this.#parts.name.owner)
    this.#controls.look()
    this.#keeper.start()
    this.#reaper.start()
    this.#scheduler.start(() => this.#dispatcher.fetch())
  }

  /** A topic was added: what is due for it was not asked for yet. */
  lanesChanged(): void {
    this.#scheduler.room()
  }

  /** There may be room for more. */
  noteRoom(): void {
    this.#dispatcher.noteRoom()
  }

  /** Something may be due here that no other worker sees to. */
  look(): void {
    this.#scheduler.wake()
  }

  isHome(id: string): boolean {
    return this.#parts.isHome(id)
  }

  renew(run: Run): Promise<boolean> {
    return this.#keeper.renew(run)
  }

  returned(lane: Lane): void {
    this.#dispatcher.noteReturned(lane)
  }

  async quiet(): Promise<void> {
    this.#endWakes?.()
    this.#controls.stop()
    // Handlers may take their time to end: from now on the store wakes others in our place.
    this.#dispatcher.stop()
    this.#strays.stop()
    this.#claimsEnded = Promise.all([this.#scheduler.stop(), this.#reaper.stop()])
    await this.#claimsEnded
  }

  /** `record`: what ended is counted before this worker is seen to be gone. */
  async settle(record: () => Promise<void>): Promise<void> {
    await this.settler.drain()
    await record()
    // A stop with little time did not wait for the last claims: what they bring goes back before the store closes.
    await this.#claimsEnded
    await this.settler.drain()
    try {
      await this.#parts.store.leave(this.#parts.name.owner)
    } catch (error) {
      this.#parts.report('leaving failed', error) // It is seen to be gone later.
    }
  }

  endSettling(): void {
    this.settler.end()
    this.#keeper.stop()
  }

  #hear({ kind }: WakeUp): void {
    if (kind === 'controls') this.#controls.look()
    // Which message is to be cancelled, the store says with the next extension.
    if (kind !== 'due') this.#keeper.renewAll()
    if (kind !== 'cancelling') this.#scheduler.wake()
    // The other kinds reach every worker: the store counts on none of them alone.
    if (kind === 'due') this.#dispatcher.noteWake()
  }

  /** Every lease that this worker knows of; what it has of other partitions has other tokens. */
  *#held(): Iterable<LeaseRef> {
    for (const { lease } of this.#parts.consumers.runs) yield lease
    yield* this.#takenOver
  }
}
