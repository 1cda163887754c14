/** How many calls one name may make: so many at once, and then one in so much time (GCRA). */
import type { Clock } from '../../../clock.ts'

export type CallRate = {
  readonly burst: number
  readonly intervalMs: number
  /** Names that strangers choose have a limit: the one that was heard of longest ago is forgotten. */
  readonly namesMax?: number
}

export class CallRates {
  readonly #clock: Clock
  readonly #rate: CallRate
  /** By name: when its bucket is full again, monotonic. */
  readonly #fullAt = new Map<string, number>()

  constructor(clock: Clock, rate: CallRate) {
    this.#clock = clock
    this.#rate = rate
  }

  /** 0: it may. Else how many ms to wait. */
  take(name: string): number {
    const { burst, intervalMs, namesMax = Infinity } = this.#rate
    const now = this.#clock.monotonic()
    const fullAt = Math.max(this.#fullAt.get(name) ?? 0, now)
    const waitMs = fullAt + intervalMs - now - burst * intervalMs
    if (waitMs > 0) return waitMs
    if (namesMax < Infinity) this.#fullAt.delete(name) // So that it stands last.
    this.#fullAt.set(name, fullAt + intervalMs)
    if (this.#fullAt.size > namesMax) this.#forgetFirst()
    return 0
  }

  #forgetFirst(): void {
    const [first] = this.#fullAt.keys()
    if (first !== undefined) this.#fullAt.delete(first)
  }
}
