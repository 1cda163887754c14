/**
 * The server's clock as this process knows it: each answer that tells the time says how far the two are apart. A message
 * carries the moment of its production as its producer writes it; this keeps it the store's, whatever the producer's
 * own clock says. It is behind by the time that an answer travels, and never ahead.
 */
import type { Clock } from '../../../clock.ts'

export class ServerClock {
  readonly #clock: Clock
  #aheadMs: number | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Undefined before the first answer. */
  now(): number | undefined {
    return this.#aheadMs === undefined ? undefined : this.#clock.now() + this.#aheadMs
  }

  hear(now: number): void {
    if (Number.isFinite(now)) this.#aheadMs = now - this.#clock.now()
  }

  /** `time`: asks the server. An answer that tells no time leaves the caller with this process's own. */
  async ask(time: () => Promise<unknown>): Promise<number> {
    const reply = await time()
    const [seconds, micros] = Array.isArray(reply) ? (reply as readonly unknown[]).map(Number) : []
    if (seconds === undefined || micros === undefined) return this.#clock.now()
    const now = seconds * 1000 + micros / 1000
    this.hear(now)
    return now
  }
}
