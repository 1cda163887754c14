import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  DELAY_MS_MAX,
  formatDuration,
  parseDuration,
  parseFutureMoment,
  parseMoment,
} from '../../src/core/input/duration.ts'

const NOW = Date.UTC(2026, 0, 1)

describe('durations', () => {
  it('reads every unit', () => {
    const cases = {
      '250ms': 250,
      '30s': 30_000,
      '5m': 300_000,
      '48h': 172_800_000,
      '7d': 604_800_000,
      '1.5h': 5_400_000,
    }
    for (const [text, ms] of Object.entries(cases)) expect(parseDuration(text, 'delay')).toBe(ms)
    expect(parseDuration(0, 'delay')).toBe(0)
    expect(parseDuration(0.2, 'delay')).toBe(1)
  })

  it('what it writes it reads back', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: DELAY_MS_MAX }), (ms) => {
        expect(parseDuration(formatDuration(ms), 'delay')).toBe(ms)
      }),
    )
    expect(formatDuration(90_000)).toBe('90s')
    expect(formatDuration(172_800_000)).toBe('2d')
  })

  it.each(['', '5', 'm', '5 m', '-5m', '5M', '1e3s', '5min', ' 5m', '٥m', 'Infinitym'])(
    'refuses the text %j',
    (text) => {
      expect(() => parseDuration(text, 'lease')).toThrow(
        expect.objectContaining({ code: 'DURATION_INVALID' }),
      )
    },
  )

  it.each([null, undefined, {}, [], true, 5n, Symbol('x'), () => 5])(
    'refuses a value that is no duration',
    (value) => {
      expect(() => parseDuration(value, 'delay')).toThrow(
        expect.objectContaining({ code: 'DURATION_INVALID', value }),
      )
    },
  )

  it.each([-1, NaN, Infinity, -Infinity, DELAY_MS_MAX + 1, '36526d', Number.MAX_VALUE])(
    'refuses the delay %s',
    (value) => {
      expect(() => parseDuration(value, 'delay')).toThrow(
        expect.objectContaining({ code: 'DELAY_OUT_OF_RANGE', value }),
      )
    },
  )

  it('a plain number that is a date of these times is no delay; a text of the same length is one', () => {
    const date = Date.parse('2030-01-01')
    const refused = { code: 'DELAY_OUT_OF_RANGE', value: date }
    expect(() => parseDuration(date, 'delay')).toThrow(expect.objectContaining(refused))
    expect(() => parseDuration(date, 'delay')).toThrow(
      'delay is 1893456000000, which is 2030-01-01 in milliseconds since 1970. For a date use "at"; for so long a wait give a text such as "21915d".',
    )
    expect(parseDuration('21915d', 'delay')).toBe(date)
    expect(parseDuration(date, 'olderThan')).toBe(date)
    expect(parseDuration(Date.UTC(2000) - 1, 'delay')).toBe(Date.UTC(2000) - 1)
  })

  it('says what is allowed, and what else might be meant', () => {
    expect(() => parseDuration(-5, 'delay')).toThrow(
      'delay is -5; allowed: 0ms to 36525d. For a date use "at".',
    )
    expect(() => parseDuration('30', 'delay')).toThrow(
      'delay is "30"; a text needs its unit: "30ms", "30s", "30m", "30h" or "30d".',
    )
    expect(() => parseDuration(new Date(0), 'delay')).toThrow(/For a date use "at"\.$/)
  })
})

describe('moments', () => {
  it('takes a Date or epoch milliseconds, the past too', () => {
    expect(parseMoment(new Date('2030-01-01T09:00:00Z'), 'at', NOW)).toBe(Date.UTC(2030, 0, 1, 9))
    expect(parseMoment(NOW - 5, 'at', NOW)).toBe(NOW - 5)
    expect(parseMoment(NOW + 0.25, 'at', NOW)).toBe(NOW + 1)
  })

  it.each([new Date(NaN), NaN, '2030-01-01', null, {}, 5n])('refuses %s', (value) => {
    expect(() => parseMoment(value, 'at', NOW)).toThrow(expect.objectContaining({ code: 'MOMENT_INVALID' }))
  })

  it.each([Infinity, -1, NOW + DELAY_MS_MAX + 1, new Date('9999-12-31'), new Date(8.64e15)])(
    'refuses %s',
    (value) => {
      expect(() => parseMoment(value, 'at', NOW)).toThrow(
        expect.objectContaining({ code: 'MOMENT_OUT_OF_RANGE' }),
      )
    },
  )

  it.each([Math.floor(NOW / 1_000), new Date(NOW / 1_000), 0, 1e11 - 1])(
    'refuses %s where something is to happen: these are seconds',
    (value) => {
      expect(parseMoment(value, 'dueFrom', NOW)).toBe(Number(value))
      expect(() => parseFutureMoment(value, 'at', NOW)).toThrow(
        expect.objectContaining({ code: 'MOMENT_OUT_OF_RANGE', value }),
      )
    },
  )

  it('a clock of its own may stand in 1970', () => {
    expect(parseFutureMoment(5_000, 'at', 1_000)).toBe(5_000)
    expect(parseFutureMoment(1e11, 'at', NOW)).toBe(1e11)
  })
})
