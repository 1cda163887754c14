/** P5 while it runs: what replaces a running message waits as its successor, and no update is lost. */
import assert from 'node:assert/strict'
import type { Lease, NewMessage, Settlement, Store } from '../../store/contract/store.ts'
import { takeCensus } from '../census.ts'
import {
  LEASE_MS,
  TOPIC,
  ack,
  claimDue,
  claimLapsed,
  claimOne,
  dead,
  find,
  idsOf,
  lapse,
  message,
  only,
  placeOf,
  release,
  retry,
  stored,
} from './stand.ts'
import { test, type ConformanceTest } from './test.ts'

function update(fields: Partial<NewMessage> = {}): NewMessage {
  return message('a', { body: '2', ifExists: 'replace', ...fields })
}

/** `a` runs, and another has replaced it. */
async function replaced(store: Store, fields: Partial<NewMessage> = {}): Promise<Lease> {
  await store.put([message('a', { body: '1' })])
  const lease = await claimOne(store)
  assert.deepEqual(await store.put([update(fields)]), ['succeeds'])
  return lease
}

const ENDINGS: readonly [string, (lease: Lease) => Settlement, 'settled' | 'succeeded'][] = [
  ['an ack', ack, 'settled'],
  [
    'an ack that is remembered',
    (lease) => ({
      ...ack(lease),
      kind: 'ack',
      remember: { ms: 9_999_999, outcome: 'completed', result: '1' },
    }),
    'settled',
  ],
  ['a retry', (lease) => retry(lease, 60_000), 'succeeded'],
  ['a lapse', (lease) => lapse(lease), 'succeeded'],
  ['a release', release, 'succeeded'],
  ['a death', (lease) => dead(lease), 'succeeded'],
]

