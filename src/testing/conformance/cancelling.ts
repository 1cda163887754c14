/** Cancelling a message that runs: a mark that its worker hears of, and that every end but the handler's own word honours. */
import assert from 'node:assert/strict'
import type { Lease, Settlement, Store, WakeUp } from '../../store/contract/store.ts'
import { takeCensus } from '../census.ts'
import {
  LEASE_MS,
  ack,
  claimDue,
  claimLapsed,
  claimOne,
  dead,
  lapse,
  message,
  only,
  placeOf,
  release,
  retry,
  stored,
} from './stand.ts'
import { test, type ConformanceTest } from './test.ts'

async function cancelled(store: Store): Promise<Lease> {
  await store.put([message('a', { tags: ['t'] })])
  const lease = await claimOne(store)
  assert.deepEqual(await store.remove(['a'], 'waiting', { isRunningToo: true }), ['cancelling'])
  return lease
}

function complete(lease: Lease): Settlement {
  return { ...ack(lease), kind: 'ack', isOwnWord: true }
}

const REMEMBER = { ms: 60_000, outcome: 'completed', result: '1' } as const

const ENDINGS: readonly [string, (lease: Lease) => Settlement][] = [
  ['an ack', ack],
  [
    'an ack with a memory and follow-ups',
    (lease) => ({ ...ack(lease), kind: 'ack', remember: REMEMBER, followUps: [message('b')] }),
  ],
  ['a retry', (lease) => retry(lease, 0)],
  ['a lapse', (lease) => lapse(lease)],
  ['a release', release],
  ['a death', (lease) => dead(lease)],
]

