/** P10 in bytes, and entries that cannot be stored: one bad or big entry harms no neighbour. */
import assert from 'node:assert/strict'
import type { NewMessage, Store } from '../../store/contract/store.ts'
import { takeCensus } from '../census.ts'
import { TOPIC, ack, claim, claimDue, idsOf, message, placeOf, release, retry, stored } from './stand.ts'
import { test, type ConformanceTest } from './test.ts'

const UNSTORABLE_MS = [NaN, Infinity, -Infinity, 1e300]
/** Bodies of the cases that fill a whole batch: enough to matter, not enough to take long. */
const BATCH_BYTES = 4 * 1024 * 1024

function sized(id: string, bytes: number, topic = TOPIC): NewMessage {
  return message(id, { topic, body: JSON.stringify('x'.repeat(bytes - 2)) })
}

/** Claims until nothing is due; every claim keeps to `bytesMax`, but for a single larger body. */
async function claimAll(store: Store, bytesMax: number, topics?: readonly string[]): Promise<string[][]> {
  const claims: string[][] = []
  for (let i = 0; i < 100; i += 1) {
    const { leases, next } = await claim(store, { bytesMax, ...(topics === undefined ? {} : { topics }) })
    const bytes = leases.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0)
    assert.ok(leases.length <= 1 || bytes <= bytesMax, `${leases.length} bodies of ${bytes} bytes`)
    if (leases.length > 0) claims.push(idsOf(leases))
    if (next.state !== 'EXPIRED') return claims
  }
  throw new Error('a claim says EXPIRED without end')
}

export const byteTests: readonly ConformanceTest[] = [
  test('P10: a claim hands out at most so many bytes, and the rest next time, in order', async ({
    store,
  }) => {
    const ids = Array.from({ length: 10 }, (_, i) => `m${i}`)
    await store.put(ids.map((id) => sized(id, 1000)))
    const claims = await claimAll(store, 3500)
    assert.deepEqual(claims.flat(), ids)
    assert.ok(claims.length >= 4 && claims.length < 10, `${claims.length} claims`)
  }),

  test('P10: a body larger than a claim’s bytes is handed out alone, and in its turn', async ({ store }) => {
    await store.put([sized('small', 10), sized('big', 5000), sized('last', 10), sized('bigger', 9000)])
    assert.deepEqual(await claimAll(store, 100), [['small'], ['big'], ['last'], ['bigger']])
  }),

  test('P10: a claim’s bytes hold across topics', async ({ store }) => {
    await store.put(
      ['a', 'b', 'c', 'd'].flatMap((topic) => [1, 2].map((i) => sized(`${topic}${i}`, 1000, topic))),
    )
    const claims = await claimAll(store, 2500, ['a', 'b', 'c', 'd'])
    assert.deepEqual(claims.flat().toSorted(), ['a1', 'a2', 'b1', 'b2', 'c1', 'c2', 'd1', 'd2'])
  }),

  test('P10: a batch of as many bytes as allowed is taken and given back whole', async ({ store }) => {
    const bytes = Math.min(store.capabilities.batchBytesMax, BATCH_BYTES)
    const each = Math.floor(bytes / 8) - 100
    const ids = Array.from({ length: 8 }, (_, i) => `m${i}`)
    await store.put(ids.map((id) => sized(id, each)))
    assert.deepEqual((await claimAll(store, 3 * each)).flat(), ids)
    const page = await store.inspect({ ids })
    assert.ok(page.items.every(({ body }) => body.length === each))
  }),

  test('P10: a single message larger than a batch passes alone', async ({ store }) => {
    const bytes = Math.min(store.capabilities.batchBytesMax, BATCH_BYTES) + 1000
    assert.deepEqual(await store.put([sized('big', bytes)]), ['stored'])
    assert.deepEqual(await store.put([sized('big', bytes)]), ['duplicate'])
    const [lease] = (await claim(store, { bytesMax: 1000 })).leases
    assert.equal(lease?.body.length, bytes)
  }),

  test('P10: pages of big bodies end, with each exactly once', async ({ store }) => {
    const ids = Array.from({ length: 6 }, (_, i) => `m${i}`)
    for (const id of ids) await store.put([sized(id, 1024 * 1024)])
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await store.inspect({
        state: 'ready',
        limit: 10,
        ...(cursor === undefined ? {} : { cursor }),
      })
      seen.push(...idsOf(page.items))
      cursor = page.cursor
    } while (cursor !== undefined)
    assert.deepEqual(seen.toSorted(), ids)
  }),

  test('a settlement that cannot be stored is refused alone, and the message still runs', async ({
    store,
  }) => {
    for (const [i, delayMs] of UNSTORABLE_MS.entries()) {
      const ids = ['before', 'bad', 'after'].map((word) => `${word}${i}`)
      await store.put(ids.map((id) => message(id)))
      const [before, bad, after] = await claimDue(store)
      assert.ok(before !== undefined && bad !== undefined && after !== undefined)
      const runs = await stored(store, bad.id)
      assert.deepEqual(await store.settle([ack(before), retry(bad, delayMs), retry(after, 5000)]), [
        'settled',
        'refused',
        'settled',
      ])
      assert.deepEqual(await stored(store, bad.id), runs, `${delayMs} ms: it runs under its lease as before`)
      assert.deepEqual([await placeOf(store, before.id), await placeOf(store, after.id)], ['gone', 'delayed'])
      await takeCensus(store)
      assert.deepEqual(await store.settle([release(bad)]), ['settled'])
      await store.remove(ids, 'waiting')
    }
  }),

  test('P10: long errors and reasons are kept', async ({ store }) => {
    await store.put([message('a'), message('b')])
    const [a, b] = await claimDue(store)
    assert.ok(a !== undefined && b !== undefined)
    const error = 'é'.repeat(2000)
    await store.settle([
      retry(a, 5000, error),
      { kind: 'dead', id: b.id, token: b.token, topic: b.topic, reason: 'r'.repeat(500), error },
    ])
    assert.equal((await stored(store, 'a')).error, error)
    const buried = await stored(store, 'b')
    assert.deepEqual([buried.error, buried.reason.length], [error, 500])
  }),
]
