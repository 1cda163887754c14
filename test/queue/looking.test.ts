/** Looking at a queue: what is told, on an engine that keeps everything there is to tell, and on one that does not. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FIGURE_TOPICS_MAX, NOTHING_ENDED } from '../../src/core/metrics/figures.ts'
import { bucketOf } from '../../src/core/metrics/lateness.ts'
import { encodeFacts, type WorkerFacts } from '../../src/core/owner.ts'
import type { Punctual } from '../../src/index.ts'
import type { Capabilities, Lease, Store } from '../../src/store/contract/store.ts'
import { MemoryStore } from '../../src/store/memory/store.ts'
import type { VirtualClock } from '../../src/testing/index.ts'
import { ModelStore } from '../../simulation/world/model-store.ts'
import * as worlds from '../runtime/world.ts'

const START = Date.UTC(2030, 0, 1)
const MINUTE_MS = 60_000

const FACTS: WorkerFacts = {
  version: '0.1.0',
  host: 'oak',
  pid: 42,
  startedAt: START,
  topics: ['t'],
  topicCount: 1,
  running: 1,
  slots: 4,
}

/** What a worker's claim does to the store, without a worker. */
async function claim(
  store: Store,
  owner: string,
  facts: Partial<WorkerFacts> = {},
): Promise<readonly Lease[]> {
  const { topics } = { ...FACTS, ...facts }
  const { leases } = await store.claim({
    from: 'due',
    owner,
    facts: encodeFacts({ ...FACTS, topicCount: topics.length, ...facts }),
    wants: topics.map((topic) => ({ topic, limit: 10 })),
    limit: 10,
    bytesMax: 1_000_000,
    leaseMs: 15_000,
    leadMs: 0,
  })
  return leases
}

function onlyOne(leases: readonly Lease[]): Lease {
  const [lease, ...rest] = leases
  if (lease === undefined || rest.length > 0) throw new Error(`${leases.length} leases`)
  return lease
}

async function produceMany(queue: Punctual, topic: string, count: number): Promise<void> {
  await queue.produceMany(Array.from({ length: count }, () => ({ topic, delay: '1h' as const })))
}

const STORES: readonly [name: string, make: (clock: VirtualClock) => Store][] = [
  ['memory', (clock) => new MemoryStore(clock)],
  ['model', (clock) => new ModelStore(() => clock.now(), { batchMax: 300, leadMs: 0 })],
]

