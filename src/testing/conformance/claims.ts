/** Claims for several topics at once: to each its own, within every limit (P7, P10, P12). */
import assert from 'node:assert/strict'
import type { PriorityRank } from '../../core/message.ts'
import type { ClaimReply, NewMessage } from '../../store/contract/store.ts'
import { takeCensus } from '../census.ts'
import {
  LEASE_MS,
  TOPIC,
  claim,
  claimDue,
  claimLapsed,
  claimOne,
  idsOf,
  lapsedReply,
  message,
} from './stand.ts'
import { test, type ConformanceTest } from './test.ts'

/** `['a0', 'b1', 'c2', 'a3', …]`, all with one moment; the first letter is the topic. */
function interleaved(topics: readonly string[], count: number): NewMessage[] {
  return Array.from({ length: count }, (_, i) => {
    const topic = topics[i % topics.length] ?? ''
    return message(`${topic}${i}`, { topic, when: { delayMs: 1000 } })
  })
}

/** What each topic got, in order; a message that came under another topic's name fails. */
function byTopic({ leases }: Pick<ClaimReply, 'leases'>): Record<string, string[]> {
  const found: Record<string, string[]> = {}
  for (const { id, topic, body } of leases) {
    assert.equal(id[0], topic, `${id} came as a message of ${topic}`)
    assert.equal(body, `{"id":"${id}"}`)
    found[topic] = [...(found[topic] ?? []), id]
  }
  return found
}

