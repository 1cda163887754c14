/** The figures of the store, minute by minute, added up to steps that a person can look at. */
import { upperEdgeMs, percentilesOf, type LatenessPercentiles } from '../../core/metrics/lateness.ts'
import type { FiguresPage, MinuteFigures, Store } from '../../index.ts'
import { Gaps } from '../../queue/looking/gaps.ts'

/** Upper bounds of the rows of a heat map; what was later still comes after the last. */
export const LATENESS_EDGES_MS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 60_000]

export type FiguresQuestion = {
  /** Epoch milliseconds. */
  readonly from: number
  readonly until: number
  readonly stepMs: number
  readonly topic?: string
}

export type FigureStep = {
  readonly at: number
  readonly completed: number
  readonly failed: number
  readonly dead: number
  readonly skipped: number
  /** One count for each edge, and one for what was later. */
  readonly lateness: readonly number[]
  readonly latenessMs?: LatenessPercentiles
}

type FigureSum = {
  completed: number
  failed: number
  dead: number
  skipped: number
  readonly buckets: Map<number, number>
}

export type ReadFigures = {
  readonly rows: readonly FigureStep[]
  /** Partitions that did not answer, by name: what is counted there is not in the rows. */
  readonly missing?: readonly string[]
}

/** Only the steps in which something ended. */
export async function readFigures(store: Store, asked: FiguresQuestion): Promise<ReadFigures> {
  const gaps = new Gaps()
  const sums = new Map<number, FigureSum>()
  let cursor: string | undefined
  do {
    const page: FiguresPage = await store.figures({
      from: asked.from,
      until: asked.until,
      ...(asked.topic === undefined ? {} : { topic: asked.topic }),
      ...(cursor === undefined ? {} : { cursor }),
    })
    for (const row of page.rows) addTo(sums, row, Math.floor(row.minuteAt / asked.stepMs) * asked.stepMs)
    gaps.note(page)
    cursor = page.cursor
  } while (cursor !== undefined)
  const rows = [...sums].toSorted(([a], [b]) => a - b).map(([at, sum]) => rowOf(at, sum))
  return { rows, ...gaps.shown }
}

function addTo(sums: Map<number, FigureSum>, row: MinuteFigures, at: number): void {
  const sum = sums.get(at) ?? { completed: 0, failed: 0, dead: 0, skipped: 0, buckets: new Map() }
  sums.set(at, sum)
  sum.completed += row.completed
  sum.failed += row.failed
  sum.dead += row.dead
  sum.skipped += row.skipped
  for (const [bucket, count] of row.lateness) sum.buckets.set(bucket, (sum.buckets.get(bucket) ?? 0) + count)
}

function rowOf(at: number, { buckets, ...counts }: FigureSum): FigureStep {
  const latenessMs = percentilesOf([...buckets])
  const lateness = Array.from({ length: LATENESS_EDGES_MS.length + 1 }, () => 0)
  for (const [bucket, count] of buckets) {
    const edge = LATENESS_EDGES_MS.findIndex((ms) => upperEdgeMs(bucket) <= ms)
    const row = edge === -1 ? LATENESS_EDGES_MS.length : edge
    lateness[row] = (lateness[row] ?? 0) + count
  }
  return { at, ...counts, lateness, ...(latenessMs === undefined ? {} : { latenessMs }) }
}
