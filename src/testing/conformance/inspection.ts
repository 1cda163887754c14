/** P10: looking at what is there, page by page. */
import assert from 'node:assert/strict'
import { MESSAGE_STATES } from '../../core/message.ts'
import type { ListQuery, Store, StoredMessage } from '../../store/contract/store.ts'
import { takeCensus } from '../census.ts'
import { TOPIC, claimDue, claimOne, dead, idsOf, message } from './stand.ts'
import { test, type ConformanceTest } from './test.ts'

async function pages(store: Store, query: ListQuery): Promise<StoredMessage[][]> {
  const all: StoredMessage[][] = []
  let cursor: string | undefined
  do {
    const page = await store.inspect({ ...query, ...(cursor === undefined ? {} : { cursor }) })
    assert.ok(page.items.length <= query.limit, 'no page is longer than asked for')
    all.push([...page.items])
    cursor = page.cursor
  } while (cursor !== undefined)
  return all
}

async function populate(store: Store): Promise<void> {
  await store.put(Array.from({ length: 4 }, (_, i) => message(`dead${i}`)))
  await store.settle((await claimDue(store)).map((lease) => dead(lease)))
  await store.put(Array.from({ length: 3 }, (_, i) => message(`running${i}`)))
  await claimDue(store)
  await store.put(
    Array.from({ length: 5 }, (_, i) => message(`ready${i}`, { topic: i % 2 === 0 ? TOPIC : 'other' })),
  )
  await store.put(
    Array.from({ length: 7 }, (_, i) => message(`delayed${i}`, { when: { delayMs: 1000 + i } })),
  )
}

export const inspectionTests: readonly ConformanceTest[] = [
  test('P10: every state can be paged through, each message exactly once', async ({ store }) => {
    await populate(store)
    const expected = { delayed: 7, ready: 5, running: 3, dead: 4 }
    for (const state of MESSAGE_STATES) {
      for (const limit of [1, 2, 3, 100]) {
        const found = (await pages(store, { state, limit })).flat()
        assert.equal(found.length, expected[state], `${state} in pages of ${limit}`)
        assert.equal(new Set(idsOf(found)).size, expected[state])
        assert.ok(found.every(({ id }) => id.startsWith(state)))
      }
    }
    await takeCensus(store)
  }),

  test('P10: a topic can be picked out', async ({ store }) => {
    await populate(store)
    const found = (await pages(store, { state: 'ready', topic: 'other', limit: 1 })).flat()
    assert.deepEqual(idsOf(found).toSorted(), ['ready1', 'ready3'])
    assert.deepEqual((await pages(store, { state: 'dead', topic: 'nothing', limit: 10 })).flat(), [])
  }),

  test('P10: what leaves or comes between two pages does not hide or repeat what stays', async ({
    store,
  }) => {
    await store.put(Array.from({ length: 20 }, (_, i) => message(`m${i}`, { when: { delayMs: 1000 + i } })))
    const first = await store.inspect({ state: 'delayed', limit: 5 })
    const gone = first.items[2]?.id ?? ''
    await store.remove([gone], 'waiting')
    await store.put([message('new', { when: { delayMs: 500 } })])
    const seen = idsOf(first.items)
    let cursor = first.cursor
    while (cursor !== undefined) {
      const page = await store.inspect({ state: 'delayed', limit: 5, cursor })
      seen.push(...idsOf(page.items))
      cursor = page.cursor
    }
    assert.equal(new Set(seen).size, seen.length)
    for (let i = 0; i < 20; i += 1) assert.ok(seen.includes(`m${i}`), `m${i} was seen`)
  }),

  test('P10: a foreign cursor is refused', async ({ store }) => {
    await assert.rejects(store.inspect({ state: 'delayed', limit: 5, cursor: 'not ours' }), {
      code: 'CURSOR_INVALID',
    })
  }),

  test('P10: messages are found by id, and unknown ids are passed over', async ({ store }) => {
    await store.put([message('a'), message('b')])
    assert.deepEqual(idsOf((await store.inspect({ ids: ['b', 'nothing', 'a'] })).items), ['b', 'a'])
  }),

  test('the counts follow every move', async ({ store, advance }) => {
    assert.deepEqual(await store.count(), {
      states: { delayed: 0, ready: 0, running: 0, dead: 0 },
      isExact: true,
    })
    await populate(store)
    const { states } = await store.count()
    const { topics } = await store.countTopics({ limit: 100 })
    assert.deepEqual({ ...states }, { delayed: 7, ready: 5, running: 3, dead: 4 })
    const inTopic = (name: string): readonly unknown[] => {
      const counts = topics[name]
      return [counts?.waiting, counts?.running, counts?.dead]
    }
    assert.deepEqual(inTopic('other'), [2, 0, 0])
    assert.deepEqual(inTopic(TOPIC), [10, 3, 4])
    await advance(10_000)
    assert.deepEqual({ ...(await store.count()).states }, { delayed: 0, ready: 12, running: 3, dead: 4 })
    const lease = await claimOne(store)
    await store.settle([{ kind: 'ack', id: lease.id, token: lease.token, topic: lease.topic }])
    await store.remove(['dead0'], 'dead')
    await store.revive(['dead1'])
    await takeCensus(store)
  }),

  test('nextDueAt is the earliest moment of what waits', async ({ store, advance }) => {
    await store.put([message('a', { when: { delayMs: 5000 } }), message('b', { when: { delayMs: 3000 } })])
    const first = (await store.count()).nextDueAt ?? 0
    await store.remove(['b'], 'waiting')
    assert.equal((await store.count()).nextDueAt, first + 2000)
    await advance(60_000)
    assert.equal((await store.count()).nextDueAt, first + 2000)
    await claimOne(store)
    assert.equal((await store.count()).nextDueAt, undefined)
  }),

  test('the doctor answers', async ({ store }) => {
    for (const finding of await store.doctor()) {
      assert.ok(['problem', 'warning', 'fine'].includes(finding.level))
      assert.ok(finding.what.length > 0)
    }
  }),
]
