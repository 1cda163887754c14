/**
 * Many deadlines, one timer. Deadlines of the same length are a list in the order in which they began, so the first
 * of each list is its earliest: adding and removing cost O(1), and nobody sets a timer per message.
 */
import type { Clock, Timer } from '../clock.ts'

export class Deadlines<T> {
  readonly #clock: Clock
  readonly #onReached: (item: T) => void
  /** By length in milliseconds; each list item -> when it is over (monotonic). */
  readonly #lists = new Map<number, Map<T, number>>()
  #timer: Timer | undefined
  #timerAt = Infinity

  constructor(clock: Clock, onReached: (item: T) => void) {
    this.#clock = clock
    this.#onReached = onReached
  }

  begin(item: T, lengthMs: number, now: number): void {
    let list = this.#lists.get(lengthMs)
    if (list === undefined) {
      list = new Map()
      this.#lists.set(lengthMs, list)
    }
    list.set(item, now + lengthMs)
    // The timer only ever moves earlier; one that fires for nothing looks again.
    if (now + lengthMs < this.#timerAt) this.#arm(now + lengthMs, now)
  }

  /** The timer stays as it is: to set it anew for every item would cost more than one look for nothing. */
  end(item: T, lengthMs: number): void {
    this.#lists.get(lengthMs)?.delete(item)
  }

  clear(): void {
    this.#lists.clear()
    this.#timer?.cancel()
    this.#timer = undefined
    this.#timerAt = Infinity
  }

  #arm(at: number, now: number): void {
    this.#timer?.cancel()
    this.#timerAt = at
    this.#timer = this.#clock.schedule(at - now, () => this.#look())
  }

  #look(): void {
    const now = this.#clock.monotonic()
    this.#timerAt = Infinity
    const reached: T[] = []
    let next = Infinity
    for (const [lengthMs, list] of this.#lists) {
      for (const [item, at] of list) {
        if (at > now) {
          next = Math.min(next, at)
          break
        }
        list.delete(item)
        reached.push(item)
      }
      if (list.size === 0) this.#lists.delete(lengthMs)
    }
    if (next < Infinity) this.#arm(next, now)
    for (const item of reached) this.#onReached(item)
  }
}
