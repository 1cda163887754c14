/** P10: lists that are hard to page through: moments that differ, ids that begin alike, filters, deaths on the way. */
import assert from 'node:assert/strict'
import type { ListQuery, Store, StoredMessage } from '../../store/contract/store.ts'
import {
  TOPIC,
  claim,
  claimDue,
  claimOne,
  dead,
  idsOf,
  message,
  only,
  release,
  retry,
  stored,
} from './stand.ts'
import { test, type ConformanceTest } from './test.ts'

/** Ids of which one begins another, in no order at all. */
const ALIKE = ['m1', 'm10', 'm', 'm100', 'm2', 'M', 'm1 ', 'm11', 'mm', 'm01', ' m']
const PAGES_MAX = 200

export async function walk(
  store: Store,
  query: ListQuery,
  between: (page: readonly StoredMessage[]) => Promise<void> = async () => {},
): Promise<StoredMessage[]> {
  const all: StoredMessage[] = []
  let cursor: string | undefined
  for (let i = 0; i < PAGES_MAX; i += 1) {
    const page = await store.inspect({ ...query, ...(cursor === undefined ? {} : { cursor }) })
    assert.ok(page.items.length <= query.limit, 'no page is longer than asked for')
    assert.ok(page.scanned >= page.items.length, `${page.items.length} found among ${page.scanned}`)
    all.push(...page.items)
    if (page.cursor === undefined) return all
    cursor = page.cursor
    await between(page.items)
  }
  throw new Error(`the walk has not ended after ${PAGES_MAX} pages`)
}

async function assertEach(
  store: Store,
  query: Omit<ListQuery, 'limit'>,
  ids: readonly string[],
): Promise<void> {
  for (const limit of [1, 2, 3, 50]) {
    const found = idsOf(await walk(store, { ...query, limit }))
    assert.deepEqual(found.toSorted(), ids.toSorted(), `${JSON.stringify(query)} in pages of ${limit}`)
  }
}

async function putFilterable(store: Store): Promise<number> {
  await store.put([message('now')])
  const { dueAt: now } = await stored(store, 'now')
  await store.remove(['now'], 'waiting')
  await store.put([
    message('order-1', { when: { at: now + 1000 }, body: '"red apple"' }),
    message('order-10', { when: { at: now + 2000 }, body: '"green apple"' }),
    message('order-2', { when: { at: now + 3000 }, body: '"a pear"', topic: 'other' }),
    message('mail-1', { when: { at: now + 2000 }, body: '"an orange"', topic: 'other' }),
    message('mail-%', { when: { at: now + 4000 }, body: '"100% a_b\\\\c"' }),
  ])
  return now
}

