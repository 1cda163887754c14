/** Moving: a message that another store showed is placed with all that is known of it. */
import assert from 'node:assert/strict'
import type { RestoredMessage, Store, StoredMessage } from '../../store/contract/store.ts'
import { takeCensus } from '../census.ts'
import {
  TOPIC,
  ack,
  claim,
  claimDue,
  claimOne,
  dead,
  find,
  idsOf,
  lapse,
  message,
  placeOf,
  retry,
  stored,
} from './stand.ts'
import { test, type ConformanceTest } from './test.ts'
import { hearing, nextWake } from './wakes.ts'

const DAY_MS = 86_400_000

/** Of what is shown and does not run. */
function restorable(shown: StoredMessage): RestoredMessage {
  const { state, owner: _owner, leasedAt: _leasedAt, ...rest } = shown
  assert.notEqual(state, 'running')
  return { ...rest, state: state as RestoredMessage['state'] }
}

/** Takes it away, places it again as it was shown, and asserts that it shows as before. */
async function removeAndRestore(store: Store, id: string): Promise<StoredMessage> {
  const before = await stored(store, id)
  const from = before.state === 'dead' || before.state === 'completed' ? 'dead' : 'waiting'
  assert.deepEqual(await store.remove([id], from), ['removed'])
  assert.equal(await find(store, id), undefined)
  assert.deepEqual(await store.restore([restorable(before)]), ['restored'])
  assert.deepEqual(await stored(store, id), before)
  return before
}

async function finish(store: Store, id: string, ms: number): Promise<void> {
  await store.put([message(id)])
  const remember = { ms, outcome: 'completed', result: '{"ü":1}\n2' } as const
  assert.deepEqual(await store.settle([{ ...(await claimOne(store)), kind: 'ack', remember }]), ['settled'])
}

