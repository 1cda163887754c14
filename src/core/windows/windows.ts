/**
 * Windows: when a message may start. All of it is one question to a clock on the wall, *does it show a time of the window?*,
 * and two answers: the first moment from another one on at which it does, and the first at which it no longer does.
 *
 *   wall    ──────┌from────────to┐──────────────┌from────────to┐───►   on the days of the window, also over midnight
 *   moments ──┬────────────┬───────────────┬──────────────────────►   stretch by stretch (`zone`), so that a gap and a second
 *                                                                      pass of an hour need no rule of their own
 *
 * Cost: most windows open within two or three stretches, which are remembered: well below a microsecond.
 */
import { UsageError, describe } from '../errors.ts'
import { checkRecord } from '../input/checks.ts'
import { DAY_MS } from '../input/duration.ts'
import {
  Days,
  exceptList,
  parseCalendars,
  parseExcept,
  parseWeekdays,
  type Dates,
  type Except,
} from './days.ts'
import { zoneOf, type Zone } from './zone.ts'

export type TimeWindow = {
  /** `HH:MM`, by the clock on the wall of the zone. Default `00:00`. */
  readonly from?: string
  /** Up to then, and without it; before `from`: on the next day. Default `24:00`. */
  readonly to?: string
  /** Days of the week, such as `mon-fri` or `mon,wed,sat-sun`; over midnight, the day on which it opens. Default: every day. */
  readonly days?: string
  /** Days on which it does not open. */
  readonly except?: Except
  readonly zone: string
}

/** When it may start: in one of up to seven windows. */
export type Within = TimeWindow | readonly TimeWindow[]

/** Where it opens, and by which clock. */
export type WindowOpening = { readonly at: number; readonly zone: string }

const WINDOWS_MAX = 7
/** One that does not open within this time is refused. */
const LOOK_MS_MAX = 366 * DAY_MS
const TIME = /^(\d\d):(\d\d)$/
const MINUTE_MS = 60_000

/** One or several windows: open where one of them is. */
export class Windows {
  /** As they are stored, and shown. */
  readonly stored: readonly TimeWindow[]
  /** The same, as the policy of a message tells it. */
  readonly told: string
  readonly #all: readonly OpenHours[]

  constructor(stored: readonly TimeWindow[], all: readonly OpenHours[]) {
    this.stored = stored
    this.told = `"within":${JSON.stringify(stored)}`
    this.#all = all
  }

  /** The first moment from this one on at which they are open; undefined: none within a year. */
  opening(from: number): WindowOpening | undefined {
    let first: WindowOpening | undefined
    for (const hours of this.#all) {
      const at = hours.opening(from)
      if (at === from) return { at, zone: hours.zone.name }
      if (at < (first?.at ?? Infinity)) first = { at, zone: hours.zone.name }
    }
    return first
  }

  /** The end of the window that is open at this moment: of several the last. */
  closing(from: number): number {
    return Math.max(...this.#all.map((hours) => hours.closing(from)))
  }
}

export class OpenHours {
  readonly zone: Zone
  readonly #days: Days
  /** From the beginning of its day, on the wall. */
  readonly #fromMs: number
  readonly #toMs: number

  constructor(zone: Zone, days: Days, { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number }) {
    this.zone = zone
    this.#days = days
    this.#fromMs = fromMs
    this.#toMs = toMs > fromMs ? toMs : toMs + DAY_MS
  }

  /** Infinity: not within a year. */
  opening(from: number): number {
    return this.#first(from, (wall, until) => this.#openFrom(wall, until))
  }

  closing(from: number): number {
    return this.#first(from, (wall, until) => this.#closedFrom(wall, until))
  }

  /** Asks the wall of each stretch, which ends at `until`. */
  #first(from: number, ask: (wall: number, until: number) => number): number {
    for (let at = from; at <= from + LOOK_MS_MAX;) {
      const { offsetMs, until } = this.zone.stretchAt(at)
      const wall = ask(at + offsetMs, until + offsetMs)
      if (wall < until + offsetMs) return wall - offsetMs
      at = until
    }
    return Infinity
  }

