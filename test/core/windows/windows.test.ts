/** P19: the one function that moves a moment, with clocks that change, days that do not count, and several windows. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseProduce } from '../../../src/core/input/request.ts'
import { parseCalendars } from '../../../src/core/windows/days.ts'
import { parseLocalTime, parseWorkdays } from '../../../src/core/windows/local.ts'
import { askWindow, WindowBook, type TimeWindow } from '../../../src/core/windows/windows.ts'
import { zoneOf } from '../../../src/core/windows/zone.ts'
import { DAY_MS, daysOfChange, differencesAround, HOUR_MS, isOpenAt } from './reference.ts'

const book = new WindowBook({ de: ['12-25', '01-01', '2027-04-02'] })
const BERLIN = 'Europe/Berlin'

function opening(within: unknown, at: string): string | undefined {
  const found = book.read(within).opening(Date.parse(at))
  return found && new Date(found.at).toISOString()
}

const time = fc
  .tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }))
  .map(([hour, minute]) => `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`)
const window: fc.Arbitrary<TimeWindow> = fc
  .record({
    from: time,
    to: time,
    days: fc.constantFrom('mon-fri', 'sat-sun', 'wed', 'fri-mon', 'mon,tue,sun'),
    zone: fc.constantFrom(
      BERLIN,
      'America/New_York',
      'Australia/Lord_Howe',
      'Africa/Casablanca',
      'Asia/Kolkata',
      'UTC',
    ),
  })
  .filter(({ from, to }) => from !== to)
/** A few days around changes of clocks, and any day. */
const moment = fc.oneof(
  fc.integer({ min: Date.UTC(2026, 2, 27), max: Date.UTC(2026, 3, 6) }),
  fc.integer({ min: Date.UTC(2026, 9, 24), max: Date.UTC(2026, 10, 3) }),
  fc.integer({ min: Date.UTC(2024, 0, 1), max: Date.UTC(2040, 0, 1) }),
)

describe('P19: windows against the clock on the wall', () => {
  it.each([
    BERLIN,
    'America/Nuuk',
    'Australia/Lord_Howe',
    'Africa/Casablanca',
    'America/Havana',
    'Pacific/Chatham',
  ])('around each change of clocks: %s', (zone) => {
    const days = daysOfChange(zone, 2026, 2027)
    expect(days.length).toBeGreaterThan(0)
    for (const day of days) expect(differencesAround(zone, day)).toEqual([])
  })

  it('what is moved is never outside, never early, and never later than the next opening', () => {
    fc.assert(
      fc.property(fc.array(window, { minLength: 1, maxLength: 7 }), moment, fc.nat(), (all, at, chance) => {
        const windows = book.read(all)
        const found = windows.opening(at)
        if (found === undefined) return // Nothing but times that a gap swallows.
        const isOpen = (when: number): boolean =>
          all.some((one) => isOpenAt(Math.floor(zoneOf(one.zone).wallOf(when)), one))
        expect(found.at).toBeGreaterThanOrEqual(at)
        expect(isOpen(found.at)).toBe(true)
        expect(windows.opening(found.at)?.at).toBe(found.at)
        if (found.at > at) expect(isOpen(at + (chance % (found.at - at)))).toBe(false)
        const closing = windows.closing(found.at)
        expect(closing).toBeGreaterThan(found.at)
        expect(windows.opening(found.at + (chance % (closing - found.at)))?.at).toBe(
          found.at + (chance % (closing - found.at)),
        )
      }),
      { numRuns: 2_000 },
    )
  })

  it('a gap swallows a window that lies in it, and an hour that passes twice opens it twice', () => {
    // 29 March 2026, 02:00 becomes 03:00; 25 October 2026, 03:00 becomes 02:00.
    const gap = { from: '02:15', to: '02:45', zone: BERLIN }
    expect(opening(gap, '2026-03-29T00:00Z')).toBe('2026-03-30T00:15:00.000Z')
    expect(opening(gap, '2026-10-25T00:50Z')).toBe('2026-10-25T01:15:00.000Z')
  })
})

