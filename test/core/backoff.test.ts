import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { exponentialMs, retryDelayMs } from '../../src/core/machines/backoff.ts'
import { DELAY_MS_MAX } from '../../src/core/input/duration.ts'

const growth = fc.record({
  baseMs: fc.integer({ min: 1, max: 86_400_000 }),
  factor: fc.double({ min: 1, max: 100, noNaN: true }),
  capMs: fc.integer({ min: 1, max: DELAY_MS_MAX * 2 }),
  jitter: fc.double({ min: 0, max: 1, noNaN: true }),
})
const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

describe('backoff', () => {
  it('is whole, never negative, never NaN, never above the cap, however many failures', () => {
    fc.assert(
      fc.property(growth, fc.integer({ min: 0, max: 1_000_000 }), chance, (parameters, failures, luck) => {
        const ms = exponentialMs(parameters, failures, luck)
        expect(Number.isSafeInteger(ms)).toBe(true)
        expect(ms).toBeGreaterThanOrEqual(0)
        expect(ms).toBeLessThanOrEqual(Math.min(parameters.capMs, DELAY_MS_MAX))
      }),
    )
  })

  it('never shrinks with more failures when chance is left out', () => {
    fc.assert(
      fc.property(growth, fc.integer({ min: 1, max: 100 }), (parameters, failures) => {
        const steady = { ...parameters, jitter: 0 }
        expect(exponentialMs(steady, failures + 1, 0)).toBeGreaterThanOrEqual(
          exponentialMs(steady, failures, 0),
        )
      }),
    )
  })

  it('jitter takes away at most its share', () => {
    const parameters = { baseMs: 1000, factor: 2, capMs: 60_000, jitter: 0.25 }
    expect(exponentialMs(parameters, 3, 0)).toBe(4000)
    expect(exponentialMs(parameters, 3, 0.999)).toBeGreaterThanOrEqual(3000)
  })

  it('a list is followed in order, and its last wait repeats', () => {
    const policy = { limit: 9, waits: [10, 20, 30] }
    expect([1, 2, 3, 4, 99].map((retry) => retryDelayMs(policy, retry, 0.5))).toEqual([10, 20, 30, 30, 30])
  })
})
