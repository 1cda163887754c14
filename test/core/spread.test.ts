import fc from 'fast-check'
import { expect, it } from 'vitest'
import { spreadMs, spreadOut } from '../../src/core/spread.ts'

it('a share is stable, whole, and within the window', () => {
  fc.assert(
    fc.property(fc.string(), fc.integer({ min: 1, max: 3_000_000_000_000 }), (id, windowMs) => {
      const share = spreadMs(id, windowMs)
      expect(share).toBe(spreadMs(id, windowMs))
      expect(Number.isInteger(share) && share >= 0 && share < windowMs).toBe(true)
      expect(spreadOut({ at: 1_000 }, id, windowMs)).toEqual({ at: 1_000 + share })
      expect(spreadOut({ delayMs: 5 }, id, windowMs)).toEqual({ delayMs: 5 + share })
    }),
  )
})

it.each(['customer-', 'PhZ3k9aB2cXyz0', '{report}@2026-03-29T0'])(
  'ids that count up fill it evenly: %s',
  (prefix) => {
    const tenths = Array.from({ length: 10 }, () => 0)
    for (let i = 0; i < 10_000; i += 1) {
      const tenth = Math.floor(spreadMs(`${prefix}${i}`, 300_000) / 30_000)
      tenths[tenth] = (tenths[tenth] ?? 0) + 1
    }
    for (const count of tenths) expect(count).toBeGreaterThan(850)
    for (const count of tenths) expect(count).toBeLessThan(1_150)
  },
)

it('without a window nothing moves', () => {
  expect(spreadOut({ at: 7 }, 'a', 0)).toEqual({ at: 7 })
})
