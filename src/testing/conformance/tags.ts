/** Tags: what belongs together is found together, in every state, whatever else is there. */
import assert from 'node:assert/strict'
import type { Store, StoredMessage, TagQuery } from '../../store/contract/store.ts'
import { takeCensus } from '../census.ts'
import {
  LEASE_MS,
  TOPIC,
  ack,
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
} from './stand.ts'
import { test, type ConformanceTest } from './test.ts'

const PAGES_MAX = 1_000

/** Page by page; `onPage` may change the store in between. */
async function walk(
  store: Store,
  query: Omit<TagQuery, 'limit'> & { readonly limit?: number },
  onPage: (items: readonly StoredMessage[]) => Promise<unknown> = async () => undefined,
): Promise<{ readonly found: readonly StoredMessage[]; readonly scanned: number }> {
  const found: StoredMessage[] = []
  let [pages, scanned] = [0, 0]
  let cursor: string | undefined
  do {
    const page = await store.inspect({ limit: 100, ...query, ...(cursor === undefined ? {} : { cursor }) })
    assert.ok(page.items.length <= (query.limit ?? 100), 'no page is longer than its limit')
    found.push(...page.items)
    scanned += page.scanned
    cursor = page.cursor
    pages += 1
    assert.ok(pages < PAGES_MAX, 'the walk ends')
    await onPage(page.items)
  } while (cursor !== undefined)
  return { found, scanned }
}

async function tagged(store: Store, tag: string): Promise<string[]> {
  return idsOf((await walk(store, { tag })).found).toSorted()
}

const AWKWARD_TAGS = ['"', '\\', 'a b', 'x:y', '{x}', '%00', '-1', '🕰️ später', '__proto__', 't'.repeat(200)]