export const listTests: readonly ConformanceTest[] = [
  test('P10: running messages of several workers, with different moments and ids that begin alike: each once', async ({
    store,
    advance,
  }) => {
    for (const [i, id] of ALIKE.entries()) {
      await store.put([message(id, { when: { delayMs: i % 3 } })])
      await advance(i % 3)
      await claim(store, { owner: `w${i % 2}`, limit: 1, leaseMs: 60_000 + (i % 4) * 10 })
    }
    await assertEach(store, { state: 'running' }, ALIKE)
  }),

  test('P10: running messages with one moment and ids that begin alike: each once', async ({ store }) => {
    await store.put(ALIKE.map((id) => message(id)))
    assert.equal((await claimDue(store)).length, ALIKE.length)
    await assertEach(store, { state: 'running' }, ALIKE)
  }),

  test('P10: dead messages with different and with equal moments: each once', async ({ store, advance }) => {
    await store.put(ALIKE.map((id) => message(id)))
    for (const [i, lease] of (await claimDue(store)).entries()) {
      await store.settle([dead(lease)])
      if (i % 3 === 0) await advance(1)
    }
    await assertEach(store, { state: 'dead' }, ALIKE)
    await store.put(ALIKE.map((id) => message(`${id}'`, { topic: 'other' })))
    await store.settle((await claimDue(store, 50, ['other'])).map((lease) => dead(lease)))
    await assertEach(
      store,
      { state: 'dead', topic: 'other' },
      ALIKE.map((id) => `${id}'`),
    )
  }),

  test('P10: waiting messages with ids that begin alike: each once', async ({ store, advance }) => {
    await store.put(ALIKE.map((id, i) => message(id, { when: { delayMs: 1000 + (i % 3) } })))
    await assertEach(store, { state: 'delayed' }, ALIKE)
    await advance(2000)
    await assertEach(store, { state: 'ready' }, ALIKE)
  }),

  test('P10: a list of running messages while others end: what stays appears once', async ({
    store,
    advance,
  }) => {
    const ids = Array.from({ length: 12 }, (_, i) => `m${i}`)
    await store.put(ids.map((id) => message(id)))
    const leases = []
    for (let i = 0; i < 4; i += 1) {
      leases.push(...(await claimDue(store, 3)))
      await advance(1)
    }
    const ending = leases.filter((_, i) => i % 4 === 1)
    const found = await walk(store, { state: 'running', limit: 2 }, async () => {
      const lease = ending.pop()
      if (lease !== undefined) await store.settle([retry(lease, 60_000)])
    })
    const seen = idsOf(found)
    assert.equal(new Set(seen).size, seen.length, 'none twice')
    for (const [i, { id }] of leases.entries())
      if (i % 4 !== 1) assert.ok(seen.includes(id), `${id} was seen`)
  }),

  test('P10: messages are found by due moment, id and text, in every state', async ({ store, advance }) => {
    const now = await putFilterable(store)
    const checkAll = async (state: ListQuery['state']): Promise<void> => {
      await assertEach(store, { state, dueFrom: now + 2000 }, ['order-10', 'order-2', 'mail-1', 'mail-%'])
      await assertEach(store, { state, dueUntil: now + 2000 }, ['order-1'])
      await assertEach(store, { state, dueFrom: now + 2000, dueUntil: now + 2001 }, ['order-10', 'mail-1'])
      await assertEach(store, { state, idPrefix: 'order-1' }, ['order-1', 'order-10'])
      await assertEach(store, { state, idPrefix: 'mail-%' }, ['mail-%'])
      await assertEach(store, { state, text: 'apple' }, ['order-1', 'order-10'])
      await assertEach(store, { state, text: 'a_b' }, ['mail-%'])
      await assertEach(store, { state, text: '0% ' }, ['mail-%'])
      await assertEach(store, { state, text: 'Apple' }, [])
      await assertEach(store, { state, topic: 'other', dueFrom: now + 2500 }, ['order-2'])
      await assertEach(store, { state, idPrefix: 'order-', text: 'apple', dueUntil: now + 1500 }, ['order-1'])
      await assertEach(store, { state, idPrefix: 'nothing' }, [])
      await assertEach(store, { state, text: '' }, ['order-1', 'order-10', 'order-2', 'mail-1', 'mail-%'])
    }
    await checkAll('delayed')
    await advance(10_000)
    await checkAll('ready')
    const leases = await claimDue(store, 10, [TOPIC, 'other'])
    await checkAll('running')
    await store.settle(leases.map((lease) => dead(lease)))
    await checkAll('dead')
  }),

  test('P10: what is due in this very moment is ready, and no list of the delayed that begins now has it', async ({
    store,
  }) => {
    const now = await putFilterable(store)
    await store.put([message('due', { when: { at: now } })])
    await assertEach(store, { state: 'delayed', dueFrom: now, dueUntil: now + 1500 }, ['order-1'])
    await assertEach(store, { state: 'ready', dueFrom: now, dueUntil: now + 1500 }, ['due'])
    await assertEach(store, { state: 'ready', dueUntil: now }, [])
  }),

  test('P10: a text is looked for in bodies, and neither in topics nor in policies', async ({ store }) => {
    await store.put([
      message('plain', { topic: 'xyz', body: '1' }),
      message('policy', { topic: 'xyz', body: '1', meta: '{"ttlMs":5}' }),
    ])
    for (const text of ['z', 'xyz', '}', '5', 'ttl', '\n', '\t', ':'])
      await assertEach(store, { state: 'ready', text }, [])
    await assertEach(store, { state: 'ready', text: '1' }, ['plain', 'policy'])
  }),

  test('P10: a page says how far it looked, and a filter that fits nothing ends', async ({ store }) => {
    const size = Math.min(500, store.capabilities.batchMax)
    await store.put(Array.from({ length: size }, (_, i) => message(`m${i}`)))
    let cursor: string | undefined
    let scanned = 0
    do {
      const page = await store.inspect({
        state: 'ready',
        text: 'nothing like it',
        limit: 10,
        ...(cursor === undefined ? {} : { cursor }),
      })
      assert.ok(
        page.scanned > 0 || page.cursor === undefined,
        'a page that found and looked at nothing is the last',
      )
      assert.deepEqual(page.items, [])
      scanned += page.scanned
      cursor = page.cursor
    } while (cursor !== undefined)
    assert.ok(scanned >= size, `${scanned} of ${size} were looked at`)
  }),

  test('P10: a walk over dead messages ends, though all it revives die again', async ({ store, advance }) => {
    const ids = Array.from({ length: 10 }, (_, i) => `m${i}`)
    await store.put(ids.map((id) => message(id)))
    await store.settle((await claimDue(store)).map((lease) => dead(lease)))
    await advance(1)
    const found = await walk(store, { state: 'dead', limit: 2 }, async (page) => {
      await store.revive(idsOf(page))
      for (const lease of await claimDue(store)) await store.settle([dead(lease)])
      await advance(1)
    })
    assert.deepEqual(idsOf(found).toSorted(), ids)
  }),

  test('P10: a walk over dead messages leaves out those that die after it began', async ({
    store,
    advance,
  }) => {
    await store.put(Array.from({ length: 5 }, (_, i) => message(`m${i}`)))
    await store.settle((await claimDue(store)).map((lease) => dead(lease)))
    await advance(1)
    let born = 0
    const found = await walk(store, { state: 'dead', limit: 1 }, async () => {
      born += 1
      await store.put([message(`n${born}`)])
      await store.settle([dead(await claimOne(store))])
      await advance(1)
    })
    assert.deepEqual(idsOf(found).toSorted(), ['m0', 'm1', 'm2', 'm3', 'm4'])
    assert.equal(idsOf(await walk(store, { state: 'dead', limit: 3 })).length, 5 + born)
  }),

  test('P6: deaths and revivals over and over: the last death is what one sees', async ({
    store,
    advance,
  }) => {
    await store.put([message('a')])
    for (let i = 0; i < 4; i += 1) {
      const lease = await claimOne(store)
      await store.settle([dead(lease, `reason ${i}`, `error ${i}`)])
      const buried = only((await store.inspect({ state: 'dead', limit: 5 })).items)
      assert.deepEqual([buried.reason, buried.error, buried.attempt], [`reason ${i}`, `error ${i}`, 1])
      await advance(10)
      assert.deepEqual(await store.revive(['a']), ['revived'])
      assert.deepEqual((await store.inspect({ state: 'dead', limit: 5 })).items, [])
    }
    const lease = await claimOne(store)
    await store.settle([release(lease)])
    assert.equal((await stored(store, 'a')).attempt, 0)
  }),
]
