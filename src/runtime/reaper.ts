/**
 * Takes over leases that ended without an answer: their worker died or was cut off. The attempt was counted when it
 * began; what becomes of the message is decided by the same code as for any failure.
 *
 * If we die here: our own lease on it lapses in turn, and the next reaper finds it with the same attempt.
 */
import type { Clock } from '../clock.ts'
import { decideForeignLapse, decideOutcome, type Outcome } from '../core/outcome.ts'
import { decodePolicy } from '../core/codec.ts'
import { TIMER_MS_MAX } from '../core/input/duration.ts'
import type { Random } from '../random.ts'
import type { Lease, Settlement, Store } from '../store/contract/store.ts'
import type { Events } from './events.ts'
import type { Lanes } from './runs/lanes.ts'
import { Scheduler, type Reading } from './scheduler.ts'
import { settlementFor, type Entry, type SettleAnswer, type Settler } from './settler.ts'

const REAP_MAX = 100

export type ReaperParts = {
  readonly clock: Clock
  readonly random: Random
  readonly store: Store
  readonly lanes: Lanes
  readonly settler: Settler
  readonly events: Events
  readonly leaseMs: number
  readonly fallbackMs: number
  readonly onFailure: (error: unknown) => void
}

export class Reaper {
  readonly #parts: ReaperParts
  readonly #scheduler: Scheduler
  /** No lease lives, as far as the store knows: nothing to look for until one is handed out. */
  #isQuiet = false

  constructor(parts: ReaperParts) {
    this.#parts = parts
    const { clock, random, onFailure, fallbackMs } = parts
    this.#scheduler = new Scheduler({
      clock,
      random,
      limits: { fallbackMs: parts.store.capabilities.shared ? fallbackMs : TIMER_MS_MAX, slackMs: 0 },
      read: () => this.#reap(),
      onFailure,
    })
  }

  start(): void {
    this.#scheduler.start()
  }

  stop(): Promise<void> {
    return this.#scheduler.stop()
  }

  /** Leases were handed out here. */
  watch(): void {
    if (!this.#isQuiet) return
    this.#isQuiet = false
    this.#scheduler.wake()
  }

  async #reap(): Promise<Reading> {
    const { clock, leaseMs, settler, store } = this.#parts
    const limit = Math.min(REAP_MAX, store.capabilities.batchMax)
    // A name of its own for each call: what lapsed here is taken over like that of anybody else.
    const owner = `reaper ${this.#parts.random.next()}`
    const { leases, next } = await store.claim({ from: 'lapsed', owner, limit, leaseMs })
    const givesUpAt = clock.monotonic() + 2 * leaseMs
    for (const lease of leases)
      settler.add(new LapseSettlement(lease, this.#decide(lease), givesUpAt, this.#parts.events))
    this.#isQuiet = next.state === 'NO_TASK'
    return { next, got: leases.length, room: true }
  }

  #decide(lease: Lease): Outcome {
    const lane = this.#parts.lanes.get(lease.topic)
    if (lane === undefined) return decideForeignLapse()
    const policy = decodePolicy(lease.meta)?.retry ?? lane.settings.retry
    return decideOutcome(lease.attempt, { kind: 'lapsed' }, policy, this.#parts.random.next())
  }
}

class LapseSettlement implements Entry {
  readonly settlement: Settlement
  tries = 0
  readonly #lease: Lease
  readonly #givesUpAt: number
  readonly #events: Events

  constructor(lease: Lease, outcome: Outcome, givesUpAt: number, events: Events) {
    this.settlement = settlementFor(lease, outcome)
    this.#lease = lease
    this.#givesUpAt = givesUpAt
    this.#events = events
  }

  givesUpAt(): number {
    return this.#givesUpAt
  }

  answered(answer: SettleAnswer): void {
    if (answer !== 'settled') return // Somebody else took it over: theirs to report.
    const { settlement } = this
    const { id, topic, attempt } = this.#lease
    if (settlement.kind === 'dead') {
      this.#events.emit('dead', { id, topic, attempt, reason: settlement.reason, error: settlement.error })
    } else if (settlement.kind === 'retry') {
      this.#events.emit('retrying', {
        id,
        topic,
        attempt,
        delayMs: settlement.delayMs,
        error: settlement.error,
      })
    }
  }
}
