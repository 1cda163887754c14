/**
 * The store's time as seen from here, never ahead of it.
 *
 * A claim says what time it is at the store. That was after we asked and before the answer came:
 *
 *        asked                          answered            here (monotonic)
 *          │─────────────── x ────────────│
 *                     the store's moment, somewhere in between
 *
 * So `storeMoment - answered` is a lower bound of the difference between the clocks, and `storeMoment - asked` an upper
 * one. The best lower bound comes from the quickest answer, and is right to a fraction of a millisecond; without it, a
 * slow answer would make its messages late by its own delay.
 *
 * Never early (P1): a lower bound is never ahead of the store. It loses worth with time, by the fastest rate at which
 * clocks are slewed, so that one which runs slower than ours does not turn it into a lie. A clock that was set back
 * shows as an upper bound below the best lower one; then all that was known is forgotten.
 */

/** 500 parts in a million: as fast as NTP ever slews a clock. */
const SLEW = 0.0005

export class StoreClock {
  /** The best lower bound, as it would have been at monotonic 0: all of them age alike, so one number is enough. */
  #best = -Infinity

  /** `askedAt`, `answeredAt`: monotonic; `storeMoment`: what the store said, epoch milliseconds. */
  observe(askedAt: number, answeredAt: number, storeMoment: number): void {
    const isSetBack = storeMoment - askedAt < this.#best - answeredAt * SLEW
    const bound = storeMoment - answeredAt + answeredAt * SLEW
    if (isSetBack || bound > this.#best) this.#best = bound
  }

  /** When, here, the store's clock has surely reached `storeMoment`. */
  reaches(storeMoment: number): number {
    return (storeMoment - this.#best) / (1 - SLEW)
  }
}
