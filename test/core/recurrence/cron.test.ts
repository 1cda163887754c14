/**
 * P13: cron expressions over every change of clocks in 2026 and 2027, against an oracle that walks minute by minute and
 * asks nothing but what the clock on the wall shows.
 */
import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { CronTimes } from '../../../src/core/recurrence/cron.ts'
import { changesOf, fixedTimeByOracle, matchesByOracle, wallClock, type Change } from './oracle.ts'

const FROM = Date.UTC(2026, 0, 1)
const UNTIL = Date.UTC(2028, 0, 1)
const DAY_MS = 86_400_000

const ZONES = Intl.supportedValuesOf('timeZone')
  .map((zone) => ({ zone, changes: changesOf(zone, FROM, UNTIL) }))
  .filter(({ changes }) => changes.length > 0)
/** Zones whose walls show the same at every moment stand for each other. */
const CHANGES: readonly Change[] = [
  ...new Map(ZONES.map(({ zone, changes }) => [signature(zone, changes), changes])).values(),
].flat()

function signature(zone: string, changes: readonly Change[]): string {
  const { day, minute } = wallClock(zone)(FROM)
  return JSON.stringify([day, minute, changes.map(({ at, forwardMs }) => [at, forwardMs])])
}

function timesBetween(cron: string, zone: string, from: number, until: number): number[] {
  const times = new CronTimes(cron, zone)
  const found: number[] = []
  for (let at = times.next(from); at !== undefined && at < until; at = times.next(at)) found.push(at)
  return found
}

function shown(moments: readonly number[]): string[] {
  return moments.map((at) => new Date(at).toISOString())
}

/** Two days around a change. */
function around({ at }: Change): readonly [from: number, until: number] {
  return [at - DAY_MS, at + DAY_MS]
}

describe('P13: the clock on the wall', () => {
  it('clocks change in more than a hundred zones, and somewhere at midnight', () => {
    expect(ZONES.length).toBeGreaterThan(100)
    expect(new Set(CHANGES.map(({ zone }) => zone)).size).toBeGreaterThan(15)
    const atMidnight = CHANGES.filter(
      ({ zone, at, forwardMs }) => forwardMs > 0 && wallClock(zone)(at).minute === 0,
    )
    expect(atMidnight.length).toBeGreaterThan(0)
  })

  it.each(['*/10 * * * *', '0 * * * *', '0 9 * * *'])('%s agrees with the oracle at every change', (cron) => {
    for (const change of CHANGES) {
      const [from, until] = around(change)
      const expected =
        cron === '0 9 * * *'
          ? fixedTimeByOracle(change.zone, 540, from, until)
          : matchesByOracle(cron, change.zone, from, until)
      expect(
        shown(timesBetween(cron, change.zone, from, until)),
        `${change.zone}, ${shown([change.at])[0]}`,
      ).toEqual(shown(expected))
    }
  })

  it('one fixed time of day fires exactly once a day: in a gap at its end, in an overlap the first time', () => {
    for (const change of CHANGES) {
      const [from, until] = around(change)
      // In the middle of the gap, or of the time that is passed twice.
      const sample = wallClock(change.zone)(change.at - (change.forwardMs > 0 ? 1 : 60_000 * 30))
      const inGap = (sample.minute + 1 + change.forwardMs / 2 / 60_000) % 1440
      const minute = Math.floor(change.forwardMs > 0 ? inGap : sample.minute)
      const cron = `${minute % 60} ${Math.floor(minute / 60)} * * *`
      const expected = fixedTimeByOracle(change.zone, minute, from, until)
      expect(shown(timesBetween(cron, change.zone, from, until)), `${cron} ${change.zone}`).toEqual(
        shown(expected),
      )
    }
  })
})

describe('P13: the zone of the process makes no difference', () => {
  it.each(['America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe'])('in %s', (zone) => {
    const program = `
      import { Cron } from 'croner'
      const found = []
      for (const [cron, timezone] of [['30 2 * * *', 'Europe/Berlin'], ['*/30 1-3 * * *', 'Australia/Lord_Howe']]) {
        const times = new Cron(cron, { timezone, mode: '5-or-6-parts', paused: true })
        let at = new Date(Date.UTC(2026, 2, 1))
        for (let i = 0; i < 500; i += 1) found.push((at = times.nextRun(at)).getTime())
      }
      console.log(JSON.stringify(found))`
    const run = (tz: string): string =>
      execFileSync(process.execPath, ['--input-type=module', '-e', program], {
        env: { ...process.env, TZ: tz },
        encoding: 'utf8',
      })
    expect(run(zone)).toBe(run('UTC'))
  })
})

describe('cron expressions', () => {
  it('five fields, or six with seconds first', () => {
    expect(shown(timesBetween('*/20 30 9 * * MON', 'UTC', FROM, FROM + 7 * DAY_MS))).toEqual(
      ['00', '20', '40'].map((second) => `2026-01-05T09:30:${second}.000Z`),
    )
  })

  it.each(['61 * * * *', '* * *', '', 'every day', '0 9 * * * * *'])('"%s" is refused', (cron) => {
    expect(() => new CronTimes(cron, 'UTC')).toThrow(expect.objectContaining({ code: 'CRON_INVALID' }))
  })

  it('a zone that does not exist is refused', () => {
    expect(() => new CronTimes('* * * * *', 'Europe/Atlantis')).toThrow(/time zone/)
  })

  it('a day that never comes has no next', () => {
    expect(new CronTimes('0 9 31 2 *', 'UTC').next(FROM)).toBeUndefined()
  })
})

describe('P13: the odd days of 2026, as the guide shows them', () => {
  it.each([
    ['Europe/Berlin', '2026-03-28', '02:30', 48],
    ['Europe/Berlin', '2026-03-29', '03:00', 46],
    ['Europe/Berlin', '2026-10-25', '02:30', 50],
    ['America/Nuuk', '2026-03-28', '02:30', 46],
    ['Australia/Lord_Howe', '2026-04-05', '02:30', 49],
    ['Australia/Lord_Howe', '2026-10-04', '02:30', 47],
  ])('%s on %s', (zone, day, time, count) => {
    const noon = Date.parse(`${day}T12:00:00Z`)
    const [from, until] = [noon - 2 * DAY_MS, noon + 2 * DAY_MS]
    const clock = wallClock(zone)
    const ofDay = (cron: string): string[] =>
      timesBetween(cron, zone, from, until)
        .map((at) => clock(at))
        .filter((wall) => wall.day === day.split('-').toReversed().join('/'))
        .map(
          ({ minute }) =>
            `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`,
        )
    expect(ofDay('30 2 * * *')).toEqual([time])
    expect(ofDay('*/30 * * * *')).toHaveLength(count)
  })

  it('23:30 in Nuuk fires at midnight when there is none', () => {
    const times = timesBetween(
      '30 23 * * *',
      'America/Nuuk',
      Date.UTC(2026, 2, 27, 12),
      Date.UTC(2026, 2, 30, 12),
    )
    expect(shown(times)).toEqual([
      '2026-03-28T01:30:00.000Z',
      '2026-03-29T01:00:00.000Z',
      '2026-03-30T00:30:00.000Z',
    ])
  })
})
