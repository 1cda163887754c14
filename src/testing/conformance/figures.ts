/** Numbers that the store keeps or works out: forecasts, figures by minute, counts by topic. */
import assert from 'node:assert/strict'
import {
  FIGURES_KEPT_MS,
  FIGURE_TOPICS_MAX,
  MINUTE_MS,
  OTHER_TOPICS,
  type EndedCounts,
} from '../../core/metrics/figures.ts'
import type {
  FiguresQuery,
  MinuteFigures,
  Store,
  TopicCounts,
  TopicFigures,
} from '../../store/contract/store.ts'
import { TOPIC, claim, claimDue, claimOne, dead, message, stored } from './stand.ts'
import { test, type ConformanceTest } from './test.ts'

const EVER: FiguresQuery = { from: 0, until: 8e15 }

function ended(topic: string, counts: Partial<EndedCounts> = {}): TopicFigures {
  return { topic, completed: 1, failed: 0, dead: 0, skipped: 0, lateness: [], ...counts }
}

async function everyRow(store: Store, query: FiguresQuery = EVER): Promise<MinuteFigures[]> {
  const rows: MinuteFigures[] = []
  let cursor: string | undefined
  do {
    const page = await store.figures({ ...query, ...(cursor === undefined ? {} : { cursor }) })
    rows.push(...page.rows)
    cursor = page.cursor
  } while (cursor !== undefined)
  return rows.toSorted((a, b) => a.minuteAt - b.minuteAt || a.topic.localeCompare(b.topic))
}

/** The store's now. */
async function nowOf(store: Store): Promise<number> {
  await store.put([message('now', { topic: 'clock' })])
  const { dueAt } = await stored(store, 'now')
  await store.remove(['now'], 'waiting')
  return dueAt
}

/** To the beginning of the store's next minute. */
async function nextMinute(store: Store, advance: (ms: number) => Promise<void>): Promise<number> {
  const now = await nowOf(store)
  await advance(MINUTE_MS - (now % MINUTE_MS))
  return now - (now % MINUTE_MS) + MINUTE_MS
}

async function everyTopic(store: Store, limit: number): Promise<[string, TopicCounts][]> {
  const all: [string, TopicCounts][] = []
  let cursor: string | undefined
  do {
    const page = await store.countTopics({ limit, ...(cursor === undefined ? {} : { cursor }) })
    assert.ok(Object.keys(page.topics).length <= limit, 'no page is longer than asked for')
    all.push(...Object.entries(page.topics))
    cursor = page.cursor
  } while (cursor !== undefined)
  return all
}

