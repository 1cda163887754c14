/** Keys (P16, P7): whose turn it is, and what a key does not change. */
import assert from 'node:assert/strict'
import { takeCensus } from '../census.ts'
import { flood, keyTest, keyed, own, take, takeInTurn } from './key-stand.ts'
import {
  TOPIC,
  ack,
  ackThen,
  again,
  claim,
  claimOne,
  dead,
  find,
  idsOf,
  message,
  only,
  release,
  retry,
  stored,
} from './stand.ts'
import type { ConformanceTest } from './test.ts'

const ONES = (count: number): number[] => Array.from({ length: count }, () => 1)

export const keyTests: readonly ConformanceTest[] = [
  keyTest('P2: a key is kept, told with the lease, shown, and gone with the message', async ({ store }) => {
    await store.put([keyed('a', 'customer-7'), message('b')])
    assert.deepEqual(
      [(await stored(store, 'a')).key, (await stored(store, 'b')).key],
      ['customer-7', undefined],
    )
    const leases = await take(store)
    assert.deepEqual(leases.map(({ id, key }) => `${id} ${key}`).toSorted(), ['a customer-7', 'b undefined'])
    assert.equal((await stored(store, 'a')).key, 'customer-7')
    await store.settle(leases.map(ack))
    assert.equal(await find(store, 'a'), undefined)
    assert.deepEqual((await store.keys({ topic: TOPIC, limit: 10 })).keys, [])
    await takeCensus(store)
  }),

  keyTest(
    'P16: one message of another key goes after one of a flood, not after the flood',
    async ({ store, advance }) => {
      await store.put(flood('flood', 20))
      await advance(1)
      assert.equal((await take(store, 3)).length, 3)
      await advance(1)
      await store.put([keyed('other', 'other')])
      await advance(1)
      const ids = await takeInTurn(store, advance, ONES(3))
      assert.ok(ids.slice(0, 2).includes('other'), `at most one of the flood goes before: ${ids.join()}`)
    },
  ),

  keyTest(
    'P16: keys that are due take turns, in claims of one and in one claim',
    async ({ store, advance }) => {
      await store.put([...flood('a', 6), ...flood('b', 6), ...flood('c', 6)])
      await advance(1)
      const singly = await takeInTurn(store, advance, ONES(6))
      for (const round of [keysOf(singly.slice(0, 3)), keysOf(singly.slice(3))])
        assert.deepEqual(round.toSorted(), ['a', 'b', 'c'], `each once: ${singly.join()}`)
      const together = idsOf(await take(store, 6))
      assert.equal(together.filter((id) => id.startsWith('a')).length, 2, `two of each: ${together.join()}`)
      assert.equal(together.filter((id) => id.startsWith('b')).length, 2, `two of each: ${together.join()}`)
    },
  ),

  keyTest('P16: what one key leaves of a claim, others of it get', async ({ store, advance }) => {
    await store.put([...flood('a', 10), ...flood('b', 2)])
    await advance(1)
    assert.equal((await take(store, 100)).length, 12)
  }),

  keyTest('P16: a weight of three is three for one', async ({ store, advance }) => {
    await store.control(own('big', { weight: 3 }))
    await store.put([...flood('big', 12), ...flood('small', 12)])
    await advance(1)
    const ids = await takeInTurn(store, advance, ONES(12))
    const big = ids.filter((id) => id.startsWith('big')).length
    assert.ok(big >= 8 && big <= 10, `about three of four are of the heavy key: ${ids.join()}`)
    const places = ids.flatMap((id, place) => (id.startsWith('small') ? [place] : []))
    for (const [i, place] of places.entries())
      assert.ok(place - (places[i - 1] ?? -1) <= 4, `never more than three between two: ${ids.join()}`)
  }),

  keyTest('P16: a message that claims to be old gains nothing', async ({ store, advance }) => {
    const { dueAt } = await firstOf(store)
    await advance(10_000)
    await store.put(flood('honest', 3))
    await advance(1)
    await store.put(flood('backdated', 3, { when: { at: dueAt - 100_000 } }))
    await advance(1)
    assert.equal(only(await take(store, 1)).key, 'honest')
  }),

  keyTest(
    'P16: one who splits over keys gets a share for each, and messages without a key wait by their moment',
    async ({ store, advance }) => {
      await store.put([message('early'), ...flood('a', 3), ...flood('b', 3)])
      await advance(5)
      await store.put([message('late')])
      await advance(1)
      const ids = await takeInTurn(store, advance, ONES(4))
      assert.equal(ids[0], 'early')
      assert.deepEqual(
        ids.slice(1, 4).toSorted(),
        ['a-0', 'b-0', 'late'],
        `each key once before the late one is passed: ${ids.join()}`,
      )
    },
  ),

  keyTest('P7: within a key: priority, then moment, then produce order', async ({ store, advance }) => {
    await store.put([
      keyed('low', 'k', { priority: 2 }),
      keyed('second', 'k'),
      keyed('third', 'k'),
      keyed('later', 'k', { when: { delayMs: 5 } }),
      keyed('high', 'k', { priority: 0 }),
    ])
    await advance(1)
    await store.put([keyed('fourth', 'k')])
    await advance(10)
    assert.deepEqual(await takeInTurn(store, advance, ONES(6)), [
      'high',
      'second',
      'third',
      'fourth',
      'later',
      'low',
    ])
  }),

  keyTest('P7: high priority goes before low of every key', async ({ store, advance }) => {
    await store.put([...flood('a', 3, { priority: 2 }), ...flood('b', 3, { priority: 0 })])
    await advance(1)
    assert.deepEqual(
      (await takeInTurn(store, advance, ONES(4))).map((id) => id[0]),
      ['b', 'b', 'b', 'a'],
    )
  }),

  keyTest('P1: a key is not handed out before the moment of its first', async ({ store, advance }) => {
    await store.put(flood('k', 3, { when: { delayMs: 100 } }))
    const early = await claim(store, {})
    assert.deepEqual(early.leases, [])
    assert.ok(
      early.next.state === 'WAITING' && early.next.ms <= 101 && early.next.ms > 90,
      JSON.stringify(early.next),
    )
    await advance(101)
    assert.equal((await take(store)).length, 3)
    await store.put([keyed('x', 'k', { when: { delayMs: 1_000 } }), keyed('y', 'k')])
    assert.deepEqual(idsOf(await take(store)), ['y'], 'a later one does not hold back what is due')
  }),

  keyTest(
    'P9: a claim that leaves something says that more is there, and one that leaves nothing does not',
    async ({ store, advance }) => {
      await store.put([...flood('a', 5), ...flood('b', 5)])
      await advance(1)
      assert.equal((await claim(store, { limit: 3 })).next.state, 'EXPIRED')
      const rest = await claim(store, { limit: 100 })
      assert.equal(rest.leases.length, 7)
      assert.equal(rest.next.state, 'NO_TASK')
    },
  ),

  keyTest('P9: a worker is told when the next message of a key is due', async ({ store, advance }) => {
    await store.put([keyed('a', 'k'), keyed('b', 'k', { when: { delayMs: 50 } })])
    const { leases, next } = await claim(store, {})
    assert.deepEqual(idsOf(leases), ['a'])
    assert.ok(next.state === 'WAITING' && next.ms <= 51 && next.ms > 40, JSON.stringify(next))
    await advance(51)
    assert.deepEqual(idsOf(await take(store)), ['b'])
  }),

  keyTest('P16: a claim says which of its topics have keys', async ({ store }) => {
    await store.put([keyed('a', 'k'), keyed('b', 'k'), message('c', { topic: 'plain' })])
    const reply = await claim(store, { topics: [TOPIC, 'plain'], limit: 1 })
    assert.deepEqual(reply.keyed, [TOPIC])
  }),

  keyTest(
    'P2: the first of a key is cancelled, moved, replaced: the next takes its place',
    async ({ store, advance }) => {
      await store.put(flood('k', 5))
      await advance(1)
      assert.deepEqual(await store.remove(['k-0'], 'waiting'), ['removed'])
      assert.deepEqual(await store.reschedule([{ id: 'k-1', when: { delayMs: 60_000 } }]), ['rescheduled'])
      assert.deepEqual(await store.put([keyed('k-2', 'other', { ifExists: 'replace' })]), ['replaced'])
      await advance(1)
      const leases = await take(store)
      assert.deepEqual(leases.map(({ id, key }) => `${id} ${key}`).toSorted(), [
        'k-2 other',
        'k-3 k',
        'k-4 k',
      ])
      await advance(60_000)
      assert.deepEqual(idsOf(await take(store)), ['k-1'])
      await takeCensus(store)
    },
  ),

  keyTest('P2: a message moved ahead of the first of its key goes first', async ({ store, advance }) => {
    await store.put([
      keyed('a', 'k', { when: { delayMs: 500 } }),
      keyed('b', 'k', { when: { delayMs: 1_000 } }),
    ])
    await store.reschedule([{ id: 'b', when: { delayMs: 0 } }])
    assert.deepEqual(idsOf(await take(store)), ['b'])
    await advance(501)
    assert.deepEqual(idsOf(await take(store)), ['a'])
  }),

  keyTest(
    'P6: what is given back, retried, snoozed or revived is handed out again with its key',
    async ({ store, advance }) => {
      await store.put(flood('k', 4))
      await advance(1)
      const [a, b, c, d] = await take(store)
      assert.ok(a !== undefined && b !== undefined && c !== undefined && d !== undefined)
      await store.settle([release(a), retry(b, 10), again(c, { delayMs: 20 }), dead(d)])
      assert.deepEqual(idsOf(await take(store)), [a.id])
      await advance(11)
      assert.deepEqual(idsOf(await take(store)), [b.id])
      await advance(10)
      assert.deepEqual(idsOf(await take(store)), [c.id])
      assert.deepEqual(await store.revive([d.id]), ['revived'])
      const revived = only(await take(store))
      assert.deepEqual([revived.id, revived.key, revived.attempt], [d.id, 'k', 1])
      await takeCensus(store)
    },
  ),

  keyTest('P15: follow-ups and successors bring keys of their own', async ({ store, advance }) => {
    await store.put([keyed('parent', 'k')])
    const parent = await claimOne(store)
    assert.deepEqual(await store.put([keyed('parent', 'next', { ifExists: 'replace' })]), ['succeeds'])
    assert.equal((await stored(store, 'parent')).successor?.key, 'next')
    await store.settle([ackThen(parent, [keyed('child', 'of-child'), message('plain')])])
    await advance(1)
    const leases = await take(store)
    const told = leases.map(({ id, key }) => `${id} ${key}`).toSorted()
    assert.deepEqual(told, ['child of-child', 'parent next', 'plain undefined'])
    await store.settle(leases.map(ack))
    await takeCensus(store)
  }),
]

function keysOf(ids: readonly string[]): string[] {
  return ids.map((id) => id.replace(/-.*/, ''))
}

/** A message of no key, to know the store's time; it is gone again. */
async function firstOf(store: Parameters<ConformanceTest['run']>[0]['store']): Promise<{ dueAt: number }> {
  await store.put([message('clock')])
  const lease = await claimOne(store)
  await store.settle([ack(lease)])
  return lease
}
