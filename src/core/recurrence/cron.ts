/**
 * The moments of a cron expression in a time zone. croner does the calendar; here is what it leaves open.
 *
 * The rule, in one sentence: one fixed time of day fires exactly once a day (where clocks jump over it: at the end of the
 * gap; where they pass it twice: the first time); everything else follows the clock on the wall. croner keeps it, but
 * for a fixed time in a gap that ends at midnight, which it passes over (23:30 in Greenland in spring): such days are
 * found here.
 *
 * Cost: about 100 µs for each moment, most of it in `Intl`. Compiled expressions are kept.
 */
import { Cron } from 'croner'
import { UsageError, describe } from '../errors.ts'
import { DAY_MS } from '../input/duration.ts'
import { zoneOf, type Zone } from '../windows/zone.ts'

/** A gap is at most so long that a fixed time before this hour cannot lie in one that ends at midnight. */
const LATE_HOUR = 22
/** So many days are looked through for a gap before the next moment that croner finds. */
const GAP_DAYS_MAX = 400
const HOUR_MS = 3_600_000
const COMPILED_MAX = 1_000

const compiled = new Map<string, CronTimes>()

/** Throws a UsageError for what is no expression of five or six fields, or no zone. */
export function cronTimes(cron: string, zone: string): CronTimes {
  const key = `${zone} ${cron}`
  const known = compiled.get(key)
  if (known !== undefined) return known
  const times = new CronTimes(cron, zone)
  if (compiled.size >= COMPILED_MAX) compiled.clear()
  compiled.set(key, times)
  return times
}

export class CronTimes {
  readonly #cron: Cron
  readonly #gaps: MidnightGaps | undefined

  constructor(cron: string, zone: string) {
    zoneOf(zone) // Refuses what is none.
    this.#cron = compile(cron, zone)
    const late = lateFixedTime(cron)
    this.#gaps =
      late === undefined ? undefined : new MidnightGaps(compile(late.noon, zone), late, zoneOf(zone))
  }

  /** The first moment after this one, in epoch milliseconds; undefined when none ever comes. */
  next(after: number): number | undefined {
    const found = this.#cron.nextRun(new Date(after))?.getTime()
    return this.#gaps?.before(found, after) ?? found
  }
}

type LateTime = { readonly noon: string; readonly sinceNoonMs: number }

/** Days on which a fixed time late in the evening does not exist, because clocks jump from before it to midnight. */
class MidnightGaps {
  /** Noon of the days that the expression names. */
  readonly #noons: Cron
  readonly #sinceNoonMs: number
  readonly #zone: Zone

  constructor(noons: Cron, { sinceNoonMs }: LateTime, zone: Zone) {
    this.#noons = noons
    this.#sinceNoonMs = sinceNoonMs
    this.#zone = zone
  }

  /** The end of the first such gap after one moment and before the other; undefined when there is none. */
  before(found: number | undefined, after: number): number | undefined {
    let noon = this.#noons.nextRun(new Date(after - 36 * HOUR_MS))?.getTime()
    for (let days = 0; days < GAP_DAYS_MAX && noon !== undefined; days += 1) {
      const at = noon + this.#sinceNoonMs
      if (found !== undefined && noon > found) return undefined
      const sinceMidnightMs = this.#zone.wallOf(at) % DAY_MS
      // It should be late in the evening. If it is past midnight instead, the clocks have jumped over the fixed time.
      if (sinceMidnightMs < 12 * HOUR_MS) {
        const endsAt = at - sinceMidnightMs
        if (endsAt > after && (found === undefined || endsAt < found)) return endsAt
      }
      noon = this.#noons.nextRun(new Date(noon))?.getTime()
    }
    return undefined
  }
}

/** For one fixed time late in the evening: noon of the same days, and the time from then on. */
function lateFixedTime(cron: string): LateTime | undefined {
  const fields = cron.trim().split(/\s+/)
  if (fields.length !== 5 && fields.length !== 6) return undefined
  const [second, minute, hour, ...days] = fields.length === 6 ? fields : ['0', ...fields]
  const time = [hour, minute, second].map((field) => (/^\d+$/.test(field ?? '') ? Number(field) : NaN))
  const [h = NaN, m = NaN, s = NaN] = time
  if (!(h >= LATE_HOUR) || Number.isNaN(m + s)) return undefined
  return { noon: `0 0 12 ${days.join(' ')}`, sinceNoonMs: (((h - 12) * 60 + m) * 60 + s) * 1000 }
}

function compile(cron: string, zone: string): Cron {
  try {
    // `paused` and no function: it sets no timer.
    return new Cron(cron, { timezone: zone, mode: '5-or-6-parts', paused: true })
  } catch (cause) {
    const why = whyInvalid(cron, cause)
    throw new UsageError(
      'CRON_INVALID',
      `cron is ${describe(cron)}: ${why}. Give five fields (minute hour day month weekday), or six with seconds first.`,
      { value: cron, cause },
    )
  }
}

/** The library's own words, but for the number of fields: it also knows seven. */
function whyInvalid(cron: string, cause: unknown): string {
  const fields = cron.trim().split(/\s+/).length
  if (fields < 5 || fields > 6) return fields === 1 ? 'it has one field' : `it has ${fields} fields`
  return cause instanceof Error
    ? cause.message.replace(/^CronPattern: /, '').replace(/\.$/, '')
    : String(cause)
}
