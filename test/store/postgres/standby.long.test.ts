/** A primary and its standby: what a failover keeps, and what `durability: 'replicated'` waits for. */
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { Punctual } from '../../../src/index.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { takeCensus } from '../../../src/testing/census.ts'
import { ack, claimDue, message } from '../../../src/testing/conformance/stand.ts'
import { until } from '../redis/until.ts'
import { PostgresServer } from './server.ts'
import { freshQueue, storeAt } from './stores.ts'

const servers: PostgresServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
})

/** `settings`: of the primary. The standby is called "standby". */
async function startPair(settings: readonly string[] = []): Promise<[PostgresServer, PostgresServer]> {
  const primary = await PostgresServer.start({ settings: ['hot_standby = on', ...settings] })
  servers.push(primary)
  const standby = await primary.makeStandby('standby')
  servers.push(standby)
  await until('the standby follows', async () => {
    const rows = await primary.query('select 1 from pg_stat_replication')
    return rows.length === 1
  })
  return [primary, standby]
}

function urlOf(hosts: readonly PostgresServer[], more = ''): string {
  return `postgres://postgres@${hosts.map(({ port }) => `127.0.0.1:${port}`).join(',')}/postgres${more}`
}

async function open(url: string, queue = freshQueue()): Promise<Store> {
  const store = storeAt(url, queue)
  onTestFinished(() => store.close())
  await store.open()
  return store
}

describe('a standby', () => {
  it('takes no writes: a store goes on to the host that does, and says so where there is none', async () => {
    const [primary, standby] = await startPair()
    const store = await open(urlOf([standby, primary]))
    expect(await store.put([message('a')])).toEqual(['stored'])
    const lonely = storeAt(urlOf([standby], '?callTimeout=500'))
    onTestFinished(() => lonely.close())
    await expect(lonely.open()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  })

  it('P2, P8: once it is promoted, the store finds it by itself and everything acknowledged is there', async () => {
    const names = "synchronous_standby_names = 'standby'"
    const [primary, standby] = await startPair([names])
    const store = await open(urlOf([primary, standby], '?durability=replicated'))
    let calls = 0
    store.onWake(() => (calls += 1))
    await store.put(Array.from({ length: 30 }, (_, i) => message(`m${i}`)))
    const leases = await claimDue(store, 10)
    expect(await store.settle(leases.map(ack))).toEqual(leases.map(() => 'settled'))
    await primary.end('SIGQUIT')
    await standby.promote()
    // It waits for a standby of its own now, which it has not.
    await standby.query("alter system set synchronous_standby_names = ''")
    await standby.query('select pg_reload_conf()')
    await until('the store answers again', async () => (await store.put([message('after')])).length === 1)
    const { places } = await takeCensus(store)
    expect(places.size).toBe(21)
    for (const { id } of leases) expect(places.has(id), id).toBe(false)
    const heard = calls
    await until('wake-ups arrive from the new primary', async () => {
      await store.put([message(`w${calls}`, { ifExists: 'replace' })])
      return calls > heard
    })
  })
})

describe("durability: 'replicated'", () => {
  it('is refused at open by a server that waits for no standby, with STORE_UNREPLICATED', async () => {
    const server = await PostgresServer.start()
    servers.push(server)
    const queue = new Punctual({
      store: server.url,
      queue: freshQueue(),
      durability: 'replicated',
      logger: false,
    })
    onTestFinished(async () => void (await queue.stop()))
    await expect(queue.produce('t')).rejects.toMatchObject({ code: 'STORE_UNREPLICATED' })
    const wrong = { store: server.url, durability: { replicas: 2 } }
    expect(() => new Punctual(wrong)).toThrow(/synchronous_standby_names/)
  })

  it('P2: while the standby is away nothing is acknowledged, and what was is there when it is back', async () => {
    const [primary, standby] = await startPair(["synchronous_standby_names = 'standby'"])
    const store = await open(urlOf([primary], '?durability=replicated&callTimeout=700'))
    expect(store.capabilities.durability).toBe('replicas')
    expect(await store.put([message('before')])).toEqual(['stored'])
    await standby.end('SIGQUIT')
    await expect(store.put([message('meanwhile')])).rejects.toMatchObject({ code: 'STORE_UNREPLICATED' })
    // Claims do not wait for the standby: a lease that a failover forgets is handed out again.
    expect((await claimDue(store, 1)).map(({ id }) => id)).toEqual(['before'])
    await standby.resume()
    await until('it is acknowledged again', async () => (await store.put([message('again')])).length === 1)
    expect((await takeCensus(store)).places.get('again')).toBe('ready')
  })
})
