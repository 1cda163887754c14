/** What goes wrong between a store and its server: broken sessions, crashes, locks, a server that is away. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Connection } from 'mariadb'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
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
import { limit, rate } from '../../../src/testing/conformance/control-stand.ts'
import { takeCensus } from '../../../src/testing/census.ts'
import { Proxy } from '../redis/proxy.ts'
import { until } from '../redis/until.ts'
import { connectionTo, freshDatabase, isMariaDbThere, isMysqlThere, MysqlServer, queryAt } from './server.ts'
import { context, freshQueue, storeAt } from './stores.ts'
import { openMysqlStore } from '../../../src/store/mysql/open.ts'

const STOPPED = fileURLToPath(new URL('children/stopped.mjs', import.meta.url))

let url = ''
beforeAll(async () => {
  if (isMysqlThere) url = await freshDatabase()
})

async function open(
  settings: Parameters<typeof storeAt>[2] = {},
  queue = freshQueue(),
  at = url,
): Promise<Store> {
  const store = storeAt(at, queue, settings)
  onTestFinished(() => store.close())
  await store.open()
  return store
}

/** Every session in our database, sleepers included. */
async function terminateAll(): Promise<void> {
  const connection = await connectionTo(url)
  const rows = (await connection.query(
    'select id from information_schema.processlist where db = database() and id <> connection_id()',
  )) as { id: number }[]
  for (const { id } of rows) await connection.query(`kill connection ${id}`).catch(() => undefined)
  await connection.end()
}

/** A transaction of somebody else's, which ends when the test does. */
async function transaction(): Promise<Connection> {
  const client = await connectionTo(url)
  await client.query('begin')
  onTestFinished(() => client.end())
  return client
}

/** By its key: else it would lock all rows that it looks at. */
async function lock(client: Connection): Promise<void> {
  const [row] = await queryAt(url, "select max(seq) as seq from punctual_message where id = 'locked'")
  await client.query('select 1 from punctual_message where seq = ? for update', [row?.['seq']])
}

/** The effect of a call whose connection broke is unknown, but never half. */
function either(call: Promise<unknown>): Promise<unknown> {
  return call.catch((error: { code?: string }) => {
    expect(error.code).toBe('STORE_UNAVAILABLE')
  })
}

describe.skipIf(!isMysqlThere)('sessions that end', () => {
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
    const proxy = await Proxy.before(Number(new URL(url).port))
    onTestFinished(() => proxy.close())
    const through = new URL(url)
    through.port = new URL(proxy.url).port
    const store = await open({ callTimeout: 500 }, freshQueue(), through.href)
    await store.put([message('a')])
    proxy.fallSilent()
    await expect(store.put([message('b')])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    proxy.speakAgain()
    await until('it answers again', async () => (await placeOf(store, 'a')) === 'ready')
  })
})

describe.skipIf(!isMysqlThere)('a process that is stopped', () => {
  it('P2: what it had locked in the middle of a transaction is handed out to others soon', async () => {
    const store = await open()
    await store.put([message('locked')])
    const child = spawn(process.execPath, [STOPPED, url], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child.stdout, 'data') // It has the lock, and stops itself.
    expect(idsOf((await claim(store, {})).leases), 'it is locked').toEqual([])
    await until('its session was ended', async () => (await claimDue(store)).length === 1)
  })
})

describe.skipIf(!isMysqlThere)('a server that crashes', () => {
  it.skipIf(!isMariaDbThere)(
    'P2: after SIGKILL all that was acknowledged is there, leases included',
    async () => {
      const own = await MysqlServer.start()
      onTestFinished(() => own.stop())
      const store = await open({}, freshQueue(), own.url)
      await store.put(Array.from({ length: 50 }, (_, i) => message(`m${i}`)))
      const leases = await claimDue(store, 20)
      expect(await store.settle(leases.slice(0, 10).map(ack))).toEqual(
        leases.slice(0, 10).map(() => 'settled'),
      )
      await own.end('SIGKILL')
      await either(store.put([message('x')]))
      await own.resume()
      await until('it answers again', async () => (await store.count()).isExact)
      const { places } = await takeCensus(store)
      const done = new Set(leases.slice(0, 10).map(({ id }) => id))
      for (let i = 0; i < 50; i += 1) expect(places.has(`m${i}`), `m${i}`).toBe(!done.has(`m${i}`))
      expect(await store.settle(leases.slice(10).map(ack))).toEqual(leases.slice(10).map(() => 'settled'))
    },
  )
})

