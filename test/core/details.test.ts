/** Details of the core that mutants showed to be untested: what errors say, what is refused, what is counted. */
import { describe, expect, it } from 'vitest'
import { limited, type TopicControl } from '../../src/core/controls.ts'
import { decodePolicy } from '../../src/core/encoding/codec.ts'
import { homeKeyOf } from '../../src/core/encoding/home.ts'
import { nearest } from '../../src/core/input/nearest.ts'
import { validate, type StandardSchema } from '../../src/core/input/schema.ts'
import { Histogram } from '../../src/core/metrics/histogram.ts'
import { percentilesOf, upperEdgeMs } from '../../src/core/metrics/lateness.ts'
import { cronTimes } from '../../src/core/recurrence/cron.ts'
import { decodeSchedule, scheduleOfOccurrence } from '../../src/core/recurrence/spec.ts'
import { step } from '../../src/core/machines/sleep.ts'

const refusing = (count: number): StandardSchema => ({
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: () => ({
      issues: Array.from({ length: count }, (_, i) => ({ message: `no ${i}`, path: ['a', i] })),
    }),
  },
})

describe('what errors say', () => {
  it.each([
    ['@', 'it has one field'],
    ['* * * *', 'it has 4 fields'],
    ['* * * * * * *', 'it has 7 fields'],
  ])('a cron of %j: %s', (cron, why) => {
    expect(() => cronTimes(cron, 'UTC')).toThrow(`${why}. Give five fields`)
  })

  it.each(['61 * * * *', '61 * * * * *'])('a cron of %j: why, not how many fields', (cron) => {
    expect(() => cronTimes(cron, 'UTC')).toThrow(/^(?!.*it has).*61/)
  })

  it.each([
    [1, 'a.0: no 0.'],
    [3, 'a.0: no 0; a.1: no 1; a.2: no 2.'],
    [4, 'a.0: no 0; a.1: no 1; a.2: no 2 (and 1 more).'],
    [9, 'a.0: no 0; a.1: no 1; a.2: no 2 (and 6 more).'],
  ])('a schema with %i issues shows three', async (count, says) => {
    await expect(validate(refusing(count), 't', {})).rejects.toThrow(
      `payload does not fit the schema of "t": ${says}`,
    )
  })

  it.each([
    ['dealy', 'delay'],
    ['pirority', 'priority'],
    ['jobId', undefined],
    ['tagg', 'tag'],
    ['', undefined],
  ])('the name nearest to %j is %j', (word, name) => {
    expect(nearest(word, ['delay', 'priority', 'tag', 'at'])).toBe(name)
  })
})

describe('what was stored by others', () => {
  it.each([
    { limit: 3, waits: ['1s'] },
    { limit: 3, waits: [1_000, '1s'] },
    { limit: 3, waits: { baseMs: 1, factor: 2, capMs: 3 } },
    { limit: 3, waits: null },
    { limit: '3', waits: [] },
    { limit: 3 },
    null,
  ])('is no policy: %j', (retry) => {
    expect(decodePolicy(JSON.stringify({ retry }))).toBeUndefined()
  })

  it.each([{ ttlMs: 'soon' }, { timeoutMs: {} }, { rememberMs: null }])('is no policy: %j', (policy) => {
    expect(decodePolicy(JSON.stringify(policy))).toBeUndefined()
  })

  it('is a policy', () => {
    for (const waits of [[], [1, 2], { baseMs: 1, factor: 2, capMs: 3, jitter: 0 }])
      expect(decodePolicy(JSON.stringify({ retry: { limit: 1, waits }, ttlMs: 5 }))).toEqual({
        retry: { limit: 1, waits },
        ttlMs: 5,
      })
  })

  it.each([
    null,
    'text',
    5,
    {},
    { version: 2, plan: {}, progress: {} },
    { version: 1, plan: null, progress: {} },
  ])('is no schedule: %j', (value) => {
    expect(decodeSchedule(value)).toBeUndefined()
  })
})

it('an occurrence tells its schedule, and no other id does', () => {
  expect(scheduleOfOccurrence('{a}b}@2026-01-01T00:00:00.000Z')).toBe('a}b')
  expect(
    ['{a}', '{a}@now', 'a@2026-01-01T00:00:00.000Z', '{}@2026-01-01T00:00:00.000Z'].map(scheduleOfOccurrence),
  ).toEqual([undefined, undefined, undefined, undefined])
})

it('braces decide the home of an id, unless there is nothing between them', () => {
  expect(['{a}b', 'x{a}b{c}', '{}b', 'a}b{', '{a', 'plain'].map(homeKeyOf)).toEqual([
    'a',
    'a',
    '{}b',
    'a}b{',
    '{a',
    'plain',
  ])
})

it('a limit without a rate forgets what the old rate let through; another rate does not', () => {
  const before: TopicControl = {
    pausedUntil: 0,
    limit: { rate: { intervalMs: 10, burst: 1 } },
    filledAt: 77,
    overFilledAt: 0,
  }
  expect(limited(before, { rate: { intervalMs: 20, burst: 1 } }).filledAt).toBe(77)
  expect([limited(before, { concurrency: 1 }).filledAt, limited(before, null).filledAt]).toEqual([0, 0])
})

it('a histogram counts each value once, in the first bucket that holds it', () => {
  const histogram = new Histogram([1, 10])
  for (const ms of [0, 1, 1.1, 10, 11, 500]) histogram.add(ms)
  expect([histogram.counts, histogram.sumMs]).toEqual([[2, 2, 2], 523.1])
})

it('percentiles go by rank, over buckets in any order', () => {
  const counts = [
    [30, 1],
    [10, 98],
    [20, 1],
  ] as const
  expect(percentilesOf(counts)).toMatchObject({
    p50: upperEdgeMs(10),
    p99: upperEdgeMs(20),
    max: upperEdgeMs(30),
  })
  expect(percentilesOf([[5, 0]])).toBeUndefined()
})

it('who waits and is told of an earlier look waits for that long, within what a timer can', () => {
  const waiting = { name: 'waiting' } as Parameters<typeof step>[0]
  const limits = {} as Parameters<typeof step>[2]
  expect(step(waiting, { kind: 'told', ms: 500 }, limits)).toEqual([waiting, { kind: 'wait', ms: 500 }])
  expect(step(waiting, { kind: 'told', ms: 1e12 }, limits)).toEqual([
    waiting,
    { kind: 'wait', ms: 2 ** 31 - 1 },
  ])
})
