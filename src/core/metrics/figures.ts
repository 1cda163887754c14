/**
 * Figures per topic and minute: what ended, and how late it had started. Every engine keeps them for 48 hours, for the
 * first 200 topics of a minute by name and for the rest added up.
 */

export const MINUTE_MS = 60_000
export const FIGURES_KEPT_MS = 48 * 60 * MINUTE_MS
export const FIGURE_TOPICS_MAX = 200
/** The name under which further topics are added up: no user can write an empty topic. */
export const OTHER_TOPICS = ''

export type LatenessCounts = readonly (readonly [bucket: number, count: number])[]

export type EndedCounts = {
  readonly completed: number
  readonly failed: number
  readonly dead: number
  readonly skipped: number
  /** Sparse, ascending: buckets of `core/metrics/lateness`. */
  readonly lateness: LatenessCounts
}

export const NOTHING_ENDED: EndedCounts = { completed: 0, failed: 0, dead: 0, skipped: 0, lateness: [] }

export function addCounts(a: EndedCounts, b: EndedCounts): EndedCounts {
  return {
    completed: a.completed + b.completed,
    failed: a.failed + b.failed,
    dead: a.dead + b.dead,
    skipped: a.skipped + b.skipped,
    lateness: addLateness(a.lateness, b.lateness),
  }
}

function addLateness(a: LatenessCounts, b: LatenessCounts): LatenessCounts {
  const counts = new Map(a)
  for (const [bucket, count] of b) counts.set(bucket, (counts.get(bucket) ?? 0) + count)
  return [...counts].toSorted(([x], [y]) => x - y)
}
