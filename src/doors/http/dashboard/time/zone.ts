/**
 * Wall clocks. A *wall* moment is what a clock on the wall of a zone shows, written as if it were UTC, in milliseconds:
 * arithmetic on hours and days of a calendar is done on it, and then it is turned into the moment at which that clock
 * shows it.
 */

/** The zone of the browser. `Date` knows it; `Intl` would first load what it has about all zones, 20 ms before the first bar. */
export const LOCAL_ZONE = 'local'

/** As a person knows it: `Europe/Berlin`. */
export function zoneName(zone: string): string {
  return zone === LOCAL_ZONE ? Intl.DateTimeFormat().resolvedOptions().timeZone : zone
}

const formats = new Map<string, Intl.DateTimeFormat>()

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone)
  if (format === undefined) {
    const digits = '2-digit'
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: digits,
      day: digits,
      hour: digits,
      minute: digits,
      second: digits,
    })
    formats.set(zone, format)
  }
  return format
}

/** What the clock on the wall shows at a moment. */
export function wallOf(at: number, zone: string): number {
  if (zone === 'UTC') return at
  if (zone === LOCAL_ZONE) return localWallOf(new Date(at))
  const fields: Record<string, number> = {}
  for (const { type, value } of formatOf(zone).formatToParts(at)) fields[type] = Number(value)
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = fields
  const ms = ((at % 1_000) + 1_000) % 1_000
  return Date.UTC(year, month - 1, day, hour, minute, second) + ms
}

function localWallOf(date: Date): number {
  return Date.UTC(
    date.getFullYear(),
    date.getMonth(),
    date.getDate(),
    date.getHours(),
    date.getMinutes(),
    date.getSeconds(),
    date.getMilliseconds(),
  )
}

/** The first moment at which the clock shows this; in a gap, the moment at which the gap ends. */
export function momentOf(wall: number, zone: string): number {
  const DAY = 86_400_000
  // Before and after a change of the clocks, whichever side of it we are on.
  const offsets = [wall - DAY, wall + DAY].map((around) => wallOf(around, zone) - around)
  const candidates = offsets.map((offset) => wall - offset).toSorted((a, b) => a - b)
  const exact = candidates.find((at) => wallOf(at, zone) === wall)
  if (exact !== undefined) return exact
  // A gap: walk from the moment before it to its end.
  const [low = wall, high = wall] = candidates
  return firstMoment(low, high, (at) => wallOf(at, zone) > wall)
}

function firstMoment(low: number, high: number, isAfter: (at: number) => boolean): number {
  let [from, until] = [low - 1, high]
  while (until - from > 1) {
    const middle = Math.floor((from + until) / 2)
    if (isAfter(middle)) until = middle
    else from = middle
  }
  return until
}

export type WallFields = {
  readonly year: number
  readonly month: number
  readonly day: number
  readonly weekday: number
  readonly hour: number
  readonly minute: number
  readonly second: number
  readonly ms: number
}

export function fieldsOf(at: number, zone: string): WallFields {
  const date = new Date(wallOf(at, zone))
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth(),
    day: date.getUTCDate(),
    weekday: date.getUTCDay(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
    ms: date.getUTCMilliseconds(),
  }
}

function two(n: number): string {
  return String(Math.floor(Math.abs(n))).padStart(2, '0')
}

/** `+01:00`, for what a person copies. */
export function offsetText(at: number, zone: string): string {
  const minutes = Math.round((wallOf(at, zone) - at) / 60_000)
  if (minutes === 0) return 'Z'
  return `${minutes < 0 ? '-' : '+'}${two(minutes / 60)}:${two(minutes % 60)}`
}
