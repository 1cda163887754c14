/**
 * The worker: wires its parts together, and nothing else.
 *
 *   scheduler ──when──► dispatcher ──claims──► consumers ──outcomes──► settler ──► store
 *                           ▲    └─leases─► keeper, reaper    │
 *                           └───────────── room ──────────────┘
 */
import type { Clock } from '../clock.ts'
import { TIMER_MS_MAX } from '../core/input/duration.ts'
import type { LatenessGauge } from '../core/lateness.ts'
import type { Random } from '../random.ts'
import type { LeaseRef, Store, WakeUp } from '../store/contract/store.ts'
import { Consumers } from './consumers.ts'
import { Controls } from './controls.ts'
import type { Logger } from '../core/log.ts'
import { Dispatcher } from './dispatcher.ts'
import type { Events } from './events.ts'
import { Figures } from './figures.ts'
import { Identity } from './identity.ts'
import { Keeper } from './keeper.ts'
import type { MakeFollowUp } from './runs/follow-ups.ts'
import type { Lanes } from './runs/lanes.ts'
import { Notices } from './notices.ts'
import { Reaper } from './reaper.ts'
import { Reports } from './reports.ts'
import { Scheduler } from './scheduler.ts'
import { schedulesLane } from './schedules.ts'
import { Settler } from './settler.ts'
import { Strays } from './strays.ts'

export type RuntimeParts = {
  readonly clock: Clock
  readonly random: Random
  readonly store: Store
  readonly events: Events
  readonly logger: Logger
  readonly lanes: Lanes
  readonly gauge: LatenessGauge
  readonly leaseMs: number
  readonly fallbackMs: number
  readonly lateAfterMs: number
  readonly makeFollowUp: MakeFollowUp
}

export class Runtime {
  readonly consumers: Consumers
  readonly #parts: RuntimeParts
  readonly #identity: Identity
  readonly #figures: Figures
  readonly #notices: Notices
  readonly #settler: Settler
  readonly #strays: Strays
  readonly #keeper: Keeper
  readonly #reaper: Reaper
  readonly #dispatcher: Dispatcher
  readonly #scheduler: Scheduler
  readonly #controls: Controls
  #endWakes: (() => void) | undefined

  constructor(parts: RuntimeParts) {
    const { clock, random, store, events, lanes, gauge, leaseMs, fallbackMs, lateAfterMs } = parts
    const report = (what: string) => (error: unknown) => events.report(what, error)
    this.#parts = parts
    this.#addOwnLane()
    this.#identity = new Identity(clock, random, lanes)
    const { owner } = this.#identity
    this.#figures = new Figures({ clock, store, onFailure: report('recording figures failed') })
    this.#notices = new Notices(clock, parts.logger)
    const reports = new Reports({ events, figures: this.#figures, notices: this.#notices })
    this.#strays = new Strays({
      store,
      owner,
      held: () => this.#held(),
      onReleased: () => this.#scheduler.wake(),
    })
    const strays = this.#strays
    this.#settler = new Settler({
      clock,
      random,
      store,
      onFailure: report('settling failed, trying again'),
      onRecovered: () => this.#dispatcher.noteRoom(),
    })
    this.consumers = new Consumers({
      clock,
      random,
      events,
      reports,
      lanes,
      gauge,
      leaseMs,
      lateAfterMs,
      makeFollowUp: parts.makeFollowUp,
      join: (transaction) => store.join(transaction),
      find: async (id) => (await store.inspect({ ids: [id] })).items[0],
      followUpBytesMax: store.capabilities.batchBytesMax,
      settler: this.#settler,
      renew: (run) => this.#keeper.renew(run),
      onRoom: () => this.#dispatcher.noteRoom(),
      onReturned: (lane) => this.#dispatcher.noteReturned(lane),
    })
    this.#keeper = new Keeper({
      clock,
      store,
      leaseMs,
      runs: () => this.consumers.runs,
      onLost: (run) => this.consumers.tell(run, 'lost'),
      onCancelling: (run) => this.consumers.tell(run, 'cancel'),
      onDoubt: (run) => this.consumers.tell(run, 'doubt'),
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
      settler: this.#settler,
      onOwnLapsed: () => this.#keeper.renewAll(),
      onFailure: report('looking for lapsed leases failed, trying again'),
    })
    this.#dispatcher = new Dispatcher({
      clock,
      store,
      strays,
      lanes,
      leaseMs,
      fallbackMs,
      identity: this.#identity,
      consumers: this.consumers,
      settler: this.#settler,
      onLeased: () => {
        this.#keeper.watch()
        this.#reaper.watch()
      },
      onTold: (lapseMs, lookMs) => this.#reaper.told(lapseMs, lookMs),
      onFailure: report('resigning failed'),
      onRoom: () => this.#scheduler.room(),
    })
    this.#controls = new Controls({
      clock,
      store,
      events,
      lanes,
      consumers: this.consumers,
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
    this.#endWakes = this.#parts.store.onWake((wake) => this.#hear(wake), this.#identity.owner)
    this.#controls.look()
    this.#keeper.start()
    this.#reaper.start()
    this.#scheduler.start()
  }

  /** A topic was added: what is due for it, nobody has asked for yet. */
  lanesChanged(): void {
    this.#scheduler.room()
  }

  /** Messages that run elsewhere: more of them could be handed out now. */
  demandGrew(): void {
    this.#dispatcher.noteRoom()
  }

  #hear({ kind }: WakeUp): void {
    if (kind === 'controls') this.#controls.look()
    // Which message is to be cancelled, the store says with the next extension.
    if (kind !== 'due') this.#keeper.renewAll()
    if (kind !== 'cancelling') this.#scheduler.wake()
    // The other kinds reach everybody: nobody counts on us alone.
    if (kind === 'due') this.#dispatcher.noteWake()
  }

  async quiet(): Promise<void> {
    this.#endWakes?.()
    this.#controls.stop()
    this.#dispatcher.stop()
    this.#strays.stop()
    // Handlers may take their time to end: from now on the store wakes others in our place.
    this.#dispatcher.resign().catch((error: unknown) => this.#parts.events.report('resigning failed', error))
    await Promise.all([this.#scheduler.stop(), this.#reaper.stop()])
  }

  async settle(): Promise<void> {
    await this.#settler.drain()
    await this.#figures.flush()
    await this.#leave()
  }

  endSettling(): void {
    this.#settler.end()
    this.#figures.end()
    this.#notices.end()
    this.#keeper.stop()
  }

  /** Every worker fires schedules. */
  #addOwnLane(): void {
    const { events, lanes, store } = this.#parts
    const onFailure = (name: string, error: unknown): void =>
      events.report(`the schedule "${name}" failed, trying again`, error)
    lanes.add(schedulesLane({ store, onFailure }))
  }

  /** Every lease that this worker knows of. */
  *#held(): Iterable<LeaseRef> {
    for (const { lease } of this.consumers.runs) yield lease
    yield* this.#reaper.held
  }

  /** Says that it is gone; one that cannot is seen to be gone later. */
  async #leave(): Promise<void> {
    const { events, store } = this.#parts
    try {
      await store.leave(this.#identity.owner)
    } catch (error) {
      events.report('leaving failed', error)
    }
  }
}
