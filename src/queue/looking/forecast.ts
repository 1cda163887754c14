/** How many messages come due when: counted by the store, bar by bar. */
import type { ParsedForecast } from '../../core/input/questions.ts'
import { DELAY_MS_MAX } from '../../core/input/duration.ts'
import type { Store } from '../../store/contract/store.ts'
import { Gaps } from './gaps.ts'
import { countScheduled } from '../schedules/scheduled.ts'

export type DueForecast = {
  /** Delayed and ready messages by their moment. A bar holds its first millisecond and not its last. */
  readonly bars: readonly DueBar[]
  /** Due before the first bar, and after the last one. */
  readonly before: number
  readonly after: number
  /** False: the store estimated some of the counts. */
  readonly isExact: boolean
  /** Partitions that did not answer, by name: what they hold is not counted. Absent where all did. */
  readonly missing?: readonly string[]
}

export type DueBar = {
  readonly from: number
  readonly until: number
  /** Of messages that are stored. */
  readonly count: number
  /** What schedules will bring besides, computed from their rhythms; absent where that is nothing. */
  readonly scheduled?: number
}

/** The most edges that the contract takes at once. */
const EDGES_MAX = 1_001

export async function readForecast(store: Store, asked: ParsedForecast, now: number): Promise<DueForecast> {
  const { edges } = asked
  const first = edges[0] ?? 0
  // Clocks differ: what a machine with a clock far ahead stored still counts.
  const end = Math.floor(now) + 2 * DELAY_MS_MAX
  const all = [...(first === 0 ? [] : [0]), ...edges, end]
  const gaps = new Gaps()
  const [{ counts, isExact }, scheduled] = await Promise.all([
    countBetween(store, { ...asked, edges: all }, gaps),
    countScheduled(store, asked),
  ])
  const before = first === 0 ? 0 : (counts[0] ?? 0)
  const inside = first === 0 ? counts : counts.slice(1)
  return {
    bars: edges.slice(1).map((until, i) => ({
      from: edges[i] ?? 0,
      until,
      count: inside[i] ?? 0,
      ...(scheduled === undefined || scheduled.counts[i] === 0
        ? {}
        : { scheduled: scheduled.counts[i] ?? 0 }),
    })),
    before,
    after: inside.at(-1) ?? 0,
    isExact: isExact && scheduled?.isExact !== false,
    ...gaps.shown,
  }
}

/** In as many calls as it takes. */
async function countBetween(
  store: Store,
  { edges, ...about }: ParsedForecast,
  gaps: Gaps,
): Promise<{ counts: number[]; isExact: boolean }> {
  const counts: number[] = []
  let isExact = true
  for (let from = 0; from < edges.length - 1; from += EDGES_MAX - 1) {
    const part = await store.forecast({ ...about, edges: edges.slice(from, from + EDGES_MAX) })
    gaps.note(part)
    counts.push(...part.counts)
    isExact &&= part.isExact
  }
  return { counts, isExact }
}

/** How many messages of a topic, or of all, are due before `at`. */
export async function countDueBefore(
  store: Store,
  topic: string | undefined,
  at: number,
): Promise<{ readonly count: number; readonly isExact: boolean }> {
  if (at <= 0) return { count: 0, isExact: true }
  const { counts, isExact } = await store.forecast({
    edges: [0, at],
    ...(topic === undefined ? {} : { topic }),
  })
  return { count: counts[0] ?? 0, isExact }
}
