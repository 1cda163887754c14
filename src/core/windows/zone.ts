/**
 * Clocks on the wall. A *wall* moment is what such a clock shows, written as if it were UTC, in milliseconds: arithmetic on
 * hours and days of a calendar is done on it, and then it is turned into the moment at which the clock shows it.
 *
 *   moments  ──┬─────────────────┬───────────────────────┬──►   wall = moment + offset
 *              └ a stretch: the offset stays the same    └ clocks are changed, or a UTC day ends
 *
 * Cost: `Intl` takes microseconds, and is asked once for each zone and UTC day; a day on which clocks change is halved until the
 * change is found. What two changes on one day do, which no zone has, is not seen.
 */
import { UsageError, describe } from '../errors.ts'
import { DAY_MS } from '../input/duration.ts'

/** From a moment on, up to and without `until`. */
export type Stretch = { readonly offsetMs: number; readonly until: number }

/** What is remembered; above it all is asked anew. */
const DAYS_MAX = 2_000
const ZONES_MAX = 1_000

const zones = new Map<string, Zone>()

/** Throws a UsageError for what is no zone. */
export function zoneOf(name: unknown): Zone {
  const known = typeof name === 'string' ? zones.get(name) : undefined
  if (known !== undefined) return known
  const zone = new Zone(checkedName(name))
  if (zones.size >= ZONES_MAX) zones.clear()
  zones.set(zone.name, zone)
  return zone
}

function checkedName(name: unknown): string {
  try {
    if (typeof name !== 'string') throw new TypeError('no text')
    new Intl.DateTimeFormat('en', { timeZone: name }).format(0)
    return name
  } catch (cause) {
    throw new UsageError(
      'OPTION_INVALID',
      `zone is ${describe(name)}; give a time zone such as "Europe/Berlin" or "UTC".`,
      { value: name, cause },
    )
  }
}

export class Zone {
  readonly name: string
  readonly #format: Intl.DateTimeFormat
  readonly #days = new Map<number, readonly Stretch[]>()

  constructor(name: string) {
    this.name = name
    const digits = '2-digit'
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      hourCycle: 'h23',
      year: 'numeric',
      month: digits,
      day: digits,
      hour: digits,
      minute: digits,
      second: digits,
    })
  }

  wallOf(at: number): number {
    return at + this.stretchAt(at).offsetMs
  }

  /** The first moment at which the clock shows this: of two passes the first, and in a gap its end. */
  momentOf(wall: number): number {
    // A day before, it surely is not there yet.
    for (let from = wall - DAY_MS; ;) {
      const { offsetMs, until } = this.stretchAt(from)
      const at = Math.max(from, wall - offsetMs)
      if (at < until) return at
      from = until
    }
  }

  stretchAt(at: number): Stretch {
    const day = Math.floor(at / DAY_MS)
    const [first, second] = this.#days.get(day) ?? this.#look(day)
    return second !== undefined && at >= (first as Stretch).until ? second : (first as Stretch)
  }

  #look(day: number): readonly Stretch[] {
    const [from, until] = [day * DAY_MS, (day + 1) * DAY_MS]
    const [before, after] = [this.#offsetAt(from), this.#offsetAt(until)]
    const stretches =
      before === after
        ? [{ offsetMs: before, until }]
        : [
            { offsetMs: before, until: this.#changeBetween(from, until, before) },
            { offsetMs: after, until },
          ]
    if (this.#days.size >= DAYS_MAX) this.#days.clear()
    this.#days.set(day, stretches)
    return stretches
  }

  /** The first moment with another offset than before; it has come at `until`. */
  #changeBetween(from: number, until: number, before: number): number {
    let [known, changed] = [from, until]
    while (changed - known > 1) {
      const middle = Math.floor((known + changed) / 2)
      if (this.#offsetAt(middle) === before) known = middle
      else changed = middle
    }
    return changed
  }

  #offsetAt(at: number): number {
    const [month = 1, day = 1, year = 0, hour = 0, minute = 0, second = 0] = this.#format
      .format(at)
      .split(/\D+/)
      .map(Number)
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1_000) * 1_000
  }
}
