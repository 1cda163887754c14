/** How many calls one token may make: so many a second, and as many at once after a quiet time (GCRA). */
import type { Clock } from '../../../clock.ts'

/** Names are those of tokens, which the operator made: there are few of them. */
export class CallRates {
  readonly #clock: Clock
  readonly #intervalMs: number
  readonly #burstMs: number
  /** By name: when its bucket is full again, monotonic. */
  readonly #fullAt = new Map<string, number>()

  constructor(clock: Clock, perSecond: number) {
    this.#clock = clock
    this.#intervalMs = 1_000 / perSecond
    this.#burstMs = 1_000
  }

  /** 0: it may. Else how many ms to wait. */
  take(name: string): number {
    const now = this.#clock.monotonic()
    const fullAt = Math.max(this.#fullAt.get(name) ?? 0, now)
    const waitMs = fullAt + this.#intervalMs - now - this.#burstMs
    if (waitMs > 0) return waitMs
    this.#fullAt.set(name, fullAt + this.#intervalMs)
    return 0
  }
}