export const cancellingTests: readonly ConformanceTest[] = [
  ...ENDINGS.map(([name, settlement]) =>
    test(`cancelling: after ${name} the message is gone, with all that belongs to it`, async ({ store }) => {
      const lease = await cancelled(store)
      assert.equal(await placeOf(store, 'a'), 'running')
      assert.deepEqual(await store.settle([settlement(lease)]), ['cancelled'])
      assert.deepEqual([await placeOf(store, 'a'), await placeOf(store, 'b')], ['gone', 'gone'])
      assert.deepEqual(await claimDue(store), [])
      assert.deepEqual((await store.inspect({ tag: 't', limit: 5 })).items, [])
      assert.equal((await takeCensus(store)).total, 0)
      assert.deepEqual(await store.put([message('a')]), ['stored'])
    }),
  ),

  test('cancelling: the handler’s own word counts, with what it carries', async ({ store }) => {
    const lease = await cancelled(store)
    const settlement = {
      ...complete(lease),
      kind: 'ack',
      remember: REMEMBER,
      followUps: [message('b')],
    } as const
    assert.deepEqual(await store.settle([settlement]), ['settled'])
    assert.deepEqual([await placeOf(store, 'a'), await placeOf(store, 'b')], ['completed', 'ready'])
  }),

  test('cancelling: without anything to remember, too, it is the handler’s own word that counts', async ({
    store,
  }) => {
    const followUps = [message('b', { when: { delayMs: 60_000 } })]
    const carrying = { ...ack(await cancelled(store)), kind: 'ack', followUps } as const
    assert.deepEqual(await store.settle([carrying]), ['cancelled'])
    assert.deepEqual([await placeOf(store, 'a'), await placeOf(store, 'b')], ['gone', 'gone'])
    const completing = { ...complete(await cancelled(store)), kind: 'ack', followUps } as const
    assert.deepEqual(await store.settle([completing]), ['settled'])
    assert.deepEqual([await placeOf(store, 'a'), await placeOf(store, 'b')], ['gone', 'delayed'])
    assert.deepEqual(await store.settle([complete(await cancelled(store))]), ['settled'])
    assert.equal(await placeOf(store, 'a'), 'gone')
  }),

  test('cancelling: the worker hears it with its extension, which counts', async ({ store, advance }) => {
    await store.put([message('a'), message('b')])
    const [a, b] = await claimDue(store)
    assert.ok(a !== undefined && b !== undefined)
    await store.remove(['b'], 'waiting', { isRunningToo: true })
    await advance(LEASE_MS - 1)
    assert.deepEqual(await store.extend([a, b], LEASE_MS), ['extended', 'cancelling'])
    await advance(LEASE_MS - 1)
    assert.deepEqual(await claimLapsed(store), [])
    assert.deepEqual(await store.extend([a, b], LEASE_MS), ['extended', 'cancelling'])
    assert.equal((await stored(store, 'b')).isCancelling, true)
    assert.equal((await stored(store, 'a')).isCancelling, undefined)
  }),

  test('cancelling: the mark stays when the lease lapses and another takes over', async ({
    store,
    advance,
  }) => {
    await cancelled(store)
    await advance(LEASE_MS)
    const taken = only(await claimLapsed(store))
    assert.equal((await stored(store, 'a')).isCancelling, true)
    assert.deepEqual(await store.settle([lapse(taken)]), ['cancelled'])
    assert.equal(await placeOf(store, 'a'), 'gone')
  }),

  test('cancelling: what does not run is simply removed; without the word what runs is left alone', async ({
    store,
  }) => {
    await store.put([message('a'), message('b', { when: { delayMs: 1_000 } })])
    const lease = await claimOne(store)
    assert.deepEqual(await store.remove(['a', 'b', 'c'], 'waiting', { isRunningToo: true }), [
      'cancelling',
      'removed',
      'missing',
    ])
    assert.deepEqual(await store.remove(['a'], 'waiting'), ['running'])
    assert.deepEqual(await store.settle([ack(lease)]), ['cancelled'])
    await store.put([message('a')])
    const other = await claimOne(store)
    assert.deepEqual(await store.remove(['a'], 'waiting', { isRunningToo: false }), ['running'])
    assert.deepEqual(await store.settle([retry(other, 0)]), ['settled'])
  }),

  test('P4: an old token neither hears of it nor ends it', async ({ store, advance }) => {
    const lease = await cancelled(store)
    await advance(LEASE_MS)
    only(await claimLapsed(store))
    assert.deepEqual(await store.extend([lease], LEASE_MS), ['lost'])
    assert.deepEqual(await store.settle([ack(lease)]), ['lost'])
    assert.equal(await placeOf(store, 'a'), 'running')
  }),

  test('P5: with a successor, cancelling takes both; what replaces it after that is stored', async ({
    store,
  }) => {
    await store.put([message('a', { body: '1' })])
    const lease = await claimOne(store)
    await store.put([message('a', { body: '2', ifExists: 'replace' })])
    await store.remove(['a'], 'waiting', { isRunningToo: true })
    assert.equal((await stored(store, 'a')).successor, undefined)
    assert.deepEqual(await store.put([message('a', { body: '3', ifExists: 'replace' })]), ['succeeds'])
    assert.deepEqual(await store.settle([ack(lease)]), ['cancelled'])
    assert.equal((await claimOne(store)).body, '3')
  }),

  test('P8: one call may end several, some of them cancelled', async ({ store }) => {
    await store.put(['a', 'b', 'c'].map((id) => message(id)))
    const [a, b, c] = await claimDue(store)
    assert.ok(a !== undefined && b !== undefined && c !== undefined)
    await store.remove(['b'], 'waiting', { isRunningToo: true })
    assert.deepEqual(await store.settle([ack(a), ack(b), ack(c), ack(b)]), [
      'settled',
      'cancelled',
      'settled',
      'lost',
    ])
    assert.equal((await takeCensus(store)).total, 0)
  }),

  test('P9: sleepers are woken, and told why', async ({ store }) => {
    await store.put([message('a')])
    await claimOne(store)
    const heard: WakeUp['kind'][] = []
    const end = store.onWake(({ kind }) => heard.push(kind))
    // A subscription may take a moment: so it is said again.
    for (let i = 0; i < 400 && !heard.includes('cancelling'); i += 1) {
      if (i % 20 === 0) await store.remove(['a'], 'waiting', { isRunningToo: true })
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    end()
    assert.ok(heard.includes('cancelling'))
  }),
]
