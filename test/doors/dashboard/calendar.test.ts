/** Bars of a calendar, in a zone, over the days on which the clocks are changed. */
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  edgesBetween,
  startOf,
  stepFor,
  ticksBetween,
  type BarStep,
} from '../../../src/doors/http/dashboard/time/calendar.ts'
import { fromField, toField } from '../../../src/doors/http/dashboard/time/typed.ts'
import { barName, count, distance, isoMoment, span } from '../../../src/doors/http/dashboard/time/words.ts'
import { LOCAL_ZONE, momentOf, wallOf, zoneName } from '../../../src/doors/http/dashboard/time/zone.ts'

const BERLIN = 'Europe/Berlin'
const HOUR = 3_600_000
const DAY: BarStep = { unit: 'day', days: 1 }
const at = (text: string): number => Date.parse(text)

const ZONES = [
  'UTC',
  BERLIN,
  'America/New_York',
  'Asia/Kolkata',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'America/Sao_Paulo',
]
const zones = fc.constantFrom(...ZONES)
const moments = fc.integer({ min: at('2001-01-01T00:00:00Z'), max: at('2037-12-31T00:00:00Z') })

describe('wall clocks', () => {
  it('shows what the clock of a zone shows, in summer and in winter', () => {
    expect(wallOf(at('2027-01-15T12:00:00Z'), BERLIN)).toBe(at('2027-01-15T13:00:00Z'))
    expect(wallOf(at('2027-07-15T12:00:00Z'), BERLIN)).toBe(at('2027-07-15T14:00:00Z'))
  })

  it('takes the end of a gap for a time that no clock shows, and the first pass for one that comes twice', () => {
    expect(momentOf(at('2027-03-28T02:30:00Z'), BERLIN)).toBe(at('2027-03-28T01:00:00Z'))
    expect(momentOf(at('2027-10-31T02:30:00Z'), BERLIN)).toBe(at('2027-10-31T00:30:00Z'))
  })

  it('there and back is the same moment, or its first pass', () => {
    fc.assert(
      fc.property(moments, zones, (moment, zone) => {
        const wall = wallOf(moment, zone)
        const back = momentOf(wall, zone)
        expect(wallOf(back, zone)).toBe(wall)
        expect(back).toBeLessThanOrEqual(moment)
      }),
    )
  })

  it('the zone of the browser is read without its name, and shows the same', () => {
    const before = process.env.TZ
    onTestFinished(() => {
      if (before === undefined) delete process.env.TZ
      else process.env.TZ = before
    })
    for (const zone of ZONES) {
      process.env.TZ = zone
      fc.assert(fc.property(moments, (moment) => wallOf(moment, LOCAL_ZONE) === wallOf(moment, zone)))
    }
    process.env.TZ = BERLIN
    expect(zoneName(LOCAL_ZONE)).toBe(BERLIN)
  })

  it('a field of a form holds the clock of the zone', () => {
    const moment = at('2027-03-28T01:00:00Z')
    expect(toField(moment, BERLIN)).toBe('2027-03-28 03:00')
    expect(toField(moment + 5_000, BERLIN)).toBe('2027-03-28 03:00:05')
    for (const typed of ['2027-03-28 03:00', '2027-03-28T03:00:00', ' 2027-03-28 03:00:00 '])
      expect(fromField(typed, BERLIN)).toBe(moment)
    expect(fromField('2027-03-28', BERLIN)).toBe(moment - 2 * 3_600_000)
    expect(fromField('2027-13-28', BERLIN)).toBeUndefined()
    expect(fromField('', BERLIN)).toBeUndefined()
    expect(fromField('soon', BERLIN)).toBeUndefined()
  })
})

/** In hours, for eight days. */
function lengths(from: string): number[] {
  const edges = edgesBetween(at(from), at(from) + 7 * 24 * HOUR, DAY, BERLIN)
  return edges.slice(1).map((edge, i) => (edge - (edges[i] ?? 0)) / HOUR)
}

