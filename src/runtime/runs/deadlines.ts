/**
 * Many deadlines, one timer. Each item carries its own moment; the timer stands at the earliest that was announced, and
 * when it fires all of them are looked at. So to begin and to end, which every message does, costs a comparison, and
 * only looking, which is rare, costs a walk.
 */
import type { Clock, Timer } from '../../clock.ts'

export type DeadlinesParts<T> = {
  readonly clock: Clock
  /** All that may have a deadline. */
  readonly items: Iterable<T>
  /** Monotonic; Infinity for none. */
  readonly deadlineOf: (item: T) => number
  /** Must take the deadline away, or move it on. */
  readonly onReached: (item: T) => void
}

export class Deadlines<T> {
  readonly #parts: DeadlinesParts<T>
  #timer: Timer | undefined
  #timerAt = Infinity

  constructor(parts: DeadlinesParts<T>) {
    this.#parts = parts
  }

  /** An item has this deadline now. The timer only ever moves earlier; one that fires for nothing looks again. */
  announce(at: number, now: number): void {
    if (at < this.#timerAt) this.#arm(at, now)
  }

  clear(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#timerAt = Infinity
  }

  #arm(at: number, now: number): void {
    this.#timer?.cancel()
    this.#timerAt = at
    this.#timer = this.#parts.clock.schedule(at - now, () => this.#look())
  }

  #look(): void {
    const { clock, items, deadlineOf, onReached } = this.#parts
    const now = clock.monotonic()
    this.#timerAt = Infinity
    const reached: T[] = []
    let next = Infinity
    for (const item of items) {
      const at = deadlineOf(item)
      if (at <= now) reached.push(item)
      else if (at < next) next = at
    }
    if (next < Infinity) this.#arm(next, now)
    for (const item of reached) onReached(item)
  }
}
