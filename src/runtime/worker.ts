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
import type { Store } from '../store/contract/store.ts'
import { Consumers } from './consumers.ts'
import { Dispatcher } from './dispatcher.ts'
import type { Events } from './events.ts'
import { Keeper } from './keeper.ts'
import type { Lanes } from './runs/lanes.ts'
import { Reaper } from './reaper.ts'
import { Scheduler } from './scheduler.ts'
import { Settler } from './settler.ts'

export type RuntimeParts = {
  readonly clock: Clock
  readonly random: Random
  readonly store: Store
  readonly events: Events
  readonly lanes: Lanes
  readonly gauge: LatenessGauge
  readonly leaseMs: number
  readonly fallbackMs: number
  readonly lateAfterMs: number
}

export class Runtime {
  readonly consumers: Consumers
  readonly #store: Store
  readonly #settler: Settler
  readonly #keeper: Keeper
  readonly #reaper: Reaper
  readonly #dispatcher: Dispatcher
  readonly #scheduler: Scheduler
  #endWakes: (() => void) | undefined

  constructor(parts: RuntimeParts) {
    const { clock, random, store, events, lanes, gauge, leaseMs, fallbackMs, lateAfterMs } = parts
    const report = (what: string) => (error: unknown) => events.report(what, error)
    this.#store = store
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
      lanes,
      gauge,
      leaseMs,
      lateAfterMs,
      settler: this.#settler,
      renew: (run) => this.#keeper.renew(run),
      onRoom: () => this.#dispatcher.noteRoom(),
    })
    this.#keeper = new Keeper({
      clock,
      store,
      leaseMs,
      runs: () => this.consumers.runs,
      onLost: (run) => this.consumers.lose(run),
      onDoubt: (run) => this.consumers.doubt(run),
      onFailure: report('extending leases failed, trying again'),
    })
    this.#reaper = new Reaper({
      clock,
      random,
      store,
      lanes,
      events,
      leaseMs,
      fallbackMs,
      settler: this.#settler,
      onFailure: report('looking for lapsed leases failed, trying again'),
    })
    this.#dispatcher = new Dispatcher({
      clock,
      store,
      lanes,
      leaseMs,
      consumers: this.consumers,
      settler: this.#settler,
      onLeased: () => {
        this.#keeper.watch()
        this.#reaper.watch()
      },
      onRoom: () => this.#scheduler.room(),
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
    this.#endWakes = this.#store.onWake(() => this.#scheduler.wake())
    this.#keeper.start()
    this.#reaper.start()
    this.#scheduler.start()
  }

  /** A topic was added: what is due for it, nobody has asked for yet. */
  lanesChanged(): void {
    this.#scheduler.room()
  }

  async quiet(): Promise<void> {
    this.#endWakes?.()
    this.#dispatcher.stop()
    await Promise.all([this.#scheduler.stop(), this.#reaper.stop()])
  }

  settle(): Promise<void> {
    return this.#settler.drain()
  }

  endSettling(): void {
    this.#settler.end()
    this.#keeper.stop()
  }
}
