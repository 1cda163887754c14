/** Values in buckets with fixed bounds. Adding one costs a few comparisons and allocates nothing. */

export const LATENESS_BOUNDS_MS = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 60_000]
export const DURATION_BOUNDS_MS = [1, 5, 10, 50, 100, 500, 1_000, 5_000, 10_000, 60_000, 600_000]
export const STORE_CALL_BOUNDS_MS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000]

export class Histogram {
  readonly boundsMs: readonly number[]
  /** One for each bound, and one for what is beyond the last. */
  readonly counts: number[]
  sumMs = 0

  /** Bounds ascend; a value that is equal to one belongs to it. */
  constructor(boundsMs: readonly number[]) {
    this.boundsMs = boundsMs
    this.counts = Array.from({ length: boundsMs.length + 1 }, () => 0)
  }

  add(ms: number): void {
    const { boundsMs, counts } = this
    let bucket = 0
    while (bucket < boundsMs.length && ms > (boundsMs[bucket] as number)) bucket += 1
    counts[bucket] = (counts[bucket] as number) + 1
    this.sumMs += ms
  }
}
