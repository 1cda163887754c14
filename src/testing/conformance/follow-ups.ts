/** P15: a settlement and the messages that it carries count together or not at all; and `again`, which often carries some. */
import assert from 'node:assert/strict'
import { FOLLOW_UPS_MAX } from '../../store/contract/sizes.ts'
import type { NewMessage } from '../../store/contract/store.ts'
import { takeCensus } from '../census.ts'
import {
  LEASE_MS,
  TOPIC,
  ack,
  ackThen,
  again,
  claimDue,
  claimLapsed,
  claimOne,
  dead,
  find,
  idsOf,
  message,
  only,
  placeOf,
  release,
  retry,
  stored,
} from './stand.ts'
import { test, type ConformanceTest } from './test.ts'

const LATER_MS = 60_000

function many(count: number, name: string): readonly NewMessage[] {
  return Array.from({ length: count }, (_, i) => message(`${name}${i}`, { topic: 'many' }))
}

export const followUpTests: readonly ConformanceTest[] = [
  test('P15: an ack stores what it carries, in order, each at its own moment', async ({ store, advance }) => {
    await store.put([message('parent')])
    const parent = await claimOne(store)
    const followUps = [
      message('first', { body: '{"n":1}', meta: '{"ttlMs":5}', priority: 2 }),
      message('second', { priority: 2 }),
      message('later', { topic: 'rating.ask', when: { delayMs: LATER_MS }, priority: 0 }),
    ]
    assert.deepEqual(await store.settle([ackThen(parent, followUps)]), ['settled'])
    assert.equal(await placeOf(store, 'parent'), 'gone')
    const { total } = await takeCensus(store)
    assert.equal(total, 3)
    const later = await stored(store, 'later')
    assert.deepEqual([later.topic, later.priority, later.state], ['rating.ask', 0, 'delayed'])
    const leases = await claimDue(store)
    assert.deepEqual(idsOf(leases), ['first', 'second'])
    assert.deepEqual([leases[0]?.body, leases[0]?.meta, leases[0]?.attempt], ['{"n":1}', '{"ttlMs":5}', 1])
    await advance(LATER_MS)
    const [found] = await claimDue(store, 10, ['rating.ask'])
    assert.equal(found?.id, 'later')
    await takeCensus(store)
  }),

  test('P15: a lost lease stores nothing of what it carries', async ({ store, advance }) => {
    await store.put([message('parent')])
    const late = await claimOne(store)
    await advance(LEASE_MS)
    const taken = only(await claimLapsed(store))
    const followUps = [message('child', { topic: 'other' })]
    assert.deepEqual(await store.settle([ackThen(late, followUps)]), ['lost'])
    assert.deepEqual(await store.settle([again(late, { delayMs: 0 }, { followUps })]), ['lost'])
    assert.equal(await placeOf(store, 'child'), 'gone')
    assert.deepEqual(await store.settle([ackThen(taken, followUps), ackThen(taken, followUps)]), [
      'settled',
      'lost',
    ])
    assert.equal(await placeOf(store, 'child'), 'ready')
    await takeCensus(store)
  }),

  test('P15: among others in one call, each settlement carries its own', async ({ store, advance }) => {
    await store.put([message('a'), message('b'), message('c'), message('d'), message('e')])
    const [a, b, c, d, e] = await claimDue(store)
    assert.ok(a !== undefined && b !== undefined && c !== undefined && d !== undefined && e !== undefined)
    const results = await store.settle([
      ack(a),
      ackThen(b, [message('after b', { topic: 'x' })]),
      retry(c, LATER_MS),
      ackThen({ ...d, token: 'no-such-token' }, [message('after d', { topic: 'x' })]),
      ackThen(d, [message('c', { ifExists: 'replace', topic: 'x' }), message('d'), message('a')]),
      ackThen(e, [message('after b', { topic: 'x', body: 'another' })]),
    ])
    assert.deepEqual(results, ['settled', 'settled', 'settled', 'lost', 'settled', 'settled'])
    const { places } = await takeCensus(store)
    assert.deepEqual([...places.keys()].toSorted(), ['a', 'after b', 'c', 'd'])
    assert.equal((await stored(store, 'after b')).body, message('after b').body, 'keep leaves it alone')
    assert.deepEqual([(await stored(store, 'c')).topic, (await stored(store, 'c')).attempt], ['x', 0])
    await advance(LATER_MS)
    assert.deepEqual(idsOf(await claimDue(store)), ['d', 'a'])
  }),

  test('P15: what a settlement carries may take the id of its message', async ({ store }) => {
    await store.put([message('chain', { body: 'one' })])
    const first = await claimOne(store)
    assert.deepEqual(await store.settle([ackThen(first, [message('chain', { body: 'two' })])]), ['settled'])
    const second = await claimOne(store)
    assert.deepEqual([second.id, second.body, second.attempt], ['chain', 'two', 1])
    const followUps = [message('chain', { body: 'three', ifExists: 'replace' })]
    assert.deepEqual(await store.settle([ackThen(second, followUps)]), ['settled'])
    assert.equal((await stored(store, 'chain')).body, 'three')
    assert.deepEqual(await store.settle([ack(first), ack(second)]), ['lost', 'lost'])
    await takeCensus(store)
  }),

  test('P15: one that cannot be stored refuses its settlement whole, and no other', async ({ store }) => {
    await store.put([message('parent'), message('neighbour')])
    const [parent, neighbour] = await claimDue(store)
    assert.ok(parent !== undefined && neighbour !== undefined)
    const followUps = [message('child'), message('never', { when: { delayMs: NaN } })]
    const results = await store.settle([ackThen(parent, followUps), ackThen(neighbour, [message('other')])])
    assert.deepEqual(results, ['refused', 'settled'])
    assert.deepEqual([await placeOf(store, 'parent'), await placeOf(store, 'child')], ['running', 'gone'])
    assert.deepEqual(await store.settle([ackThen(parent, followUps.slice(0, 1))]), ['settled'])
    assert.equal(await placeOf(store, 'child'), 'ready')
    await takeCensus(store)
  }),

  test('P10: a settlement carries at most so many, and each counts as an entry of its call', async ({
    store,
  }) => {
    await store.put([message('a'), message('b')])
    const [a, b] = await claimDue(store)
    assert.ok(a !== undefined && b !== undefined)
    assert.deepEqual(await store.settle([ackThen(a, many(FOLLOW_UPS_MAX + 1, 'x'))]), ['refused'])
    assert.deepEqual(await store.settle([ackThen(a, many(FOLLOW_UPS_MAX, 'y'))]), ['settled'])
    const { batchMax } = store.capabilities
    const others = Array.from({ length: Math.ceil(batchMax / 50) }, (_, i) => ({ ...b, id: `none${i}` }))
    await assert.rejects(store.settle([b, ...others].map((lease) => ackThen(lease, many(50, 'z')))), {
      code: 'BATCH_TOO_LARGE',
    })
    const { total } = await takeCensus(store)
    assert.equal(total, FOLLOW_UPS_MAX + 1)
  }),

  test('P15: again is due at a moment of its own, uncounted, perhaps with another content', async ({
    store,
    advance,
  }) => {
    await store.put([message('one', { meta: '{"ttlMs":1}', priority: 0 })])
    const first = await claimOne(store)
    await store.settle([retry(first, 1_000, 'earlier')])
    await advance(1_000)
    const second = await claimOne(store)
    assert.equal(second.attempt, 2)
    assert.deepEqual(await store.settle([again(second, { delayMs: LATER_MS })]), ['settled'])
    const waits = await stored(store, 'one')
    assert.deepEqual([waits.state, waits.attempt, waits.lapses], ['delayed', 1, 0])
    assert.deepEqual([waits.firstDueAt, waits.error], [waits.dueAt, 'earlier'])
    assert.deepEqual([waits.meta, waits.priority], ['{"ttlMs":1}', 0])
    await advance(LATER_MS)
    const third = await claimOne(store)
    assert.deepEqual([third.attempt, third.body, third.firstDueAt], [2, first.body, waits.dueAt])
    const at = third.dueAt + 2 * LATER_MS
    const content = { body: `{"n":"${'x'.repeat(3_000)}"}`, meta: '{"timeoutMs":7}' }
    assert.deepEqual(await store.settle([again(third, { at }, { content })]), ['settled'])
    const moved = await stored(store, 'one')
    assert.deepEqual([moved.dueAt, moved.firstDueAt, moved.producedAt], [at, at, waits.producedAt])
    await advance(2 * LATER_MS)
    const fourth = await claimOne(store)
    assert.deepEqual([fourth.body, fourth.meta, fourth.attempt], [content.body, content.meta, 2])
    const small = { body: '1', meta: '' }
    assert.deepEqual(await store.settle([again(fourth, { delayMs: 0 }, { content: small })]), ['settled'])
    const fifth = await claimOne(store)
    assert.deepEqual([fifth.body, fifth.meta, fifth.priority], ['1', '', 0])
    await takeCensus(store)
  }),

  test('P6: again ends a row of lapses', async ({ store, advance }) => {
    await store.put([message('one')])
    await claimOne(store)
    await advance(LEASE_MS)
    const taken = only(await claimLapsed(store))
    await store.settle([{ kind: 'lapse', id: 'one', token: taken.token, topic: TOPIC, error: 'gone' }])
    const lease = await claimOne(store)
    assert.deepEqual([lease.attempt, lease.lapses], [2, 1])
    await store.settle([again(lease, { delayMs: 0 })])
    const next = await claimOne(store)
    assert.deepEqual([next.attempt, next.lapses], [2, 0])
  }),

  test('P8: again with a moment that no engine keeps is refused, and leaves the lease', async ({ store }) => {
    await store.put([message('one')])
    const lease = await claimOne(store)
    for (const when of [{ delayMs: NaN }, { delayMs: Infinity }, { delayMs: -1 }, { at: NaN }])
      assert.deepEqual(await store.settle([again(lease, when)]), ['refused'])
    const followUps = [message('child', { when: { delayMs: NaN } })]
    assert.deepEqual(await store.settle([ackThen(lease, followUps)]), ['refused'])
    assert.equal(await placeOf(store, 'one'), 'running')
    assert.deepEqual(await store.settle([release(lease)]), ['settled'])
    await takeCensus(store)
  }),

  test('P15: again carries messages too, and they count with it', async ({ store, advance }) => {
    await store.put([message('one')])
    const lease = await claimOne(store)
    const followUps = [message('child', { topic: 'x', when: { at: lease.dueAt + 500 } })]
    assert.deepEqual(await store.settle([again(lease, { delayMs: 1_000 }, { followUps })]), ['settled'])
    assert.deepEqual([await placeOf(store, 'one'), await placeOf(store, 'child')], ['delayed', 'delayed'])
    await advance(1_000)
    assert.deepEqual(idsOf(await claimDue(store, 10, ['x', TOPIC])), ['child', 'one'])
  }),

  test('P15: a dead or replaced follow-up is as any other message', async ({ store }) => {
    await store.put([message('parent')])
    await store.settle([ackThen(await claimOne(store), [message('child')])])
    await store.settle([dead(await claimOne(store))])
    await store.put([message('parent')])
    const parent = await claimOne(store)
    await store.settle([ackThen(parent, [message('child', { ifExists: 'replace', body: 'new' })])])
    const child = await stored(store, 'child')
    assert.deepEqual([child.state, child.body, child.attempt, child.error], ['ready', 'new', 0, ''])
    assert.equal(await find(store, 'parent'), undefined)
    await takeCensus(store)
  }),
]