  #openFrom(wall: number, until: number): number {
    for (let day = this.#firstDay(wall); day * DAY_MS + this.#fromMs < until; day += 1)
      if (wall < day * DAY_MS + this.#toMs && this.#days.has(day))
        return Math.max(wall, day * DAY_MS + this.#fromMs)
    return Infinity
  }

  #closedFrom(wall: number, until: number): number {
    let closed = wall
    for (let day = this.#firstDay(wall); day * DAY_MS + this.#fromMs <= closed && closed < until; day += 1)
      if (this.#days.has(day)) closed = Math.max(closed, day * DAY_MS + this.#toMs)
    return closed
  }

  /** The first day whose window may still be open. */
  #firstDay(wall: number): number {
    return Math.floor(wall / DAY_MS) - (this.#toMs > DAY_MS ? 1 : 0)
  }
}

/** Compiled, they are kept: most messages of a topic bring one of a few. */
const KEPT_MAX = 5_000

/** Reads windows, with the calendars of a queue. */
export class WindowBook {
  readonly #calendars: ReadonlyMap<string, Dates>
  readonly #kept = new Map<string, Windows>()

  /** `calendars`: the option of the queue. */
  constructor(calendars?: unknown) {
    this.#calendars = parseCalendars(calendars)
  }

  /** Throws a UsageError for what is no window, or names a calendar that this queue does not have. */
  read(within: unknown): Windows {
    const key = textOf(within)
    const kept = this.#kept.get(key)
    if (kept !== undefined) return kept
    const windows = this.#parse(within)
    if (this.#kept.size >= KEPT_MAX) this.#kept.clear()
    this.#kept.set(key, windows)
    return windows
  }

  /** The days that count, but for exceptions. */
  days(weekdays: unknown, except: unknown): Days {
    return new Days(parseWeekdays(weekdays), parseExcept(exceptList(except), this.#calendars))
  }

  /** The dates that are excepted, each once and in order, with those of calendars. */
  dates(except: unknown): readonly string[] {
    const all = parseExcept(exceptList(except), this.#calendars).flatMap(({ list }) => list)
    return [...new Set(all)].toSorted()
  }

  #parse(within: unknown): Windows {
    const list: readonly unknown[] = Array.isArray(within) ? within : [within]
    if (list.length === 0 || list.length > WINDOWS_MAX)
      throw new UsageError('OPTION_INVALID', `within has ${list.length} windows; give 1 to ${WINDOWS_MAX}.`, {
        value: list.length,
      })
    const parsed = list.map((one) => this.#parseOne(one))
    return new Windows(
      parsed.map(({ stored }) => stored),
      parsed.map(({ hours }) => hours),
    )
  }

  #parseOne(value: unknown): { readonly stored: TimeWindow; readonly hours: OpenHours } {
    const given = checkRecord(value, 'within', ['from', 'to', 'days', 'except', 'zone'])
    const { from = '00:00', to = '24:00', days, except } = given
    const [fromMs, toMs] = [parseTime(from, 'within.from'), parseTime(to, 'within.to', DAY_MS)]
    if (fromMs === toMs)
      throw new UsageError(
        'OPTION_INVALID',
        `within is from ${describe(from)} to ${describe(to)}, which is no time at all; for the whole day leave both out.`,
        { value },
      )
    const zone = zoneOf(given.zone)
    const excepted = exceptList(except)
    const stored = {
      from: from as string,
      to: to as string,
      ...(days === undefined ? {} : { days: days as string }),
      ...(excepted.length === 0 ? {} : { except: excepted }),
      zone: zone.name,
    }
    return { stored, hours: new OpenHours(zone, this.days(days, excepted), { fromMs, toMs }) }
  }
}

/** A time of day in milliseconds: below a day, or, where that is allowed, a whole one. */
export function parseTime(value: unknown, name: string, msMax = DAY_MS - MINUTE_MS): number {
  const [, hour, minute] = (typeof value === 'string' && TIME.exec(value)) || []
  const ms = (Number(hour) * 60 + Number(minute)) * MINUTE_MS
  if (ms <= msMax && Number(minute) < 60) return ms
  const last = msMax === DAY_MS ? '24:00' : '23:59'
  throw new UsageError(
    'OPTION_INVALID',
    `${name} is ${describe(value)}; give a time from "00:00" to "${last}", such as "09:30".`,
    { value },
  )
}

/** '' for what JSON cannot carry, which is then refused for another reason. */
function textOf(within: unknown): string {
  try {
    return JSON.stringify(within) ?? ''
  } catch {
    return ''
  }
}

/** What the windows of a message say to a start at this moment. */
export type WindowAnswer =
  | { readonly kind: 'open' }
  | { readonly kind: 'closed'; readonly opening: WindowOpening }
  /** It cannot be read here: no such zone or calendar. */
  | { readonly kind: 'unreadable'; readonly error: string }

const OPEN: WindowAnswer = { kind: 'open' }

/** `within`: as it is stored, or as it was read before. */
export function askWindow(book: WindowBook, within: unknown, at: number): WindowAnswer {
  try {
    const opening = (within instanceof Windows ? within : book.read(within)).opening(at)
    if (opening === undefined) return { kind: 'unreadable', error: neverOpens(within).message }
    return opening.at === at ? OPEN : { kind: 'closed', opening }
  } catch (error) {
    return { kind: 'unreadable', error: error instanceof Error ? error.message : String(error) }
  }
}

export function neverOpens(within: unknown): UsageError {
  return new UsageError(
    'OPTION_INVALID',
    `within is ${describe(within)}, which does not open within a year; give more days, or fewer exceptions.`,
    { value: within },
  )
}
