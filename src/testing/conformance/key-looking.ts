/** Looking at keys (P10, P18): lists, counts, pages of keys, and hostile texts. */
import assert from 'node:assert/strict'
import { KEY_LIMITS_MAX } from '../../core/keys.ts'
import type { KeyState, Store } from '../../store/contract/store.ts'
import { takeCensus } from '../census.ts'
import { flood, keyTest, keyed, own, perKey, take } from './key-stand.ts'
import { TOPIC, ack, claim, claimDue, dead, idsOf, message, only, retry, stored } from './stand.ts'
import type { ConformanceTest } from './test.ts'

export const keyLookingTests: readonly ConformanceTest[] = [
  keyTest('P10: bytes, limits and wants bound a claim of keys as any other', async ({ store, advance }) => {
    const body = JSON.stringify('x'.repeat(1_000))
    await store.put([...flood('a', 5, { body }), ...flood('b', 5, { body })])
    await advance(1)
    const { leases, next } = await claim(store, { limit: 10, bytesMax: 3_500 })
    assert.equal(leases.length, 3)
    assert.equal(next.state, 'EXPIRED')
    assert.equal((await claimDue(store, 4)).length, 4)
  }),

  keyTest('P10: lists find a key in every state', async ({ store, advance }) => {
    await store.put([
      ...flood('k', 3),
      ...flood('l', 3),
      message('plain'),
      keyed('late', 'k', { when: { delayMs: 60_000 } }),
    ])
    await advance(1)
    const leases = await take(store)
    const mine = leases.filter(({ key }) => key === 'k')
    const [first, second] = mine
    assert.ok(first !== undefined && second !== undefined)
    await store.settle([dead(first), retry(second, 0)])
    await advance(1)
    const listed = async (state: 'delayed' | 'ready' | 'running' | 'dead'): Promise<string[]> => {
      const ids: string[] = []
      let cursor: string | undefined
      do {
        const page = await store.inspect({
          state,
          topic: TOPIC,
          key: 'k',
          limit: 10,
          ...(cursor === undefined ? {} : { cursor }),
        })
        ids.push(...idsOf(page.items))
        cursor = page.cursor
      } while (cursor !== undefined)
      return ids
    }
    const found = [
      await listed('delayed'),
      await listed('ready'),
      await listed('running'),
      await listed('dead'),
    ]
    assert.deepEqual(found, [['late'], [second.id], [mine[2]?.id], [first.id]])
  }),

  keyTest('P10: counts, topics and forecasts count messages with a key', async ({ store, advance }) => {
    await store.put([
      ...flood('k', 3),
      keyed('soon', 'k', { when: { delayMs: 5_000 } }),
      keyed('other', 'l', { when: { delayMs: 5_000 } }),
    ])
    await advance(1)
    await claimDue(store, 1)
    const { states } = await store.count()
    assert.deepEqual({ ...states }, { delayed: 2, ready: 2, running: 1, dead: 0 })
    const { topics } = await store.countTopics({ topics: [TOPIC] })
    assert.deepEqual([topics[TOPIC]?.waiting, topics[TOPIC]?.running], [4, 1])
    const { dueAt } = await stored(store, 'soon')
    const { counts } = await store.forecast({ edges: [dueAt - 1_000, dueAt + 1_000] })
    assert.deepEqual(counts, [2])
    await takeCensus(store)
  }),

  keyTest(
    'P10: a key that is kept for its rate alone is no message that waits',
    async ({ store, advance }) => {
      await store.control(perKey({ rate: { intervalMs: 10_000, burst: 1 } }))
      await store.put([keyed('a', 'k'), keyed('later', 'l', { when: { delayMs: 60_000 } })])
      await store.settle([ack(only(await take(store)))])
      await advance(1)
      await take(store)
      await takeCensus(store)
      await store.put([keyed('soon', 'k', { when: { delayMs: 30_000 } })])
      await takeCensus(store)
    },
  ),

  keyTest(
    'P18: texts that look like the words of a store are keys like others',
    async ({ store, advance }) => {
      const names = [
        'a:b',
        '{x}',
        '100%',
        '%41',
        'a b',
        '"',
        "'",
        '\\',
        '😀',
        'ä',
        '..a',
        'x'.repeat(200),
        '0',
        '-',
        '*',
        'a\u00a0b',
      ]
      await store.put(names.flatMap((name, i) => [keyed(`m-${i}`, name), keyed(`n-${i}`, name)]))
      await advance(1)
      const leases = await take(store, names.length)
      assert.deepEqual(leases.map(({ key = '' }) => key).toSorted(), names.toSorted(), 'each once')
      assert.deepEqual(
        (await store.keys({ topic: TOPIC, keys: ['{x}', '%41'] })).keys.map(({ key, waiting }) => [
          key,
          waiting,
        ]),
        [
          ['{x}', 1],
          ['%41', 1],
        ],
      )
      await store.settle(leases.map(ack))
      await store.settle((await take(store)).map(ack))
      assert.deepEqual((await store.keys({ topic: TOPIC, limit: 100 })).keys, [])
    },
  ),

  keyTest('P18: the same key of two topics are two keys', async ({ store, advance }) => {
    await store.put([keyed('a', 'k'), keyed('b', 'k', { topic: 'other' })])
    await advance(1)
    const [mine, theirs] = [
      await store.keys({ topic: TOPIC, limit: 9 }),
      await store.keys({ topic: 'other', limit: 9 }),
    ]
    assert.deepEqual([only(mine.keys).waiting, only(theirs.keys).waiting], [1, 1])
    assert.deepEqual(idsOf(await claimDue(store, 5, ['other'])), ['b'])
    assert.equal(only((await store.keys({ topic: TOPIC, limit: 9 })).keys).waiting, 1)
  }),

  keyTest('P10: keys are told page by page, with what they wait for', async ({ store, advance }) => {
    await store.control(perKey({ concurrency: 1 }))
    await store.control(own('idle', { weight: 2 }))
    const names = Array.from({ length: 25 }, (_, i) => `key-${String(i).padStart(2, '0')}`)
    await store.put(names.flatMap((name) => flood(name, 2)))
    await advance(1)
    const leases = await claimDue(store, 5)
    assert.equal(leases.length, 5)
    const seen: KeyState[] = []
    let cursor: string | undefined
    do {
      const page = await store.keys({ topic: TOPIC, limit: 10, ...(cursor === undefined ? {} : { cursor }) })
      assert.ok(page.keys.length <= 10)
      seen.push(...page.keys)
      cursor = page.cursor
    } while (cursor !== undefined)
    assert.deepEqual(seen.map(({ key }) => key).toSorted(), [...names, 'idle'].toSorted(), 'each once')
    const running = seen.filter((one) => one.running === 1)
    assert.deepEqual(running.map(({ key }) => key).toSorted(), leases.map(({ key }) => key ?? '').toSorted())
    assert.ok(
      running.every(({ waiting, turnAt }) => waiting === 1 && turnAt === undefined),
      'none has a turn while it runs',
    )
    const idle = seen.find(({ key }) => key === 'idle')
    assert.deepEqual([idle?.waiting, idle?.limit], [0, { weight: 2 }])
    assert.deepEqual((await stateOf(store, 'nothing')).waiting, 0)
  }),

  keyTest('P10: so many keys of a topic have limits of their own, and no more', async ({ store }) => {
    for (let at = 0; at < KEY_LIMITS_MAX; at += 1) await store.control(own(`k-${at}`, { weight: 2 }))
    await assert.rejects(store.control(own('more', { weight: 2 })), { code: 'CONTROLS_TOO_MANY' })
    await store.control(own('k-1', { weight: 3 }))
    await store.control(own('k-0', null))
    await store.control(own('more', { weight: 2 }))
    assert.equal((await stateOf(store, 'more')).limit?.weight, 2)
  }),
]

async function stateOf(store: Store, key: string): Promise<KeyState> {
  return only((await store.keys({ topic: TOPIC, keys: [key] })).keys)
}
