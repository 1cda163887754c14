/** What goes wrong between a store and its server: broken sessions, crashes, locks, a server that is away. */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Store } from '../../../src/store/contract/store.ts'
import {
  LEASE_MS,
  ack,
  claim,
  claimDue,
  claimLapsed,
  claimOne,
  idsOf,
  message,
  placeOf,
  retry,
} from '../../../src/testing/conformance/stand.ts'
import { takeCensus } from '../../../src/testing/census.ts'
import { Proxy } from '../redis/proxy.ts'
import { until } from '../redis/until.ts'
import { PostgresServer } from './server.ts'
import { context, freshQueue, storeAt } from './stores.ts'
import { openPostgresStore } from '../../../src/store/postgres/open.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await PostgresServer.start()
})
afterAll(() => server?.stop())

async function open(
  settings: Parameters<typeof storeAt>[2] = {},
  queue = freshQueue(),
  url = server.url,
): Promise<Store> {
  const store = storeAt(url, queue, settings)
  onTestFinished(() => store.close())
  await store.open()
  return store
}

async function terminateAll(): Promise<void> {
  await server.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'punctual:%' and pid <> pg_backend_pid()",
  )
}

/** A transaction of somebody else's, which ends when the test does. */
async function transaction(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  await client.query('begin')
  onTestFinished(() => client.end())
  return client
}

/** The effect of a call whose connection broke is unknown, but never half. */
function either(call: Promise<unknown>): Promise<unknown> {
  return call.catch((error: { code?: string }) => {
    expect(error.code).toBe('STORE_UNAVAILABLE')
  })
}