export const tagTests: readonly ConformanceTest[] = [
  test('tags: what was put with tags shows them, and what was put without has none', async ({ store }) => {
    await store.put([
      message('a', { tags: ['order-42', 'customer-7'] }),
      message('b', { tags: [] }),
      message('c'),
    ])
    assert.deepEqual((await stored(store, 'a')).tags, ['order-42', 'customer-7'])
    assert.deepEqual((await stored(store, 'b')).tags, [])
    assert.deepEqual((await stored(store, 'c')).tags, [])
    const { items } = await store.inspect({ state: 'ready', limit: 10 })
    assert.deepEqual(new Map(items.map(({ id, tags }) => [id, tags])).get('a'), ['order-42', 'customer-7'])
  }),

  test('tags: a walk over a tag finds its messages in every state', async ({ store }) => {
    const tags = ['t']
    await store.put(['dead', 'runs'].map((id) => message(id, { tags })))
    const leases = await claimDue(store)
    await store.settle(leases.filter(({ id }) => id === 'dead').map((lease) => dead(lease)))
    await store.put([
      message('ready', { tags: ['other', 't'] }),
      message('delayed', { tags, when: { delayMs: 60_000 }, topic: 'elsewhere' }),
      message('no tag'),
      message('other tag', { tags: ['other'] }),
    ])
    const { found } = await walk(store, { tag: 't' })
    assert.deepEqual(found.map(({ id, state }) => `${id}: ${state}`).toSorted(), [
      'dead: dead',
      'delayed: delayed',
      'ready: ready',
      'runs: running',
    ])
    for (const state of ['delayed', 'ready', 'running', 'dead'] as const)
      assert.equal(only((await walk(store, { tag: 't', state })).found).state, state)
    const running = found.find(({ id }) => id === 'runs')
    assert.deepEqual(running, await stored(store, 'runs'), 'it is shown as by its id')
    assert.deepEqual(await tagged(store, 'nothing'), [])
  }),

  test('P10: a walk over a tag looks at its messages only, however many others there are', async ({
    store,
  }) => {
    for (let batch = 0; batch < 3; batch += 1)
      await store.put(Array.from({ length: 700 }, (_, i) => message(`other ${batch} ${i}`)))
    await store.put([1, 2, 3].map((n) => message(`mine ${n}`, { tags: ['mine'] })))
    const { found, scanned } = await walk(store, { tag: 'mine' })
    assert.deepEqual(idsOf(found).toSorted(), ['mine 1', 'mine 2', 'mine 3'])
    assert.equal(scanned, 3)
  }),

  test('tags: each page goes on where the one before ended', async ({ store }) => {
    const ids = Array.from({ length: 23 }, (_, i) => `m${i}`)
    await store.put(ids.map((id) => message(id, { tags: ['t'] })))
    const { found } = await walk(store, { tag: 't', limit: 5 })
    assert.deepEqual(idsOf(found).toSorted(), ids.toSorted())
  }),

  test('tags: what stays is met exactly once, while others leave, come and change their state', async ({
    store,
    advance,
  }) => {
    const ids = Array.from({ length: 40 }, (_, i) => `m${String(i).padStart(2, '0')}`)
    await store.put(ids.map((id) => message(id, { tags: ['t'], when: { delayMs: 1_000 } })))
    const left = new Set<string>()
    let pages = 0
    const { found } = await walk(store, { tag: 't', limit: 4 }, async () => {
      pages += 1
      if (pages === 2) await advance(1_000)
      if (pages === 3) await store.settle((await claimDue(store, 10)).map((lease) => retry(lease, 5_000)))
      if (pages === 4) await store.reschedule(ids.map((id) => ({ id, when: { delayMs: 9_000 } })))
      if (pages === 5) {
        const leaving = ids.filter((_, i) => i % 3 === 0)
        for (const id of leaving) left.add(id)
        await store.remove(leaving, 'waiting')
      }
    })
    const stayed = ids.filter((id) => !left.has(id))
    const met = idsOf(found)
    assert.equal(new Set(met).size, met.length, 'none is met twice')
    assert.deepEqual(
      stayed.filter((id) => !met.includes(id)),
      [],
      'none that stays is passed over',
    )
  }),

  test('tags: who cancels page by page comes to an end, and leaves the others', async ({ store }) => {
    const ids = Array.from({ length: 17 }, (_, i) => `m${i}`)
    await store.put([...ids.map((id) => message(id, { tags: ['t', 'u'] })), message('u', { tags: ['u'] })])
    await walk(store, { tag: 't', limit: 3 }, (items) => store.remove(idsOf(items), 'waiting'))
    assert.deepEqual(await tagged(store, 't'), [])
    assert.deepEqual(await tagged(store, 'u'), ['u'])
  }),

  test('tags: a message keeps them through retries, lapses, death and revival', async ({
    store,
    advance,
  }) => {
    await store.put([message('a', { tags: ['t'] })])
    const check = async (when: string): Promise<void> =>
      assert.deepEqual([await tagged(store, 't'), (await stored(store, 'a')).tags], [['a'], ['t']], when)
    await store.settle([retry(await claimOne(store), 0)])
    await check('after a retry')
    await store.settle([release(await claimOne(store))])
    await check('after a release')
    await claimOne(store)
    await advance(LEASE_MS)
    await store.settle([lapse(only(await claimLapsed(store)))])
    await check('after a lapse')
    await store.settle([dead(await claimOne(store))])
    await check('dead')
    await store.revive(['a'])
    await check('revived')
    await store.reschedule([{ id: 'a', when: { delayMs: 5_000 } }])
    await check('rescheduled')
  }),

  test('tags: a message that goes is found no more, however it goes', async ({ store }) => {
    const ids = ['acked', 'cancelled', 'purged', 'replaced', 'stays']
    await store.put(ids.map((id) => message(id, { tags: ['t'], topic: id })))
    await store.settle([ack(await claimOne(store, ['acked'])), dead(await claimOne(store, ['purged']))])
    await store.remove(['cancelled'], 'waiting')
    await store.remove(['purged'], 'dead')
    await store.put([message('replaced', { ifExists: 'replace', tags: ['u'] })])
    assert.deepEqual(await tagged(store, 't'), ['stays'])
    assert.deepEqual(await tagged(store, 'u'), ['replaced'])
    await store.put([message('stays', { ifExists: 'replace' })])
    assert.deepEqual(await tagged(store, 't'), [])
    assert.equal((await takeCensus(store)).total, 2)
  }),

  test('tags: many that are done at once leave their tags, and take no others along', async ({ store }) => {
    const ids = Array.from({ length: 30 }, (_, i) => `m${i}`)
    await store.put(ids.map((id, i) => message(id, i % 2 === 0 ? { tags: ['even', `n${i}`] } : {})))
    const leases = await claimDue(store)
    const kept = ['m8', 'm9']
    await store.settle(leases.filter(({ id }) => !kept.includes(id)).map(ack))
    assert.deepEqual(await tagged(store, 'even'), ['m8'])
    await store.settle(leases.filter(({ id }) => kept.includes(id)).map(ack))
    assert.deepEqual(await tagged(store, 'even'), [])
    assert.deepEqual(await tagged(store, 'n8'), [])
  }),

  test('P5: a duplicate changes no tags', async ({ store }) => {
    const results = await store.put([message('a', { tags: ['t'] }), message('a', { tags: ['u'] })])
    assert.deepEqual(results, ['stored', 'duplicate'])
    assert.deepEqual(await store.put([message('a', { tags: ['u'] })]), ['duplicate'])
    assert.deepEqual([await tagged(store, 't'), await tagged(store, 'u')], [['a'], []])
  }),

  test('tags: an id that is used again has the tags of its new message only', async ({ store }) => {
    await store.put([message('a', { tags: ['t'] })])
    await store.settle([ack(await claimOne(store))])
    await store.put([message('a', { tags: ['u'] })])
    assert.deepEqual([await tagged(store, 't'), await tagged(store, 'u')], [[], ['a']])
    assert.deepEqual((await stored(store, 'a')).tags, ['u'])
  }),

  test('tags: awkward texts are tags too', async ({ store }) => {
    await store.put(AWKWARD_TAGS.map((tag, i) => message(`m${i} ${tag}`, { tags: [tag, 'all'] })))
    for (const [i, tag] of AWKWARD_TAGS.entries()) {
      assert.deepEqual(await tagged(store, tag), [`m${i} ${tag}`])
      assert.deepEqual((await stored(store, `m${i} ${tag}`)).tags, [tag, 'all'])
    }
    assert.equal((await tagged(store, 'all')).length, AWKWARD_TAGS.length)
  }),

  test('tags: a walk over a tag takes every other filter as well', async ({ store, advance }) => {
    await store.put([message('old', { tags: ['t'], body: '"needle"', topic: 'x' })])
    await advance(10_000)
    const now = (await stored(store, 'old')).producedAt + 10_000
    await store.put([
      message('new', { tags: ['t'], body: '"needle in"', when: { delayMs: 5_000 } }),
      message('newer', { tags: ['t'], body: '"hay"', when: { delayMs: 6_000 } }),
    ])
    const found = async (filters: Omit<TagQuery, 'limit' | 'tag'>): Promise<string[]> =>
      idsOf((await walk(store, { tag: 't', ...filters })).found).toSorted()
    assert.deepEqual(await found({ topic: 'x' }), ['old'])
    assert.deepEqual(await found({ topic: TOPIC }), ['new', 'newer'])
    assert.deepEqual(await found({ text: 'needle' }), ['new', 'old'])
    assert.deepEqual(await found({ idPrefix: 'new' }), ['new', 'newer'])
    assert.deepEqual(await found({ dueFrom: now + 5_001 }), ['newer'])
    assert.deepEqual(await found({ dueUntil: now + 5_001, state: 'delayed' }), ['new'])
    assert.deepEqual(await found({ olderThanMs: 10_000 }), ['old'])
    assert.deepEqual(await found({ olderThanMs: 0 }), ['new', 'newer', 'old'])
  }),

  test('a page by age shows what was produced, or died, at least so long ago', async ({ store, advance }) => {
    await store.put(['a', 'dies'].map((id) => message(id, { topic: id, when: { delayMs: 1_000 } })))
    await advance(60_000)
    await store.settle([dead(await claimOne(store, ['dies']))])
    await store.put([message('b')])
    await advance(30_000)
    const ids = async (state: 'ready' | 'dead', olderThanMs: number): Promise<string[]> =>
      idsOf((await store.inspect({ state, olderThanMs, limit: 10 })).items).toSorted()
    assert.deepEqual(await ids('ready', 90_000), ['a'])
    assert.deepEqual(await ids('ready', 90_001), [])
    assert.deepEqual(await ids('ready', 30_000), ['a', 'b'])
    assert.deepEqual(await ids('dead', 30_000), ['dies'])
    assert.deepEqual(await ids('dead', 30_001), [])
  }),
]
