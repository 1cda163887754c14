/** Which part of the future and of the past is shown, and the question to the server that goes with it. All of it is in the address. */
import { inQueue } from '../state/api.ts'
import { edgesBetween, startOf, stepFor } from '../time/calendar.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

export const RANGES = [
  ['1h', HOUR],
  ['6h', 6 * HOUR],
  ['24h', DAY],
  ['7d', 7 * DAY],
  ['30d', 30 * DAY],
  ['1y', 366 * DAY],
] as const

export type Shown = { readonly from: number; readonly until: number }

/** How a page shows the future: at most so many bars, and this range when the address names none. */
export type FutureView = { readonly barsMax: number; readonly fallback: string }

export const NOW_VIEW: FutureView = { barsMax: 120, fallback: '24h' }
export const FORECAST_VIEW: FutureView = { barsMax: 240, fallback: '7d' }

/** How far "all" may reach: a message may be due in a hundred years, and nothing is asked for beyond. */
const YEAR = 365 * DAY
const LAST_MS = 100 * YEAR
const FAR = [...RANGES.map(([, length]) => length), ...[2, 5, 10, 30, 100].map((years) => years * YEAR)]

/** What the query names: an own stretch, one of the ranges, or undefined for "all", which has to be asked for first. */
export function shownBy(query: URLSearchParams, now: number, fallback: string): Shown | undefined {
  const [from, until] = [Number(query.get('from') ?? Number.NaN), Number(query.get('until') ?? Number.NaN)]
  if (from < until) return { from, until }
  const name = query.get('range') ?? fallback
  if (name === 'all') return undefined
  const length = RANGES.find(([known]) => known === name)?.[1] ?? DAY
  return { from: now, until: now + length }
}

/** Where the last message lies, roughly. Begins on a whole hour, so that everybody asks the same. */
export function reachPath(now: number): string {
  const start = Math.floor(now / HOUR) * HOUR
  return `${inQueue('forecast')}?edges=${[start, ...FAR.map((length) => start + length)].join(',')}`
}

export function reachOf(
  bars: readonly { until: number; count: number; scheduled?: number }[],
  now: number,
): Shown {
  // Schedules without an end reach as far as one looks: only what is stored counts, unless there is nothing else.
  const last = bars.findLast(({ count }) => count > 0)?.until ?? now + DAY
  return { from: now, until: Math.max(last, now + HOUR) }
}

/** The edges lie on the calendar: nothing is asked anew before they move. */
export function minuteOf(at: number): number {
  return Math.floor(at / 60_000) * 60_000
}

/** Calendar bars, at most so many. Bars of one length are named by their number, others edge by edge. */
export function edgesOf({ from, until }: Shown, barsMax: number, zone: string): number[] {
  const step = stepFor(from, until, barsMax)
  const edges = edgesBetween(startOf(from, step, zone), until, step, zone)
  return edges.filter((edge) => edge <= until || edge - from < LAST_MS)
}

export function forecastPath(edges: readonly number[], topic: string | undefined): string {
  const [first = 0] = edges
  const last = edges.at(-1) ?? 0
  const bars = edges.length - 1
  const length = (last - first) / bars
  const isEven = edges.every((edge, i) => edge === first + i * length)
  const query = new URLSearchParams(
    isEven ? { from: String(first), until: String(last), bars: String(bars) } : { edges: edges.join(',') },
  )
  if (topic !== undefined) query.set('topic', topic)
  return `${inQueue('forecast')}?${query.toString()}`
}

/** The last day, hour by hour. */
export function pastPath(now: number): string {
  const hour = Math.floor(now / HOUR) * HOUR
  return `${inQueue('figures')}?from=${hour - 23 * HOUR}&until=${hour + HOUR}&step=1h`
}
