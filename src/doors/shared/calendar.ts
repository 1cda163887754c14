/** Minutes to years as the local calendar cuts them: a day may have 23 or 25 hours, a month 28 to 31 days. */
import { assertNever } from '../../core/errors.ts'

export const UNITS = ['minute', 'hour', 'day', 'month', 'year'] as const
export type Unit = (typeof UNITS)[number]

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

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
      return start + MINUTE_MS
    case 'hour':
      return start + HOUR_MS
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