describe('days', () => {
  const office = { from: '08:00', to: '20:00', days: 'mon-fri', except: 'de', zone: BERLIN }

  it('a window opens on its days, and not on what is excepted: by year, every year, by the name of a calendar', () => {
    expect(opening(office, '2026-12-24T20:00Z')).toBe('2026-12-28T07:00:00.000Z')
    expect(opening(office, '2027-04-01T18:00Z')).toBe('2027-04-05T06:00:00.000Z')
    expect(opening({ ...office, except: ['2026-12-28', '12-29', 'de'] }, '2026-12-26T00:00Z')).toBe(
      '2026-12-30T07:00:00.000Z',
    )
    expect(opening({ zone: BERLIN, except: '02-29' }, '2028-02-28T23:00Z')).toBe('2028-02-29T23:00:00.000Z')
  })

  it('over midnight it belongs to the day on which it opens', () => {
    const night = { from: '22:00', to: '06:00', days: 'fri', zone: 'UTC' }
    expect(opening(night, '2026-11-21T05:59Z')).toBe('2026-11-21T05:59:00.000Z')
    expect(opening(night, '2026-11-21T06:00Z')).toBe('2026-11-27T22:00:00.000Z')
    expect(opening(night, '2026-11-20T05:00Z')).toBe('2026-11-20T22:00:00.000Z')
  })

  it('what cannot be a window is refused, with what is wrong', () => {
    for (const [within, text] of [
      [[], 'give 1 to 7'],
      [Array.from({ length: 8 }, () => ({ zone: BERLIN })), 'give 1 to 7'],
      [{ from: '08:00', to: '20:00' }, 'zone is undefined'],
      [{ zone: 'Mars/Olympus' }, 'zone is "Mars/Olympus"'],
      [{ from: '8:00', zone: BERLIN }, 'within.from is "8:00"'],
      [{ from: '24:00', zone: BERLIN }, 'within.from is "24:00"'],
      [{ to: '24:01', zone: BERLIN }, 'within.to is "24:01"'],
      [{ from: '08:00', to: '08:00', zone: BERLIN }, 'no time at all'],
      [{ days: 'mon-fry', zone: BERLIN }, 'days is "mon-fry"'],
      [{ days: ['mon'], zone: BERLIN }, 'days is'],
      [{ except: 'fr', zone: BERLIN }, 'there are: de'],
      [{ except: '02-30', zone: BERLIN }, 'except has "02-30"'],
      [{ except: [1], zone: BERLIN }, 'except has 1'],
      [{ fron: '08:00', zone: BERLIN }, 'did you mean "from"'],
    ] as const)
      expect(() => book.read(within), text).toThrow(text)
  })

  it('calendars: up to 64 of up to 400 dates, each of which exists', () => {
    for (const [calendars, text] of [
      [[], 'calendars is'],
      [{ '1': [] }, 'a name begins with a letter'],
      [{ de: '12-25' }, 'calendars.de has "12-25"'],
      [{ de: ['13-25'] }, 'calendars.de has "13-25"'],
      [{ de: Array(401).fill('12-25') }, '401 dates'],
      [Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`c${i}`, []])), '65 of them'],
    ] as const)
      expect(() => parseCalendars(calendars), text).toThrow(text)
  })

  it('a worker that does not know the calendar says so, and does not start it', () => {
    const answer = askWindow(new WindowBook(), office, Date.UTC(2026, 10, 19))
    expect(answer).toMatchObject({ kind: 'unreadable', error: expect.stringContaining('no calendars') })
  })
})

function localAt(local: string, now: string): string {
  return new Date(parseLocalTime({ local, zone: BERLIN }, Date.parse(now)).at).toISOString()
}

function workdaysOn(now: string, given: object): string {
  return new Date(parseWorkdays({ zone: BERLIN, ...given }, book, Date.parse(now)).at).toISOString()
}

it('P1: a moment of a clock that counts fractions is a whole millisecond, never before its delay is over', () => {
  const now = Date.UTC(2026, 10, 19, 12) + 0.3
  const { when } = parseProduce({ delay: 5, within: { zone: BERLIN } }, { now, book })
  expect(when).toEqual({ at: Math.ceil(now) + 5 })
})

describe('local times', () => {
  it('with a date; without one the next; in a gap its end, in two passes the first', () => {
    const now = '2026-11-19T12:00Z'
    expect(localAt('2026-12-01 09:00', now)).toBe('2026-12-01T08:00:00.000Z')
    expect(localAt('2026-12-01T09:00:30', now)).toBe('2026-12-01T08:00:30.000Z')
    expect(localAt('14:00', now)).toBe('2026-11-19T13:00:00.000Z')
    expect(localAt('13:00', now)).toBe('2026-11-19T12:00:00.000Z')
    expect(localAt('09:00', now)).toBe('2026-11-20T08:00:00.000Z')
    expect(localAt('2026-03-29 02:30', now)).toBe('2026-03-29T01:00:00.000Z')
    expect(localAt('2026-10-25 02:30', now)).toBe('2026-10-25T00:30:00.000Z')
  })

  it.each(['2026-02-30 09:00', '24:00', '9:00', 'tomorrow', '09:00:60', '2026-12-01'])(
    'refuses %s',
    (local) => {
      expect(() => localAt(local, '2026-11-19T12:00Z')).toThrow(`"${local}"`)
    },
  )

  it('working days: from tomorrow on, without weekends and exceptions, over a change of clocks', () => {
    expect(workdaysOn('2026-11-19T12:00Z', { workdays: 1 })).toBe('2026-11-20T12:00:00.000Z')
    expect(workdaysOn('2026-11-20T12:00Z', { workdays: 1, at: '09:00' })).toBe('2026-11-23T08:00:00.000Z')
    expect(workdaysOn('2026-12-23T23:30Z', { workdays: 2, at: '09:00', except: 'de' })).toBe(
      '2026-12-29T08:00:00.000Z',
    )
    expect(workdaysOn('2026-03-27T09:00Z', { workdays: 1 })).toBe('2026-03-30T08:00:00.000Z')
    expect(() => workdaysOn('2026-03-27T09:00Z', { workdays: 0 })).toThrow('after.workdays is 0')
    expect(() => workdaysOn('2026-03-27T09:00Z', { workdays: 1, at: '24:00' })).toThrow('after.at')
  })
})

it('the day of a zone is asked for once, however often a moment is', () => {
  const zone = zoneOf('Asia/Tokyo')
  expect(zone.stretchAt(5 * HOUR_MS)).toBe(zone.stretchAt(23 * HOUR_MS))
  expect(zoneOf('Asia/Tokyo')).toBe(zone)
  expect(zone.stretchAt(0).until).toBe(DAY_MS)
})
