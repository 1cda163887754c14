/** Windows as one would work them out with a clock on the wall and patience: minute by minute, asking `Intl` for each. */
import type { TimeWindow } from '../../../src/core/windows/windows.ts'
import { WindowBook } from '../../../src/core/windows/windows.ts'
import { zoneOf } from '../../../src/core/windows/zone.ts'

const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS
const NAMES = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

export const WINDOWS: readonly Omit<TimeWindow, 'zone'>[] = [
  { from: '09:00', to: '17:00', days: 'mon-fri' },
  { from: '22:00', to: '06:00' },
  { from: '01:30', to: '02:30', days: 'sun,mon' },
  { from: '02:15', to: '02:45' },
  { from: '00:00', to: '00:30', days: 'sat-sun' },
  { from: '23:30', to: '00:30', days: 'sat,thu' },
]

function formatOf(zone: string): Intl.DateTimeFormat {
  const two = '2-digit'
  const [date, time] = [
    { year: 'numeric', month: two, day: two },
    { hour: two, minute: two, second: two },
  ] as const
  return new Intl.DateTimeFormat('sv-SE', { timeZone: zone, ...date, ...time })
}

/** What the clock shows, as if it were UTC. */
function wallAt(format: Intl.DateTimeFormat, at: number): number {
  return Date.parse(`${format.format(at).replace(' ', 'T')}Z`)
}

/** Days (UTC) in which the offset changes. */
export function daysOfChange(zone: string, fromYear: number, untilYear: number): number[] {
  const format = formatOf(zone)
  const found: number[] = []
  let before: number | undefined
  for (let at = Date.UTC(fromYear, 0, 1); at <= Date.UTC(untilYear, 0, 1); at += DAY_MS) {
    const offset = wallAt(format, at) - at
    if (before !== undefined && offset !== before) found.push(at - DAY_MS)
    before = offset
  }
  return found
}

/** Whether a clock that shows this shows a time of the window. */
export function isOpenAt(
  wall: number,
  { from = '00:00', to = '24:00', days }: Omit<TimeWindow, 'zone'>,
): boolean {
  const time = new Date(wall).toISOString().slice(11, 16)
  const on = (at: number): boolean => {
    const name = NAMES[new Date(at).getUTCDay()] as string
    if (days === undefined) return true
    return days.split(',').some((part) => {
      const [first = '', last = first] = part.split('-')
      const [a, b, d] = [NAMES.indexOf(first), NAMES.indexOf(last), NAMES.indexOf(name)]
      return a <= b ? a <= d && d <= b : d >= a || d <= b
    })
  }
  if (from < to) return from <= time && time < to && on(wall)
  return (time >= from && on(wall)) || (time < to && on(wall - DAY_MS))
}

/** From each minute on, the first one of which this holds; -1: none. */
function firstFrom(count: number, holds: (minute: number) => boolean): Int32Array {
  const first = new Int32Array(count)
  let next = -1
  for (let minute = count - 1; minute >= 0; minute -= 1) {
    if (holds(minute)) next = minute
    first[minute] = next
  }
  return first
}

/** Every difference between our answers and the reference, in the 48 hours around a day on which clocks are changed. */
export function differencesAround(zone: string, day: number): string[] {
  const format = formatOf(zone)
  const [from, count] = [day - 2 * DAY_MS, 6 * 24 * 60]
  const walls = Float64Array.from({ length: count }, (_, minute) => wallAt(format, from + minute * MINUTE_MS))
  const found: string[] = []
  const check = (what: string, at: number, ours: number | undefined, theirs: number): void => {
    if (ours !== theirs)
      found.push(`${zone} ${what} ${new Date(at).toISOString()}: ${ours}, should be ${theirs}`)
  }
  const ours = zoneOf(zone)
  const [begin, end] = [24 * 60, 3 * 24 * 60 + 24 * 60]
  for (let minute = begin; minute < end; minute += 1)
    check('wall', from + minute * MINUTE_MS, ours.wallOf(from + minute * MINUTE_MS), walls[minute] as number)
  for (let wall = walls[begin] as number; wall < (walls[end] as number); wall += 15 * MINUTE_MS) {
    const exact = walls.indexOf(wall)
    const past = exact >= 0 ? exact : walls.findIndex((shown) => shown > wall)
    check('moment of', wall, ours.momentOf(wall), from + past * MINUTE_MS)
  }
  const book = new WindowBook()
  for (const window of WINDOWS) {
    const windows = book.read({ ...window, zone })
    const isOpen = Array.from(walls, (wall) => isOpenAt(wall, window))
    const opens = firstFrom(count, (minute) => isOpen[minute] === true)
    const closes = firstFrom(count, (minute) => isOpen[minute] === false)
    for (let minute = begin; minute < end; minute += 5) {
      const at = from + minute * MINUTE_MS
      const [opening, closing] = [opens[minute] as number, closes[minute] as number]
      const text = `${window.from}-${window.to}`
      if (opening >= 0) check(`${text} opens from`, at, windows.opening(at)?.at, from + opening * MINUTE_MS)
      check(`${text} closes from`, at, windows.closing(at), from + closing * MINUTE_MS)
    }
  }
  return found
}
