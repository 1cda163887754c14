/** A process that stands still for longer than a lease, and then goes on: real time, real stores. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { Punctual } from '../../src/index.ts'
import { MemoryStore } from '../../src/store/memory/store.ts'
import { openRedisStore } from '../../src/store/redis/open.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { FaultyStore } from '../../src/testing/index.ts'
import { RedisServer } from '../store/redis/server.ts'
import { context } from '../store/redis/stores.ts'
import { until } from '../store/redis/until.ts'
import { record } from './world.ts'

const LEASE_MS = 3000

let server: RedisServer
beforeAll(async () => {
  server = await RedisServer.start()
})
afterAll(() => server?.stop())

function standStillUntil(moment: number): void {
  const leftMs = Math.max(0, moment - systemClock.monotonic())
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, leftMs)
}

const ENGINES: readonly (readonly [string, () => Store])[] = [
  ['memory', () => new MemoryStore(systemClock)],
  ['redis', () => openRedisStore(server.url, context())],
]

describe.each(ENGINES)('a process that stands still for longer than a lease, on %s', (_, open) => {
  it('P3: the handler goes on, because the store still extends it', async () => {
    const { queue, store, ended } = openQueue(open())
    queue.handle('t', async ({ signal }) => {
      // A round trip: nothing that was asked for before the standstill, such as lapsed leases, arrives after it.
      await queue.stats()
      const before = extensionsOf(store)
      standStillUntil(systemClock.monotonic() + 1.3 * LEASE_MS)
      await until('the lease was extended', () => extensionsOf(store) > before + 1 || signal.aborted)
      signal.throwIfAborted()
    })
    await run(queue, store)
    expect(await ended).toEqual(['completed'])
  })

  it('P3: an answer that came meanwhile is heard before anything is doubted', async () => {
    const { queue, store, ended } = openQueue(open())
    let startedAt = 0
    store.fate = (verb) => {
      // Past the end of the first lease, before the end of the one that was just asked for.
      if (verb === 'extend' && startedAt > 0 && extensionsOf(store) === 2)
        systemClock.soon(() => standStillUntil(startedAt + 1.1 * LEASE_MS))
      return undefined
    }
    queue.handle('t', async ({ signal }) => {
      startedAt = systemClock.monotonic()
      await until('it was extended again', () => extensionsOf(store) > 2 || signal.aborted)
      signal.throwIfAborted()
    })
    await run(queue, store)
    expect(await ended).toEqual(['completed'])
  })
})

describe('a handler that keeps the event loop to itself for longer than the lease, on memory', () => {
  it('P6: has completed, although its lease was over: a worker never takes over from itself', async () => {
    const store = new FaultyStore(new MemoryStore(systemClock), systemClock)
    const queue = new Punctual({ store, lease: '1s', fallback: '100ms', retry: { limit: 0 }, logger: false })
    onTestFinished(async () => void (await queue.stop({ timeout: 0 })))
    const seen = record(queue)
    queue.handle('t', async () => {
      standStillUntil(systemClock.monotonic() + 1_500)
      await new Promise((resolve) => setTimeout(resolve, 300)) // Timers, and with them the reaper, come first.
    })
    await queue.start()
    await queue.produce('t', null)
    await until('it ended', () => seen.some(({ name }) => name === 'completed' || name === 'dead'))
    expect(seen.map(({ name }) => name).filter((name) => name !== 'late')).toEqual(['completed'])
  })
})

async function run(queue: Punctual, store: FaultyStore): Promise<void> {
  await queue.start()
  // A server that does not know the script yet is asked twice, and the reaper would come in between.
  expect(await store.extend([{ id: 'nobody', token: 'none', topic: 't' }], LEASE_MS)).toEqual(['lost'])
  await queue.produce('t', null)
}

function extensionsOf(store: FaultyStore): number {
  return store.calls.filter((verb) => verb === 'extend').length
}

/** A queue that never tries twice, and what was heard of its only message once that has ended. */
function openQueue(inner: Store): { queue: Punctual; store: FaultyStore; ended: Promise<string[]> } {
  const store = new FaultyStore(inner, systemClock)
  const queue = new Punctual({ store, lease: LEASE_MS, fallback: '1m', retry: { limit: 0 }, logger: false })
  onTestFinished(async () => void (await queue.stop({ timeout: 0 })))
  const seen = record(queue)
  const names = (): string[] => seen.map(({ name }) => name).filter((name) => name !== 'late')
  const ended = until('it ended', () => names().some((name) => name === 'completed' || name === 'dead'))
  return { queue, store, ended: ended.then(names) }
}