export const claimTests: readonly ConformanceTest[] = [
  ...[
    ['a', 'b'],
    ['b', 'a'],
    ['a', 'b', 'c'],
    ['c', 'a', 'b'],
  ].map((wanted) =>
    test(`P7: ${wanted.join(', ')} with equal moments: to each topic its own, in produce order`, async ({
      store,
      advance,
    }) => {
      const topics = wanted.toSorted()
      await store.put(interleaved(topics, 12))
      await advance(1000)
      const got: Record<string, string[]> = {}
      for (const limit of [4, 3, 5]) {
        const reply = await claim(store, { topics: wanted, limit })
        assert.equal(reply.leases.length, limit)
        for (const [topic, ids] of Object.entries(byTopic(reply)))
          got[topic] = [...(got[topic] ?? []), ...ids]
      }
      const expected = interleaved(topics, 12)
      for (const topic of topics)
        assert.deepEqual(got[topic], idsOf(expected.filter((one) => one.topic === topic)))
      assert.equal((await claim(store, { topics: wanted })).next.state, 'NO_TASK')
    }),
  ),

  test('P7: each topic’s own limit holds, and what exceeds it is handed out next time', async ({
    store,
    advance,
  }) => {
    await store.put(interleaved(['a', 'b', 'c'], 15))
    await advance(1000)
    const wants = [
      { topic: 'a', limit: 2 },
      { topic: 'b', limit: 1 },
      { topic: 'c', limit: 9 },
    ]
    const first = await claim(store, { wants, limit: 100 })
    assert.deepEqual(byTopic(first), { a: ['a0', 'a3'], b: ['b1'], c: ['c2', 'c5', 'c8', 'c11', 'c14'] })
    assert.equal(first.next.state, 'EXPIRED')
    assert.deepEqual(byTopic(await claim(store, { wants, limit: 100 })), { a: ['a6', 'a9'], b: ['b4'] })
    const onlyB = [{ topic: 'b', limit: 2 }]
    assert.deepEqual(byTopic(await claim(store, { wants: onlyB, limit: 100 })), { b: ['b7', 'b10'] })
    assert.deepEqual(byTopic(await claim(store, { wants, limit: 100 })), { a: ['a12'], b: ['b13'] })
  }),

  test('P7: a topic’s limit holds across its priorities', async ({ store }) => {
    const ranks: readonly PriorityRank[] = [2, 1, 0, 2, 1, 0, 2, 1, 0]
    await store.put(ranks.map((priority, i) => message(`a${i}`, { topic: 'a', priority })))
    await store.put([message('b0', { topic: 'b', priority: 2 })])
    const wants = [
      { topic: 'a', limit: 4 },
      { topic: 'b', limit: 4 },
    ]
    assert.deepEqual(byTopic(await claim(store, { wants, limit: 100 })), {
      a: ['a2', 'a5', 'a8', 'a1'],
      b: ['b0'],
    })
    assert.deepEqual(byTopic(await claim(store, { wants, limit: 100 })), { a: ['a4', 'a7', 'a0', 'a3'] })
  }),

  test('P7: the limit in all holds across topics and priorities', async ({ store }) => {
    await store.put(
      ['a', 'b', 'c'].flatMap((topic) => [
        message(`${topic}1`, { topic, priority: 1 }),
        message(`${topic}0`, { topic, priority: 0 }),
      ]),
    )
    const topics = ['a', 'b', 'c']
    assert.deepEqual(idsOf((await claim(store, { topics, limit: 4 })).leases).slice(0, 3), ['a0', 'b0', 'c0'])
    const rest = await claim(store, { topics, limit: 4 })
    assert.equal(rest.leases.length, 2)
    assert.equal(rest.next.state, 'NO_TASK')
  }),

  test('P7: what others left waiting is found in its order', async ({ store, advance }) => {
    for (let i = 0; i < 6; i += 1) {
      await store.put([
        message(`a${i}`, { topic: 'a', when: { delayMs: 100 } }),
        message(`b${i}`, { topic: 'b', when: { delayMs: 100 } }),
      ])
      await advance(1)
    }
    await advance(1000)
    assert.deepEqual(idsOf(await claimDue(store, 3, ['b'])), ['b0', 'b1', 'b2'])
    assert.deepEqual(idsOf(await claimDue(store, 2, ['a'])), ['a0', 'a1'])
    const { leases } = await claim(store, { topics: ['a', 'b'] })
    assert.deepEqual(byTopic({ leases }), { a: ['a2', 'a3', 'a4', 'a5'], b: ['b3', 'b4', 'b5'] })
  }),

  test('P2: a ready message that was cancelled is not handed out', async ({ store }) => {
    await store.put(['a', 'b', 'c'].map((id) => message(id)))
    await claimReady(store)
    await store.remove(['a', 'c'], 'waiting')
    assert.deepEqual(idsOf(await claimDue(store)), ['b'])
    await takeCensus(store)
  }),

  test('P1: a ready message that was put off is handed out then, once', async ({ store, advance }) => {
    await store.put(['a', 'b'].map((id) => message(id)))
    await claimReady(store)
    await store.reschedule([{ id: 'a', when: { delayMs: 5000 } }])
    assert.deepEqual(idsOf(await claimDue(store)), ['b'])
    await store.reschedule([{ id: 'a', when: { delayMs: 1000 } }])
    await store.reschedule([{ id: 'a', when: { delayMs: 3000 } }])
    await advance(1000)
    assert.deepEqual(await claimDue(store), [])
    await advance(2000)
    assert.deepEqual(idsOf(await claimDue(store)), ['a'])
    assert.deepEqual(await claimDue(store), [])
  }),

  test('P5: a ready message that was replaced is handed out as the new one', async ({ store }) => {
    await store.put(['a', 'b'].map((id) => message(id)))
    await claimReady(store)
    await store.put([message('a', { body: '"new"', ifExists: 'replace' })])
    const leases = await claimDue(store)
    assert.deepEqual(
      leases.map(({ id, body }) => [id, body]),
      [
        ['b', '{"id":"b"}'],
        ['a', '"new"'],
      ],
    )
  }),

  test('P8: more lapsed than one call takes: all are found, oldest first, and next says so', async ({
    store,
    advance,
  }) => {
    await store.put(Array.from({ length: 5 }, (_, i) => message(`m${i}`)))
    for (let i = 0; i < 5; i += 1) {
      await claimOne(store)
      await advance(1)
    }
    await advance(LEASE_MS)
    const first = await lapsedReply(store, 'reaper', 2)
    assert.deepEqual([idsOf(first.leases), first.next.state], [['m0', 'm1'], 'EXPIRED'])
    assert.deepEqual(idsOf(await claimLapsed(store, 2)), ['m2', 'm3'])
    assert.deepEqual(idsOf(await claimLapsed(store, 2)), ['m4'])
    assert.deepEqual(idsOf(await claimLapsed(store, 2)), [])
  }),

  test('P10: many wants', async ({ store }) => {
    const topics = Array.from({ length: Math.min(100, store.capabilities.wantsMax) }, (_, i) => `topic ${i}`)
    const [first, last] = [topics[0] ?? '', topics.at(-1) ?? '']
    await store.put([message('z', { topic: last }), message('a', { topic: first })])
    const { leases } = await claim(store, { topics })
    assert.deepEqual(idsOf(leases).toSorted(), ['a', 'z'])
  }),

  test('P10: as many wants as allowed are served, and one more is refused', async ({ store }) => {
    const { wantsMax, batchMax } = store.capabilities
    const topics = Array.from({ length: wantsMax + 1 }, (_, i) => `topic ${i}`)
    const limit = Math.min(5, batchMax)
    await store.put([message('a', { topic: topics[wantsMax - 1] ?? '' })])
    await assert.rejects(claim(store, { topics, limit }), { code: 'BATCH_TOO_LARGE' })
    const { leases } = await claim(store, { topics: topics.slice(0, wantsMax), limit })
    assert.deepEqual(
      leases.map(({ id, attempt }) => [id, attempt]),
      [['a', 1]],
    )
  }),

  test('P10: a limit above the maximum is refused, not trimmed', async ({ store }) => {
    const limit = store.capabilities.batchMax + 1
    await store.put([message('a')])
    await assert.rejects(claim(store, { limit }), { code: 'BATCH_TOO_LARGE' })
    await assert.rejects(lapsedReply(store, 'reaper', limit), { code: 'BATCH_TOO_LARGE' })
    await assert.rejects(store.inspect({ state: 'ready', limit }), { code: 'BATCH_TOO_LARGE' })
    await assert.rejects(store.countTopics({ limit }), { code: 'BATCH_TOO_LARGE' })
    assert.equal((await claimOne(store)).attempt, 1)
  }),

  test('next: speaks of wanted topics only', async ({ store, advance }) => {
    await store.put([
      message('x', { topic: 'others', when: { delayMs: 1000 } }),
      message('y', { topic: 'others', when: { delayMs: 2000 } }),
      message('a', { when: { delayMs: 5000 } }),
      message('b', { when: { delayMs: 3000 } }),
    ])
    const waits = async (topics: readonly string[], ms: number): Promise<void> => {
      const { next } = await claim(store, { topics })
      assert.ok(
        next.state === 'WAITING' && next.ms > ms - 1 && next.ms <= ms,
        `${JSON.stringify(next)}, ${ms}`,
      )
    }
    await waits([TOPIC], 3000)
    await waits(['others'], 1000)
    await waits([TOPIC, 'others'], 1000)
    assert.deepEqual((await claim(store, { topics: ['nothing'] })).next, { state: 'NO_TASK' })
    await store.remove(['b'], 'waiting')
    await waits([TOPIC], 5000)
    await advance(1500)
    await waits([TOPIC], 3500)
    await store.reschedule([{ id: 'a', when: { delayMs: 50_000 } }])
    await waits([TOPIC], 50_000)
    assert.deepEqual(idsOf(await claimDue(store, 5, ['others'])), ['x'])
    await waits(['others'], 500)
  }),
]

/** Lets the store notice that they are due, without handing them out. */
async function claimReady(store: Parameters<typeof claim>[0]): Promise<void> {
  assert.deepEqual(await claimDue(store, 10, ['nothing']), [])
  await store.count()
}
