/** How much may start now: GCRA, by arithmetic alone. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Meter, isOver, limited, paused, resumed, type RateLimit } from '../../src/core/controls.ts'
import { burstOf, formatRate, parseLimit, parsePause, parseResume } from '../../src/core/input/limits.ts'

type Start = { readonly at: number }

/** Asks at these moments, and takes up to so many each time. */
function run(rate: RateLimit, questions: readonly { readonly at: number; readonly want: number }[]): Start[] {
  const starts: Start[] = []
  let filledAt = 0
  for (const { at, want } of questions) {
    const meter = new Meter(rate, filledAt, at)
    const count = Math.min(want, meter.left)
    meter.charge(count)
    ;({ filledAt } = meter)
    for (let i = 0; i < count; i += 1) starts.push({ at })
  }
  return starts
}

/** The most starts above what the promise allows, over all windows. */
function excess(starts: readonly Start[], { intervalMs, burst }: RateLimit): number {
  let worst = -Infinity
  for (const [i, from] of starts.entries())
    for (const [more, until] of starts.slice(i).entries())
      worst = Math.max(worst, more + 1 - (burst + (until.at - from.at) / intervalMs))
  return worst
}

const rates = fc.record({
  intervalMs: fc.double({ min: 0.5, max: 500, noNaN: true }),
  burst: fc.integer({ min: 1, max: 20 }),
})

describe('a rate', () => {
  it('P14: no window holds more than burst + rate x window + 1/2, whenever one asks', () => {
    const steps = fc.array(
      fc.tuple(fc.double({ min: 0, max: 2_000, noNaN: true }), fc.integer({ min: 0, max: 30 })),
      {
        maxLength: 60,
      },
    )
    fc.assert(
      fc.property(rates, steps, (rate, asked) => {
        let at = 1e12
        const questions = asked.map(([step, want]) => ({ at: (at += step), want }))
        expect(excess(run(rate, questions), rate)).toBeLessThanOrEqual(0.5 + 1e-6)
      }),
    )
  })

  it('P14: who asks up to half an interval late gets all of it', () => {
    fc.assert(
      fc.property(
        rates,
        fc.array(fc.double({ min: 0, max: 0.45, noNaN: true }), { minLength: 50, maxLength: 50 }),
        (rate, lags) => {
          let at = 1e12
          let filledAt = 0
          let got = 0
          for (const lag of lags) {
            const meter = new Meter(rate, filledAt, at)
            got += meter.left
            meter.charge(meter.left)
            ;({ filledAt } = meter)
            at = meter.againAt + lag * rate.intervalMs
          }
          const windowMs = at - 1e12
          expect(got).toBeGreaterThanOrEqual(rate.burst + windowMs / rate.intervalMs - 1.5)
        },
      ),
    )
  })

  it('P14: a clock that is set back a little waits for its old self; set back far, one burst starts', () => {
    const rate = { intervalMs: 1_000, burst: 3 }
    const full = 1e12 + 3_500
    expect(new Meter(rate, full, 1e12 - 900)).toMatchObject({ left: 0, againAt: 1e12 - 900 + 1_000 })
    expect(new Meter(rate, full, 1e12 - 3_600_000).left).toBe(3)
  })

  it('P14: a quicker rate does not wait for what a slow one has filled', () => {
    expect(new Meter({ intervalMs: 10, burst: 2 }, 1e12 + 3_600_000, 1e12).left).toBe(2)
  })

  it('P14: a clock that is set forward lets one burst start, and no more', () => {
    const meter = new Meter({ intervalMs: 1_000, burst: 3 }, 1e12, 1e12 + 3_600_000)
    expect(meter.left).toBe(3)
  })

  it('P14: a temporary rate holds nothing back beyond its end', () => {
    const meter = new Meter({ intervalMs: 60_000, burst: 1, endsAt: 1_500 }, 60_000, 1_000)
    expect([meter.left, meter.againAt]).toEqual([0, 1_500])
  })
})

describe('what is kept of a topic', () => {
  it('a pause, a temporary rate and a limit come and go without each other', () => {
    const over = { intervalMs: 10, burst: 1, endsAt: 2_000 }
    const both = limited(paused(undefined, 500), { concurrency: 2 })
    expect(both).toMatchObject({ pausedUntil: 500, limit: { concurrency: 2 } })
    const spread = resumed(both, over)
    expect(spread).toMatchObject({ pausedUntil: 0, limit: { concurrency: 2 }, over })
    expect(paused(spread, 700).over).toBeUndefined()
    expect(resumed(spread, undefined).over).toBeUndefined()
    expect(isOver(limited(spread, null), 1_999)).toBe(false)
    expect(isOver(limited(spread, null), 2_000)).toBe(true)
    expect(isOver(paused(undefined, 500), 500)).toBe(true)
  })
})

describe('limits as users say them', () => {
  it('a rate is how many in how much time', () => {
    expect(parseLimit({ rate: '100/1m' })).toEqual({ rate: { intervalMs: 600, burst: 1 } })
    expect(parseLimit({ rate: '100/s', burst: 5, concurrency: 2 })).toEqual({
      rate: { intervalMs: 10, burst: 5 },
      concurrency: 2,
    })
    expect(parseLimit({ rate: '500/1s' })).toEqual({ rate: { intervalMs: 2, burst: 50 } })
    expect(parseLimit({ rate: '0.5/1s' })).toEqual({ rate: { intervalMs: 2_000, burst: 1 } })
    expect(parseLimit(null)).toBeNull()
    expect(burstOf(101)).toBe(1)
  })

  it.each([
    [{}],
    [{ burst: 3 }],
    [{ rate: '100' }],
    [{ rate: '0/1m' }],
    [{ rate: '-1/1m' }],
    [{ rate: '100/0s' }],
    [{ rate: '100/1y' }],
    [{ rate: 100 }],
    [{ rate: '10000000/1s' }],
    [{ rate: '1/1s', burst: 0 }],
    [{ concurrency: 0 }],
    [{ concurrency: 1.5 }],
  ])('%j is refused', (options) => {
    expect(() => parseLimit(options)).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }) as Error)
  })

  it('unknown options are refused', () => {
    expect(() => parseLimit({ rate: '1/s', per: 'key' })).toThrow(/has no option "per"/)
    expect(() => parsePause({ unitl: '1h' }, 0)).toThrow(/has no option "unitl"/)
    expect(() => parseResume({ over: '10ms' })).toThrow(/over is "10ms"/)
  })

  it('the end of a pause is a moment or a time from now', () => {
    expect(parsePause({ until: '2h' }, 5)).toEqual({ delayMs: 7_200_000 })
    expect(parsePause({ until: new Date(9_000) }, 5)).toEqual({ at: 9_000 })
    expect(parsePause(undefined, 5)).toBeUndefined()
  })

  it.each([
    ['100/1m', 600],
    ['5/1s', 200],
    ['1000/1h', 3_600],
    ['1/1d', 86_400_000],
    ['7/1d', 86_400_000 / 7],
    ['2.06/1s', 485.4],
  ])('%s is shown as it was said', (text, intervalMs) => {
    expect(formatRate(intervalMs)).toBe(text)
  })
})
