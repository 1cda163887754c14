/** The store's own clock: apart from everybody else's, and now and then set forward or back. */
import { BEGINS_AT } from './world.ts'
import type { Timeline } from './timeline.ts'

export class StoreTime {
  readonly #timeline: Timeline
  #aheadMs: number
  #jumpedAt = -1
  #setBackMs = 0
  /** Called after each jump. */
  onJump: () => void = () => undefined

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

  /** By how much it was set back so far, in all. */
  get setBackMs(): number {
    return this.#setBackMs
  }

  /** Forward; negative: back. What was due may then be to come again, and leases last longer. */
  jump(byMs: number): void {
    this.#aheadMs += byMs
    this.#jumpedAt = this.#timeline.now
    if (byMs < 0) this.#setBackMs -= byMs
    this.onJump()
  }
}