describe('sessions that end', () => {
  it('P2, P8: in a storm of terminated sessions nothing is lost, doubled or half done', async () => {
    const store = await open()
    const ended = new Set<string>()
    for (let i = 0; i < 12; i += 1) {
      const cut = terminateAll()
      await either(
        store.put([
          message(`${i}`),
          message(`${i}a`, { topic: 'pair' }),
          message(`${i}b`, { topic: 'pair' }),
        ]),
      )
      const leases = await claimDue(store, 10).catch(() => [])
      await cut
      await either(
        store.settle(leases.map(ack)).then((answers) => {
          leases.forEach(({ id }, n) => {
            if (answers[n] !== 'settled') return
            expect(ended.has(id), `${id} ended once`).toBe(false)
            ended.add(id)
          })
        }),
      )
    }
    await until('it answers again', async () => (await store.count()).isExact)
    const { places } = await takeCensus(store)
    for (let i = 0; i < 12; i += 1)
      expect(places.has(`${i}a`), `${i}: both or none`).toBe(places.has(`${i}b`))
    for (const id of ended) expect(places.has(id), `${id} ended`).toBe(false)
  })

  it('P9: a listener whose session ended listens again, and everybody looks', async () => {
    const store = await open()
    let calls = 0
    store.onWake(() => (calls += 1))
    await until('it listens', () => calls > 0)
    const before = calls
    await terminateAll()
    await until('it was called after the session ended', () => calls > before)
    const other = await open({}, freshQueue())
    await other.put([message('elsewhere')])
    const heard = calls
    await store.put([message('a')])
    expect(calls).toBeGreaterThan(heard)
  })

  it('a half-open connection is noticed by its calls, and replaced', async () => {
    const proxy = await Proxy.before(server.port)
    onTestFinished(() => proxy.close())
    const url = `postgres://postgres@127.0.0.1:${new URL(proxy.url).port}/postgres`
    const store = await open({ callTimeout: 500 }, freshQueue(), url)
    await store.put([message('a')])
    proxy.fallSilent()
    await expect(store.put([message('b')])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    proxy.speakAgain()
    await until('it answers again', async () => (await placeOf(store, 'a')) === 'ready')
  })
})

describe('a server that crashes', () => {
  it.each(['SIGQUIT', 'SIGKILL'] as const)(
    'P2: after %s what was acknowledged is there; leases may be forgotten',
    async (signal) => {
      const own = await PostgresServer.start()
      onTestFinished(() => own.stop())
      const store = await open({}, freshQueue(), own.url)
      await store.put(Array.from({ length: 50 }, (_, i) => message(`m${i}`)))
      const leases = await claimDue(store, 20)
      expect(await store.settle(leases.slice(0, 10).map(ack))).toEqual(
        leases.slice(0, 10).map(() => 'settled'),
      )
      await own.end(signal)
      await either(store.put([message('x')])) // Of a server that was killed a child may still answer.
      await own.resume()
      await until('it answers again', async () => (await store.count()).isExact)
      const { places } = await takeCensus(store)
      const done = new Set(leases.slice(0, 10).map(({ id }) => id))
      for (let i = 0; i < 50; i += 1) expect(places.has(`m${i}`), `m${i}`).toBe(!done.has(`m${i}`))
    },
  )
})

describe('locks of others', () => {
  it('P8: a message that an open transaction has locked is skipped by claims, and found when it ends', async () => {
    const store = await open()
    await store.put([message('locked'), message('free')])
    const client = await transaction()
    await client.query("select 1 from punctual.message where id = 'locked' for update")
    const first = await claim(store, {})
    expect(idsOf(first.leases)).toEqual(['free'])
    const second = await claim(store, {})
    for (const { next } of [first, second])
      expect(next.state === 'WAITING' && next.ms > 0 && next.ms < 1_000, 'soon, not at once').toBe(true)
    await client.query('rollback')
    expect(idsOf(await claimDue(store))).toEqual(['locked'])
  })

  it('P4: an extension does not wait for a lock, and says that the lease is held', async () => {
    const store = await open()
    await store.put([message('locked'), message('free')])
    const leases = await claimDue(store)
    const client = await transaction()
    await client.query("select 1 from punctual.message where id = 'locked' for update")
    expect(await store.extend(leases, LEASE_MS)).toEqual(['extended', 'extended'])
    expect(await store.extend([{ ...leases[0], id: 'locked', token: '5', topic: '' }], LEASE_MS)).toEqual([
      'lost',
    ])
  })

  it('P3: a lapsed lease under an open transaction is taken over by nobody', async () => {
    let now = Date.UTC(2030, 0, 1)
    const store = await open({ now: () => now })
    await store.put([message('locked')])
    await claimDue(store)
    now += LEASE_MS
    const client = await transaction()
    await client.query("select 1 from punctual.message where id = 'locked' for update")
    expect(await claimLapsed(store)).toEqual([])
    await client.query('rollback')
    expect(idsOf(await claimLapsed(store))).toEqual(['locked'])
  })

  it('a settlement of a message that somebody has locked says so at once, and its neighbours are settled', async () => {
    const store = await open()
    await store.put([message('locked'), message('free')])
    const [locked, free] = await claimDue(store)
    if (locked === undefined || free === undefined) throw new Error('nothing was handed out')
    const client = await transaction()
    await client.query("select 1 from punctual.message where id = 'locked' for update")
    expect(await store.settle([ack(locked), retry(free, 1000)])).toEqual(['locked', 'settled'])
    await client.query('rollback')
    expect(await store.settle([ack(locked)])).toEqual(['settled'])
  })

  it('two batches with the same ids in opposite order end, without an error', async () => {
    const queue = freshQueue()
    const [a, b] = [await open({}, queue), await open({}, queue)]
    const ids = Array.from({ length: 200 }, (_, i) => `m${i}`)
    for (let round = 0; round < 10; round += 1) {
      await Promise.all([
        a.put(ids.map((id) => message(id))),
        b.put(ids.toReversed().map((id) => message(id, { ifExists: 'replace' }))),
        a.reschedule(ids.map((id) => ({ id, when: { delayMs: 60_000 } }))),
        b.remove(ids.toReversed(), 'waiting'),
      ])
    }
    await takeCensus(a)
  })
})

describe('a server that is away or refuses', () => {
  it('nobody listens there: opening fails in time, and works once it is there', async () => {
    const own = await PostgresServer.start()
    onTestFinished(() => own.stop())
    await own.end('SIGINT')
    const store = openPostgresStore(own.url, context(), { callTimeout: 300, connectTimeout: 300 })
    onTestFinished(() => store.close())
    await expect(store.open()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await own.resume()
    await until('it opens', async () => {
      await store.open()
      return true
    })
    expect(await store.put([message('a')])).toEqual(['stored'])
  })

  it('a database that is not there is refused at once, with what to do', async () => {
    const store = openPostgresStore(server.url.replace('/postgres', '/nowhere'), context())
    onTestFinished(() => store.close())
    await expect(store.open()).rejects.toMatchObject({ code: 'STORE_REFUSED' })
  })

  it('several hosts: the one that takes writes is used', async () => {
    const url = `postgres://postgres@127.0.0.1:1,127.0.0.1:${server.port}/postgres`
    const store = await open({}, freshQueue(), url)
    expect(await store.put([message('a')])).toEqual(['stored'])
    expect((await claimOne(store)).id).toBe('a')
  })

  it('closing ends every session, and calls under way hear it', async () => {
    const store = await open()
    store.onWake(() => undefined)
    await claim(store, {})
    const under = store.put([message('a')])
    const closing = store.close()
    await expect(under).rejects.toMatchObject({ code: 'STORE_CLOSED' })
    await closing
  })
})
