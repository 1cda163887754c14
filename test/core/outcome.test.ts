import { describe, expect, it } from 'vitest'
import { RETRY_DEFAULT } from '../../src/core/input/handle-options.ts'
import { DELAY_MS_MAX } from '../../src/core/input/duration.ts'
import {
  DeadLetter,
  decideLapse,
  decideOutcome,
  decideStart,
  errorText,
  messageIn,
  RetryIn,
  Snooze,
} from '../../src/core/machines/outcome.ts'

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

  it('P6: a timeout counts like any failure', () => {
    const ending = { kind: 'timed out', timeoutMs: 5000 } as const
    expect(decideOutcome(1, ending, RETRY_DEFAULT, 0)).toMatchObject({ kind: 'retry', delayMs: MINUTE_MS })
    expect(decideOutcome(4, ending, RETRY_DEFAULT, 0)).toMatchObject({ kind: 'dead', reason: 'timeout' })
  })

  it('RetryIn chooses when, the limit still decides whether', () => {
    expect(fail(1, new RetryIn('5m'))).toMatchObject({ kind: 'retry', delayMs: 5 * MINUTE_MS })
    expect(fail(4, new RetryIn('5m'))).toMatchObject({ kind: 'dead' })
    expect(() => new RetryIn(-1)).toThrow(expect.objectContaining({ code: 'DELAY_OUT_OF_RANGE' }))
  })

  it('DeadLetter ends at once, with its reason', () => {
    expect(fail(1, new DeadLetter('no such order'))).toMatchObject({ kind: 'dead', reason: 'no such order' })
  })

  it('Snooze is due again then, however often, and no failure', () => {
    const again = { kind: 'again', when: { delayMs: 5 * MINUTE_MS } }
    expect([1, 99].map((attempt) => fail(attempt, new Snooze('5m')))).toEqual([again, again])
    const foreign = Object.assign(new Error('zzz'), { name: 'Snooze', delayMs: 0.5 })
    expect(fail(1, foreign)).toEqual({ kind: 'again', when: { delayMs: 1 } })
    expect(() => new Snooze(-1)).toThrow(expect.objectContaining({ code: 'DELAY_OUT_OF_RANGE' }))
  })

  it('a RetryIn of another copy of this package works too', () => {
    const foreign = Object.assign(new Error('later'), { name: 'RetryIn', delayMs: 7 })
    expect(fail(1, foreign)).toMatchObject({ kind: 'retry', delayMs: 7 })
  })

  it.each([Number.NaN, 1e300, Infinity, -5, 0.5])(
    'RetryIn of %d ms becomes a wait that can be stored',
    (delayMs) => {
      const outcome = fail(1, Object.assign(new Error('later'), { name: 'RetryIn', delayMs }))
      expect(outcome.kind).toBe('retry')
      const waitMs = outcome.kind === 'retry' ? outcome.delayMs : -1
      expect(Number.isInteger(waitMs) && waitMs >= 0 && waitMs <= DELAY_MS_MAX).toBe(true)
      if (Number.isNaN(delayMs)) expect(waitMs).toBe(MINUTE_MS) // By policy.
    },
  )

  it('a policy with impossible waits makes a wait that can be stored', () => {
    const policy = { limit: 3, waits: [1e300] }
    expect(decideOutcome(1, { kind: 'threw', error: 0 }, policy, 0)).toMatchObject({ delayMs: DELAY_MS_MAX })
  })

  it('a DeadLetter that caused the error is honoured, however deep; a RetryIn on top of it speaks first', () => {
    const cause = new DeadLetter('no such order')
    const wrapped = new Error('outer', { cause: new Error('inner', { cause }) })
    expect(fail(1, wrapped)).toMatchObject({ kind: 'dead', reason: 'no such order' })
    expect(fail(1, new RetryIn('5m', { cause }))).toMatchObject({ kind: 'retry' })
    const circle = new Error('a') as Error & { cause: unknown }
    circle.cause = circle
    expect(fail(1, circle)).toMatchObject({ kind: 'retry' })
  })

  it('errors are known by what they carry: another realm has another Error', () => {
    const foreign = { name: 'DeadLetter', message: 'no', reason: 'no', stack: 'DeadLetter: no\n  at x' }
    expect(fail(1, foreign)).toEqual({ kind: 'dead', reason: 'no', error: foreign.stack })
    expect(errorText({ name: 'E', message: 'm' })).toBe('E: m')
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error('no')
        },
      },
    )
    expect(fail(1, hostile)).toMatchObject({ kind: 'retry', error: 'an error that cannot be shown' })
  })

  it('P10: the reason of a dead letter is cut like the error', () => {
    const outcome = fail(1, new DeadLetter('x'.repeat(5_000_000)))
    expect(outcome.kind === 'dead' ? [outcome.reason.length, outcome.error.length] : []).toEqual([
      2_000, 2_000,
    ])
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
  const start = {
    attempt: 1,
    lapses: 0,
    latenessMs: 0,
    ttlMs: undefined,
    ifExpired: 'dead',
    policy: RETRY_DEFAULT,
  } as const

  it('within its ttl, yes; after it, dead as expired', () => {
    expect(decideStart({ ...start, ttlMs: 1000, latenessMs: 1000 })).toBeUndefined()
    expect(decideStart({ ...start, ttlMs: 1000, latenessMs: 1000.5 })).toMatchObject({
      kind: 'dead',
      reason: 'expired',
    })
  })

  it('after its ttl it is skipped, if that was asked for', () => {
    const late = { ...start, ttlMs: 1000, latenessMs: 1001, ifExpired: 'skip' } as const
    expect(decideStart(late)).toEqual({ kind: 'skip' })
    expect(decideStart({ ...late, latenessMs: 1000 })).toBeUndefined()
  })

  it('a worker that died has made no first start: its lapse does not reset the ttl', () => {
    const late = { ...start, ttlMs: 1000, latenessMs: 1001 }
    expect(decideStart({ ...late, attempt: 2, lapses: 1 })).toMatchObject({ reason: 'expired' })
    expect(decideStart({ ...late, attempt: 3, lapses: 1 })).toBeUndefined()
  })

  it('the ttl is about the first start: a retry comes when its policy says', () => {
    expect(decideStart({ ...start, attempt: 2, ttlMs: 1000, latenessMs: 5000 })).toBeUndefined()
  })

  it('P6: never more often than its policy allows, even if others gave it back', () => {
    expect(decideStart({ ...start, attempt: 4 })).toBeUndefined()
    expect(decideStart({ ...start, attempt: 5 })).toMatchObject({ kind: 'dead', reason: 'lapsed' })
  })

  it('P19: outside its window it is due again at the opening; ttl and lapses are asked first', () => {
    const window = { kind: 'closed', opening: { at: 7, zone: 'UTC' } } as const
    expect(decideStart({ ...start, window })).toEqual({ kind: 'again', when: { at: 7 }, isMoved: true })
    expect(decideStart({ ...start, window: { kind: 'open' } })).toBeUndefined()
    expect(decideStart({ ...start, window, ttlMs: 1, latenessMs: 2 })).toMatchObject({ reason: 'expired' })
    expect(decideStart({ ...start, window, attempt: 5 })).toMatchObject({ reason: 'lapsed' })
  })

  it('P19: a window that this worker cannot read starts nothing: it is tried again as its policy says', () => {
    const window = { kind: 'unreadable', error: 'no calendar' } as const
    expect(decideStart({ ...start, window })).toMatchObject({ kind: 'retry', error: 'no calendar' })
    expect(decideStart({ ...start, window, attempt: 4 })).toMatchObject({ kind: 'dead', reason: 'window' })
  })
})

