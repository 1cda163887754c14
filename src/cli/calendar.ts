/** Minutes, hours and days as the local calendar cuts them: a day may have 23 or 25 hours. */

export const UNITS = ['minute', 'hour', 'day'] as const
export type Unit = (typeof UNITS)[number]

const UNIT_MS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const

/** The moment at which the unit around `at` began. */
export function startOf(at: number, unit: Unit): number {
  const date = new Date(at)
  if (unit === 'day') return date.setHours(0, 0, 0, 0)
  return unit === 'hour' ? date.setMinutes(0, 0, 0) : date.setSeconds(0, 0)
}

/** The start of the unit after the one that starts at `start`. */
export function nextStart(start: number, unit: Unit): number {
  const date = new Date(start)
  // Hours and minutes are the same length all year; a day is until the next midnight, whatever the clocks do.
  return unit === 'day' ? date.setDate(date.getDate() + 1) : start + UNIT_MS[unit]
}

/** The finest unit that shows `spanMs` in at most `count` pieces. */
export function unitFor(spanMs: number, count: number): Unit {
  return UNITS.find((unit) => spanMs <= UNIT_MS[unit] * count) ?? 'day'
}
