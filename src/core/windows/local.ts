/** Moments as people say them: a time on the wall of a zone, or so many working days on. */
import { UsageError, describe } from '../errors.ts'
import { checkRecord, parseInteger } from '../input/checks.ts'
import { DAY_MS } from '../input/duration.ts'
import { dayNumber, type Except } from './days.ts'
import { parseTime, type WindowBook } from './windows.ts'
import { zoneOf } from './zone.ts'

export type LocalTime = {
  /**
   * `2026-12-01 09:00`, or `09:00` for the next such time. Where clocks jump over it, the end of the gap; where they pass it
   * twice, the first time.
   */
  readonly local: string
  readonly zone: string
}

export type Workdays = {
  /** So many of them on, counted from tomorrow by the clock of the zone: Monday to Friday. */
  readonly workdays: number
  /** The time of that day, `HH:MM`. Default: the time that it is now. */
  readonly at?: string
  /** Days that do not count. */
  readonly except?: Except
  readonly zone: string
}

/** What was said of the moment of a message, where that was more than a moment. */
export type SaidWhen = { readonly at: LocalTime } | { readonly after: Workdays }

const LOCAL = /^(?:(\d{4})-(\d\d)-(\d\d)[T ])?(\d\d:\d\d)(?::(\d\d))?$/
const WORKDAYS_MAX = 1_000
/** More than exceptions can take out in a row. */
const DAYS_MAX = WORKDAYS_MAX * 3

/** In epoch milliseconds, and what is remembered of it. */
export type SaidMoment = { readonly at: number; readonly said: SaidWhen }

export function parseLocalTime(value: unknown, now: number): SaidMoment {
  const { local, zone: name } = checkRecord(value, 'at', ['local', 'zone'])
  const [, year, month, day, time, second = '00'] = (typeof local === 'string' && LOCAL.exec(local)) || []
  if (time === undefined || Number(second) > 59) throw badLocal(local)
  const zone = zoneOf(name)
  const said = { at: { local: local as string, zone: zone.name } }
  const timeMs = parseTime(time, 'at.local') + Number(second) * 1_000
  if (year !== undefined) {
    const date = dayNumber(Number(year), Number(month), Number(day))
    if (date === undefined) throw badLocal(local)
    return { at: zone.momentOf(date * DAY_MS + timeMs), said }
  }
  const today = Math.floor(zone.wallOf(now) / DAY_MS)
  const at = zone.momentOf(today * DAY_MS + timeMs)
  return { at: at >= now ? at : zone.momentOf((today + 1) * DAY_MS + timeMs), said }
}

function badLocal(value: unknown): UsageError {
  return new UsageError(
    'MOMENT_INVALID',
    `at.local is ${describe(value)}; give a time on the clock of the zone, such as "2026-12-01 09:00", or "09:00" for the next.`,
    { value },
  )
}

export function parseWorkdays(value: unknown, book: WindowBook, now: number): SaidMoment {
  const {
    workdays,
    at,
    except,
    zone: name,
  } = checkRecord(value, 'after', ['workdays', 'at', 'except', 'zone'])
  const count = parseInteger(workdays, 'after.workdays', { min: 1, max: WORKDAYS_MAX })
  const zone = zoneOf(name)
  const wall = zone.wallOf(now)
  const today = Math.floor(wall / DAY_MS)
  const timeMs = at === undefined ? wall - today * DAY_MS : parseTime(at, 'after.at')
  const days = book.days('mon-fri', except)
  let [day, left] = [today, count]
  while (left > 0) {
    day += 1
    if (days.has(day)) left -= 1
    if (day > today + DAYS_MAX)
      throw new UsageError(
        'OPTION_INVALID',
        `after.except leaves fewer than ${count} working days within ${DAYS_MAX} days.`,
        { value: except },
      )
  }
  const said = {
    workdays: count,
    ...(at === undefined ? {} : { at: at as string }),
    ...(except === undefined ? {} : { except: except as Except }),
    zone: zone.name,
  }
  return { at: zone.momentOf(day * DAY_MS + timeMs), said: { after: said } }
}
