/**
 * What one partition of a queue needs in a worker: who claims from it, keeps its leases, settles there and takes over what
 * others left. Most queues are one partition. Of a queue with many, each has all of these for itself, so that one which is
 * away stops nothing but itself; lanes, slots and handlers are the worker's, and the rota shares them out.
 */
import type { Clock } from '../clock.ts'
import { TIMER_MS_MAX } from '../core/input/duration.ts'
import type { Random } from '../random.ts'
import type { LeaseRef, Store, WakeUp } from '../store/contract/store.ts'
import type { Consumers } from './consumers.ts'
import { Controls, type PauseBook } from './claiming/controls.ts'
import { Dispatcher } from './claiming/dispatcher.ts'
import { Identity, type OwnerName } from './identity.ts'
import { Keeper } from './leases/keeper.ts'
import { Reaper } from './leases/reaper.ts'
import type { Reports } from './telling/reports.ts'
import type { Rota } from './claiming/rota.ts'
import type { Lane } from './runs/lane.ts'
import type { Lanes } from './runs/lanes.ts'
import type { Run, RunSource } from './runs/run.ts'
import { StoreClock } from './runs/store-clock.ts'
import { Scheduler } from './claiming/scheduler.ts'
import { Settler } from './leases/settler.ts'
import { Strays } from './claiming/strays.ts'

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
  readonly rota: Rota
  readonly pauses: PauseBook
  readonly leaseMs: number
  readonly fallbackMs: number
  readonly report: (what: string, error: unknown) => void
}

export class Feed implements RunSource {
  readonly clock = new StoreClock()
  readonly settler: Settler
  readonly #parts: FeedParts
  readonly #strays: Strays
  readonly #keeper: Keeper
  readonly #reaper: Reaper
  readonly #dispatcher: Dispatcher
  readonly #scheduler: Scheduler
  readonly #controls: Controls
  #endWakes: (() => void) | undefined
  /** Resolves when the last claims were answered. */
  #claimsEnded: Promise<unknown> = Promise.resolve()

  constructor(parts: FeedParts) {
    const { clock, random, store, lanes, consumers, leaseMs, fallbackMs, reports } = parts
    const { owner } = parts.name
    const report = (what: string) => (error: unknown) => parts.report(what, error)
    this.#parts = parts
    this.#strays = new Strays({
      store,
      owner,
      held: () => this.#held(),
      onReleased: () => this.#scheduler.wake(),
    })
    const strays = this.#strays
    this.settler = new Settler({
      clock,
      random,
      store,
      onFailure: report('settling failed, trying again'),
      onRecovered: () => this.#dispatcher.noteRoom(),
    })
    const { settler } = this
    this.#keeper = new Keeper({
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
    this.#reaper = new Reaper({
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
      onOwnLapsed: () => this.#keeper.renewAll(),
      onFailure: report('looking for lapsed leases failed, trying again'),
    })
    this.#dispatcher = new Dispatcher({
      clock,
      store,
      source: this,
      rota: parts.rota,
      strays,
      lanes,
      leaseMs,
      fallbackMs,
      identity: new Identity(clock, lanes, parts.name),
      consumers,
      settler,
      onLeased: () => {
        this.#keeper.watch()
        this.#reaper.watch()
      },
      onTold: (lapseMs, lookMs) => this.#reaper.told(lapseMs, lookMs),
      onFailure: report('resigning failed'),
      onRoom: () => this.#scheduler.room(),
      onLook: () => this.#scheduler.wake(),
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
    this.#scheduler = new Scheduler({
      clock,
      random,
      limits: {
        fallbackMs: store.capabilities.wakes === 'sure' ? TIMER_MS_MAX : fallbackMs,
        slackMs: store.capabilities.leadMs / 2,
      },
      read: () => this.#dispatcher.fetch(),
      onFailure: report('claiming failed, trying again'),
    })
  }

  start(): void {
    // Armed before the first read, so that no wake-up falls between.
    this.#endWakes = this.#parts.store.onWake((wake) => this.#hear(wake), this.#parts.name.owner)
    this.#controls.look()
    this.#keeper.start()
    this.#reaper.start()
    this.#scheduler.start()
  }

  /** A topic was added: what is due for it, nobody has asked for yet. */
  lanesChanged(): void {
    this.#scheduler.room()
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
    this.#dispatcher.stop()
    this.#strays.stop()
    // Handlers may take their time to end: from now on the store wakes others in our place.
    this.#dispatcher.resign().catch((error: unknown) => this.#parts.report('resigning failed', error))
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
    // The other kinds reach everybody: nobody counts on us alone.
    if (kind === 'due') this.#dispatcher.noteWake()
  }

  /** Every lease that this worker knows of; what it has of other partitions has other tokens. */
  *#held(): Iterable<LeaseRef> {
    for (const { lease } of this.#parts.consumers.runs) yield lease
    yield* this.#reaper.held
  }
}
