/**
 * Bars as a calendar cuts them: a day of 23 hours is one bar, and the hour that comes twice is two. Edges lie on the
 * calendar and not on "now", so that everybody who looks asks the server the same question.
 */
import { fieldsOf, momentOf, wallOf } from './zone.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

export type BarStep =
  | { readonly unit: 'ms'; readonly ms: number }
  | { readonly unit: 'day'; readonly days: number }
  | { readonly unit: 'month'; readonly months: number }

const ms = (length: number): BarStep => ({ unit: 'ms', ms: length })

/** From fine to coarse. */
const STEPS: readonly BarStep[] = [
  ...[1_000, 5_000, 15_000, 30_000].map(ms),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => ms(minutes * MINUTE)),
  ...[1, 2, 3, 6, 12].map((hours) => ms(hours * HOUR)),
  ...[1, 7].map((days) => ({ unit: 'day', days }) as const),
  ...[1, 3, 12].map((months) => ({ unit: 'month', months }) as const),
  ...[60, 120].map((months) => ({ unit: 'month', months }) as const),
]

function lengthOf(step: BarStep): number {
  switch (step.unit) {
    case 'ms':
      return step.ms
    case 'day':
      return step.days * DAY
    default:
      return step.months * 30 * DAY
  }
}

/** The finest step that needs no more bars than this. */
export function stepFor(from: number, until: number, barsMax: number): BarStep {
  const found = STEPS.find((step) => (until - from) / lengthOf(step) <= barsMax)
  return found ?? { unit: 'month', months: 1_200 }
}

/** The last edge at or before a moment. */
export function startOf(at: number, step: BarStep, zone: string): number {
  const wall = wallOf(at, zone)
  if (step.unit === 'ms') {
    // Within the hour that comes twice, the same wall means two moments: stay in ours.
    if (step.ms <= HOUR) return at - (wall % step.ms)
    return Math.min(at, momentOf(wall - (wall % step.ms), zone))
  }
  if (step.unit === 'day') {
    const days = Math.floor(wall / DAY)
    // Weeks begin on Monday; the epoch was a Thursday.
    const start = step.days === 7 ? days - ((((days + 3) % 7) + 7) % 7) : days
    return momentOf(start * DAY, zone)
  }
  const { year, month } = fieldsOf(at, zone)
  const months = year * 12 + month
  const first = months - (months % step.months)
  return momentOf(Date.UTC(Math.floor(first / 12), first % 12), zone)
}

function nextEdge(at: number, step: BarStep, zone: string): number {
  if (step.unit === 'ms') {
    if (step.ms <= HOUR) {
      const next = at + step.ms
      const aligned = next - (wallOf(next, zone) % step.ms)
      return aligned > at ? aligned : next
    }
    const wall = wallOf(at, zone)
    const next = momentOf(wall - (wall % step.ms) + step.ms, zone)
    return next > at ? next : at + step.ms
  }
  const wall = wallOf(at, zone)
  if (step.unit === 'day') return momentOf(Math.floor(wall / DAY) * DAY + step.days * DAY, zone)
  const date = new Date(wall)
  return momentOf(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + step.months), zone)
}

/** Edges from the one at or before `from` to the first at or after `until`. */
export function edgesBetween(from: number, until: number, step: BarStep, zone: string): number[] {
  const edges = [startOf(from, step, zone)]
  for (let last = edges[0] ?? from; last < until && edges.length < 1_000;) {
    last = nextEdge(last, step, zone)
    edges.push(last)
  }
  return edges
}

/** At most `max` edges for labels below a chart, on round moments. */
export function ticksBetween(
  from: number,
  until: number,
  max: number,
  zone: string,
): { at: number; step: BarStep }[] {
  const step = stepFor(from, until, max)
  const ticks = ticksOf(from, until, step, zone)
  if (ticks.length >= 2) return ticks
  // Between days and weeks there is no step, and a week may have no Monday where there is room for its name.
  const finer = STEPS[STEPS.indexOf(step) - 1]
  const all = finer === undefined ? ticks : ticksOf(from, until, finer, zone)
  const each = Math.ceil(all.length / max)
  return all.filter((_, i) => i % each === 0)
}

function ticksOf(from: number, until: number, step: BarStep, zone: string): { at: number; step: BarStep }[] {
  return edgesBetween(from, until, step, zone)
    .filter((at) => at >= from && at < until)
    .map((at) => ({ at, step }))
}
