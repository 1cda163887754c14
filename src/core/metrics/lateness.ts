/**
 * How late messages were, lately: percentiles over the last one to two minutes in a few kilobytes.
 *
 * Buckets grow by a sixteenth of a power of two, so that a percentile is right to about 4 %. Two windows take turns:
 * one fills, the other still counts; what is older than both is forgotten.
 */
const STEPS_PER_DOUBLING = 16
const BUCKETS = 50 * STEPS_PER_DOUBLING
const WINDOW_MS = 60_000
/** Buckets count in microseconds. */
const UNITS_PER_MS = 1_000

export type LatenessPercentiles = { readonly p50: number; readonly p99: number; readonly max: number }

type Window = { readonly counts: Uint32Array; total: number; max: number }

export class LatenessGauge {
  #current: Window = emptyWindow()
  #previous: Window = emptyWindow()
  #startedAt: number

  /** Moments are monotonic milliseconds. */
  constructor(at: number) {
    this.#startedAt = at
  }

  record(latenessMs: number, at: number): void {
    this.#turn(at)
    const bucket = bucketOf(latenessMs)
    this.#current.counts[bucket] = (this.#current.counts[bucket] as number) + 1
    this.#current.total += 1
    if (latenessMs > this.#current.max) this.#current.max = latenessMs
  }

  /** Undefined when nothing was started lately. */
  percentiles(at: number): LatenessPercentiles | undefined {
    this.#turn(at)
    const total = this.#current.total + this.#previous.total
    if (total === 0) return undefined
    const max = Math.max(this.#current.max, this.#previous.max)
    const atRank = (share: number): number => Math.min(max, this.#valueAtRank(Math.ceil(total * share)))
    return { p50: atRank(0.5), p99: atRank(0.99), max }
  }

  #valueAtRank(rank: number): number {
    let seen = 0
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      seen += (this.#current.counts[bucket] as number) + (this.#previous.counts[bucket] as number)
      if (seen >= rank) return upperEdgeMs(bucket)
    }
    return Infinity
  }

  #turn(at: number): void {
    const ageMs = at - this.#startedAt
    if (ageMs < WINDOW_MS) return
    this.#previous = ageMs < 2 * WINDOW_MS ? this.#current : emptyWindow()
    this.#current = emptyWindow()
    this.#startedAt = at
  }
}

function emptyWindow(): Window {
  return { counts: new Uint32Array(BUCKETS), total: 0, max: 0 }
}

export function bucketOf(latenessMs: number): number {
  const units = Math.max(0, latenessMs) * UNITS_PER_MS
  return Math.min(BUCKETS - 1, Math.floor(Math.log2(units + 1) * STEPS_PER_DOUBLING))
}

/** The latest that a message in this bucket was. */
export function upperEdgeMs(bucket: number): number {
  return (2 ** ((bucket + 1) / STEPS_PER_DOUBLING) - 1) / UNITS_PER_MS
}

/** Percentiles of counts by bucket, as the engines keep them; undefined when there are none. */
export function percentilesOf(
  counts: readonly (readonly [bucket: number, count: number])[],
): LatenessPercentiles | undefined {
  const ascending = counts.filter(([, count]) => count > 0).toSorted(([a], [b]) => a - b)
  const last = ascending.at(-1)
  if (last === undefined) return undefined
  const total = ascending.reduce((sum, [, count]) => sum + count, 0)
  const atRank = (rank: number): number => {
    let seen = 0
    for (const [bucket, count] of ascending) {
      seen += count
      if (seen >= rank) return upperEdgeMs(bucket)
    }
    return upperEdgeMs(last[0])
  }
  return {
    p50: atRank(Math.ceil(total * 0.5)),
    p99: atRank(Math.ceil(total * 0.99)),
    max: upperEdgeMs(last[0]),
  }
}