export const restoringTests: readonly ConformanceTest[] = [
  test('P2: a message that waits is restored with its attempts, failures and moments', async ({
    store,
    advance,
  }) => {
    const put = { body: '"é\\n"', meta: '{"x":1}', tags: ['t', 'ü'], priority: 2 } as const
    await store.put([message('a', put), message('b', { when: { delayMs: 500 } })])
    await advance(10)
    await store.settle([lapse(await claimOne(store), 'gone')])
    await store.settle([retry(await claimOne(store), 90, 'boom')])
    const before = await removeAndRestore(store, 'a')
    assert.deepEqual([before.attempt, before.error], [2, 'boom'])
    assert.ok(before.firstDueAt < before.dueAt)
    await removeAndRestore(store, 'b')
    assert.equal((await takeCensus(store)).total, 2)
    assert.deepEqual(idsOf((await store.inspect({ tag: 'ü', limit: 10 })).items), ['a'])
  }),

  test('P1: what is restored is not handed out before its moment, and goes on with its next attempt', async ({
    store,
    advance,
  }) => {
    await store.put([message('a')])
    await store.settle([retry(await claimOne(store), 1_000)])
    const { firstDueAt } = await removeAndRestore(store, 'a')
    await advance(999)
    assert.deepEqual(await claimDue(store), [])
    await advance(1)
    const lease = await claimOne(store)
    assert.deepEqual([lease.attempt, lease.firstDueAt], [2, firstDueAt])
    assert.deepEqual(await store.settle([ack(lease)]), ['settled'])
    assert.equal(await placeOf(store, 'a'), 'gone')
  }),

  test('P6: lapses in a row are restored', async ({ store }) => {
    await store.put([message('a')])
    await store.settle([lapse(await claimOne(store))])
    await store.settle([lapse(await claimOne(store))])
    const { lapses } = await removeAndRestore(store, 'a')
    assert.deepEqual([lapses, (await claimOne(store)).lapses], [2, 2])
  }),

  test('P2: a dead one is restored dead, with why, since when and its tags, and can be revived', async ({
    store,
    advance,
  }) => {
    await store.put([message('a', { tags: ['t'] }), message('b')])
    const [a, b] = await claimDue(store)
    assert.ok(a !== undefined && b !== undefined)
    await store.settle([dead(a, 'failed', 'boom'), dead(b, 'expired', '')])
    await advance(5_000)
    await removeAndRestore(store, 'a')
    await removeAndRestore(store, 'b')
    assert.equal((await takeCensus(store)).places.get('a'), 'dead')
    assert.deepEqual(idsOf((await store.inspect({ tag: 't', limit: 10 })).items), ['a'])
    assert.deepEqual(await claimDue(store), [])
    assert.deepEqual(await store.revive(['a', 'b']), ['revived', 'revived'])
    assert.deepEqual(idsOf(await claimDue(store)).toSorted(), ['a', 'b'])
  }),

  test('P5: what is remembered is restored, keeps its id taken, and frees it at its moment', async ({
    store,
    advance,
  }) => {
    await finish(store, 'a', 1_000)
    await advance(400)
    await removeAndRestore(store, 'a')
    assert.deepEqual(await store.put([message('a')]), ['duplicate'])
    assert.equal((await takeCensus(store)).total, 0)
    await advance(600)
    assert.equal(await placeOf(store, 'a'), 'gone')
    assert.deepEqual(await store.put([message('a')]), ['stored'])
  }),

  test('P5: an id that is taken stays as it is, whatever holds it', async ({ store }) => {
    await finish(store, 'remembered', DAY_MS)
    await store.put([message('dead'), message('running')])
    const [first, second] = await claimDue(store)
    assert.ok(first !== undefined && second !== undefined)
    await store.settle([dead(first)])
    await store.put([message('waiting', { when: { delayMs: 5_000 } }), message('model')])
    const model = restorable(await stored(store, 'model'))
    const ids = ['remembered', 'dead', 'running', 'waiting']
    const before = (await store.inspect({ ids })).items
    assert.deepEqual(
      await store.restore(ids.map((id) => ({ ...model, id, body: '"other"' }))),
      ids.map(() => 'taken'),
    )
    assert.deepEqual((await store.inspect({ ids })).items, before)
    assert.equal((await takeCensus(store)).total, 4)
  }),

  test('P5: a remembered id whose time is over is free to be restored', async ({ store, advance }) => {
    await finish(store, 'a', 10)
    await store.put([message('model', { when: { delayMs: 5_000 } })])
    await advance(10)
    const model = restorable(await stored(store, 'model'))
    assert.deepEqual(await store.restore([{ ...model, id: 'a' }]), ['restored'])
    assert.equal(await placeOf(store, 'a'), 'delayed')
  }),

  test('P5: of one id twice in a call, the first is restored', async ({ store }) => {
    await store.put([message('model')])
    const model = restorable(await stored(store, 'model'))
    const twice = [
      { ...model, id: 'a', body: '1' },
      { ...model, id: 'a', body: '2' },
    ]
    assert.deepEqual(await store.restore(twice), ['restored', 'taken'])
    assert.deepEqual([(await stored(store, 'a')).body, (await takeCensus(store)).total], ['1', 2])
  }),

  test('P7: what is restored is handed out in the order given, whatever the ids', async ({ store }) => {
    await store.put([message('model')])
    const model = restorable(await stored(store, 'model'))
    await store.remove(['model'], 'waiting')
    const ids = ['z', 'b', '0123456789abcdef', 'y', 'a']
    await store.restore(ids.map((id) => ({ ...model, id })))
    assert.deepEqual(idsOf(await claimDue(store)), ids)
  }),

  test('P9: what is restored wakes a sleeper', async (subject) => {
    const { store } = subject
    await store.put([message('a')])
    const shown = restorable(await stored(store, 'a'))
    await store.remove(['a'], 'waiting')
    assert.deepEqual((await claim(store, { owner: 'sleeper' })).leases, [])
    const heard = nextWake(store, 'sleeper', await hearing(subject, store, 'due'))
    assert.deepEqual(await store.restore([shown]), ['restored'])
    await heard
  }),

  test('P10: what is remembered is listed page by page, each once, also while others leave', async ({
    store,
    advance,
  }) => {
    const ids = Array.from({ length: 25 }, (_, index) => `m${index}`)
    await store.put(ids.map((id) => message(id)))
    const remember = { outcome: 'completed', result: '1' } as const
    const leases = await claimDue(store)
    await store.settle(
      leases.map((lease, index) => ({
        ...lease,
        kind: 'ack',
        // Those of a day leave in another order than they came.
        remember: { ...remember, ms: index < 5 ? 10 : DAY_MS - (index % 7) },
      })),
    )
    await advance(10)
    const kept = leases.slice(5).map(({ id }) => id)
    const seen: string[] = []
    let cursor: string | undefined
    let pages = 0
    do {
      const page = await store.remembered({ limit: 4, ...(cursor === undefined ? {} : { cursor }) })
      for (const item of page.items) assert.deepEqual(item, await stored(store, item.id))
      seen.push(...idsOf(page.items))
      cursor = page.cursor
      pages += 1
      const leaves = page.items.at(pages % 2 === 0 ? 0 : -1)
      if (leaves !== undefined) await store.remove([leaves.id], 'dead')
    } while (cursor !== undefined)
    assert.deepEqual(seen.toSorted(), kept.toSorted())
    assert.equal((await store.inspect({ state: 'ready', topic: TOPIC, limit: 10 })).items.length, 0)
  }),
]
