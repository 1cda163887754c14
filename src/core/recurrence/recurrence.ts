/** When something recurs: by a cron expression, or every so often from an anchor on, so that nothing drifts. */
import { WindowBook, type Windows } from '../windows/windows.ts'
import { cronTimes } from './cron.ts'

/** `days`, `except`: on which days it fires; the dates of calendars are among those that are excepted. */
export type CronRhythm = {
  readonly cron: string
  readonly zone: string
  readonly days?: string
  readonly except?: readonly string[]
}

export type Rhythm = CronRhythm | { readonly everyMs: number; readonly anchorAt: number }

/** From a moment on, up to one, in epoch milliseconds; both included. */
export type Span = { readonly startAt?: number | undefined; readonly endAt?: number | undefined }

export class Recurrence {
  readonly #rhythm: Rhythm
  /** The days on which it fires, as windows from midnight to midnight. */
  readonly #days: Windows | undefined
  readonly #startAt: number
  readonly #endAt: number

  constructor(rhythm: Rhythm, { startAt = -Infinity, endAt = Infinity }: Span = {}) {
    this.#rhythm = rhythm
    this.#days = daysOf(rhythm)
    this.#startAt = startAt
    this.#endAt = endAt
  }

  /** The first occurrence after this moment. */
  next(after: number): number | undefined {
    const from = Math.max(after, this.#startAt - 1)
    const at = 'cron' in this.#rhythm ? this.#nextOfCron(this.#rhythm, from) : nextOfEvery(this.#rhythm, from)
    return at === undefined || at > this.#endAt ? undefined : at
  }

  /** What falls on a day that does not count is passed over, with all of that day. */
  #nextOfCron({ cron, zone }: CronRhythm, after: number): number | undefined {
    let at = cronTimes(cron, zone).next(after)
    for (let looks = 0; at !== undefined && this.#days !== undefined; looks += 1) {
      const opening = this.#days.opening(at)?.at
      if (opening === at) return at
      if (opening === undefined || looks === LOOKS_MAX) return undefined
      at = cronTimes(cron, zone).next(opening - 1)
    }
    return at
  }

  /** Occurrences after one moment and up to another, the first `max` of them. */
  between(after: number, until: number, max: number): number[] {
    const found: number[] = []
    for (let at = this.next(after); at !== undefined && at <= until && found.length < max; at = this.next(at))
      found.push(at)
    return found
  }

  /** The last `max` occurrences after one moment and up to another: from a guess that doubles until it is enough. */
  lastBetween(after: number, until: number, max: number): number[] {
    for (let reachMs = 60_000; ; reachMs *= 2) {
      const from = Math.max(after, until - reachMs)
      const found = this.between(from, until, LOOK_MAX)
      if (from === after || found.length >= max) return found.slice(-max)
    }
  }

  /** How many occurrences come after one moment and before another, and up to where they were counted: at most `max`. */
  countBetween(
    after: number,
    before: number,
    max: number,
  ): { readonly count: number; readonly until: number } {
    if (!('cron' in this.#rhythm)) return this.#countEvery(this.#rhythm, after, before)
    const found = this.between(after, before - 1, max)
    const last = found.at(-1)
    return { count: found.length, until: last !== undefined && found.length === max ? last : before - 1 }
  }

  #countEvery(
    { everyMs }: { everyMs: number },
    after: number,
    before: number,
  ): { count: number; until: number } {
    const first = this.next(after)
    const last = Math.min(before - 1, this.#endAt)
    const count = first === undefined || first > last ? 0 : Math.floor((last - first) / everyMs) + 1
    return { count, until: before - 1 }
  }
}

/** More than any caller wants: each doubling finds at most about twice as many as the one before. */
const LOOK_MAX = 10_000

/** So many occurrences on days that do not count are passed over in a row. */
const LOOKS_MAX = 400

const DATES_ONLY = new WindowBook()

function daysOf(rhythm: Rhythm): Windows | undefined {
  if (!('cron' in rhythm) || (rhythm.days === undefined && rhythm.except === undefined)) return undefined
  const { days, except, zone } = rhythm
  return DATES_ONLY.read({
    zone,
    ...(days === undefined ? {} : { days }),
    ...(except === undefined ? {} : { except }),
  })
}

function nextOfEvery({ everyMs, anchorAt }: { everyMs: number; anchorAt: number }, after: number): number {
  return anchorAt + Math.max(0, Math.floor((after - anchorAt) / everyMs) + 1) * everyMs
}
