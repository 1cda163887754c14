/** P7: what is handed out first. */
import assert from 'node:assert/strict'
import { TOPIC, claim, claimDue, claimOne, idsOf, message, release, retry } from './stand.ts'
import { test, type ConformanceTest } from './test.ts'

export const orderTests: readonly ConformanceTest[] = [
  test('P7: delays 5,4,3,2,1 s arrive 1,2,3,4,5', async ({ store, advance }) => {
    for (const s of [5, 4, 3, 2, 1]) await store.put([message(`${s}`, { when: { delayMs: s * 1000 } })])
    const arrived: string[] = []
    for (let i = 0; i < 50; i += 1) {
      await advance(100)
      arrived.push(...idsOf(await claimDue(store)))
    }
    assert.deepEqual(arrived, ['1', '2', '3', '4', '5'])
  }),

  test('P7: with the same moment, in produce order, whatever the ids', async ({ store, advance }) => {
    const ids = ['z', 'a', 'm', 'B', '10', '9', 'é', ' ']
    await store.put(ids.slice(0, 4).map((id) => message(id, { when: { delayMs: 1000 } })))
    await store.put(ids.slice(4).map((id) => message(id, { when: { delayMs: 1000 } })))
    await advance(1000)
    assert.deepEqual(idsOf(await claimDue(store)), ids)
  }),

  test('P7: the same when each is handed out alone', async ({ store, advance }) => {
    const ids = ['z', 'a', 'm', 'B']
    await store.put(ids.map((id) => message(id, { when: { delayMs: 1000 } })))
    await advance(5000)
    for (const id of ids) assert.equal((await claimOne(store)).id, id)
  }),

  test('P7: an earlier moment goes first even if it was produced later', async ({ store, advance }) => {
    await store.put([message('late', { when: { delayMs: 2000 } })])
    await store.put([message('early', { when: { delayMs: 1000 } })])
    await advance(10_000)
    assert.deepEqual(idsOf(await claimDue(store)), ['early', 'late'])
  }),

  test('P7: higher priority first, then by moment', async ({ store, advance }) => {
    await store.put([
      message('low', { priority: 2, when: { delayMs: 1 } }),
      message('normal late', { priority: 1, when: { delayMs: 3 } }),
      message('normal', { priority: 1, when: { delayMs: 2 } }),
      message('high', { priority: 0, when: { delayMs: 9 } }),
    ])
    await advance(10)
    assert.deepEqual(idsOf(await claimDue(store)), ['high', 'normal', 'normal late', 'low'])
  }),

  test('P7: priority goes before the order of topics', async ({ store }) => {
    await store.put([message('a', { topic: 'a' }), message('b', { topic: 'b', priority: 0 })])
    assert.deepEqual(idsOf(await claimDue(store, 1, ['a', 'b'])), ['b'])
    assert.deepEqual(idsOf(await claimDue(store, 1, ['a', 'b'])), ['a'])
  }),

  test('P7: a released message goes back to its place in the line', async ({ store, advance }) => {
    for (const id of ['1', '2', '3']) {
      await store.put([message(id)])
      await advance(1)
    }
    const [first, second] = await claimDue(store, 2)
    assert.ok(first !== undefined && second !== undefined)
    await store.settle([release(second), release(first)])
    assert.deepEqual(idsOf(await claimDue(store)), ['1', '2', '3'])
  }),

  test('P7: a retried message stands where its new moment puts it', async ({ store, advance }) => {
    await store.put([message('1')])
    const lease = await claimOne(store)
    await store.put([message('2', { when: { delayMs: 500 } }), message('3', { when: { delayMs: 1500 } })])
    await store.settle([retry(lease, 1000)])
    await advance(2000)
    assert.deepEqual(idsOf(await claimDue(store)), ['2', '1', '3'])
  }),

  test('P7: the limit of one topic does not hold back another', async ({ store }) => {
    await store.put(Array.from({ length: 10 }, (_, i) => message(`a${i}`, { topic: 'a' })))
    await store.put(Array.from({ length: 10 }, (_, i) => message(`b${i}`, { topic: 'b' })))
    const wants = [
      { topic: 'a', limit: 2 },
      { topic: 'b', limit: 20 },
      { topic: 'none', limit: 5 },
    ]
    const { leases, next } = await claim(store, { wants, limit: 100 })
    assert.deepEqual(idsOf(leases), ['a0', 'a1', ...Array.from({ length: 10 }, (_, i) => `b${i}`)])
    assert.equal(next.state, 'EXPIRED')
  }),

  test('P7: a topic that is not asked for is not handed out', async ({ store }) => {
    await store.put([message('a', { topic: 'a' })])
    assert.deepEqual(await claimDue(store, 10, [TOPIC]), [])
    assert.deepEqual(idsOf(await claimDue(store, 10, ['a'])), ['a'])
  }),
]
