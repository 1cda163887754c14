/**
 * Keeps leases alive: three times per lease, all that need it, in batches. Tells the consumers of every lease that is
 * lost, and of those that are over by our clock while the store does not answer.
 *
 * The batches go side by side, each for itself: one after the other, thousands of handlers on a slow store would outlast
 * their leases, and a batch that fails would keep those behind it from being sent at all.
 *
 * A process that stood still finds leases over by its clock that the store may still extend, so that only an answer, or
 * its absence, casts doubt: on those whose extension failed, and on those that wait for one since before this tick.
 */
import type { Clock, Timer } from '../clock.ts'
import { holdsLease } from '../core/run.ts'
import type { Store } from '../store/contract/store.ts'
import { leaseEnd, type Run } from './runs/run.ts'

/** After a failure the next try comes sooner: a tenth of the lease, but never more often than this. */
const RETRY_MS_MIN = 250

export type KeeperParts = {
  readonly clock: Clock
  readonly store: Store
  readonly leaseMs: number
  /** All that are not over. */
  readonly runs: () => ReadonlySet<Run>
  readonly onLost: (run: Run) => void
  readonly onDoubt: (run: Run) => void
  readonly onFailure: (error: unknown) => void
}

export class Keeper {
  readonly #parts: KeeperParts
  #timer: Timer | undefined
  /** Monotonic; when the timer is due. */
  #ticksAt = Infinity
  #isRunning = false
  /** More time was asked for, and no answer came yet. */
  readonly #asked = new Set<Run>()

  constructor(parts: KeeperParts) {
    this.#parts = parts
  }

  start(): void {
    this.#isRunning = true
  }

  stop(): void {
    this.#isRunning = false
    this.#timer?.cancel()
    this.#timer = undefined
  }

  /** There is something to watch over. Sleeps while there is not. */
  watch(): void {
    if (this.#timer === undefined) this.#plan(this.#parts.leaseMs / 3)
  }

  /** Extends one lease at once. */
  async renew(run: Run): Promise<boolean> {
    await this.#extend([run])
    return run.state.name === 'running'
  }

  /** The timer only ever moves earlier: batches that fail one after the other must not put the tick off. */
  #plan(delayMs: number): void {
    const { clock } = this.#parts
    const at = clock.monotonic() + delayMs
    if (!this.#isRunning || (this.#timer !== undefined && this.#ticksAt <= at)) return
    this.#timer?.cancel()
    this.#ticksAt = at
    this.#timer = clock.schedule(delayMs, () => {
      this.#timer = undefined
      this.#tick()
    })
  }

  #tick(): void {
    const { clock, leaseMs, runs, store } = this.#parts
    const unanswered = [...this.#asked]
    const needy = this.#needy()
    const { batchMax } = store.capabilities
    for (let from = 0; from < needy.length; from += batchMax)
      void this.#send(needy.slice(from, from + batchMax))
    // Timers come before what lies in the sockets: after a standstill the answers are there, and are heard first.
    if (unanswered.length > 0)
      clock.soon(() => this.#doubtTheOverdue(unanswered.filter((run) => this.#asked.has(run))))
    if (runs().size > 0) this.#plan(leaseMs / 3)
  }

  /** Never rejects. */
  async #send(batch: readonly Run[]): Promise<void> {
    const { clock, leaseMs, onFailure, runs } = this.#parts
    const sentAt = clock.monotonic()
    for (const run of batch) this.#asked.add(run)
    try {
      await this.#extend(batch)
      // A late answer has used up much of what it grants, and a tick in between passed these over.
      if (runs().size > 0) this.#plan(Math.max(0, sentAt + leaseMs / 2 - clock.monotonic()))
    } catch (error) {
      onFailure(error)
      this.#doubtTheOverdue(batch)
      if (runs().size > 0) this.#plan(Math.max(RETRY_MS_MIN, leaseMs / 10))
    } finally {
      for (const run of batch) this.#asked.delete(run)
    }
  }

  async #extend(runs: readonly Run[]): Promise<void> {
    const { clock, leaseMs, onLost, store } = this.#parts
    const sentAt = clock.monotonic()
    const results = await store.extend(
      runs.map(({ lease: { id, token, topic } }) => ({ id, token, topic })),
      leaseMs,
    )
    for (const [i, run] of runs.entries()) {
      if (!holdsLease(run.state)) continue
      if (results[i] === 'extended') run.leaseEndsAt = leaseEnd(sentAt, leaseMs)
      // One that is just being settled is gone because of that, most likely; the settler hears what is true.
      else if (run.state.name !== 'settling') onLost(run)
    }
  }

  #needy(): Run[] {
    const { clock, leaseMs, runs } = this.#parts
    const soon = clock.monotonic() + (leaseMs * 3) / 4
    return [...runs()].filter(
      (run) => run.leaseEndsAt < soon && holdsLease(run.state) && !this.#asked.has(run),
    )
  }

  #doubtTheOverdue(runs: readonly Run[]): void {
    const { clock, onDoubt } = this.#parts
    const now = clock.monotonic()
    for (const run of runs) if (run.leaseEndsAt <= now) onDoubt(run)
  }
}
