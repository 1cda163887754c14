/** P5 after the end: ids that stay taken, how they show, and how they are free again. */
import assert from 'node:assert/strict'
import type { LeaseRef, Remember, Settlement, Store, StoredMessage } from '../../store/contract/store.ts'
import { takeCensus } from '../census.ts'
import {
  TOPIC,
  ack,
  claimDue,
  claimOne,
  dead,
  find,
  lapse,
  message,
  placeOf,
  retry,
  stored,
} from './stand.ts'
import { test, type ConformanceTest } from './test.ts'

const DAY_MS = 86_400_000

function done({ id, token, topic }: LeaseRef, remember: Partial<Remember> = {}): Settlement {
  return {
    kind: 'ack',
    id,
    token,
    topic,
    remember: { ms: DAY_MS, outcome: 'completed', result: '', ...remember },
  }
}

/** A message that is done, and remembered. */
async function finish(store: Store, id: string, remember: Partial<Remember> = {}): Promise<StoredMessage> {
  await store.put([message(id)])
  assert.deepEqual(await store.settle([done(await claimOne(store), remember)]), ['settled'])
  return stored(store, id)
}

export const rememberTests: readonly ConformanceTest[] = [
  test('P5: a remembered id shows how its message ended, and until when it is taken', async ({
    store,
    advance,
  }) => {
    const put = message('a', {
      body: '"secret"',
      meta: '{"x":1}',
      tags: ['t'],
      priority: 2,
      when: { delayMs: 5 },
    })
    await store.put([put])
    const { producedAt, dueAt } = await stored(store, 'a')
    await advance(10)
    await store.settle([retry(await claimOne(store), 90)])
    await advance(90)
    await store.settle([done(await claimOne(store), { ms: 1_000, result: '{"ü":[1,"\\n"]}\n2' })])
    assert.deepEqual(await stored(store, 'a'), {
      id: 'a',
      topic: TOPIC,
      body: '',
      meta: '',
      tags: [],
      priority: 2,
      state: 'completed',
      dueAt: producedAt + 100,
      firstDueAt: dueAt,
      producedAt,
      attempt: 2,
      lapses: 0,
      error: '',
      reason: '',
      until: producedAt + 1_100,
      owner: '',
      leasedAt: 0,
      outcome: 'completed',
      result: '{"ü":[1,"\\n"]}\n2',
    })
  }),

  test('P5: of the crashes of a remembered one nothing is shown', async ({ store }) => {
    await store.put([message('a')])
    await store.settle([lapse(await claimOne(store))])
    assert.equal((await stored(store, 'a')).lapses, 1)
    await store.settle([done(await claimOne(store))])
    const { attempt, lapses } = await stored(store, 'a')
    assert.deepEqual([attempt, lapses], [2, 0])
    assert.deepEqual(
      (await store.remembered({ limit: 10 })).items.map((item) => item.lapses),
      [0],
    )
  }),

  test('P5: a skipped one is remembered as skipped, and a result of 16 KiB whole', async ({ store }) => {
    const result = JSON.stringify('é'.repeat(8_000))
    const found = await finish(store, 'a', { outcome: 'skipped', result })
    assert.deepEqual([found.outcome, found.result], ['skipped', result])
  }),

  test('P5: while it is remembered, the same id is a duplicate', async ({ store }) => {
    const before = await finish(store, 'a', { result: '1' })
    assert.deepEqual(await store.put([message('a', { body: '2' })]), ['duplicate'])
    assert.deepEqual(await store.put([message('b'), message('a'), message('c')]), [
      'stored',
      'duplicate',
      'stored',
    ])
    assert.deepEqual(await stored(store, 'a'), before)
  }),

  test('P5: from its moment on the id is free', async ({ store, advance }) => {
    await finish(store, 'a', { ms: 1_000 })
    await advance(999)
    assert.deepEqual(await store.put([message('a')]), ['duplicate'])
    await advance(1)
    assert.equal(await placeOf(store, 'a'), 'gone')
    assert.deepEqual(await store.put([message('a', { body: '2' }), message('b')]), ['stored', 'stored'])
    assert.deepEqual(await store.put([message('a')]), ['duplicate'])
    assert.equal((await stored(store, 'a')).body, '2')
    assert.equal((await takeCensus(store)).total, 2)
  }),

  test('P5: replace stores anew, and what was remembered is forgotten', async ({ store }) => {
    await finish(store, 'a', { result: '1' })
    assert.deepEqual(await store.put([message('a', { ifExists: 'replace', body: '2' })]), ['stored'])
    assert.deepEqual([(await stored(store, 'a')).body, await placeOf(store, 'a')], ['2', 'ready'])
    await store.settle([ack(await claimOne(store))])
    assert.equal(await placeOf(store, 'a'), 'gone')
    assert.deepEqual(await store.put([message('a')]), ['stored'])
  }),

  test('P5: cancel and purge free the id; only a purge calls it removed', async ({ store, advance }) => {
    await finish(store, 'a')
    assert.deepEqual(await store.remove(['a'], 'waiting'), ['missing'])
    assert.equal(await placeOf(store, 'a'), 'gone')
    await finish(store, 'a')
    assert.deepEqual(await store.remove(['a'], 'dead'), ['removed'])
    assert.deepEqual(await store.remove(['a'], 'dead'), ['missing'])
    await finish(store, 'a', { ms: 10 })
    await advance(10)
    assert.deepEqual(await store.remove(['a'], 'dead'), ['missing'])
    assert.deepEqual(await store.put([message('a')]), ['stored'])
  }),

  test('P5: what is remembered can be neither moved, revived nor claimed', async ({ store }) => {
    await finish(store, 'a')
    const before = await stored(store, 'a')
    assert.deepEqual(await store.reschedule([{ id: 'a', when: { delayMs: 0 } }]), ['missing'])
    assert.deepEqual(await store.revive(['a']), ['missing'])
    assert.deepEqual(await claimDue(store), [])
    assert.deepEqual(await stored(store, 'a'), before)
  }),

  test('P5: no list and no count shows what is remembered', async ({ store }) => {
    await store.put([message('a', { tags: ['t'] }), message('b', { tags: ['t'] })])
    await store.settle((await claimDue(store)).filter(({ id }) => id === 'a').map((lease) => done(lease)))
    await store.put([message('c', { when: { delayMs: 5_000 } })])
    assert.equal((await takeCensus(store)).total, 2)
    assert.deepEqual(
      (await store.inspect({ tag: 't', limit: 10 })).items.map(({ id }) => id),
      ['b'],
    )
    const { counts } = await store.forecast({ edges: [0, 2 ** 50] })
    assert.deepEqual(counts, [1])
  }),

  test('P4: under an old token nothing is remembered', async ({ store }) => {
    await store.put([message('a')])
    const lease = await claimOne(store)
    await store.settle([retry(lease, 0)])
    assert.deepEqual(await store.settle([done(lease)]), ['lost'])
    assert.equal((await find(store, 'a'))?.state, 'ready')
  }),

  test('P5: the first settlement of a lease decides what is remembered', async ({ store }) => {
    await store.put([message('a'), message('b'), message('c')])
    const [a, b, c] = await claimDue(store)
    assert.ok(a !== undefined && b !== undefined && c !== undefined)
    const results = await store.settle([done(a, { result: '1' }), ack(a), ack(b), done(b), dead(c), done(c)])
    assert.deepEqual(results, ['settled', 'lost', 'settled', 'lost', 'settled', 'lost'])
    assert.equal((await stored(store, 'a')).result, '1')
    assert.deepEqual([await placeOf(store, 'b'), await placeOf(store, 'c')], ['gone', 'dead'])
  }),

  test('P8: an end that cannot be remembered is refused, and its neighbours are settled', async ({
    store,
  }) => {
    await store.put([message('a'), message('b')])
    const [a, b] = await claimDue(store)
    assert.ok(a !== undefined && b !== undefined)
    assert.deepEqual(await store.settle([done(a, { ms: NaN }), done(b, { ms: 5 })]), ['refused', 'settled'])
    assert.equal(await placeOf(store, 'a'), 'running')
    assert.deepEqual(await store.settle([done(a)]), ['settled'])
  }),

  test('P10: many that are over leave by themselves, and the others stay', async ({ store, advance }) => {
    const ids = Array.from({ length: 250 }, (_, i) => `m${i}`)
    await store.put([...ids, 'kept'].map((id) => message(id)))
    for (let leases = await claimDue(store); leases.length > 0; leases = await claimDue(store))
      await store.settle(leases.map((lease) => done(lease, { ms: lease.id === 'kept' ? DAY_MS : 10 })))
    await advance(10)
    await finish(store, 'another')
    assert.equal((await takeCensus(store)).total, 0)
    assert.deepEqual([await placeOf(store, 'm7'), await placeOf(store, 'kept')], ['gone', 'completed'])
    assert.deepEqual(
      await store.put(ids.map((id) => message(id))),
      ids.map(() => 'stored'),
    )
    assert.equal((await takeCensus(store)).total, 250)
  }),
]
