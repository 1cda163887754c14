/** Limits of keys (P17): how many of each run at once and start in a time, what a retry holds, and how limits change. */
import assert from 'node:assert/strict'
import type { KeyState, Store } from '../../store/contract/store.ts'
import { takeCensus } from '../census.ts'
import { assertNoTask, assertWaits, limit, pause, resume } from './control-stand.ts'
import { flood, keyTest, keyed, own, perKey, take, takeInTurn } from './key-stand.ts'
import {
  LEASE_MS,
  TOPIC,
  ack,
  again,
  claim,
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
} from './stand.ts'
import type { ConformanceTest } from './test.ts'

const SERIAL = perKey({ concurrency: 1 })

export const keyLimitTests: readonly ConformanceTest[] = [
  keyTest(
    'P17: with concurrency 1 of each key one runs, and its next comes when it ended',
    async ({ store, advance }) => {
      await store.control(SERIAL)
      await store.put([...flood('a', 3), ...flood('b', 3)])
      await advance(1)
      const first = await claim(store, {})
      assert.deepEqual(idsOf(first.leases).toSorted(), ['a-0', 'b-0'])
      assert.deepEqual(first.limited, [TOPIC])
      assertNoTask({ ...(await claim(store, {})) })
      const a = first.leases.find(({ id }) => id === 'a-0')
      assert.ok(a !== undefined)
      await store.settle([ack(a)])
      assert.deepEqual(idsOf(await take(store)), ['a-1'])
    },
  ),

  keyTest('P17: concurrency counts over all owners and claims', async ({ store, advance, another }) => {
    const other = (await another?.()) ?? store
    await store.control(perKey({ concurrency: 3 }))
    await store.put(flood('k', 10))
    await advance(1)
    const [two, rest] = [await claimDue(store, 2), (await claim(other, { owner: 'another' })).leases]
    assert.deepEqual([two.length, rest.length], [2, 1])
    assert.equal((await take(store)).length, 0)
    await store.settle([dead(only(rest))])
    assert.equal((await take(store)).length, 1)
    await other.close()
  }),

  keyTest(
    'P17: a rate of each key lets a burst start, then one in each interval',
    async ({ store, advance }) => {
      await store.control(perKey({ rate: { intervalMs: 1_000, burst: 2 } }))
      await store.put([...flood('a', 5), ...flood('b', 1)])
      await advance(1)
      const first = await claim(store, {})
      assert.deepEqual(idsOf(first.leases).toSorted(), ['a-0', 'a-1', 'b-0'])
      assertWaits(first, 500)
      await advance(502)
      assert.deepEqual(idsOf(await take(store)), ['a-2'])
      const next = await claim(store, {})
      assert.deepEqual(next.leases, [])
      assertWaits(next, 998)
      await advance(2_000)
      assert.deepEqual(idsOf(await take(store)), ['a-3', 'a-4'])
    },
  ),

  keyTest('P17: a retry of a serial key holds it, and what comes after waits', async ({ store, advance }) => {
    await store.control(SERIAL)
    await store.put(flood('k', 3))
    await advance(1)
    const first = await claimOne(store)
    await store.settle([retry(first, 5_000)])
    const held = await claim(store, {})
    assert.deepEqual(held.leases, [], 'the next does not overtake the retry')
    assertWaits(held, 5_000)
    const state = await stateOf(store, 'k')
    assert.equal(state.held?.id, first.id)
    await store.put([keyed('urgent', 'k', { priority: 0 })])
    assert.deepEqual(await take(store), [], 'nor does one of a higher priority')
    await advance(5_001)
    const repeated = only(await take(store))
    assert.deepEqual([repeated.id, repeated.attempt], [first.id, 2])
    await store.settle([ack(repeated)])
    assert.deepEqual(idsOf(await take(store)), ['urgent'])
  }),

  keyTest('P17: a retry that is cancelled or moved by its user frees its key', async ({ store, advance }) => {
    await store.control(SERIAL)
    await store.put([...flood('a', 2), ...flood('b', 2)])
    await advance(1)
    const leases = await take(store)
    await store.settle(leases.map((lease) => retry(lease, 60_000)))
    assert.deepEqual(await take(store), [])
    await store.remove(['a-0'], 'waiting')
    await store.reschedule([{ id: 'b-0', when: { delayMs: 120_000 } }])
    assert.deepEqual(idsOf(await take(store)).toSorted(), ['a-1', 'b-1'])
    await takeCensus(store)
  }),

  keyTest('P17: a key of several at once is not held by a retry', async ({ store, advance }) => {
    await store.control(perKey({ concurrency: 2 }))
    await store.put(flood('k', 4))
    await advance(1)
    const [first] = await take(store)
    assert.ok(first !== undefined)
    await store.settle([retry(first, 60_000)])
    assert.deepEqual(idsOf(await take(store)), ['k-2'])
  }),

  keyTest('P17: a snooze, a give-back and a death free a serial key', async ({ store, advance }) => {
    await store.control(SERIAL)
    await store.put([...flood('a', 2), ...flood('b', 2), ...flood('c', 2)])
    await advance(1)
    const leases = await take(store)
    const [a, b, c] = ['a-0', 'b-0', 'c-0'].map((id) => leases.find((lease) => lease.id === id))
    assert.ok(a !== undefined && b !== undefined && c !== undefined)
    await store.settle([again(a, { delayMs: 60_000 }), release(b), dead(c)])
    assert.deepEqual(idsOf(await take(store)).toSorted(), ['a-1', 'b-0', 'c-1'])
  }),

  keyTest(
    'P17: a lease that lapsed keeps its slot until it is settled, and what lapsed holds its key',
    async ({ store, advance }) => {
      await store.control(SERIAL)
      await store.put(flood('k', 2))
      await advance(1)
      await claimOne(store)
      await advance(LEASE_MS + 1)
      assert.deepEqual(await take(store), [], 'it is not settled yet')
      const lapsed = only(await claimLapsed(store))
      assert.deepEqual([lapsed.id, lapsed.key], ['k-0', 'k'])
      assert.deepEqual(await take(store), [])
      await store.put([keyed('urgent', 'k', { priority: 0 })])
      await store.settle([lapse(lapsed)])
      const back = only(await take(store))
      assert.deepEqual([back.id, back.attempt, back.lapses], ['k-0', 2, 1])
      await store.settle([ack(back)])
      assert.deepEqual(idsOf(await take(store)), ['urgent'])
    },
  ),

  keyTest('P17: a successor of another key frees the key of the one before', async ({ store, advance }) => {
    await store.control(SERIAL)
    await store.put(flood('a', 2))
    await advance(1)
    const running = await claimOne(store)
    await store.put([keyed('a-0', 'b', { ifExists: 'replace' })])
    await store.settle([retry(running, 60_000)])
    assert.deepEqual(idsOf(await take(store)).toSorted(), ['a-0', 'a-1'])
  }),

  keyTest(
    'P17: a limit of one key replaces that of all, and a weight alone keeps it',
    async ({ store, advance }) => {
      await store.control(SERIAL)
      await store.control(own('big', { concurrency: 3 }))
      await store.control(own('heavy', { weight: 5 }))
      await store.put([...flood('big', 5), ...flood('heavy', 5), ...flood('small', 5)])
      await advance(1)
      const leases = await take(store)
      assert.deepEqual([counts(leases, 'big'), counts(leases, 'heavy'), counts(leases, 'small')], [3, 1, 1])
      await store.control(own('big', null))
      await store.settle(leases.map(ack))
      const after = await take(store)
      assert.deepEqual([counts(after, 'big'), counts(after, 'heavy'), counts(after, 'small')], [1, 1, 1])
    },
  ),

  keyTest('P17: controls tell the limit of keys, and that some have their own', async ({ store }) => {
    await store.control(SERIAL)
    await store.control(own('big', { weight: 2 }))
    const told = async (): Promise<unknown> => (await store.controls()).controls
    assert.deepEqual(await told(), [
      { topic: TOPIC, limit: { perKey: { concurrency: 1 } }, hasKeyLimits: true },
    ])
    await store.control(perKey(undefined))
    assert.deepEqual(await told(), [{ topic: TOPIC, hasKeyLimits: true }])
    await store.control(own('big', null))
    assert.deepEqual(await told(), [])
  }),

  keyTest(
    'P17: taking the limit of keys back frees what it held, retries too',
    async ({ store, advance }) => {
      await store.control(SERIAL)
      await store.put([...flood('a', 3), ...flood('b', 3)])
      await advance(1)
      const leases = await take(store)
      await store.settle(leases.map((lease) => (lease.key === 'a' ? retry(lease, 60_000) : ack(lease))))
      const [b] = await take(store)
      assert.equal(b?.key, 'b')
      await store.control(perKey(undefined))
      assert.deepEqual((await takeAll(store)).toSorted(), ['a-1', 'a-2', 'b-2'])
    },
  ),

  keyTest(
    'P17: raising and lowering a limit counts what is handed out from then on',
    async ({ store, advance }) => {
      await store.control(SERIAL)
      await store.put(flood('k', 10))
      await advance(1)
      const first = await take(store)
      assert.equal(first.length, 1)
      await store.control(perKey({ concurrency: 4 }))
      const more = await takeAll(store)
      assert.equal(more.length, 3)
      await store.control(perKey({ concurrency: 2 }))
      assert.deepEqual(await takeAll(store), [])
      await store.settle(first.map(ack))
      assert.deepEqual(await takeAll(store), [], 'three still run')
    },
  ),

  keyTest('P17: a limit that is set while messages wait holds for them', async ({ store, advance }) => {
    await store.put([...flood('a', 5), ...flood('b', 5)])
    await advance(1)
    await store.control(SERIAL)
    assert.deepEqual((await takeAll(store)).toSorted(), ['a-0', 'b-0'])
  }),

  keyTest(
    'P14: the limit and the pause of the topic hold beside those of keys',
    async ({ store, advance }) => {
      await store.control(limit({ concurrency: 3, perKey: { concurrency: 2 } }))
      await store.put([...flood('a', 5), ...flood('b', 5), message('plain')])
      await advance(1)
      const leases = await take(store)
      assert.equal(leases.length, 3)
      await store.control(pause())
      await store.settle(leases.map(ack))
      assert.deepEqual(await take(store), [])
      await store.control(resume())
      const after = await take(store)
      assert.equal(after.length, 3)
      for (const key of ['a', 'b']) assert.ok(after.filter((lease) => lease.key === key).length <= 2)
    },
  ),

  keyTest(
    'P17: blocked keys do not hide others, nor what is due without a key',
    async ({ store, advance }) => {
      await store.control(SERIAL)
      await store.put(flood('busy', 500))
      await advance(1)
      assert.equal((await take(store)).length, 1)
      await store.put([keyed('x', 'free'), message('plain')])
      await advance(1)
      assert.deepEqual((await takeAll(store)).toSorted(), ['plain', 'x'])
    },
  ),

  keyTest(
    'P14: a topic whose keys have limits is handed out only as far as it can start at once',
    async ({ store, advance }) => {
      await store.control(perKey({ concurrency: 100 }))
      await store.put([...flood('a', 10), ...flood('b', 10)])
      await advance(1)
      const reply = await claim(store, { wants: [{ topic: TOPIC, limit: 50, free: 4 }], limit: 50, free: 4 })
      assert.equal(reply.leases.length, 4)
      assert.deepEqual(reply.limited, [TOPIC])
      await store.put([keyed('later', 'c', { when: { delayMs: 10 } })])
      await advance(5)
      const ahead = await claim(store, {
        wants: [{ topic: TOPIC, limit: 50, free: 50 }],
        limit: 50,
        free: 50,
        leadMs: store.capabilities.leadMs,
      })
      assert.ok(!idsOf(ahead.leases).includes('later'), 'and never ahead of its moment')
    },
  ),

  keyTest(
    'P18: a key that is empty leaves nothing, when its rate has recovered',
    async ({ store, advance }) => {
      await store.control(perKey({ rate: { intervalMs: 1_000, burst: 1 }, concurrency: 5 }))
      await store.put([...flood('a', 2), ...flood('b', 1)])
      await advance(1)
      await store.settle((await take(store)).map(ack))
      assert.deepEqual(await names(store), ['a', 'b'], 'their rates are used')
      await advance(1_000)
      await store.settle((await take(store)).map(ack))
      await advance(3_000)
      await claim(store, {})
      assert.deepEqual(await names(store), [])
      await takeCensus(store)
    },
  ),

  keyTest('P16: with a limit, too, a flood of one key does not delay another', async ({ store, advance }) => {
    await store.control(perKey({ concurrency: 50 }))
    await store.put(flood('flood', 40))
    await advance(1)
    await take(store, 5)
    await advance(1)
    await store.put([keyed('other', 'other')])
    await advance(1)
    const ids = await takeInTurn(store, advance, [1, 1])
    assert.ok(ids.includes('other'), `at most one of the flood goes before: ${ids.join()}`)
  }),
]

function counts(leases: readonly { readonly key?: string }[], key: string): number {
  return leases.filter((lease) => lease.key === key).length
}

async function names(store: Store): Promise<string[]> {
  return (await store.keys({ topic: TOPIC, limit: 100 })).keys.map(({ key }) => key).toSorted()
}

async function stateOf(store: Store, key: string): Promise<KeyState> {
  return only((await store.keys({ topic: TOPIC, keys: [key] })).keys)
}

/** Claims while the store says that more is there: a change of limits may be followed up in several steps. */
async function takeAll(store: Store): Promise<string[]> {
  const ids: string[] = []
  for (let calls = 0; calls < 20; calls += 1) {
    const { leases, next } = await claim(store, {})
    ids.push(...idsOf(leases))
    if (next.state !== 'EXPIRED') break
  }
  return ids
}
