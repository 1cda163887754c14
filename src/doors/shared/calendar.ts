/** Minutes to years as the local calendar cuts them: a day may have 23 or 25 hours, a month 28 to 31 days. */
import { assertNever } from '../../core/errors.ts'

export const UNITS = ['minute', 'hour', 'day', 'month', 'year'] as const
export type Unit = (typeof UNITS)[number]

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** The shortest that each can be. */
const UNIT_MS = {
  minute: MINUTE_MS,
  hour: HOUR_MS,
  day: 23 * HOUR_MS,
  month: 28 * DAY_MS,
  year: 365 * DAY_MS,
} as const

/** The moment at which the unit around `at` began. */
export function startOf(at: number, unit: Unit): number {
  const date = new Date(at)
  switch (unit) {
    case 'minute':
      return date.setSeconds(0, 0)
    case 'hour':
      return date.setMinutes(0, 0, 0)
    case 'day':
      return date.setHours(0, 0, 0, 0)
    case 'month':
      return new Date(date.getFullYear(), date.getMonth()).getTime()
    case 'year':
      return new Date(date.getFullYear(), 0).getTime()
    default:
      return assertNever(unit)
  }
}

/** The start of the unit after the one that starts at `start`. */
export function nextStart(start: number, unit: Unit): number {
  const date = new Date(start)
  switch (unit) {
    case 'minute':
    case 'hour':
      return start + UNIT_MS[unit]
    case 'day':
      return date.setDate(date.getDate() + 1) // Until the next midnight, whatever the clocks do.
    case 'month':
      return date.setMonth(date.getMonth() + 1)
    case 'year':
      return date.setFullYear(date.getFullYear() + 1)
    default:
      return assertNever(unit)
  }
}

/** The finest unit that shows `spanMs` in at most `count` pieces. */
export function unitFor(spanMs: number, count: number): Unit {
  return UNITS.find((unit) => spanMs <= UNIT_MS[unit] * count) ?? 'year'
}
