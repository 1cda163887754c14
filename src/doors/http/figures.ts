/** The figures of the store, minute by minute, added up to steps that a person can look at. */
import { FIGURES_KEPT_MS, MINUTE_MS } from '../../core/metrics/figures.ts'
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
  /** Only topics that begin with it. */
  readonly topicPrefix?: string
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

/** Clocks differ, and what ended is told a second later: so long after its end a step stays as it is. */
const SETTLED_MS = 10 * MINUTE_MS
const QUESTIONS_MAX = 50

/**
 * Reads them, and remembers the steps that are over: a day of many topics is many calls, of which all but the last are the
 * same as a moment ago.
 */
export class PastFigures {
  /** By step and topic: by the moment at which a step begins; undefined where nothing ended in it. */
  readonly #settled = new Map<string, Map<number, FigureStep | undefined>>()

  /** Only the steps in which something ended. */
  async read(store: Store, asked: FiguresQuestion, now: number): Promise<ReadFigures> {
    const { from, until, stepMs } = asked
    if (from % stepMs !== 0) return readFigures(store, asked)
    const settled = this.#settledOf(asked)
    let unknownFrom = from
    while (unknownFrom < until && settled.has(unknownFrom)) unknownFrom += stepMs
    const known = [...settled]
      .flatMap(([at, row]) => (at >= from && at < unknownFrom && row !== undefined ? [row] : []))
      .toSorted((a, b) => a.at - b.at)
    if (unknownFrom >= until) return { rows: known }
    const { rows, ...gap } = await readFigures(store, { ...asked, from: unknownFrom })
    const byStart = new Map(rows.map((row) => [row.at, row]))
    const settledUntil = gap.missing === undefined ? Math.min(until, now - SETTLED_MS) : unknownFrom
    for (let at = unknownFrom; at + stepMs <= settledUntil; at += stepMs) settled.set(at, byStart.get(at))
    for (const at of settled.keys()) if (at < now - FIGURES_KEPT_MS) settled.delete(at)
    return { rows: [...known, ...rows], ...gap }
  }

  #settledOf({ stepMs, topic, topicPrefix }: FiguresQuestion): Map<number, FigureStep | undefined> {
    const question = JSON.stringify([stepMs, topic, topicPrefix])
    const found = this.#settled.get(question)
    if (found !== undefined) return found
    if (this.#settled.size >= QUESTIONS_MAX) this.#settled.clear()
    const settled = new Map<number, FigureStep | undefined>()
    this.#settled.set(question, settled)
    return settled
  }
}

async function readFigures(store: Store, asked: FiguresQuestion): Promise<ReadFigures> {
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
    for (const row of page.rows)
      if (row.topic.startsWith(asked.topicPrefix ?? ''))
        addTo(sums, row, Math.floor(row.minuteAt / asked.stepMs) * asked.stepMs)
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
