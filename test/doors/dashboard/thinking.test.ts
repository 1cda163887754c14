/** What the dashboard works out by itself: bursts, heights, checklists, payloads. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { FoundWorker, Why } from '../../../src/index.ts'
import { findBursts, isTooMuch, spreadFor } from '../../../src/doors/http/dashboard/charts/bursts.ts'
import { capacityOf } from '../../../src/doors/http/dashboard/charts/capacity.ts'
import { heightOf, levelsOf } from '../../../src/doors/http/dashboard/charts/scale.ts'
import { checklistOf } from '../../../src/doors/http/dashboard/pages/message/checklist.ts'
import { indent } from '../../../src/doors/http/dashboard/pages/message/indent.ts'

const HOUR = 3_600_000

function bars(...counts: number[]): { from: number; until: number; count: number }[] {
  return counts.map((count, i) => ({ from: i * HOUR, until: (i + 1) * HOUR, count }))
}

const worker = (perSecond: number | undefined, more: object = {}): FoundWorker => ({
  owner: 'w',
  state: 'alive',
  firstSeenAt: 0,
  lastSeenAt: 0,
  facts: {
    version: '1',
    host: 'h',
    pid: 1,
    startedAt: 0,
    topics: ['a'],
    topicCount: 1,
    running: 0,
    slots: 100,
    ...(perSecond === undefined ? {} : { perSecond }),
  },
  ...more,
})

describe('bursts', () => {
  it('names what stands out, with the work it is', () => {
    const [burst, ...others] = findBursts(bars(40, 50, 40_112, 30, 45), 96)
    expect(others).toEqual([])
    expect(burst).toMatchObject({ from: 2 * HOUR, until: 3 * HOUR, count: 40_112 })
    expect(Math.round((burst?.workMs ?? 0) / 60_000)).toBe(7)
  })

  it('joins neighbours, and names at most three, in the order in which they come', () => {
    const found = findBursts(bars(1, 900, 900, 1, 500, 1, 700, 1, 600, 1, 1, 1, 1, 1), undefined)
    expect(found.map(({ count }) => count)).toEqual([1_800, 700, 600])
  })

  it('an even future has none, and a burst that takes seconds is none', () => {
    expect(findBursts(bars(500, 510, 490), 1)).toEqual([])
    expect(findBursts(bars(1, 200, 1, 1), 1_000)).toEqual([])
    expect(findBursts([], 1)).toEqual([])
  })

  it('what workers can do is what the living ones say, not what there was to do', () => {
    expect(capacityOf([], undefined)).toBeUndefined()
    expect(capacityOf([worker(undefined)], undefined)).toBeUndefined()
    expect(capacityOf([worker(2_000), worker(100)], undefined)).toBe(2_100)
    expect(capacityOf([worker(2_000, { state: 'silent' }), worker(100)], 'a')).toBe(100)
    expect(capacityOf([worker(100)], 'b')).toBeUndefined()
  })

  it('a burst is too much when it takes longer than it lasts', () => {
    const burst = { from: 0, until: 60_000, count: 1 }
    expect(isTooMuch({ ...burst, workMs: 60_001 })).toBe(true)
    expect(isTooMuch({ ...burst, workMs: 60_000 })).toBe(false)
    expect(isTooMuch({ ...burst, workMs: undefined })).toBe(false)
  })

  it('offers a round time that is long enough', () => {
    expect(spreadFor({ from: 0, until: 60_000, count: 1, workMs: 7 * 60_000 })).toBe('10m')
    expect(spreadFor({ from: 0, until: 60_000, count: 1, workMs: 100 * 60_000 })).toBe('2h')
    expect(spreadFor({ from: 0, until: HOUR, count: 1, workMs: undefined })).toBe('1h')
  })
})

describe('heights', () => {
  it('a bar that holds anything can be seen beside a burst, and none is higher than the chart', () => {
    fc.assert(
      fc.property(fc.nat({ max: 10_000_000 }), fc.integer({ min: 1, max: 10_000_000 }), (count, max) => {
        for (const scale of ['root', 'linear'] as const) {
          const height = heightOf(Math.min(count, max), max, 160, scale)
          expect(height).toBeLessThanOrEqual(160)
          expect(height === 0).toBe(count === 0)
          if (height > 0) expect(height).toBeGreaterThanOrEqual(2)
        }
      }),
    )
  })

  it('labels stand apart', () => {
    expect(levelsOf(40_112, 'root')).toEqual([40_112, 10_000])
    expect(levelsOf(1, 'root')).toEqual([1])
    expect(levelsOf(0, 'root')).toEqual([])
  })
})

describe('indenting', () => {
  it('keeps numbers that a double would round, and every character of a text', () => {
    const text = String.raw`{"n":12345678901234567890,"t":"a\"{,:[","e":[],"o":{}}`
    expect(indent(text)).toBe(
      [
        '{',
        '  "n": 12345678901234567890,',
        String.raw`  "t": "a\"{,:[",`,
        '  "e": [],',
        '  "o": {}',
        '}',
      ].join('\n'),
    )
  })

  it('means the same as before, whatever the payload', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value)
        expect(JSON.stringify(JSON.parse(indent(text)))).toBe(JSON.stringify(JSON.parse(text)))
      }),
    )
  })

  it('leaves what is no JSON as it is', () => {
    expect(indent('{"a":')).toBe('{"a":')
  })
})

describe('why not yet?', () => {
  const about = { id: 'a', topic: 't', dueAt: 962_000, attempt: 1 }
  const now = { now: 1_000_000, zone: 'UTC' }
  const handlers = { workers: 2, running: 3, slots: 20 }
  it.each<[Why, string[]]>([
    [{ kind: 'not-due', ...about, dueAt: 1_060_000, handlers }, ['wait', 'yes']],
    [{ kind: 'retry', ...about, dueAt: 1_060_000, error: 'Error: no', lapses: 0 }, ['no', 'wait', 'unknown']],
    [{ kind: 'paused', ...about, isWholeQueue: false, handlers }, ['yes', 'no', 'yes']],
    [{ kind: 'no-worker', ...about, livingWorkers: 0 }, ['yes', 'yes', 'no']],
    [
      { kind: 'in-line', ...about, running: 0, before: 211, isExact: true, handlers },
      ['yes', 'yes', 'yes', 'wait'],
    ],
    [
      { kind: 'no-worker', ...about, livingWorkers: 0, expired: { since: 970_000, ifExpired: 'dead' } },
      ['yes', 'no', 'yes', 'no'],
    ],
    [
      {
        kind: 'limited',
        ...about,
        before: 0,
        isExact: true,
        running: 4,
        limits: [{ limit: { rate: '100/1m' } }],
        handlers,
      },
      ['yes', 'yes', 'yes', 'no', 'wait'],
    ],
    [
      { kind: 'in-line', ...about, running: 0, before: 0, isExact: true, key: 'k', beforeInKey: 2, handlers },
      ['yes', 'yes', 'yes', 'wait', 'wait'],
    ],
    [
      {
        kind: 'key-busy',
        ...about,
        key: 'k',
        beforeInKey: 0,
        running: 1,
        holders: [{ id: 'b', owner: 'h:1', since: 990_000 }],
        handlers,
      },
      ['yes', 'yes', 'yes', 'no', 'wait'],
    ],
    [
      { kind: 'key-rate', ...about, key: 'k', beforeInKey: 3, until: 1_005_000, handlers },
      ['yes', 'yes', 'yes', 'no', 'wait'],
    ],
    [
      { kind: 'key-retry', ...about, key: 'k', beforeInKey: 0, heldBy: 'b', until: 1_005_000, handlers },
      ['yes', 'yes', 'yes', 'no', 'wait'],
    ],
    [
      { kind: 'running', ...about, owner: 'h:1', since: 990_000, leaseEndsAt: 1_005_000 },
      ['yes', 'yes', 'wait'],
    ],
    [{ kind: 'lapsed', ...about, owner: 'h:1', leaseEndedAt: 990_000, livingWorkers: 0 }, ['no', 'no']],
    [{ kind: 'completed', ...about, outcome: 'completed', rememberedUntil: 2_000_000 }, ['yes']],
    [
      { kind: 'dead', ...about, reason: 'attempts used up', error: 'Error: no', diedAt: 990_000, lapses: 0 },
      ['no', 'no', 'wait'],
    ],
    [{ kind: 'unknown', id: 'a' }, ['no']],
  ])('%j', (why, marks) => {
    expect(checklistOf(why, now).map(({ mark }) => mark)).toEqual(marks)
  })

  const textsOf = (one: Why): string[] => checklistOf(one, now).map(({ text }) => text)

  it('says until when its window is closed, by the clock of its zone', () => {
    const outside = { until: Date.UTC(2030, 0, 7, 7), zone: 'Europe/Berlin' }
    expect(textsOf({ kind: 'not-due', ...about, dueAt: outside.until, outside, handlers })).toContain(
      'Outside its window until Mon 2030-01-07 08:00 (Europe/Berlin)',
    )
  })

  it('says which of its key run, until when its rate is spent, whose retry it waits for, and how many are before it', () => {
    const keyed = { ...about, key: 'customer-7', handlers }
    const holders = [{ id: 'b', owner: 'h:1', since: 990_000 }]
    expect(textsOf({ kind: 'key-busy', ...keyed, beforeInKey: 1, running: 1, holders }).slice(2)).toEqual([
      '2 living workers handle its topic; 3 of 20 slots taken',
      'As many of its key customer-7 run as may: 1',
      'b has been running for 10 s',
      '1 message of its key before it',
    ])
    expect(textsOf({ kind: 'key-rate', ...keyed, beforeInKey: 0, until: 1_005_000 }).slice(3)).toEqual([
      'The rate of its key customer-7 is used up: the next may start in 5 s',
    ])
    expect(
      textsOf({ kind: 'key-retry', ...keyed, beforeInKey: 2, heldBy: 'b', until: 1_005_000 }).slice(3),
    ).toEqual([
      'Its key customer-7 waits for the retry of b, due in 5 s',
      'Messages of this key start one after the other; cancelling or moving that one lets the next start',
      '2 messages of its key before it',
    ])
    const retry = { kind: 'retry', ...about, dueAt: 1_060_000, error: 'Error: no', lapses: 0 } as const
    expect(textsOf({ ...retry, holdsKey: 'customer-7' })).toContain(
      'Its key customer-7 waits for it: messages of this key start one after the other',
    )
  })

  it('says how long it has been due and who stands before it', () => {
    const why = { kind: 'in-line', ...about, running: 0, before: 211, isExact: false, handlers } as const
    expect(textsOf({ ...why, running: 7 })[2]).toBe('2 living workers handle its topic; 7 of it running')
    expect(textsOf({ ...why, expired: { since: 970_000, ifExpired: 'skip' } })[1]).toBe(
      'Its ttl ended 30 s ago: a worker that gets it skips it',
    )
    expect(textsOf(why)).toEqual([
      'Due 38 s ago',
      'Not paused',
      '2 living workers handle its topic; 3 of 20 slots taken',
      'About 211 messages of its topic before it',
    ])
  })
})
