/** Which days of a calendar count: by their weekday, but for exceptions. A day is its number since 1970, whatever the zone. */
import { UsageError, describe } from '../errors.ts'
import { checkRecord } from '../input/checks.ts'
import { DAY_MS } from '../input/duration.ts'

/** `2026-12-24`, `12-25` for every year, or the name of a calendar: one, or a list. */
export type Except = string | readonly string[]
/** By name, what they except: `{ de: ['12-25', '2027-04-02'] }`. At most 64 of at most 400 dates. */
export type Calendars = Readonly<Record<string, readonly string[]>>

const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const
const DAY_NAMES = /^([a-z]{3})(?:-([a-z]{3}))?$/
/** 1 January 1970 was a Thursday. */
const THURSDAY = 4

const DATE = /^(?:(\d{4})-)?(\d\d)-(\d\d)$/
const CALENDAR_NAME = /^[A-Za-z][\w.-]{0,63}$/
const CALENDARS_MAX = 64
const DATES_MAX = 400

/** Every date is in one of the sets: exactly, or as month x 32 + day. `list`: as it was given. */
export type Dates = {
  readonly once: ReadonlySet<number>
  readonly yearly: ReadonlySet<number>
  readonly list: readonly string[]
}

export class Days {
  readonly #weekdays: ReadonlySet<number>
  readonly #excepted: readonly Dates[]

  constructor(weekdays: ReadonlySet<number>, excepted: readonly Dates[]) {
    this.#weekdays = weekdays
    this.#excepted = excepted
  }

  has(day: number): boolean {
    if (!this.#weekdays.has((day + THURSDAY) % WEEKDAYS.length)) return false
    if (this.#excepted.length === 0) return true
    const date = new Date(day * DAY_MS)
    const ofYear = yearlyNumber(date.getUTCMonth() + 1, date.getUTCDate())
    return !this.#excepted.some(({ once, yearly }) => once.has(day) || yearly.has(ofYear))
  }
}

function yearlyNumber(month: number, day: number): number {
  return month * 32 + day
}

/** `mon-fri`, `mon,wed,sat-sun`; undefined: every day. */
export function parseWeekdays(value: unknown): ReadonlySet<number> {
  if (value === undefined) return new Set(WEEKDAYS.keys())
  const found = new Set<number>()
  for (const part of typeof value === 'string' ? value.split(',') : ['']) {
    const [, first = '', last = first] = DAY_NAMES.exec(part) ?? []
    const [from, until] = [
      WEEKDAYS.findIndex((day) => day === first),
      WEEKDAYS.findIndex((day) => day === last),
    ]
    if (from < 0 || until < 0)
      throw new UsageError(
        'OPTION_INVALID',
        `days is ${describe(value)}; give days of the week such as "mon-fri" or "mon,wed,sat-sun".`,
        { value },
      )
    for (let day = from; ; day = (day + 1) % WEEKDAYS.length) {
      found.add(day)
      if (day === until) break
    }
  }
  return found
}

/** As a list, as it is stored. */
export function exceptList(except: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(except) ? except : except === undefined ? [] : [except]
  if (list.length > DATES_MAX) throw tooMany('except', list.length)
  return list.map((one) => {
    if (typeof one === 'string') return one
    throw badExcept(one)
  })
}

export function parseExcept(
  list: readonly string[],
  calendars: ReadonlyMap<string, Dates>,
): readonly Dates[] {
  const [dates, named]: [string[], Dates[]] = [[], []]
  for (const one of list) {
    const calendar = calendars.get(one)
    if (calendar !== undefined) named.push(calendar)
    else if (DATE.test(one)) dates.push(one)
    else throw badExcept(one, [...calendars.keys()])
  }
  return dates.length === 0 ? named : [...named, parseDates(dates, badExcept)]
}

function badExcept(value: unknown, names: readonly string[] = []): UsageError {
  const known = names.length === 0 ? 'this queue has no calendars' : `there are: ${names.join(', ')}`
  return new UsageError(
    'OPTION_INVALID',
    `except has ${describe(value)}; give dates such as "2026-12-24" or "12-25", or the name of a calendar (${known}).`,
    { value },
  )
}

/** The option `calendars` of a queue. */
export function parseCalendars(value: unknown): ReadonlyMap<string, Dates> {
  if (value === undefined) return new Map()
  const entries = Object.entries(checkRecord(value, 'calendars', Object.keys(value ?? {})))
  if (entries.length > CALENDARS_MAX)
    throw new UsageError(
      'OPTION_INVALID',
      `calendars has ${entries.length} of them; allowed: ${CALENDARS_MAX}.`,
      { value: entries.length },
    )
  return new Map(entries.map(([name, dates]) => [checkedName(name), parseCalendar(name, dates)]))
}

function checkedName(name: string): string {
  if (CALENDAR_NAME.test(name)) return name
  throw new UsageError(
    'OPTION_INVALID',
    `calendars has ${describe(name)}; a name begins with a letter, and has up to 64 letters, digits, ".", "-" and "_".`,
    { value: name },
  )
}

function parseCalendar(name: string, dates: unknown): Dates {
  const bad = (value: unknown): UsageError =>
    new UsageError(
      'OPTION_INVALID',
      `calendars.${name} has ${describe(value)}; give a list of dates such as ["12-25", "2027-04-02"].`,
      { value },
    )
  if (!Array.isArray(dates)) throw bad(dates)
  if (dates.length > DATES_MAX) throw tooMany(`calendars.${name}`, dates.length)
  return parseDates(dates, bad)
}

function tooMany(name: string, count: number): UsageError {
  return new UsageError('OPTION_INVALID', `${name} has ${count} dates; allowed: ${DATES_MAX}.`, {
    value: count,
  })
}

function parseDates(dates: readonly unknown[], bad: (value: unknown) => UsageError): Dates {
  const [once, yearly] = [new Set<number>(), new Set<number>()]
  for (const date of dates) {
    const [, year, month = '', day = ''] = (typeof date === 'string' && DATE.exec(date)) || []
    // 29 February is a day of every year that has it.
    const number = dayNumber(Number(year ?? '2000'), Number(month), Number(day))
    if (number === undefined) throw bad(date)
    if (year === undefined) yearly.add(yearlyNumber(Number(month), Number(day)))
    else once.add(number)
  }
  return { once, yearly, list: dates as readonly string[] }
}

/** Undefined for what is no day, such as 31 February. */
export function dayNumber(year: number, month: number, day: number): number | undefined {
  const date = new Date(Date.UTC(year, month - 1, day))
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date.getTime() / DAY_MS : undefined
}
