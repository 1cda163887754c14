/** P1, P3, P4, P6: nothing early, one lease at a time, old leases powerless, attempts counted honestly. */
import assert from 'node:assert/strict'
import { DAY_MS } from '../../core/input/duration.ts'
import { takeCensus } from '../census.ts'
import {
  LEASE_MS,
  ack,
  claim,
  claimDue,
  claimLapsed,
  claimOne,
  claimReply,
  dead,
  find,
  idsOf,
  lapse,
  message,
  only,
  placeOf,
  release,
  retry,
  TOPIC,
} from './stand.ts'
import { test, type ConformanceTest } from './test.ts'

const FAR_MS = [1, 999, 25 * DAY_MS, 365 * DAY_MS, 50 * 365 * DAY_MS]

export const leaseTests: readonly ConformanceTest[] = [
  ...FAR_MS.map((delayMs) =>
    test(`P1: a delay of ${delayMs} ms is not over a millisecond before`, async ({ store, advance }) => {
      await store.put([message('a', { when: { delayMs } })])
      await advance(delayMs - 1)
      const early = await claimReply(store)
      assert.deepEqual(early.leases, [])
      assert.equal(early.next.state, 'WAITING')
      await advance(1)
      assert.deepEqual(idsOf(await claimDue(store)), ['a'])
    }),
  ),

  test('P1: an absolute moment is kept, and one in the past is due now', async ({ store, advance }) => {
    await store.put([message('probe', { when: { delayMs: 0 } })])
    const now = (await claimOne(store)).dueAt
    await store.put([
      message('soon', { when: { at: now + 500 } }),
      message('past', { when: { at: now - 5000 } }),
    ])
    const past = await claimOne(store)
    assert.equal(past.id, 'past')
    assert.ok(past.latenessMs >= 5000 && past.latenessMs < 5001)
    await advance(499)
    assert.deepEqual(await claimDue(store), [])
    await advance(1)
    assert.equal((await claimOne(store)).dueAt, now + 500)
  }),

  test('P1: a lead hands out what comes due within it, and says by how much it is early', async ({
    store,
  }) => {
    const { leadMs } = store.capabilities
    await store.put([
      message('in', { when: { delayMs: leadMs } }),
      message('out', { when: { delayMs: leadMs + 1 } }),
    ])
    const reply = await claim(store, { leadMs })
    assert.deepEqual(idsOf(reply.leases), ['in'])
    assert.equal(Math.round(reply.leases[0]?.latenessMs ?? NaN), leadMs === 0 ? 0 : -leadMs)
    assert.equal(reply.next.state, 'WAITING')
    assert.ok(reply.next.state === 'WAITING' && reply.next.ms > 0 && reply.next.ms <= 1)
  }),

  test('P1: a message leased ahead and released is not handed out early', async ({ store, advance }) => {
    const { leadMs } = store.capabilities
    await store.put([message('a', { when: { delayMs: leadMs } })])
    const lease = only((await claim(store, { leadMs })).leases)
    await store.settle([release(lease)])
    if (leadMs > 0) assert.deepEqual(await claimDue(store), [])
    await advance(leadMs)
    assert.equal((await claimOne(store)).attempt, 1)
  }),

  test('P3: a message that runs is not handed out again while its lease lives', async ({
    store,
    advance,
  }) => {
    await store.put([message('a')])
    await claimOne(store)
    assert.deepEqual(await claimDue(store), [])
    await advance(LEASE_MS - 1)
    assert.deepEqual(await claimDue(store), [])
    assert.deepEqual(await claimLapsed(store), [])
  }),

  test('P3: competing claims share the messages, each to exactly one', async ({ store, another }) => {
    const other = (await another?.()) ?? store
    await store.put(Array.from({ length: 100 }, (_, i) => message(`m${i}`)))
    const claims = await Promise.all(
      Array.from({ length: 20 }, (_, i) => claimDue(i % 2 === 0 ? store : other, 7)),
    )
    const ids = claims.flatMap(idsOf)
    assert.equal(ids.length, 100)
    assert.equal(new Set(ids).size, 100)
  }),

  test('P3: a lapsed lease is taken over once, with a token of its own', async ({ store, advance }) => {
    await store.put([message('a')])
    const first = await claimOne(store)
    await advance(LEASE_MS)
    const second = await claimLapsed(store)
    assert.deepEqual(idsOf(second), ['a'])
    assert.notEqual(second[0]?.token, first.token)
    assert.deepEqual(await claimLapsed(store), [])
    assert.deepEqual(await claimDue(store), [])
  }),

  test('P4: settling with an old lease changes nothing and answers lost', async ({ store, advance }) => {
    await store.put([message('a')])
    const old = await claimOne(store)
    await advance(LEASE_MS)
    const [current] = await claimLapsed(store)
    assert.ok(current !== undefined)
    const before = await find(store, 'a')
    for (const settlement of [ack(old), retry(old, 0), lapse(old), release(old), dead(old)]) {
      assert.deepEqual(await store.settle([settlement]), ['lost'])
    }
    assert.deepEqual(await store.extend([old], LEASE_MS), ['lost'])
    assert.deepEqual(await find(store, 'a'), before)
    assert.deepEqual(await store.settle([ack(current)]), ['settled'])
  }),

  test('P4: a settlement counts once; its repetition is lost', async ({ store }) => {
    await store.put([message('a'), message('b')])
    const leases = await claimDue(store)
    const acks = leases.map(ack)
    assert.deepEqual(await store.settle(acks), ['settled', 'settled'])
    assert.deepEqual(await store.settle(acks), ['lost', 'lost'])
  }),

  test('P4: the same lease twice in one batch settles once', async ({ store }) => {
    await store.put([message('a')])
    const lease = await claimOne(store)
    assert.deepEqual(await store.settle([retry(lease, 5000), ack(lease)]), ['settled', 'lost'])
    assert.equal(await placeOf(store, 'a'), 'delayed')
  }),

  test('P4: a lease does not fit the next attempt, even in the same millisecond', async ({ store }) => {
    await store.put([message('a')])
    const first = await claimOne(store)
    await store.settle([release(first)])
    const second = await claimOne(store)
    assert.notEqual(second.token, first.token)
    assert.deepEqual(await store.settle([ack(first)]), ['lost'])
    assert.equal(await placeOf(store, 'a'), 'running')
  }),

  test('P4: a lease that lapsed but was not taken over is still its holder’s', async ({ store, advance }) => {
    await store.put([message('a'), message('b')])
    const [a, b] = await claimDue(store)
    assert.ok(a !== undefined && b !== undefined)
    await advance(LEASE_MS + 5000)
    assert.deepEqual(await store.settle([ack(a)]), ['settled'])
    assert.deepEqual(await store.extend([b], LEASE_MS), ['extended'])
    assert.deepEqual(await claimLapsed(store), [])
  }),

  test('P4: a lease of nothing is lost', async ({ store }) => {
    const stranger = { id: 'nothing', token: '1', topic: TOPIC }
    assert.deepEqual(await store.extend([stranger], LEASE_MS), ['lost'])
    assert.deepEqual(await store.settle([{ kind: 'ack', ...stranger }]), ['lost'])
    assert.equal((await takeCensus(store)).total, 0)
  }),

  test('P4: an extended lease lives on under the same token', async ({ store, advance }) => {
    await store.put([message('a')])
    const lease = await claimOne(store)
    for (let i = 0; i < 3; i += 1) {
      await advance(LEASE_MS - 1)
      assert.deepEqual(await store.extend([lease], LEASE_MS), ['extended'])
    }
    assert.deepEqual(await claimLapsed(store), [])
    assert.deepEqual(await store.settle([ack(lease)]), ['settled'])
    assert.equal(await placeOf(store, 'a'), 'gone')
  }),

  test('P4: extending can shorten a lease too', async ({ store, advance }) => {
    await store.put([message('a')])
    const lease = await claimOne(store)
    await store.extend([lease], 1000)
    await advance(1000)
    assert.deepEqual(idsOf(await claimLapsed(store)), ['a'])
  }),

  test('P6: an attempt is counted at claim, a lapse does not count it again', async ({ store, advance }) => {
    await store.put([message('a')])
    assert.equal((await claimOne(store)).attempt, 1)
    await advance(LEASE_MS)
    assert.equal((await claimLapsed(store))[0]?.attempt, 1)
    await advance(LEASE_MS)
    const reaped = only(await claimLapsed(store, 10, 'another reaper'))
    assert.equal(reaped.attempt, 1)
    await store.settle([retry(reaped, 0, 'lapsed')])
    const again = await claimOne(store)
    assert.equal(again.attempt, 2)
    assert.equal((await find(store, 'a'))?.error, 'lapsed')
  }),

  test('P6: a release does not count, and keeps the moment', async ({ store, advance }) => {
    await store.put([message('a')])
    const first = await claimOne(store)
    await advance(5000)
    await store.settle([release(first)])
    assert.equal((await find(store, 'a'))?.attempt, 0)
    const second = await claimOne(store)
    assert.equal(second.attempt, 1)
    assert.equal(second.dueAt, first.dueAt)
    assert.ok(second.latenessMs >= 5000 && second.latenessMs < 5001)
  }),

  test('P6: a retry is due after its delay, from the moment of the settlement', async ({
    store,
    advance,
  }) => {
    await store.put([message('a')])
    const first = await claimOne(store)
    await advance(10_000)
    await store.settle([retry(first, 60_000, 'Error: no luck')])
    const waiting = await find(store, 'a')
    assert.equal(waiting?.dueAt, first.dueAt + 70_000)
    assert.equal(waiting?.error, 'Error: no luck')
    assert.equal(waiting?.attempt, 1)
    await advance(59_999)
    assert.deepEqual(await claimDue(store), [])
    await advance(1)
    assert.equal((await claimOne(store)).attempt, 2)
  }),

  test('P6: the dead keep their attempts, reason and error; the revived begin anew', async ({
    store,
    advance,
  }) => {
    await store.put([message('a')])
    const lease = await claimOne(store)
    await advance(100)
    await store.settle([dead(lease, 'failed', 'Error: no luck')])
    const buried = await find(store, 'a')
    assert.deepEqual([buried?.attempt, buried?.reason, buried?.error], [1, 'failed', 'Error: no luck'])
    assert.equal(buried?.until, lease.dueAt + 100)
    await advance(5000)
    assert.deepEqual(await store.revive(['a', 'nothing']), ['revived', 'missing'])
    const revived = await claimOne(store)
    assert.equal(revived.attempt, 1)
    assert.equal(revived.dueAt, lease.dueAt + 5100)
    const found = await find(store, 'a')
    assert.deepEqual([found?.reason, found?.error], ['', ''])
  }),

  test('P6: lapsed leases of every topic are found, oldest first, in batches', async ({ store, advance }) => {
    const topics = ['a', 'b', 'c']
    for (const topic of topics) {
      await store.put([message(topic, { topic })])
      await claimOne(store, [topic])
      await advance(10)
    }
    assert.deepEqual(await claimLapsed(store), [])
    await advance(LEASE_MS)
    assert.deepEqual(idsOf(await claimLapsed(store, 2)), ['a', 'b'])
    assert.deepEqual(idsOf(await claimLapsed(store, 2)), ['c'])
  }),
]
