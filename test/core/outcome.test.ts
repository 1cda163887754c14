import { describe, expect, it } from 'vitest'
import { RETRY_DEFAULT } from '../../src/core/input/options.ts'
import { DeadLetter, decideOutcome, decideStart, errorText, RetryIn } from '../../src/core/outcome.ts'

const MINUTE_MS = 60_000

function fail(attempt: number, error: unknown = new Error('boom')): ReturnType<typeof decideOutcome> {
  return decideOutcome(attempt, { kind: 'threw', error }, RETRY_DEFAULT, 0)
}

describe('the outcome of an attempt', () => {
  it('by default: three retries, after 1, 5 and 30 minutes, then dead', () => {
    expect([1, 2, 3].map((attempt) => fail(attempt))).toMatchObject(
      [1, 5, 30].map((minutes) => ({ kind: 'retry', delayMs: minutes * MINUTE_MS })),
    )
    expect(fail(4)).toMatchObject({ kind: 'dead', reason: 'failed' })
  })

  it('returned: done; stopped: given back', () => {
    expect(decideOutcome(1, { kind: 'returned' }, RETRY_DEFAULT, 0)).toEqual({ kind: 'ack' })
    expect(decideOutcome(9, { kind: 'stopped' }, RETRY_DEFAULT, 0)).toEqual({ kind: 'release' })
  })

  it('P6: a timeout and a lapse count like any failure', () => {
    for (const [ending, reason] of [
      [{ kind: 'timed out', timeoutMs: 5000 }, 'timeout'],
      [{ kind: 'lapsed' }, 'lapsed'],
    ] as const) {
      expect(decideOutcome(1, ending, RETRY_DEFAULT, 0)).toMatchObject({ kind: 'retry', delayMs: MINUTE_MS })
      expect(decideOutcome(4, ending, RETRY_DEFAULT, 0)).toMatchObject({ kind: 'dead', reason })
    }
  })

  it('RetryIn chooses when, the limit still decides whether', () => {
    expect(fail(1, new RetryIn('5m'))).toMatchObject({ kind: 'retry', delayMs: 5 * MINUTE_MS })
    expect(fail(4, new RetryIn('5m'))).toMatchObject({ kind: 'dead' })
    expect(() => new RetryIn(-1)).toThrow(expect.objectContaining({ code: 'DELAY_OUT_OF_RANGE' }))
  })

  it('DeadLetter ends at once, with its reason', () => {
    expect(fail(1, new DeadLetter('no such order'))).toMatchObject({ kind: 'dead', reason: 'no such order' })
  })

  it('a RetryIn of another copy of this package works too', () => {
    const foreign = Object.assign(new Error('later'), { name: 'RetryIn', delayMs: 7 })
    expect(fail(1, foreign)).toMatchObject({ kind: 'retry', delayMs: 7 })
  })

  it('limit 0: dead after the first', () => {
    expect(decideOutcome(1, { kind: 'lapsed' }, { limit: 0, waits: [1] }, 0)).toMatchObject({ kind: 'dead' })
  })

  it.each([undefined, null, 'text', 5, 5n, Symbol('s'), { a: 1 }, Object.create(null)])(
    'keeps whatever was thrown: %s',
    (thrown) => {
      expect(typeof errorText(thrown)).toBe('string')
    },
  )

  it('survives an error that cannot be shown, and cuts one that is huge', () => {
    const hostile = {
      toJSON() {
        throw new Error('no')
      },
    }
    expect(errorText(hostile)).toMatch(/cannot be shown/)
    expect(errorText('é'.repeat(100_000)).length).toBeLessThanOrEqual(2_000)
    expect(errorText('x'.repeat(1_999) + '🕰️').isWellFormed()).toBe(true)
  })
})

describe('whether a message may still start', () => {
  const start = { attempt: 1, latenessMs: 0, ttlMs: undefined, policy: RETRY_DEFAULT }

  it('within its ttl, yes; after it, dead as expired', () => {
    expect(decideStart({ ...start, ttlMs: 1000, latenessMs: 1000 })).toBeUndefined()
    expect(decideStart({ ...start, ttlMs: 1000, latenessMs: 1000.5 })).toMatchObject({
      kind: 'dead',
      reason: 'expired',
    })
  })

  it('the ttl is about the first start: a retry comes when its policy says', () => {
    expect(decideStart({ ...start, attempt: 2, ttlMs: 1000, latenessMs: 5000 })).toBeUndefined()
  })

  it('P6: never more often than its policy allows, even if others gave it back', () => {
    expect(decideStart({ ...start, attempt: 4 })).toBeUndefined()
    expect(decideStart({ ...start, attempt: 5 })).toMatchObject({ kind: 'dead', reason: 'lapsed' })
  })
})
