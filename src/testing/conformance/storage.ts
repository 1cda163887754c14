/** P2, P5, P8, P10: what was accepted is there, once, whole. */
import assert from 'node:assert/strict'
import { takeCensus } from '../census.ts'
import { TOPIC, claimDue, claimOne, dead, find, idsOf, message, placeOf } from './stand.ts'
import { test, type ConformanceTest } from './test.ts'

const AWKWARD_TEXTS = [
  '"',
  '\\',
  '{}',
  'null',
  '🕰️ später',
  'a b',
  'x:y',
  '{x}',
  '%00',
  '-1',
  'x'.repeat(200),
  '__proto__',
]

const id = (i: number): string => `m${String(i).padStart(3, '0')}`

export const storageTests: readonly ConformanceTest[] = [
  test('P2: what was put comes back whole', async ({ store }) => {
    const put = message('a', {
      body: '{"n":1,"s":"ü🕰️\\u0000"}',
      meta: '{"x":5}',
      priority: 0,
      when: { delayMs: 5000 },
    })
    assert.deepEqual(await store.put([put]), ['stored'])
    const found = await find(store, 'a')
    assert.ok(found !== undefined)
    assert.equal(found.body, put.body)
    assert.equal(found.meta, put.meta)
    assert.equal(found.topic, TOPIC)
    assert.equal(found.priority, 0)
    assert.equal(found.attempt, 0)
    assert.equal(found.state, 'delayed')
    assert.equal(found.error, '')
    assert.equal(found.reason, '')
    assert.equal(found.until, 0)
  }),

  test('P2: the lease carries the whole message', async ({ store, advance }) => {
    await store.put([message('a', { body: '"ü"', meta: '{"x":5}', priority: 2, when: { delayMs: 1000 } })])
    const { dueAt } = (await find(store, 'a')) ?? { dueAt: 0 }
    await advance(1250)
    const { token, ...lease } = await claimOne(store)
    assert.ok(token.length > 0)
    const { latenessMs, ...rest } = lease
    assert.deepEqual(rest, {
      id: 'a',
      topic: TOPIC,
      body: '"ü"',
      meta: '{"x":5}',
      priority: 2,
      dueAt,
      firstDueAt: dueAt,
      attempt: 1,
      lapses: 0,
    })
    assert.ok(latenessMs >= 250 && latenessMs < 251, `${latenessMs} ms late`)
  }),

  test('P2: awkward ids, topics and bodies survive', async ({ store }) => {
    const puts = AWKWARD_TEXTS.map((text) => message(text, { topic: text, body: JSON.stringify(text) }))
    assert.deepEqual(
      await store.put(puts),
      puts.map(() => 'stored'),
    )
    for (const text of AWKWARD_TEXTS) {
      const lease = await claimOne(store, [text])
      assert.equal(lease.id, text)
      assert.equal(lease.topic, text)
      assert.equal(lease.body, JSON.stringify(text))
    }
    assert.equal((await takeCensus(store)).total, AWKWARD_TEXTS.length)
  }),

  test('P2: a body of a mebibyte survives', async ({ store }) => {
    const body = JSON.stringify('é'.repeat(500_000))
    await store.put([message('big', { body })])
    assert.equal((await claimOne(store)).body, body)
  }),

  test('P2: an empty batch is no error', async ({ store }) => {
    assert.deepEqual(await store.put([]), [])
    assert.deepEqual(await store.settle([]), [])
    assert.deepEqual(await store.extend([], 1000), [])
    assert.deepEqual(await store.remove([], 'waiting'), [])
    assert.deepEqual(await store.reschedule([]), [])
    assert.deepEqual(await store.revive([]), [])
    assert.deepEqual((await store.inspect({ ids: [] })).items, [])
  }),

  test('P5: the same id again is a duplicate and changes nothing', async ({ store }) => {
    await store.put([message('a', { body: '1', when: { delayMs: 1000 } })])
    const before = await find(store, 'a')
    assert.deepEqual(await store.put([message('a', { body: '2', topic: 'other' })]), ['duplicate'])
    assert.deepEqual(await find(store, 'a'), before)
    assert.equal((await takeCensus(store)).total, 1)
  }),

  test('P5: the same id twice in one batch is stored once', async ({ store }) => {
    const results = await store.put([message('a', { body: '1' }), message('a', { body: '2' }), message('b')])
    assert.deepEqual(results, ['stored', 'duplicate', 'stored'])
    assert.equal((await find(store, 'a'))?.body, '1')
    assert.equal((await takeCensus(store)).total, 2)
  }),

  test('P5: a running and a dead message still own their id', async ({ store }) => {
    await store.put([message('a')])
    const lease = await claimOne(store)
    assert.deepEqual(await store.put([message('a')]), ['duplicate'])
    await store.settle([dead(lease)])
    assert.deepEqual(await store.put([message('a')]), ['duplicate'])
    assert.equal(await placeOf(store, 'a'), 'dead')
  }),

  test('P5: replace swaps a waiting message for a fresh one', async ({ store, advance }) => {
    await store.put([message('a', { body: '1', when: { delayMs: 1000 } })])
    const again = message('a', {
      body: '2',
      topic: 'other',
      priority: 0,
      when: { delayMs: 9000 },
      ifExists: 'replace',
    })
    assert.deepEqual(await store.put([again]), ['replaced'])
    await advance(1000)
    assert.deepEqual(await claimDue(store, 10, [TOPIC, 'other']), [])
    await advance(8000)
    const lease = await claimOne(store, [TOPIC, 'other'])
    assert.deepEqual([lease.body, lease.topic, lease.priority, lease.attempt], ['2', 'other', 0, 1])
    assert.equal((await takeCensus(store)).total, 1)
  }),

  test('P5: replace revives a dead id as a fresh message', async ({ store }) => {
    await store.put([message('a', { body: '1' })])
    const lease = await claimOne(store)
    const again = message('a', { body: '2', ifExists: 'replace' })
    await store.settle([dead(lease)])
    assert.deepEqual(await store.put([again]), ['replaced'])
    const fresh = await claimOne(store)
    assert.deepEqual([fresh.body, fresh.attempt], ['2', 1])
    assert.equal((await find(store, 'a'))?.error, '')
  }),

  test('P5: replace of an unknown id stores it', async ({ store }) => {
    assert.deepEqual(await store.put([message('a', { ifExists: 'replace' })]), ['stored'])
  }),

  test('P8: one call may mix every answer', async ({ store }) => {
    await store.put([message('waits', { when: { delayMs: 1000 } }), message('runs')])
    await claimOne(store)
    const results = await store.put([
      message('new'),
      message('waits'),
      message('waits', { ifExists: 'replace' }),
      message('runs', { ifExists: 'replace' }),
    ])
    assert.deepEqual(results, ['stored', 'duplicate', 'replaced', 'succeeds'])
    assert.deepEqual(await store.remove(['new', 'runs', 'nothing'], 'waiting'), [
      'removed',
      'running',
      'missing',
    ])
    assert.equal((await takeCensus(store)).total, 2)
  }),

  test('P5, P7: in a long batch each message gets its own answer, and its place', async ({ store }) => {
    const size = Math.min(70, store.capabilities.batchMax)
    await store.put([message(id(5), { body: '"old"' }), message(id(40), { body: '"old"' })])
    const batch = Array.from({ length: size }, (_, i) =>
      message(id(i === 30 ? 29 : i), {
        body: JSON.stringify(i === 20 ? 'x'.repeat(5_000) : i),
        ifExists: i === 40 ? 'replace' : 'keep',
        ...(i === 50 ? { tags: ['tag'] } : {}),
      }),
    )
    const expected = batch.map((_, i) =>
      i === 5 || i === 30 ? 'duplicate' : i === 40 ? 'replaced' : 'stored',
    )
    assert.deepEqual(await store.put(batch), expected)
    const stored = batch.map((_, i) => i).filter((i) => i !== 5 && i !== 30)
    const leases = await claimDue(store, size)
    assert.deepEqual(
      leases.map((lease) => lease.id),
      [id(5), ...stored.map(id)],
    )
    assert.deepEqual(
      leases.slice(1).map(({ body }) => body),
      stored.map((i) => batch[i]?.body),
    )
    assert.equal((await store.count()).states.running, stored.length + 1)
  }),

  test('P10: a batch above the maximum is refused whole', async ({ store }) => {
    const tooMany = Array.from({ length: store.capabilities.batchMax + 1 }, (_, i) => message(`m${i}`))
    await assert.rejects(store.put(tooMany), { code: 'BATCH_TOO_LARGE' })
    await assert.rejects(store.remove(idsOf(tooMany), 'waiting'), { code: 'BATCH_TOO_LARGE' })
    assert.equal((await takeCensus(store)).total, 0)
  }),

  test('P10: a full batch is taken whole', async ({ store }) => {
    const many = Array.from({ length: store.capabilities.batchMax }, (_, i) => message(`m${i}`))
    const results = await store.put(many)
    assert.equal(results.length, many.length)
    assert.ok(results.every((result) => result === 'stored'))
    const leases = await claimDue(store, many.length)
    assert.ok(leases.length > 0 && leases.length <= many.length)
  }),

  test('opening twice is fine', async ({ store }) => {
    await store.put([message('a')])
    await store.open()
    assert.equal(await placeOf(store, 'a'), 'ready')
  }),

  test('a closed store refuses calls, and closing twice is fine', async ({ store }) => {
    await store.close()
    await store.close()
    await assert.rejects(store.put([message('a')]), { code: 'STORE_CLOSED' })
    await assert.rejects(claimDue(store), { code: 'STORE_CLOSED' })
  }),
]
