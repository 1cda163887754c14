/** P14 on a wall clock that is set: back by an hour, forward by an hour, on each engine that has controls. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock, type Clock } from '../../src/clock.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { MemoryStore } from '../../src/store/memory/store.ts'
import { TOPIC, claim, message } from '../../src/testing/conformance/stand.ts'
import { limit, pause, rate } from '../../src/testing/conformance/control-stand.ts'
import { openStore, temporaryDirectory, type TemporaryDirectory } from './file/bench.ts'
import { isMysqlThere, sharedUrl } from './mysql/server.ts'
import { storeAt as storeAtMysql } from './mysql/stores.ts'
import { PostgresDatabase } from './postgres/server.ts'
import { storeAt as storeAtPostgres } from './postgres/stores.ts'
import { RedisServer } from './redis/server.ts'
import { freshQueue, storeAt } from './redis/stores.ts'

const HOUR_MS = 3_600_000
const START = Date.UTC(2030, 0, 1)

let server: RedisServer
let postgres: PostgresDatabase
let temporary: TemporaryDirectory
const opened: Store[] = []
beforeAll(async () => {
  server = await RedisServer.start()
  postgres = await PostgresDatabase.make()
  temporary = await temporaryDirectory()
})
afterAll(async () => {
  for (const store of opened) await store.close()
  await server?.stop()
  await temporary?.remove()
})

type Subject = { readonly store: Store; readonly set: (byMs: number) => void }

async function open(engine: string): Promise<Subject> {
  let now = START
  const clock: Clock = { ...systemClock, now: () => now }
  const queue = freshQueue()
  const store =
    engine === 'memory'
      ? new MemoryStore(clock)
      : engine === 'file'
        ? await openStore(temporary.directory, { clock, queue })
        : engine === 'redis'
          ? storeAt(server.url, queue, { now: () => now })
          : engine === 'mysql'
            ? storeAtMysql(await sharedUrl(), queue, { now: () => now })
            : storeAtPostgres(postgres.url, queue, { now: () => now })
  await store.open()
  opened.push(store)
  return { store, set: (byMs) => void (now += byMs) }
}

/** All are due whatever the clock is set to. */
async function putDue(store: Store, count: number): Promise<void> {
  const at = START - 10 * HOUR_MS
  await store.put(Array.from({ length: count }, (_, i) => message(`m${i}`, { when: { at } })))
}

const ENGINES = ['memory', 'file', 'redis', 'postgres', ...(isMysqlThere ? ['mysql'] : [])]

describe.each(ENGINES)('P14: %s, the wall clock is set', (engine) => {
  it('back: a rate that was used up lets one burst start, and goes on as ever', async () => {
    const { store, set } = await open(engine)
    await putDue(store, 20)
    await store.control(limit(rate(1_000, 3)))
    expect((await claim(store, {})).leases).toHaveLength(3)
    set(-HOUR_MS)
    expect((await claim(store, {})).leases).toHaveLength(3)
    expect((await claim(store, {})).leases).toEqual([])
    let got = 0
    for (let second = 0; second < 5; second += 1) {
      set(1_000)
      got += (await claim(store, {})).leases.length
    }
    expect(got).toBe(5)
  })

  it('back by less than a second: nothing more starts than would have', async () => {
    const { store, set } = await open(engine)
    await putDue(store, 20)
    await store.control(limit(rate(1_000, 3)))
    expect((await claim(store, {})).leases).toHaveLength(3)
    set(-900)
    expect((await claim(store, {})).leases).toEqual([])
    set(1_500)
    expect((await claim(store, {})).leases).toHaveLength(1)
  })

  it('forward: one burst starts, and no more', async () => {
    const { store, set } = await open(engine)
    await putDue(store, 20)
    await store.control(limit(rate(1_000, 3)))
    expect((await claim(store, {})).leases).toHaveLength(3)
    set(HOUR_MS)
    expect((await claim(store, {})).leases).toHaveLength(3)
    expect((await claim(store, {})).leases).toEqual([])
  })

  it('a pause without an end stays, one with an end lasts until the clock shows it', async () => {
    const { store, set } = await open(engine)
    await putDue(store, 1)
    await store.control(pause())
    for (const byMs of [-HOUR_MS, 2 * HOUR_MS, -HOUR_MS]) {
      set(byMs)
      expect((await claim(store, {})).leases).toEqual([])
    }
    await store.control({ kind: 'pause', topic: TOPIC, until: { at: START + 60_000 } })
    set(-HOUR_MS)
    expect((await claim(store, {})).leases).toEqual([])
    set(HOUR_MS + 60_000)
    expect((await claim(store, {})).leases).toHaveLength(1)
  })

  it('concurrency is counted by leases, whatever the clock says', async () => {
    const { store, set } = await open(engine)
    await putDue(store, 5)
    await store.control(limit({ concurrency: 2 }))
    expect((await claim(store, {})).leases).toHaveLength(2)
    set(-HOUR_MS)
    expect((await claim(store, {})).leases).toEqual([])
    set(2 * HOUR_MS)
    expect((await claim(store, {})).leases).toEqual([])
  })
})