describe('bars of a calendar', () => {
  it('the day on which clocks go forward is one bar of 23 hours, the day on which they go back one of 25', () => {
    expect(lengths('2027-03-25T12:00:00Z')).toEqual([24, 24, 24, 23, 24, 24, 24, 24])
    expect(lengths('2027-10-28T12:00:00Z')).toEqual([24, 24, 24, 25, 24, 24, 24, 24])
  })

  it('the hour that comes twice is two bars, and the hour that does not come is none', () => {
    const hour: BarStep = { unit: 'ms', ms: HOUR }
    const back = edgesBetween(at('2027-10-30T22:00:00Z'), at('2027-10-31T03:00:00Z'), hour, BERLIN)
    expect(back.map((edge) => isoMoment(edge, BERLIN).slice(11, 16))).toEqual([
      '00:00',
      '01:00',
      '02:00',
      '02:00',
      '03:00',
      '04:00',
    ])
    const forward = edgesBetween(at('2027-03-27T23:00:00Z'), at('2027-03-28T03:00:00Z'), hour, BERLIN)
    expect(forward.map((edge) => isoMoment(edge, BERLIN).slice(11, 16))).toEqual([
      '00:00',
      '01:00',
      '03:00',
      '04:00',
      '05:00',
    ])
  })

  it('edges ascend, begin at or before the range, end at or after it, and are few', () => {
    const spans = fc.integer({ min: 60_000, max: 20 * 366 * 24 * HOUR })
    fc.assert(
      fc.property(moments, spans, zones, fc.integer({ min: 10, max: 240 }), (from, length, zone, barsMax) => {
        const step = stepFor(from, from + length, barsMax)
        const edges = edgesBetween(from, from + length, step, zone)
        for (const [i, edge] of edges.entries()) if (i > 0) expect(edge).toBeGreaterThan(edges[i - 1] ?? 0)
        expect(edges[0]).toBeLessThanOrEqual(from)
        expect(edges.at(-1)).toBeGreaterThanOrEqual(from + length)
        expect(edges.length).toBeLessThanOrEqual(barsMax * 1.1 + 4)
      }),
    )
  })

  it('lie where the calendar is cut, whenever one looks: everybody asks the same question', () => {
    fc.assert(
      fc.property(moments, zones, fc.constantFrom(5, 24, 120), (moment, zone, barsMax) => {
        const step = stepFor(moment, moment + 24 * HOUR, barsMax)
        const start = startOf(moment, step, zone)
        expect(startOf(start, step, zone)).toBe(start)
      }),
    )
  })

  it('labels are few, and round', () => {
    const ticks = ticksBetween(at('2027-03-27T11:20:00Z'), at('2027-03-28T11:20:00Z'), 8, BERLIN)
    expect(ticks.map(({ at: tick }) => isoMoment(tick, BERLIN).slice(11, 16))).toEqual([
      '15:00',
      '18:00',
      '21:00',
      '00:00',
      '03:00',
      '06:00',
      '09:00',
      '12:00',
    ])
  })

  it('a week in a narrow window has labels too, of some of its days', () => {
    const ticks = ticksBetween(at('2027-03-24T11:20:00Z'), at('2027-03-31T11:20:00Z'), 3, BERLIN)
    expect(ticks.map(({ at: tick }) => isoMoment(tick, BERLIN).slice(0, 10))).toEqual([
      '2027-03-25',
      '2027-03-28',
      '2027-03-31',
    ])
  })
})

describe('words', () => {
  const now = at('2027-03-27T12:00:00Z')
  it.each([
    ['2027-03-27T08:00:00Z', '2027-03-27T08:05:00Z', '2027-03-27 09:00 to 09:05'],
    ['2027-03-27T23:00:00Z', '2027-03-28T22:00:00Z', '2027-03-28'],
    ['2027-03-31T22:00:00Z', '2027-04-30T22:00:00Z', '2027-04'],
    ['2027-12-31T23:00:00Z', '2028-12-31T23:00:00Z', '2028'],
    ['2027-03-28T22:00:00Z', '2027-04-04T22:00:00Z', '2027-03-29 to 2027-04-04'],
    ['2026-12-31T23:00:00Z', '2028-12-31T23:00:00Z', '2027 to 2028'],
    ['2027-03-27T22:00:00Z', '2027-03-28T01:00:00Z', '2027-03-27 23:00 to 03:00'],
  ])('a bar from %s to %s is called %s', (from, until, name) => {
    expect(barName(at(from), at(until), BERLIN)).toBe(name)
  })

  it.each([
    [0.4, '<1 ms'],
    [2.14, '2.1 ms'],
    [950, '950 ms'],
    [9_450, '9.4 s'],
    [245_000, '4 min 5 s'],
    [3_600_000, '1 h'],
    [266_400_000, '3 d 2 h'],
  ])('%d ms are %s', (ms, text) => {
    expect(span(ms)).toBe(text)
  })

  it('distances are whole seconds, before and after', () => {
    expect(distance(now + 61_400, now)).toBe('in 1 min 1 s')
    expect(distance(now - 5_000, now)).toBe('5 s ago')
    expect(distance(now + 400, now)).toBe('now')
  })
})

it('counts are grouped by thousands', () => {
  expect([0, 999, 1_000, 40_112, 1_234_567, 12_345.5].map(count)).toEqual([
    '0',
    '999',
    '1,000',
    '40,112',
    '1,234,567',
    '12,345.5',
  ])
})
