/** What lapses count, and which moments a message keeps through its attempts (P6, P7). */
import assert from 'node:assert/strict'
import type { Lease, LeaseRef, Settlement } from '../../store/contract/store.ts'
import {
  LEASE_MS,
  again,
  claimDue,
  claimLapsed,
  claimOne,
  dead,
  idsOf,
  lapse,
  message,
  only,
  release,
  retry,
  stored,
  type ConformanceSubject,
} from './stand.ts'
import { test, type ConformanceTest } from './test.ts'

function retryAsLapse({ id, token, topic }: LeaseRef, delayMs: number): Settlement {
  return { kind: 'retry', id, token, topic, delayMs, error: 'lapsed', isLapse: true }
}

/** Claims the one message that is due, lets its lease lapse, and takes it over. */
async function lapsedLease({ store, advance }: ConformanceSubject): Promise<Lease> {
  const lease = await claimOne(store)
  await advance(LEASE_MS)
  const taken = only(await claimLapsed(store))
  assert.deepEqual([taken.attempt, taken.lapses], [lease.attempt, lease.lapses], 'a takeover counts nothing')
  return taken
}

export const lapseTests: readonly ConformanceTest[] = [
  test('P6: a lapse goes back with its moment unchanged, its attempt and the lapse counted', async (subject) => {
    const { store } = subject
    await store.put([message('a')])
    const before = await stored(store, 'a')
    const lease = await lapsedLease(subject)
    assert.deepEqual(await store.settle([lapse(lease, 'the worker died')]), ['settled'])
    const after = await stored(store, 'a')
    assert.deepEqual(
      [after.state, after.dueAt, after.firstDueAt, after.attempt, after.lapses, after.error],
      ['ready', before.dueAt, before.firstDueAt, 1, 1, 'the worker died'],
    )
    assert.deepEqual([after.owner, after.until], ['', 0])
    const second = await claimOne(store)
    assert.deepEqual([second.attempt, second.lapses, second.dueAt], [2, 1, before.dueAt])
    assert.ok(second.latenessMs >= LEASE_MS && second.latenessMs < LEASE_MS + 1)
  }),

  test('P7: a lapsed message goes back to its place in the line', async ({ store, advance }) => {
    for (const id of ['1', '2', '3']) {
      await store.put([message(id)])
      await advance(1)
    }
    await claimDue(store, 2)
    await advance(LEASE_MS)
    const [first, second] = await claimLapsed(store)
    assert.ok(first !== undefined && second !== undefined)
    await store.settle([lapse(second), lapse(first)])
    assert.deepEqual(idsOf(await claimDue(store)), ['1', '2', '3'])
  }),

  test('P6: lapses are counted in a row: a release leaves them, a retry sets them to 0', async (subject) => {
    const { store, advance } = subject
    await store.put([message('a')])
    await store.settle([lapse(await lapsedLease(subject))])
    await store.settle([lapse(await lapsedLease(subject))])
    const third = await lapsedLease(subject)
    assert.equal(third.lapses, 2)
    await store.settle([retryAsLapse(third, 5000)])
    assert.deepEqual([(await stored(store, 'a')).lapses, (await stored(store, 'a')).attempt], [3, 3])
    assert.deepEqual(await claimDue(store), [], 'a retry waits, also after a lapse')
    await advance(5000)
    await store.settle([release(await claimOne(store))])
    assert.deepEqual([(await stored(store, 'a')).lapses, (await stored(store, 'a')).attempt], [3, 3])
    const last = await claimOne(store)
    assert.equal(last.lapses, 3)
    await store.settle([retry(last, 0)])
    assert.deepEqual([(await stored(store, 'a')).lapses, (await stored(store, 'a')).attempt], [0, 4])
    assert.equal((await claimOne(store)).lapses, 0)
  }),

  test('P6: again sets lapses to 0, and leaves them where its handler has not run', async (subject) => {
    const { store, advance } = subject
    await store.put([message('a')])
    await store.settle([lapse(await lapsedLease(subject), 'the worker died')])
    await store.settle([lapse(await lapsedLease(subject), 'the worker died')])
    const third = await claimOne(store)
    const at = third.dueAt + 10 * LEASE_MS
    await store.settle([again(third, { at }, { keepsLapses: true })])
    const moved = await stored(store, 'a')
    assert.deepEqual(
      [moved.lapses, moved.attempt, moved.dueAt, moved.firstDueAt, moved.error],
      [2, 2, at, at, 'the worker died'],
    )
    assert.deepEqual(await claimDue(store), [], 'it waits for its moment')
    await advance(10 * LEASE_MS)
    const fourth = await claimOne(store)
    assert.deepEqual([fourth.attempt, fourth.lapses], [3, 2])
    const content = { body: '"moved"', meta: '' }
    await store.settle([again(fourth, { delayMs: 0 }, { keepsLapses: true, content })])
    const fifth = await claimOne(store)
    assert.deepEqual([fifth.attempt, fifth.lapses, fifth.body], [3, 2, '"moved"'])
    await store.settle([again(fifth, { delayMs: 0 })])
    assert.deepEqual([(await stored(store, 'a')).lapses, (await stored(store, 'a')).attempt], [0, 2])
  }),

  test('P6: a revived message has no lapses', async (subject) => {
    const { store } = subject
    await store.put([message('a')])
    await store.settle([lapse(await lapsedLease(subject))])
    await store.settle([dead(await claimOne(store))])
    await store.revive(['a'])
    assert.deepEqual([(await stored(store, 'a')).lapses, (await stored(store, 'a')).attempt], [0, 0])
    assert.equal((await claimOne(store)).lapses, 0)
  }),

  test('P6: a reschedule leaves attempts and lapses', async (subject) => {
    const { store } = subject
    await store.put([message('a')])
    await store.settle([lapse(await lapsedLease(subject))])
    await store.reschedule([{ id: 'a', when: { delayMs: 0 } }])
    const lease = await claimOne(store)
    assert.deepEqual([lease.attempt, lease.lapses], [2, 1])
  }),

  test('P5: what replaces a message has no lapses, and moments of its own', async (subject) => {
    const { store, advance } = subject
    await store.put([message('a')])
    await store.settle([lapse(await lapsedLease(subject))])
    const old = await stored(store, 'a')
    await advance(70)
    await store.put([message('a', { ifExists: 'replace', when: { delayMs: 5000 } })])
    const fresh = await stored(store, 'a')
    assert.deepEqual([fresh.lapses, fresh.attempt, fresh.error], [0, 0, ''])
    assert.equal(fresh.producedAt, old.producedAt + LEASE_MS + 70)
    assert.deepEqual([fresh.dueAt, fresh.firstDueAt], [fresh.producedAt + 5000, fresh.producedAt + 5000])
  }),

  test('the first moment: a retry moves dueAt only', async ({ store, advance }) => {
    await store.put([message('a', { when: { delayMs: 5000 } })])
    const { dueAt, firstDueAt } = await stored(store, 'a')
    assert.equal(firstDueAt, dueAt)
    await advance(5000)
    const first = await claimOne(store)
    assert.equal(first.firstDueAt, dueAt)
    await store.settle([retry(first, 60_000)])
    const waiting = await stored(store, 'a')
    assert.deepEqual([waiting.dueAt, waiting.firstDueAt], [dueAt + 60_000, dueAt])
    await advance(60_000)
    const second = await claimOne(store)
    assert.deepEqual([second.dueAt, second.firstDueAt], [dueAt + 60_000, dueAt])
    await store.settle([retry(second, 1000)])
    await advance(1000)
    const third = await claimOne(store)
    assert.deepEqual([third.dueAt, third.firstDueAt], [dueAt + 61_000, dueAt])
    await store.settle([release(third)])
    const released = await stored(store, 'a')
    assert.deepEqual([released.dueAt, released.firstDueAt], [dueAt + 61_000, dueAt])
  }),

  test('the first moment: a reschedule and a revival set it anew', async ({ store, advance }) => {
    await store.put([message('a')])
    const { producedAt } = await stored(store, 'a')
    await store.settle([retry(await claimOne(store), 1000)])
    await store.reschedule([{ id: 'a', when: { delayMs: 7000 } }])
    const moved = await stored(store, 'a')
    assert.deepEqual([moved.dueAt, moved.firstDueAt], [producedAt + 7000, producedAt + 7000])
    await advance(7000)
    await store.settle([retry(await claimOne(store), 1000)])
    await advance(1000)
    await store.settle([dead(await claimOne(store))])
    assert.equal((await stored(store, 'a')).firstDueAt, producedAt + 7000)
    await advance(500)
    await store.revive(['a'])
    const revived = await stored(store, 'a')
    assert.deepEqual([revived.dueAt, revived.firstDueAt], [producedAt + 8500, producedAt + 8500])
  }),

  test('producedAt is the store’s moment of the put, and stays', async ({ store, advance }) => {
    await store.put([message('now'), message('later', { when: { delayMs: 5000 } })])
    const { dueAt: now } = await stored(store, 'now')
    assert.equal((await stored(store, 'now')).producedAt, now)
    assert.equal((await stored(store, 'later')).producedAt, now)
    await advance(1234)
    await store.put([message('later'), message('at', { when: { at: now - 60_000 } })])
    assert.equal((await stored(store, 'later')).producedAt, now, 'a duplicate changes nothing')
    assert.equal((await stored(store, 'at')).producedAt, now + 1234)
    await store.reschedule([{ id: 'later', when: { delayMs: 0 } }])
    for (const lease of await claimDue(store)) await store.settle([dead(lease)])
    await store.revive(['now'])
    const listed = await Promise.all(['now', 'later', 'at'].map((id) => stored(store, id)))
    assert.deepEqual(
      listed.map(({ producedAt }) => producedAt),
      [now, now, now + 1234],
    )
  }),
]
