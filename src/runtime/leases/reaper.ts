/**
 * Takes over leases that ended without an answer: their worker died or was cut off. The attempt was counted when it
 * began; what becomes of the message is decided in `core/machines/outcome`.
 *
 * A worker never takes over from itself: leases of its own that have lapsed, after a standstill, an outage or a clock
 * that was set, it extends where it holds them, and gives back where it does not.
 *
 * A store that counts on its sleepers says with each claim when leases of others are to be seen to; then the reaper asks
 * only for those, and on its own only while no claim brings word.
 *
 * If we die here: our own lease on it lapses in turn, and the next reaper finds it with the same attempt.
 */
import type { Clock, Timer } from '../../clock.ts'
import { decideLapse, type Outcome } from '../../core/machines/outcome.ts'
import { decodePolicy } from '../../core/encoding/codec.ts'
import { TIMER_MS_MAX } from '../../core/input/duration.ts'
import type { Random } from '../../random.ts'
import type { Lease, LeaseRef, Settlement, Store } from '../../store/contract/store.ts'
import type { Reports } from '../telling/reports.ts'
import type { Lanes } from '../runs/lanes.ts'
import { Scheduler, type ClaimReading } from '../claiming/scheduler.ts'
import { settlementFor, type SettleEntry, type SettleAnswer, type Settler } from './settler.ts'
import type { Strays } from '../claiming/strays.ts'

const REAP_MAX = 100

export type ReaperParts = {
  readonly clock: Clock
  readonly random: Random
  readonly store: Store
  readonly owner: string
  readonly lanes: Lanes
  readonly settler: Settler
  /** What was taken over, and is not yet settled. */
  readonly held: Set<LeaseRef>
  readonly strays: Strays
  readonly reports: Reports
  readonly leaseMs: number
  readonly fallbackMs: number
  /** Leases of this worker have lapsed at the store. */
  readonly onOwnLapsed: () => void
  readonly onFailure: (error: unknown) => void
}

export class Reaper {
  readonly #parts: ReaperParts
  readonly #scheduler: Scheduler
  #look: Timer | undefined
  #isStopped = false
  /** Monotonic: until then the store's answers to claims say when to look; -Infinity where no store ever did. */
  #toldUntil = -Infinity

  constructor(parts: ReaperParts) {
    this.#parts = parts
    const { clock, random, onFailure, fallbackMs } = parts
    this.#scheduler = new Scheduler({
      clock,
      random,
      limits: { fallbackMs: parts.store.capabilities.shared ? fallbackMs : TIMER_MS_MAX, slackMs: 0 },
      onFailure,
    })
  }

  start(): void {
    this.#scheduler.start(() => this.#reap())
  }

  stop(): Promise<void> {
    this.#isStopped = true
    this.#look?.cancel()
    return this.#scheduler.stop()
  }

  /** The answer of a claim: after so long leases of others lapse, and so long until the next answer. */
  told(lapseMs: number, lookMs: number): void {
    const { clock, fallbackMs } = this.#parts
    this.#toldUntil = clock.monotonic() + lookMs + fallbackMs
    this.#scheduler.told(Math.min(lapseMs, lookMs + fallbackMs))
  }

  /**
   * Leases were handed out here. The store speaks only of those of others; ours are worth a look when the first of them
   * may have ended, not before: every claim would ask twice.
   */
  watch(): void {
    if (this.#isStopped) return
    this.#look ??= this.#parts.clock.schedule(this.#parts.leaseMs, () => {
      this.#look = undefined
      this.#scheduler.wake()
    })
  }

  async #reap(): Promise<ClaimReading> {
    const { clock, leaseMs, owner, settler, store, strays } = this.#parts
    settler.flush() // What has ended is told before anybody asks what was left behind.
    const limit = Math.min(REAP_MAX, store.capabilities.batchMax)
    const { leases, next, isOwnLapsed } = await strays.claim(
      { from: 'lapsed', owner, limit, leaseMs },
      (reply) => {
        const givesUpAt = clock.monotonic() + 2 * leaseMs
        for (const lease of reply.leases) this.#settle(lease, givesUpAt)
      },
    )
    if (isOwnLapsed === true) {
      this.#parts.onOwnLapsed()
      await strays.sweep()
    }
    const toldMs = this.#toldUntil - clock.monotonic()
    if (toldMs <= 0 || next.state === 'EXPIRED') return { next, got: leases.length, room: true }
    return { next: { state: 'NO_TASK' }, got: leases.length, room: true, lookMs: toldMs }
  }

  #settle(lease: Lease, givesUpAt: number): void {
    const { held, reports, settler } = this.#parts
    held.add(lease)
    const onAnswered = (): void => void held.delete(lease)
    settler.add(new LapseSettlement({ lease, outcome: this.#decide(lease), givesUpAt, reports, onAnswered }))
  }

  #decide({ topic, meta, attempt, lapses }: Lease): Outcome {
    const lane = this.#parts.lanes.get(topic)
    const policy = lane === undefined ? undefined : (decodePolicy(meta)?.retry ?? lane.settings.retry)
    const chance = policy === undefined ? 0 : this.#parts.random.next()
    return decideLapse({ attempt, lapses, policy, chance })
  }
}

type LapseParts = {
  readonly lease: Lease
  readonly outcome: Outcome
  readonly givesUpAt: number
  readonly reports: Reports
  readonly onAnswered: () => void
}

class LapseSettlement implements SettleEntry {
  readonly settlement: Settlement
  tries = 0
  readonly #parts: LapseParts

  constructor(parts: LapseParts) {
    this.settlement = settlementFor(parts.lease, parts.outcome)
    this.#parts = parts
  }

  givesUpAt(): number {
    return this.#parts.givesUpAt
  }

  answered(answer: SettleAnswer): void {
    const { lease, onAnswered, outcome, reports } = this.#parts
    onAnswered()
    if (answer === 'cancelled') reports.cancelled(lease)
    if (answer === 'succeeded') reports.succeeded(this.settlement, lease, undefined)
    // Else somebody else took it over: theirs to report.
    if (answer === 'settled') reports.settled(outcome, lease, undefined)
  }
}