describe.each(STORES)('looking at a queue on the %s store', (_name, makeStore) => {
  const makeWorld = (capabilities: Partial<Capabilities> = { shared: true }): worlds.World =>
    worlds.makeWorld(capabilities, makeStore)

  describe('stats', () => {
    it('P10: the 1,000 topics with most waiting, and any others by name', async () => {
      const queue = makeWorld().queue()
      const entries = Array.from({ length: 1_003 }, (_, i) => ({ topic: `t${i}`, delay: '1h' as const }))
      await queue.produceMany(entries)
      for (const topic of ['t0', 't500', 't1002']) await produceMany(queue, topic, 2)
      const { topics, moreTopics, counts } = await queue.stats()
      expect(Object.keys(topics)).toHaveLength(1_000)
      expect(topics).toMatchObject({ t0: { waiting: 3 }, t500: { waiting: 3 }, t1002: { waiting: 3 } })
      expect({ moreTopics, delayed: counts.delayed }).toEqual({ moreTopics: true, delayed: 1_009 })
      const named = await queue.stats({ topics: ['t999', 'nobody', 't999'] })
      expect(named).toMatchObject({
        topics: { t999: { waiting: 1 }, nobody: { waiting: 0, running: 0, dead: 0 } },
        moreTopics: false,
      })
      expect(Object.keys(named.topics)).toHaveLength(2)
      expect((await queue.stats({ topics: [] })).topics).toEqual({})
    })

    it('names what is overdue, since when, and whether a living worker handles it', async () => {
      const { clock, memory, queue: make } = makeWorld()
      const queue = make()
      await queue.produce('bom', 1)
      await clock.advance('5m')
      await queue.produce('t', 1)
      await queue.produce('later', 1, { delay: '1h' })
      expect((await queue.stats()).overdue).toEqual([{ topic: 'bom', oldestDueAt: START, workers: 0 }])
      await clock.advance('10s')
      await claim(memory, 'a', { topics: ['t', 'u'] })
      await queue.produce('t', 1, { at: START + 5 * MINUTE_MS })
      expect((await queue.stats()).overdue).toEqual([
        { topic: 'bom', oldestDueAt: START, workers: 0 },
        { topic: 't', oldestDueAt: START + 5 * MINUTE_MS, workers: 1 },
      ])
      // A worker that does not tell all of its topics may handle this one.
      await claim(memory, 'b', { topics: ['u'], topicCount: 300 })
      expect((await queue.stats({ topics: ['bom'] })).overdue).toEqual([{ topic: 'bom', oldestDueAt: START }])
    })

    it('what ended lately is of all processes: totals, rates, topics and lateness', async () => {
      const { clock, memory, queue: make } = makeWorld()
      const queue = make()
      await memory.record([{ ...NOTHING_ENDED, topic: 'old', completed: 1_000 }])
      await clock.advance('10m')
      await memory.record([
        { topic: 'a', completed: 98, failed: 3, dead: 1, skipped: 0, lateness: [[bucketOf(1), 98]] },
      ])
      await clock.advance('2m')
      await memory.record([
        { topic: 'a', completed: 1, failed: 0, dead: 0, skipped: 2, lateness: [[bucketOf(500), 1]] },
        { topic: 'b', completed: 1, failed: 0, dead: 0, skipped: 0, lateness: [[bucketOf(1), 1]] },
      ])
      const { recent, latenessMs } = await queue.stats()
      expect(recent).toEqual({
        since: START + 8 * MINUTE_MS,
        completed: 100,
        failed: 3,
        dead: 1,
        skipped: 2,
        perMinute: { completed: 25, failed: 0.75, dead: 0.25, skipped: 0.5 },
        topics: {
          a: { completed: 99, failed: 3, dead: 1, skipped: 2 },
          b: { completed: 1, failed: 0, dead: 0, skipped: 0 },
        },
      })
      expect(latenessMs?.p50).toBeCloseTo(1, 0)
      expect(latenessMs?.p99).toBeLessThan(1.1)
      expect(latenessMs?.max).toBeGreaterThanOrEqual(500)
      expect((await queue.stats({ topics: ['b'] })).recent?.topics).toEqual({
        b: { completed: 1, failed: 0, dead: 0, skipped: 0 },
      })
    })

    it('topics beyond those that are kept by name are added up', async () => {
      const { memory, queue: make } = makeWorld()
      const rows = Array.from({ length: FIGURE_TOPICS_MAX + 5 }, (_, i) => ({
        ...NOTHING_ENDED,
        topic: `t${i}`,
        completed: 1,
      }))
      await memory.record(rows)
      const { recent } = await make().stats()
      expect(recent).toMatchObject({ completed: FIGURE_TOPICS_MAX + 5, otherTopics: { completed: 5 } })
      expect(Object.keys(recent?.topics ?? {})).toHaveLength(FIGURE_TOPICS_MAX)
    })

    it.each([
      [{ topics: 't' }, 'OPTION_INVALID'],
      [{ topics: [''] }, 'TOPIC_INVALID'],
      [{ topics: Array.from({ length: 1_001 }, (_, i) => `t${i}`) }, 'BATCH_TOO_LARGE'],
      [{ topic: 't' }, 'OPTION_UNKNOWN'],
    ])('refuses what it does not understand, case %#', async (options, code) => {
      await expect(
        makeWorld()
          .queue()
          .stats(options as never),
      ).rejects.toMatchObject({ code })
    })
  })

  describe('forecast', () => {
    it('counts every message that waits in exactly one place', async () => {
      const HOUR = 3_600_000
      const question = fc.record({
        delays: fc.array(fc.integer({ min: 0, max: HOUR }), { maxLength: 60 }),
        from: fc.integer({ min: 0, max: HOUR }),
        span: fc.integer({ min: 1_001, max: HOUR }),
        bars: fc.integer({ min: 1, max: 1_000 }),
      })
      await fc.assert(
        fc.asyncProperty(question, async ({ delays, from, span, bars: count }) => {
          const queue = makeWorld().queue()
          await queue.produceMany(delays.map((delay) => ({ topic: 't', delay })))
          await queue.produce('other', 1)
          const options = { from: START + from, until: START + from + span, bars: count }
          const { bars, before, after, isExact } = await queue.forecast({ ...options, topic: 't' })
          const due = (a: number, b: number): number =>
            delays.filter((delay) => START + delay >= a && START + delay < b).length
          expect(bars).toHaveLength(count)
          expect([bars[0]?.from, bars.at(-1)?.until]).toEqual([options.from, options.until])
          for (const bar of bars) expect(bar.count).toBe(due(bar.from, bar.until))
          expect({ before, after, isExact }).toEqual({
            before: due(0, options.from),
            after: due(options.until, Infinity),
            isExact: true,
          })
        }),
        { numRuns: 50 },
      )
    })

    it('takes times from now, and edges as a calendar cuts them', async () => {
      const { queue: make } = makeWorld()
      const queue = make()
      await queue.produce('t', 1)
      await queue.produce('t', 1, { delay: '90m' })
      await queue.produce('t', 1, { delay: '30d' })
      const day = await queue.forecast({ until: '24h' })
      expect(day.bars.map(({ count }) => count).slice(0, 3)).toEqual([1, 1, 0])
      expect(day).toMatchObject({ before: 0, after: 1, bars: { length: 24 } })
      const months = await queue.forecast({
        edges: [new Date(START + 1), new Date(Date.UTC(2030, 1, 1)), Date.UTC(2030, 2, 1)],
      })
      expect(months).toMatchObject({ before: 1, bars: [{ count: 2 }, { count: 0 }], after: 0 })
      expect((await queue.forecast({ from: 0, until: START + 1, bars: 1 })).bars[0]?.count).toBe(1)
    })

    it.each([
      [{}, 'MOMENT_INVALID'],
      [{ until: 'soon' }, 'DURATION_INVALID'],
      [{ until: '0s' }, 'OPTION_INVALID'],
      [{ from: '2h', until: '1h' }, 'OPTION_INVALID'],
      [{ until: '5ms', bars: 6 }, 'OPTION_INVALID'],
      [{ until: '1h', bars: 0 }, 'OPTION_INVALID'],
      [{ until: '1h', bars: 1_001 }, 'OPTION_INVALID'],
      [{ until: 1e18 }, 'MOMENT_OUT_OF_RANGE'],
      [{ until: '1h', edges: [1, 2] }, 'OPTION_INVALID'],
      [{ edges: [1] }, 'OPTION_INVALID'],
      [{ edges: [2, 2] }, 'OPTION_INVALID'],
      [{ edges: [1, 'x'] }, 'MOMENT_INVALID'],
      [{ until: '1h', topic: '' }, 'TOPIC_INVALID'],
      [{ until: '1h', zone: 'UTC' }, 'OPTION_UNKNOWN'],
    ])('refuses what it does not understand, case %#', async (options, code) => {
      await expect(
        makeWorld()
          .queue()
          .forecast(options as never),
      ).rejects.toMatchObject({ code })
    })
  })

  describe('workers', () => {
    it('who is alive, who fell silent, who said goodbye', async () => {
      const { clock, memory, queue: make } = makeWorld()
      const queue = make()
      expect(await queue.workers()).toEqual([])
      await claim(memory, 'silent')
      await claim(memory, 'gone')
      await clock.advance('1m')
      await memory.leave('gone')
      await clock.advance('90s')
      await claim(memory, 'alive', { running: 3 })
      const found = await queue.workers()
      expect(Object.fromEntries(found.map(({ owner, state }) => [owner, state]))).toEqual({
        alive: 'alive',
        gone: 'gone',
        silent: 'silent',
      })
      expect(found.find(({ owner }) => owner === 'alive')).toEqual({
        owner: 'alive',
        state: 'alive',
        firstSeenAt: START + 150_000,
        lastSeenAt: START + 150_000,
        facts: { ...FACTS, running: 3 },
      })
      expect(found.find(({ owner }) => owner === 'gone')).toMatchObject({ goneAt: START + MINUTE_MS })
      await clock.advance('57m')
      expect((await queue.workers()).map(({ owner }) => owner).toSorted()).toEqual([
        'alive',
        'gone',
        'silent',
      ])
      await clock.advance('1m')
      expect((await queue.workers()).map(({ owner }) => owner).toSorted()).toEqual(['alive', 'gone'])
      await clock.advance('1h')
      expect(await queue.workers()).toEqual([])
    })

    it('facts that this version cannot read are left out', async () => {
      const { memory, queue: make } = makeWorld()
      const request = { from: 'due', wants: [], limit: 1, bytesMax: 1, leaseMs: 1_000, leadMs: 0 } as const
      await memory.claim({ ...request, owner: 'newer', facts: '{"shape":"new"}' })
      expect(await make().workers()).toMatchObject([{ owner: 'newer', state: 'alive' }])
      expect((await make().workers())[0]).not.toHaveProperty('facts')
    })

    it('in one process nobody is silent: an idle worker has no reason to ask', async () => {
      const { clock, memory, queue: make } = makeWorld({ shared: false })
      await claim(memory, 'idle')
      await clock.advance('1h')
      expect(await make().workers()).toMatchObject([{ owner: 'idle', state: 'alive' }])
    })
  })

  describe('get and list', () => {
    it('tell when it was produced, first due, by whom it runs, and how often it lapsed', async () => {
      const { clock, memory, queue: make } = makeWorld()
      const queue = make()
      await queue.produce('t', 1, { id: 'x', delay: '1m' })
      await clock.advance('1m')
      const leases = await claim(memory, 'oak:42')
      expect(await queue.get('x')).toMatchObject({
        producedAt: START,
        firstDueAt: START + MINUTE_MS,
        owner: 'oak:42',
        lapses: 0,
      })
      await memory.settle([
        { ...onlyOne(leases), kind: 'retry', delayMs: 5_000, error: 'gone', isLapse: true },
      ])
      const { items } = await queue.list({ state: 'delayed' })
      expect(items).toMatchObject([
        { dueAt: START + MINUTE_MS + 5_000, firstDueAt: START + MINUTE_MS, lapses: 1, attempt: 1 },
      ])
      expect(items[0]).not.toHaveProperty('owner')
    })

    it('find by moment, id and text, and tell how far they looked', async () => {
      const queue = makeWorld().queue()
      for (let i = 0; i < 100; i += 1) {
        await queue.produce(
          't',
          { city: i % 10 === 0 ? 'Oslo' : 'Rome' },
          { id: `o-${i}`, delay: `${i + 1}m` },
        )
      }
      const ids = async (options: Parameters<typeof queue.list>[0]): Promise<string[]> =>
        (await queue.list(options)).items.map(({ id }) => id).toSorted()
      expect(
        await ids({ dueFrom: START + 5 * MINUTE_MS, dueUntil: new Date(START + 7 * MINUTE_MS) }),
      ).toEqual(['o-4', 'o-5'])
      expect(await ids({ idPrefix: 'o-9', text: 'Oslo' })).toEqual(['o-90'])
      expect(await ids({ text: '"Oslo"', topic: 't', state: 'delayed' })).toHaveLength(10)
      expect(await ids({ text: 'Paris' })).toEqual([])
      expect((await queue.list({ text: 'Paris' })).scanned).toBeGreaterThanOrEqual(100)
    })

    it.each([
      [{ dueFrom: 'soon' }, 'MOMENT_INVALID'],
      [{ dueUntil: 1e18 }, 'MOMENT_OUT_OF_RANGE'],
      [{ idPrefix: '' }, 'ID_INVALID'],
      [{ text: '' }, 'OPTION_INVALID'],
      [{ text: 5 }, 'OPTION_INVALID'],
    ])('refuse what they do not understand, case %#', async (options, code) => {
      await expect(
        makeWorld()
          .queue()
          .list(options as never),
      ).rejects.toMatchObject({ code })
    })
  })

  describe('why', () => {
    const about = { id: 'x', topic: 't', dueAt: START, attempt: 0 }

    it('unknown, and not due', async () => {
      const { memory, queue: make } = makeWorld()
      const queue = make()
      expect(await queue.why('x')).toEqual({ kind: 'unknown', id: 'x' })
      await queue.produce('t', 1, { id: 'x', delay: '1m' })
      const notDue = { ...about, kind: 'not-due', dueAt: START + MINUTE_MS }
      expect(await queue.why('x')).toEqual({ ...notDue, handlers: { workers: 0, running: 0, slots: 0 } })
      await claim(memory, 'a')
      await claim(memory, 'b', { running: 3 })
      expect(await queue.why('x')).toEqual({
        ...notDue,
        handlers: { workers: 2, running: 4, slots: 8, lastSeenAt: START },
      })
    })

    it('no living worker of its topic', async () => {
      const { clock, memory, queue: make } = makeWorld()
      const queue = make()
      await queue.produce('t', 1, { id: 'x' })
      expect(await queue.why('x')).toEqual({ kind: 'no-worker', ...about, livingWorkers: 0 })
      await claim(memory, 'a', { topics: ['u'] })
      expect(await queue.why('x')).toEqual({ kind: 'no-worker', ...about, livingWorkers: 1 })
      await clock.advance('5m')
      expect(await queue.why('x')).toEqual({ kind: 'no-worker', ...about, livingWorkers: 0 })
    })

    it('N of its topic before it', async () => {
      const { clock, memory, queue: make } = makeWorld()
      const queue = make()
      await claim(memory, 'a')
      for (let i = 0; i < 7; i += 1) await queue.produce('t', i)
      await queue.produce('u', 1)
      await queue.produce('t', 1, { id: 'x', delay: 1 })
      await clock.advance(1)
      const handlers = { workers: 1, running: 1, slots: 4, lastSeenAt: START }
      const line = { kind: 'in-line', ...about, dueAt: START + 1 }
      expect(await queue.why('x')).toEqual({ ...line, running: 0, before: 7, isExact: true, handlers })
      await claim(memory, 'a')
      await queue.produce('t', 1, { id: 'y' })
      expect(await queue.why('y')).toMatchObject({ kind: 'in-line', running: 8 })
    })

    it('running by whom, lapsed, waiting for a retry after which error, dead', async () => {
      const { clock, memory, queue: make } = makeWorld()
      const queue = make()
      await queue.produce('t', 1, { id: 'x' })
      const leases = await claim(memory, 'a')
      const running = { ...about, attempt: 1, owner: 'a', worker: { owner: 'a', state: 'alive' } }
      expect(await queue.why('x')).toMatchObject({
        kind: 'running',
        ...running,
        since: START,
        leaseEndsAt: START + 15_000,
      })
      await clock.advance('20s')
      expect(await queue.why('x')).toMatchObject({
        kind: 'lapsed',
        ...running,
        leaseEndedAt: START + 15_000,
        livingWorkers: 1,
      })
      await memory.settle([{ ...onlyOne(leases), kind: 'retry', delayMs: 5_000, error: 'no way' }])
      expect(await queue.why('x')).toMatchObject({
        kind: 'retry',
        attempt: 1,
        dueAt: START + 25_000,
        error: 'no way',
        lapses: 0,
      })
      await clock.advance('5s')
      const again = await claim(memory, 'a')
      await memory.settle([{ ...onlyOne(again), kind: 'dead', reason: 'failed', error: 'still no way' }])
      expect(await queue.why('x')).toEqual({
        kind: 'dead',
        ...about,
        dueAt: START + 25_000,
        attempt: 2,
        reason: 'failed',
        error: 'still no way',
        diedAt: START + 25_000,
        lapses: 0,
      })
    })

    it('an id that is none is refused', async () => {
      await expect(makeWorld().queue().why('')).rejects.toMatchObject({ code: 'ID_INVALID' })
    })
  })

  describe('the doctor', () => {
    it('16 messages that are 15 minutes overdue are a problem, and named', async () => {
      const { clock, queue: make } = makeWorld()
      const queue = make()
      for (let i = 0; i < 16; i += 1) await queue.produce('bom', i)
      await clock.advance('9s')
      expect((await queue.doctor()).map(({ what }) => what).join()).not.toContain('overdue')
      await clock.advance('11s')
      expect(await queue.doctor()).toMatchObject([
        { level: 'warning', what: expect.stringContaining('"bom"') },
        {},
      ])
      await clock.advance('15m')
      const [first] = await queue.doctor()
      expect(first).toEqual({
        level: 'problem',
        what: 'topic "bom" is overdue: 16 messages due, the oldest since 15m, and no living worker handles it',
        remedy: 'start a worker with a handler for it; if the topic is misspelt, purge its messages',
      })
    })

    it('tells whether workers handle it, as far as that can be known', async () => {
      const { clock, memory, queue: make } = makeWorld()
      const queue = make()
      await clock.advance('3h')
      await queue.produce('t', 1, { at: START })
      await claim(memory, 'a', { topics: ['t', 'u'] })
      await queue.produce('t', 1, { at: START, id: 'y' })
      expect((await queue.doctor())[0]?.what).toBe(
        'topic "t" is overdue: 1 message due, the oldest since 3h, and 1 living worker handles it',
      )
      // One that was killed counts as living for two minutes more.
      const remedy = async (): Promise<string> => (await queue.doctor())[0]?.remedy ?? ''
      const start = 'its handlers take too long or too few run at once'
      const look = 'look at "punctual workers" and at concurrency'
      expect(await remedy()).toBe(`${start}: ${look}`)
      await clock.advance('67s')
      expect(await remedy()).toBe(`${start}, or its process was killed (last heard of 67s ago): ${look}`)
      await claim(memory, 'b', { topics: ['t'] })
      await queue.produce('t', 1, { at: START, id: 'z' })
      expect(await remedy()).toContain('or the process of one was killed (last heard of 67s ago)')
    })

    it('P10: ten topics by name, the rest as a number', async () => {
      const { clock, queue: make } = makeWorld()
      const queue = make()
      await queue.produceMany(Array.from({ length: 13 }, (_, i) => ({ topic: `t${i}` })))
      await clock.advance('2m')
      const problems = (await queue.doctor()).filter(({ level }) => level === 'problem')
      expect(problems).toHaveLength(11)
      expect(problems.at(-1)?.what).toBe('3 more topics are overdue, the oldest message by 2m')
    })
  })
})