describe('a lapse', () => {
  const lapse = { attempt: 1, lapses: 0, policy: RETRY_DEFAULT, chance: 0 }

  it('P6: the first in a row leaves the message in its place, the second waits by its policy', () => {
    expect(decideLapse(lapse)).toMatchObject({ kind: 'lapse' })
    expect(decideLapse({ ...lapse, attempt: 2, lapses: 1 })).toMatchObject({
      kind: 'retry',
      delayMs: 5 * MINUTE_MS,
      isLapse: true,
    })
  })

  it('P6: the limit holds as ever', () => {
    expect(decideLapse({ ...lapse, attempt: 2, lapses: 1, chance: 0.5 })).toMatchObject({
      delayMs: 0.75 * 300_000,
    })
    expect(decideLapse({ ...lapse, attempt: 4 })).toMatchObject({ kind: 'dead', reason: 'lapsed' })
    expect(decideLapse({ ...lapse, policy: { limit: 0, waits: [1] } })).toMatchObject({ kind: 'dead' })
  })

  it('one of a topic without a handler here goes back to whoever has its policy', () => {
    expect(decideLapse({ ...lapse, attempt: 99, lapses: 9, policy: undefined })).toMatchObject({
      kind: 'lapse',
    })
  })
})

it.each<[unknown, string]>([
  [new Error('smtp is down'), 'smtp is down'],
  [new TypeError('no host'), 'TypeError: no host'],
  [new Error('two\nlines'), 'two\nlines'],
  ['a text', 'a text'],
  ['', ''],
])(
  'messageIn: what a kept error says, without its stack and the name that says nothing: %j',
  (error, said) => {
    expect(messageIn(errorText(error))).toBe(said)
  },
)
