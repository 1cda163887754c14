/** The store's own clock: apart from everybody else's, and now and then set forward. */
import { BEGINS_AT } from './world.ts'
import type { Timeline } from './timeline.ts'

export class StoreTime {
  readonly #timeline: Timeline
  #aheadMs: number
  #jumpedAt = -1

  constructor(timeline: Timeline, aheadMs: number) {
    this.#timeline = timeline
    this.#aheadMs = aheadMs
  }

  /** Whole milliseconds, as servers count. */
  now(): number {
    return Math.floor(BEGINS_AT + this.#aheadMs + this.#timeline.now)
  }

  /** Simulated time of the last jump; -1 when there was none. */
  get jumpedAt(): number {
    return this.#jumpedAt
  }

  /** Never backwards: what was due stays due (the engines see to that, or say that they need it). */
  jump(byMs: number): void {
    this.#aheadMs += byMs
    this.#jumpedAt = this.#timeline.now
  }
}