export const figureTests: readonly ConformanceTest[] = [
  test('forecast: what waits, by bar; a bar holds its first edge and not its last', async ({
    store,
    advance,
  }) => {
    const now = await nowOf(store)
    const moments = [-5000, -1, 0, 999, 1000, 1001, 1999, 2000, 2999, 3000, 60_000]
    await store.put(moments.map((ms, i) => message(`m${i}`, { when: { at: now + ms } })))
    const edges = [-1, 0, 1000, 2000, 3000].map((ms) => now + ms)
    assert.deepEqual(await store.forecast({ edges }), { counts: [1, 2, 3, 2], isExact: true })
    const whole = { edges: [now - 10_000, now + 100_000] }
    assert.deepEqual((await store.forecast(whole)).counts, [moments.length])
    assert.deepEqual((await store.forecast({ edges: [now + 100_000, now + 200_000] })).counts, [0])
    await advance(2500)
    assert.deepEqual((await store.forecast({ edges })).counts, [1, 2, 3, 2], 'ready ones count too')
    assert.deepEqual((await store.forecast(whole)).counts, [moments.length])
  }),

  test('forecast: of one topic; without what runs, is dead or was cancelled', async ({ store }) => {
    const now = await nowOf(store)
    await store.put([
      message('a1', { topic: 'a', when: { at: now + 500 } }),
      message('a2', { topic: 'a', when: { at: now + 1500 } }),
      message('b1', { topic: 'b', when: { at: now + 500 } }),
      message('runs', { topic: 'b', when: { at: now } }),
      message('dies', { topic: 'b', when: { at: now } }),
    ])
    const edges = [now, now + 1000, now + 2000]
    assert.deepEqual((await store.forecast({ edges })).counts, [4, 1])
    assert.deepEqual((await store.forecast({ edges, topic: 'a' })).counts, [1, 1])
    assert.deepEqual((await store.forecast({ edges, topic: 'nothing' })).counts, [0, 0])
    await claimOne(store, ['b'])
    await store.settle([dead(await claimOne(store, ['b']))])
    assert.deepEqual((await store.forecast({ edges, topic: 'b' })).counts, [1, 0])
    await store.remove(['b1'], 'waiting')
    await store.reschedule([{ id: 'a1', when: { at: now + 1999 } }])
    assert.deepEqual((await store.forecast({ edges })).counts, [0, 2])
  }),

  test('forecast: a thousand bars, even and uneven, and a few that hold many', async ({ store }) => {
    const now = await nowOf(store)
    const size = Math.min(300, store.capabilities.batchMax)
    await store.put(
      Array.from({ length: size }, (_, i) => message(`m${i}`, { when: { at: now + 1000 + i * i } })),
    )
    const thousand = Array.from({ length: 1_001 }, (_, i) => i)
    const few = [0, 20, 100, size - 1].map((i) => 1000 + i * i)
    for (const afterMs of [thousand.map((i) => i * 100), thousand.map((i) => i * i), few]) {
      const edges = afterMs.map((ms) => now + ms)
      const { counts } = await store.forecast({ edges })
      assert.equal(counts.length, edges.length - 1)
      const expected = counts.map((_, bar) => {
        const [from = 0, until = 0] = [edges[bar], edges[bar + 1]]
        return Array.from({ length: size }, (__, i) => now + 1000 + i * i).filter(
          (at) => at >= from && at < until,
        ).length
      })
      assert.deepEqual(counts, expected)
    }
  }),

  test('P10: a forecast with too few, too many or unordered edges is refused', async ({ store }) => {
    const tooMany = Array.from({ length: 1_002 }, (_, i) => i)
    for (const edges of [[], [1], [2, 1], [1, NaN], [0, 1, Infinity], tooMany])
      await assert.rejects(store.forecast({ edges }), { code: 'OPTION_INVALID' })
  }),

  test('figures: what is recorded adds up by topic and minute', async ({ store, advance, another }) => {
    const first = await nextMinute(store, advance)
    const other = (await another?.()) ?? store
    await store.record([
      ended('a', { completed: 2, failed: 1, lateness: [[3, 2]] }),
      ended('b', { dead: 1, skipped: 4 }),
    ])
    await advance(MINUTE_MS - 1)
    await other.record([
      ended('a', {
        completed: 5,
        lateness: [
          [1, 1],
          [3, 4],
        ],
      }),
    ])
    await advance(1)
    await store.record([ended('a')])
    assert.deepEqual(await everyRow(store), [
      {
        minuteAt: first,
        topic: 'a',
        completed: 7,
        failed: 1,
        dead: 0,
        skipped: 0,
        lateness: [
          [1, 1],
          [3, 6],
        ],
      },
      { minuteAt: first, topic: 'b', completed: 1, failed: 0, dead: 1, skipped: 4, lateness: [] },
      {
        minuteAt: first + MINUTE_MS,
        topic: 'a',
        completed: 1,
        failed: 0,
        dead: 0,
        skipped: 0,
        lateness: [],
      },
    ])
  }),

  test('figures: by topic, and minutes that begin in between', async ({ store, advance }) => {
    const first = await nextMinute(store, advance)
    for (let i = 0; i < 4; i += 1) {
      await store.record([ended('a'), ended('b')])
      await advance(MINUTE_MS)
    }
    const from = first + MINUTE_MS
    const until = first + 3 * MINUTE_MS
    const minutes = async (query: FiguresQuery): Promise<number[]> =>
      (await everyRow(store, query)).map(({ minuteAt }) => (minuteAt - first) / MINUTE_MS)
    assert.deepEqual(await minutes({ from, until, topic: 'a' }), [1, 2])
    assert.deepEqual(await minutes({ from: from + 1, until, topic: 'b' }), [2])
    assert.deepEqual(await minutes({ from, until: until + 1, topic: 'b' }), [1, 2, 3])
    assert.deepEqual(await minutes({ from, until }), [1, 1, 2, 2])
    assert.deepEqual(await minutes({ ...EVER, topic: 'nothing' }), [])
    assert.deepEqual(await everyRow(store, { from: until, until: from }), [])
  }),

  test('P10: so many topics of a minute are kept by name, the rest together', async ({ store, advance }) => {
    await nextMinute(store, advance)
    const size = Math.min(FIGURE_TOPICS_MAX + 50, store.capabilities.batchMax)
    const names = Array.from({ length: size }, (_, i) => `topic ${i}`)
    await store.record(names.map((name) => ended(name, { lateness: [[5, 1]] })))
    await store.record(names.map((name) => ended(name, { failed: 1, lateness: [[6, 1]] })))
    const rows = await everyRow(store)
    assert.equal(rows.length, Math.min(size, FIGURE_TOPICS_MAX + 1))
    const sum = rows.reduce((total, { completed }) => total + completed, 0)
    assert.equal(sum, 2 * size, 'nothing is left out of the sum')
    const others = rows.find(({ topic }) => topic === OTHER_TOPICS)
    if (size > FIGURE_TOPICS_MAX) {
      const beyond = size - FIGURE_TOPICS_MAX
      assert.deepEqual([others?.completed, others?.failed], [2 * beyond, beyond])
      assert.deepEqual(others?.lateness, [
        [5, beyond],
        [6, beyond],
      ])
    }
  }),

  test('P10: many rows come page by page, each once', async ({ store, advance }) => {
    await nextMinute(store, advance)
    const size = Math.min(FIGURE_TOPICS_MAX, store.capabilities.batchMax)
    const names = Array.from({ length: size }, (_, i) => `topic ${i}`)
    for (let i = 0; i < 8; i += 1) {
      await store.record(names.map((name) => ended(name)))
      await advance(MINUTE_MS)
    }
    const keys = (await everyRow(store)).map(({ minuteAt, topic }) => `${minuteAt} ${topic}`)
    assert.equal(keys.length, 8 * size)
    assert.equal(new Set(keys).size, keys.length)
    const first = await store.figures(EVER)
    assert.ok(first.rows.length <= 10_000, 'a page is bounded')
  }),

  test('P10: many minutes of one topic come page by page, each once', async ({ store, advance }) => {
    const minutes = 1_010
    await nextMinute(store, advance)
    for (let i = 0; i < minutes; i += 1) {
      await store.record([ended('a'), ended('b')])
      await advance(MINUTE_MS)
    }
    const rows = await everyRow(store, { ...EVER, topic: 'a' })
    assert.deepEqual([rows.length, new Set(rows.map(({ minuteAt }) => minuteAt)).size], [minutes, minutes])
  }),

  test('figures are kept for 48 hours', async ({ store, advance }) => {
    await nextMinute(store, advance)
    await store.record([ended('a')])
    await advance(FIGURES_KEPT_MS - MINUTE_MS)
    await store.record([ended('b')])
    assert.deepEqual(
      (await everyRow(store)).map(({ topic }) => topic),
      ['a', 'b'],
    )
    await advance(4 * MINUTE_MS)
    await store.record([ended('c')])
    assert.deepEqual(
      (await everyRow(store)).map(({ topic }) => topic),
      ['b', 'c'],
    )
  }),

  test('counts by topic: page by page, each topic once', async ({ store }) => {
    const topics = Array.from({ length: 25 }, (_, i) => `topic ${i}`)
    await store.put(topics.flatMap((topic, i) => [1, 2].map((j) => message(`${i} ${j}`, { topic }))))
    for (const limit of [1, 7, 25, 100]) {
      const found = await everyTopic(store, limit)
      assert.deepEqual(found.map(([name]) => name).toSorted(), topics.toSorted(), `in pages of ${limit}`)
      assert.ok(found.every(([, { waiting, running, dead: died }]) => waiting === 2 && running + died === 0))
    }
  }),

  test('counts by topic: named ones', async ({ store }) => {
    await store.put(['a', 'b', 'c'].map((topic) => message(topic, { topic })))
    await claimDue(store, 1, ['b'])
    const { topics } = await store.countTopics({ topics: ['b', 'nothing', 'c'] })
    const counted = (name: string): readonly unknown[] => {
      const { waiting = 0, running = 0, dead: died = 0 } = topics[name] ?? {}
      return [waiting, running, died]
    }
    assert.deepEqual(['a', 'b', 'c', 'nothing'].map(counted), [
      [0, 0, 0],
      [0, 1, 0],
      [1, 0, 0],
      [0, 0, 0],
    ])
  }),

  test('counts by topic tell the earliest moment of each', async ({ store, advance }) => {
    const now = await nowOf(store)
    await store.put([
      message('a', { topic: 'a', when: { at: now + 5000 } }),
      message('a2', { topic: 'a', when: { at: now + 3000 } }),
      message('b', { topic: 'b', when: { at: now - 500 }, priority: 2 }),
      message('b2', { topic: 'b', when: { at: now + 100 }, priority: 0 }),
      message('c', { topic: 'c' }),
    ])
    await claimOne(store, ['c'])
    const nextOf = async (): Promise<unknown> => {
      const { topics } = await store.countTopics({ topics: ['a', 'b', 'c'] })
      return ['a', 'b', 'c'].map((name) => {
        const at = topics[name]?.nextDueAt
        return at === undefined ? undefined : at - now
      })
    }
    assert.deepEqual(await nextOf(), [3000, -500, undefined])
    await store.remove(['a2'], 'waiting')
    await advance(200)
    assert.deepEqual(await nextOf(), [5000, -500, undefined])
    assert.equal((await store.count()).nextDueAt, now - 500)
    await claim(store, { topics: ['b'] })
    assert.deepEqual(await nextOf(), [5000, undefined, undefined])
    assert.equal((await store.count()).nextDueAt, now + 5000)
    await store.reschedule([{ id: 'a', when: { at: now + 7000 } }])
    assert.deepEqual(await nextOf(), [7000, undefined, undefined])
  }),

  test('a topic whose messages are all gone counts nothing', async ({ store }) => {
    await store.put([message('a', { topic: 'gone' }), message('b', { topic: 'gone' }), message('c')])
    await store.remove(['a'], 'waiting')
    const lease = await claimOne(store, ['gone'])
    await store.settle([{ kind: 'ack', id: lease.id, token: lease.token, topic: lease.topic }])
    const { topics } = await store.countTopics({ limit: 10 })
    const { waiting = 0, running = 0, dead: died = 0 } = topics['gone'] ?? {}
    assert.equal(waiting + running + died, 0)
    assert.equal(topics[TOPIC]?.waiting, 1)
    await store.put([message('a', { topic: 'gone' })])
    assert.equal((await store.countTopics({ topics: ['gone'] })).topics['gone']?.waiting, 1)
  }),
]
