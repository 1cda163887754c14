/** Who claims: seen at its claims, gone when it said so. */
import assert from 'node:assert/strict'
import type { Store, WorkerRecord } from '../../store/contract/store.ts'
import { claim } from './stand.ts'
import { test, type ConformanceTest } from './test.ts'

const HOUR_MS = 3_600_000
/** `lastSeenAt` may be so old. */
const SEEN_MS = 60_000
const WORKERS_MAX = 1_000

async function workerNamed(store: Store, owner: string): Promise<WorkerRecord | undefined> {
  return (await store.workers()).workers.find((worker) => worker.owner === owner)
}

export const workerTests: readonly ConformanceTest[] = [
  test('workers: none before the first claim, then those that claim, with their facts', async ({ store }) => {
    assert.deepEqual((await store.workers()).workers, [])
    await claim(store, { owner: 'A', facts: '{"host":"ü"}' })
    const { now, workers } = await store.workers()
    assert.equal(workers.length, 1)
    const [worker] = workers
    assert.deepEqual([worker?.owner, worker?.facts, worker?.goneAt], ['A', '{"host":"ü"}', undefined])
    assert.ok(Math.abs(now - (worker?.firstSeenAt ?? 0)) < 1)
    assert.ok(Math.abs(now - (worker?.lastSeenAt ?? 0)) < 1)
  }),

  test('workers: facts stay until new ones come', async ({ store, advance }) => {
    await claim(store, { owner: 'A', facts: 'first' })
    await claim(store, { owner: 'A' })
    assert.equal((await workerNamed(store, 'A'))?.facts, 'first')
    await advance(1)
    await claim(store, { owner: 'A', facts: 'second' })
    assert.equal((await workerNamed(store, 'A'))?.facts, 'second')
  }),

  test('workers: last seen first; the first sight stays', async ({ store, advance, another }) => {
    const other = (await another?.()) ?? store
    await claim(store, { owner: 'A', facts: 'a' })
    const began = (await store.workers()).now
    await advance(5 * SEEN_MS)
    await claim(other, { owner: 'B', facts: 'b' })
    assert.deepEqual(
      (await store.workers()).workers.map(({ owner }) => owner),
      ['B', 'A'],
    )
    await advance(5 * SEEN_MS)
    await claim(store, { owner: 'A', facts: 'a' })
    const { now, workers } = await other.workers()
    assert.deepEqual(
      workers.map(({ owner }) => owner),
      ['A', 'B'],
    )
    const [a, b] = workers
    assert.equal(now, began + 10 * SEEN_MS)
    assert.equal(a?.firstSeenAt, began)
    assert.ok((a?.lastSeenAt ?? 0) > now - SEEN_MS && (a?.lastSeenAt ?? 0) <= now)
    assert.ok((b?.lastSeenAt ?? 0) <= began + 5 * SEEN_MS && (b?.lastSeenAt ?? 0) > began + 4 * SEEN_MS)
  }),

  test('workers: one that left is shown as gone for an hour', async ({ store, advance }) => {
    await claim(store, { owner: 'A', facts: 'a' })
    await claim(store, { owner: 'B', facts: 'b' })
    await advance(10)
    await store.leave('A')
    await store.leave('nothing')
    const { now, workers } = await store.workers()
    assert.equal(workers.length, 2)
    assert.equal((await workerNamed(store, 'A'))?.goneAt, now)
    assert.equal((await workerNamed(store, 'B'))?.goneAt, undefined)
    await advance(HOUR_MS - 1000)
    await claim(store, { owner: 'B', facts: 'b' })
    await store.leave('A') // Again: it left when it left.
    assert.equal((await workerNamed(store, 'A'))?.goneAt, now)
    await advance(2000)
    assert.equal(await workerNamed(store, 'A'), undefined)
    assert.equal((await workerNamed(store, 'B'))?.facts, 'b')
  }),

  test('P10: at most a thousand workers are told, those seen last', async ({ store, advance }) => {
    for (let i = 0; i < WORKERS_MAX + 5; i += 1) {
      await claim(store, { owner: `worker ${i}`, facts: 'facts' })
      if (i % 100 === 99) await advance(1)
    }
    const { workers } = await store.workers()
    assert.equal(workers.length, WORKERS_MAX)
    const names = new Set(workers.map(({ owner }) => owner))
    assert.equal(names.size, WORKERS_MAX)
    for (let i = 0; i < 5; i += 1)
      assert.ok(names.has(`worker ${WORKERS_MAX + i}`), `worker ${WORKERS_MAX + i}`)
  }),
]