describe.skipIf(!isMysqlThere)('locks of others', () => {
  it('P8: a message that an open transaction has locked is skipped by claims, and found when it ends', async () => {
    const store = await open()
    await store.put([message('locked'), message('free')])
    const client = await transaction()
    await lock(client)
    const first = await claim(store, {})
    expect(idsOf(first.leases)).toEqual(['free'])
    const second = await claim(store, {})
    for (const { next } of [first, second])
      expect(next.state === 'WAITING' && next.ms > 0 && next.ms < 1_000, 'soon, not at once').toBe(true)
    await client.query('rollback')
    expect(idsOf(await claimDue(store))).toEqual(['locked'])
  })

  it('P8: what waits behind a locked one is found, however few are asked for', async () => {
    const store = await open()
    for (const id of ['locked', 'a', 'b', 'c']) await store.put([message(id)])
    await lock(await transaction())
    const two = await claim(store, { limit: 2 })
    expect([idsOf(two.leases), two.next.state], 'of the first two').toEqual([['a'], 'EXPIRED'])
    expect(idsOf((await claim(store, { limit: 1 })).leases)).toEqual(['b'])
    await store.put([message('d')])
    expect(idsOf((await claim(store, { limit: 1 })).leases), 'after a look from the start').toEqual(['c'])
    expect(idsOf((await claim(store, { limit: 1 })).leases)).toEqual(['d'])
    const { leases, next } = await claim(store, { limit: 1 })
    expect([leases, next.state === 'WAITING' && next.ms > 0]).toEqual([[], true])
  })

  it('P1: a claim in the middle of its transaction does not hide what is next to its own', async () => {
    const own = await freshDatabase()
    const one = await open({}, freshQueue(), own)
    const other = await open({}, freshQueue(), own)
    await one.control(limit(rate(3_600_000, 100)))
    await one.put([message('a')])
    await other.put([message('b')])
    const client = await connectionTo(own)
    onTestFinished(() => client.end())
    await client.query('begin')
    await client.query('select 1 from punctual_control for update')
    const claimed = either(claim(one, {}))
    await until('it waits, with what it has locked', async () => {
      const sessions = await queryAt(own, 'select info from information_schema.processlist')
      return sessions.some(({ info }) => String(info).startsWith('insert into punctual_control'))
    })
    expect(idsOf((await claim(other, {})).leases)).toEqual(['b'])
    await client.query('rollback')
    await claimed
  })

  it('P4: an extension does not wait for a lock, and says that the lease is held', async () => {
    const store = await open()
    await store.put([message('locked'), message('free')])
    const leases = await claimDue(store)
    const client = await transaction()
    await lock(client)
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
    await lock(client)
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
    await lock(client)
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

describe.skipIf(!isMysqlThere)('a server that is away or refuses', () => {
  it.skipIf(!isMariaDbThere)(
    'nobody listens there: opening fails in time, and works once it is there',
    async () => {
      const own = await MysqlServer.start()
      onTestFinished(() => own.stop())
      await own.end('SIGTERM')
      const store = openMysqlStore(own.url, context(), { callTimeout: 300, connectTimeout: 300 })
      onTestFinished(() => store.close())
      await expect(store.open()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
      await own.resume()
      await until('it opens', async () => {
        await store.open()
        return true
      })
      expect(await store.put([message('a')])).toEqual(['stored'])
    },
  )

  it('a database that is not there is refused at once, with what to do', async () => {
    const store = openMysqlStore(url.replace(/[^/]+$/, 'nowhere'), context())
    onTestFinished(() => store.close())
    await expect(store.open()).rejects.toMatchObject({ code: 'STORE_REFUSED' })
  })

  it('several hosts: the one that takes writes is used', async () => {
    const both = url.replace(/@([^/]+)/, '@127.0.0.1:1,$1')
    const store = await open({}, freshQueue(), both)
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