export const successorTests: readonly ConformanceTest[] = [
  ...ENDINGS.map(([name, settlement, answer]) =>
    test(`P5: after ${name} the successor takes the place of the old message`, async ({ store }) => {
      const lease = await replaced(store, { priority: 0 })
      assert.deepEqual(await store.settle([settlement(lease)]), [answer])
      const fresh = await claimOne(store)
      assert.deepEqual([fresh.body, fresh.attempt, fresh.lapses, fresh.priority], ['2', 1, 0, 0])
      assert.deepEqual(await store.settle([ack(lease)]), ['lost'])
      assert.equal((await find(store, 'a'))?.error, '')
      await store.settle([ack(fresh)])
      assert.equal(await placeOf(store, 'a'), 'gone')
      assert.equal((await takeCensus(store)).total, 0)
    }),
  ),

  test('P5: the running one shows its successor, which counts as delayed', async ({ store, advance }) => {
    await advance(5)
    await replaced(store, { tags: ['t'], meta: '{"x":1}', topic: 'other', when: { delayMs: 500 } })
    const found = await stored(store, 'a')
    const { producedAt } = found
    assert.deepEqual(
      [found.state, found.body, found.successor],
      [
        'running',
        '1',
        {
          topic: 'other',
          body: '2',
          meta: '{"x":1}',
          tags: ['t'],
          priority: 1,
          dueAt: producedAt + 500,
          producedAt,
        },
      ],
    )
    assert.deepEqual((await store.count()).states, { delayed: 1, ready: 0, running: 1, dead: 0 })
    assert.equal((await store.countTopics({ topics: ['other'] })).topics['other']?.waiting, 1)
    assert.equal((await takeCensus(store)).total, 1)
    const page = await store.inspect({ state: 'running', limit: 10 })
    assert.deepEqual(only(page.items), found)
  }),

  test('P1, P3: a successor is not handed out while the old one runs, nor before its moment', async ({
    store,
    advance,
  }) => {
    const lease = await replaced(store, { when: { delayMs: 1_000 } })
    assert.deepEqual(await claimDue(store), [])
    await advance(500)
    await store.settle([ack(lease)])
    assert.deepEqual(await claimDue(store), [])
    await advance(499)
    assert.deepEqual(await claimDue(store), [])
    await advance(1)
    assert.equal((await claimOne(store)).body, '2')
  }),

  test('P5: another replace replaces the successor; keep is a duplicate', async ({ store }) => {
    const lease = await replaced(store, { tags: ['old'], topic: 'x' })
    assert.deepEqual(await store.put([update({ body: '3', tags: ['new'] }), message('a', { body: '4' })]), [
      'succeeds',
      'duplicate',
    ])
    assert.equal((await stored(store, 'a')).successor?.body, '3')
    assert.deepEqual((await store.inspect({ tag: 'old', limit: 5 })).items, [])
    assert.deepEqual(idsOf((await store.inspect({ tag: 'new', limit: 5 })).items), ['a'])
    await takeCensus(store)
    await store.settle([ack(lease)])
    assert.equal((await claimOne(store)).body, '3')
    assert.deepEqual(await claimDue(store, 10, ['x']), [])
  }),

  test('P5: a successor runs, and may itself be succeeded', async ({ store }) => {
    let lease = await replaced(store)
    for (const body of ['3', '4', '5']) {
      await store.settle([retry(lease, 60_000)])
      lease = await claimOne(store)
      assert.deepEqual(await store.put([update({ body })]), ['succeeds'])
    }
    await store.settle([ack(lease)])
    assert.equal((await claimOne(store)).body, '5')
  }),

  test('P3, P4: when the lease lapses, the successor waits until the takeover is settled', async ({
    store,
    advance,
  }) => {
    const lease = await replaced(store)
    await advance(LEASE_MS)
    const taken = only(await claimLapsed(store))
    assert.equal(taken.body, '1')
    assert.deepEqual(await claimDue(store), [])
    assert.equal((await stored(store, 'a')).successor?.body, '2')
    assert.deepEqual(await store.settle([ack(lease)]), ['lost'])
    assert.deepEqual(await store.settle([lapse(taken)]), ['succeeded'])
    const fresh = await claimOne(store)
    assert.deepEqual([fresh.body, fresh.attempt, fresh.lapses], ['2', 1, 0])
  }),

  test('P5: cancel takes the successor back, and answers that the message runs', async ({ store }) => {
    const lease = await replaced(store, { tags: ['t'] })
    assert.deepEqual(await store.remove(['a'], 'waiting'), ['running'])
    const found = await stored(store, 'a')
    assert.equal(found.successor, undefined)
    assert.deepEqual((await store.inspect({ tag: 't', limit: 5 })).items, [])
    await takeCensus(store)
    assert.deepEqual(await store.settle([retry(lease, 0)]), ['settled'])
    assert.equal((await claimOne(store)).body, '1')
  }),

  test('tags: a successor is found by each of its four tags, once', async ({ store }) => {
    const tags = ['north', 'east', 'south', 'west']
    await replaced(store, { tags })
    for (const tag of tags)
      assert.deepEqual(idsOf((await store.inspect({ tag, limit: 9 })).items), ['a'], `by "${tag}"`)
  }),

  test('tags: a successor that is taken back leaves the running one its own tags', async ({ store }) => {
    const tagged = async (tag: string): Promise<string[]> =>
      idsOf((await store.inspect({ tag, limit: 10 })).items)
    await store.put([message('a', { tags: ['red', 'blue'] })])
    const lease = await claimOne(store)
    assert.deepEqual(await store.put([update({ tags: ['red', 'new'] })]), ['succeeds'])
    assert.deepEqual([await tagged('red'), await tagged('new')], [['a'], ['a']])
    assert.deepEqual(await store.put([update({ tags: ['newer'] })]), ['succeeds'])
    const found = [await tagged('red'), await tagged('new'), await tagged('newer')]
    assert.deepEqual(found, [['a'], [], ['a']])
    assert.deepEqual(await store.remove(['a'], 'waiting'), ['running'])
    assert.deepEqual([await tagged('red'), await tagged('newer')], [['a'], []])
    assert.deepEqual(await store.settle([retry(lease, 0)]), ['settled'])
    assert.deepEqual([await tagged('red'), await tagged('blue')], [['a'], ['a']])
  }),

  test('P5: reschedule moves the successor', async ({ store, advance }) => {
    const lease = await replaced(store, { tags: ['t'] })
    assert.deepEqual(await store.reschedule([{ id: 'a', when: { delayMs: 1_000 } }]), ['rescheduled'])
    const { successor, producedAt } = await stored(store, 'a')
    assert.deepEqual([successor?.dueAt, successor?.tags], [producedAt + 1_000, ['t']])
    await store.settle([ack(lease)])
    assert.deepEqual(await claimDue(store), [])
    await advance(1_000)
    assert.equal((await claimOne(store)).body, '2')
    await takeCensus(store)
  }),

  test('P7: a successor stands behind what was produced before it took its place', async ({ store }) => {
    const lease = await replaced(store)
    await store.put([message('b')])
    await store.settle([ack(lease)])
    assert.deepEqual(idsOf(await claimDue(store)), ['b', 'a'])
  }),

  test('P8: one call may end several messages, some with a successor', async ({ store }) => {
    await store.put(['a', 'b', 'c', 'd'].map((id) => message(id, { body: '1', tags: ['t'] })))
    const [a, b, c, d] = await claimDue(store)
    assert.ok(a !== undefined && b !== undefined && c !== undefined && d !== undefined)
    await store.put(['a', 'c'].map((id) => message(id, { body: '2', ifExists: 'replace' })))
    assert.deepEqual(await store.settle([ack(a), ack(b), retry(c, 5), ack(d), ack(c)]), [
      'settled',
      'settled',
      'succeeded',
      'settled',
      'lost',
    ])
    const fresh = await claimDue(store)
    assert.deepEqual(
      fresh.map(({ id, body }) => `${id} ${body}`),
      ['a 2', 'c 2'],
    )
    assert.deepEqual((await store.inspect({ tag: 't', limit: 5 })).items, [])
    assert.equal((await takeCensus(store)).total, 2)
  }),

  test('P15: what an ack carries is stored, and then the successor', async ({ store }) => {
    const lease = await replaced(store)
    const followUps = [message('follow'), message('a', { body: 'own id' })]
    assert.deepEqual(await store.settle([{ ...ack(lease), kind: 'ack', followUps }]), ['settled'])
    const bodies = new Map((await claimDue(store)).map(({ id, body }) => [id, body]))
    assert.deepEqual([bodies.get('a'), bodies.size], ['2', 2])
  }),

  test('P15: a follow-up that replaces a message which runs is its successor', async ({ store }) => {
    await store.put([message('parent', { topic: 'p' }), message('a', { body: '1' })])
    const [parent, lease] = [await claimOne(store, ['p']), await claimOne(store)]
    assert.deepEqual(await store.settle([{ ...ack(parent), kind: 'ack', followUps: [update()] }]), [
      'settled',
    ])
    assert.equal((await stored(store, 'a')).successor?.body, '2')
    await store.settle([ack(lease)])
    assert.equal((await claimOne(store)).body, '2')
  }),

  test('P5: latest bounds how long replacing can postpone', async ({ store, advance }) => {
    const put = (body: string): Promise<unknown> =>
      store.put([update({ body, when: { delayMs: 1_000 }, latestMs: 2_500 })])
    await put('1')
    const { producedAt } = await stored(store, 'a')
    for (const [body, dueAt] of [
      ['2', producedAt + 1_600],
      ['3', producedAt + 2_200],
      ['4', producedAt + 2_500],
      ['5', producedAt + 2_500],
    ] as const) {
      await advance(600)
      await put(body)
      const found = await stored(store, 'a')
      assert.deepEqual([found.body, found.dueAt, found.producedAt], [body, dueAt, producedAt])
    }
    await advance(100)
    assert.equal((await claimOne(store)).body, '5')
  }),

  test('P5: latest counts anew for a successor, and for its own successors from the first on', async ({
    store,
    advance,
  }) => {
    const lease = await replaced(store, { when: { delayMs: 1_000 }, latestMs: 1_500 })
    const { successor: first } = await stored(store, 'a')
    await advance(700)
    await store.put([update({ body: '3', when: { delayMs: 1_000 }, latestMs: 1_500 })])
    const { successor } = await stored(store, 'a')
    assert.deepEqual(
      [successor?.body, successor?.producedAt, successor?.dueAt],
      ['3', first?.producedAt, (first?.producedAt ?? 0) + 1_500],
    )
    await store.settle([ack(lease)])
    assert.equal((await stored(store, 'a')).dueAt, (first?.producedAt ?? 0) + 1_500)
  }),

  test('P5: without latest, or after death, a replacement is produced anew', async ({ store, advance }) => {
    await store.put([update({ body: '1', when: { delayMs: 1_000 }, latestMs: 1_500 })])
    const { producedAt } = await stored(store, 'a')
    await advance(1_000)
    await store.put([update({ body: '2', when: { delayMs: 1_000 } })])
    assert.equal((await stored(store, 'a')).producedAt, producedAt + 1_000)
    await advance(1_000)
    await store.settle([dead(await claimOne(store))])
    await store.put([update({ body: '3', when: { delayMs: 1_000 }, latestMs: 1_500 })])
    assert.equal((await stored(store, 'a')).dueAt, producedAt + 3_000)
  }),

  test('P5: the topic of a successor may be another, and is empty when it is taken back', async ({
    store,
  }) => {
    await replaced(store, { topic: 'elsewhere' })
    assert.equal((await store.countTopics({ topics: ['elsewhere'] })).topics['elsewhere']?.waiting, 1)
    await store.put([update({ topic: TOPIC })])
    assert.equal((await store.countTopics({ topics: ['elsewhere'] })).topics['elsewhere']?.waiting ?? 0, 0)
    await takeCensus(store)
  }),
]
