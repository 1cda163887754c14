/** Somebody else's API: so many calls in any second and one on top, and an error for each beyond that. */
import type { Clock } from 'punctual'

export class Api {
  sent = 0
  refused = 0
  readonly #clock: Clock
  readonly #perSecond: number
  #lately: number[] = []

  constructor(clock: Clock, { perSecond }: { perSecond: number }) {
    this.#clock = clock
    this.#perSecond = perSecond
  }

  send(_to: string): void {
    const now = this.#clock.monotonic()
    this.#lately = this.#lately.filter((at) => now - at < 1_000)
    if (this.#lately.length > this.#perSecond) {
      this.refused += 1
      throw new Error('429 too many requests')
    }
    this.#lately.push(now)
    this.sent += 1
  }
}
