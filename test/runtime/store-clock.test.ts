import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { StoreClock } from '../../src/runtime/runs/store-clock.ts'

const EPOCH = Date.UTC(2030, 0, 1)

describe('StoreClock', () => {
  it('P1: is never ahead of the store, whatever the delays on the way and however the clocks are slewed', () => {
    const exchange = fc.record({
      pauseMs: fc.double({ min: 0, max: 60_000, noNaN: true }),
      thereMs: fc.double({ min: 0, max: 50, noNaN: true }),
      backMs: fc.double({ min: 0, max: 50, noNaN: true }),
    })
    const slew = fc.double({ min: -0.0004, max: 0.0004, noNaN: true })
    fc.assert(
      fc.property(fc.array(exchange, { minLength: 1, maxLength: 20 }), slew, (exchanges, rate) => {
        const storeAt = (here: number): number => EPOCH + here * (1 + rate)
        const clock = new StoreClock()
        let now = 1_000
        for (const { pauseMs, thereMs, backMs } of exchanges) {
          now += pauseMs
          clock.observe(now, now + thereMs + backMs, storeAt(now + thereMs))
          now += thereMs + backMs
          const dueAt = storeAt(now) + 10
          expect(storeAt(clock.reaches(dueAt))).toBeGreaterThanOrEqual(dueAt - 0.01)
        }
      }),
    )
  })

  it('a quick answer makes up for slow ones', () => {
    const clock = new StoreClock()
    clock.observe(100, 100.2, EPOCH + 100.1)
    clock.observe(200, 208, EPOCH + 201)
    expect(clock.reaches(EPOCH + 300)).toBeLessThan(300.3)
  })

  it('forgets what it knew when the clock of the store is set back', () => {
    const clock = new StoreClock()
    clock.observe(100, 100.2, EPOCH + 100)
    clock.observe(200, 200.2, EPOCH + 200 - 5_000)
    expect(clock.reaches(EPOCH)).toBeGreaterThanOrEqual(5_000)
  })
})
