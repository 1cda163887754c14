import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LatenessGauge } from '../../src/core/metrics/lateness.ts'

describe('LatenessGauge', () => {
  it('says nothing before anything was started', () => {
    expect(new LatenessGauge(0).percentiles(0)).toBeUndefined()
  })

  it('agrees with the sorted list to a few percent', () => {
    const lateness = fc.double({ min: 0, max: 1e7, noNaN: true })
    fc.assert(
      fc.property(fc.array(lateness, { minLength: 1, maxLength: 300 }), (values) => {
        const gauge = new LatenessGauge(0)
        for (const value of values) gauge.record(value, 0)
        const sorted = values.toSorted((a, b) => a - b)
        const found = gauge.percentiles(0)
        expect(found?.max).toBe(sorted.at(-1))
        for (const [key, share] of [
          ['p50', 0.5],
          ['p99', 0.99],
        ] as const) {
          const exact = sorted[Math.ceil(values.length * share) - 1] as number
          expect(found?.[key]).toBeGreaterThanOrEqual(exact * 0.999)
          expect(found?.[key]).toBeLessThanOrEqual(exact * 1.05 + 0.001)
        }
      }),
    )
  })

  it('forgets what is older than two minutes', () => {
    const gauge = new LatenessGauge(0)
    gauge.record(500, 0)
    gauge.record(1, 61_000)
    expect(gauge.percentiles(62_000)?.max).toBe(500)
    expect(gauge.percentiles(122_000)?.max).toBe(1)
    expect(gauge.percentiles(300_000)).toBeUndefined()
  })
})
