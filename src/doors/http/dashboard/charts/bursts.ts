/**
 * Which bars stand out, in words a person can act on: "Mon 09:00: 40,112 due, 7 min of work at 96/s". Pure. A bar is a
 * burst when it holds several times what a usual bar holds, and takes longer to work off than it is wide, or, when we
 * do not know what the workers can do, at least a hundred messages.
 */
import type { DueBar } from '../../../../index.ts'

export type Burst = {
  readonly from: number
  readonly until: number
  readonly count: number
  /** How long the living workers need for it; undefined when that is not known. */
  readonly workMs: number | undefined
}

const TIMES_USUAL = 4
const COUNT_MIN = 100
const BURSTS_MAX = 3

export function findBursts(bars: readonly DueBar[], perSecond: number | undefined): Burst[] {
  const counts = bars.map(({ count }) => count).filter((count) => count > 0)
  const usual = counts.toSorted((a, b) => a - b)[Math.floor(counts.length / 2)] ?? 0
  const isAlone = counts.length === 1
  return joinNeighbours(
    bars.filter(({ count }) => count >= COUNT_MIN && (isAlone || count >= TIMES_USUAL * usual)),
  )
    .map((burst) => ({
      ...burst,
      workMs: perSecond === undefined ? undefined : (burst.count / perSecond) * 1_000,
    }))
    .filter(({ workMs }) => workMs === undefined || workMs >= 10_000)
    .toSorted((a, b) => b.count - a.count)
    .slice(0, BURSTS_MAX)
    .toSorted((a, b) => a.from - b.from)
}

function joinNeighbours(bars: readonly DueBar[]): Omit<Burst, 'workMs'>[] {
  const joined: { from: number; until: number; count: number }[] = []
  for (const { from, until, count } of bars) {
    const last = joined.at(-1)
    if (last !== undefined && last.until === from) {
      last.until = until
      last.count += count
    } else joined.push({ from, until, count })
  }
  return joined
}

/** The workers need longer for it than it takes to come. */
export function isTooMuch({ from, until, workMs }: Burst): boolean {
  return workMs !== undefined && workMs > until - from
}

const NICE_MINUTES = [1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 720, 1_440]

/** A round time over which a burst could be spread so that the workers keep up. */
export function spreadFor({ from, until, workMs }: Burst): string {
  const needed = Math.max(workMs ?? 0, until - from) / 60_000
  const minutes = NICE_MINUTES.find((nice) => nice >= needed) ?? 1_440
  return minutes < 60 ? `${minutes}m` : `${minutes / 60}h`
}
