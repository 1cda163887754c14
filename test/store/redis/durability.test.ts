/** P2: what was accepted survives the server's sudden death, where its persistence is set to. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Lease } from '../../../src/store/contract/store.ts'
import { ack, claimDue, claimLapsed, message, retry } from '../../../src/testing/conformance/stand.ts'
import { takeCensus } from '../../../src/testing/census.ts'
import { RedisServer } from './server.ts'
import { freshQueue, storeAt } from './stores.ts'
import { until } from './until.ts'

let server: RedisServer
beforeAll(async () => {
  server = await RedisServer.start({ config: ['--appendonly', 'yes', '--appendfsync', 'always'] })
})
afterAll(() => server?.stop())

test('P2: kill -9 in the middle of work: every accepted message is there, and every finished one is gone', async () => {
  const store = storeAt(server.url, freshQueue(), { callTimeout: '1s' })
  const accepted = new Set<string>()
  const refused = new Set<string>()
  const settled = new Set<string>()
  const unsure = new Set<string>()
  let isOver = false

  const produce = async (name: string): Promise<void> => {
    for (let batch = 0; !isOver; batch += 1) {
      const ids = Array.from({ length: 20 }, (_, i) => `${name}${batch}-${i}`)
      try {
        await store.put(ids.map((id, i) => message(id, { topic: `t${i % 3}` })))
        for (const id of ids) accepted.add(id)
      } catch {
        for (const id of ids) refused.add(id)
        isOver = true
      }
    }
  }
  const work = async (): Promise<void> => {
    while (!isOver) {
      let leases: readonly Lease[] = []
      try {
        leases = await claimDue(store, 15, ['t0', 't1', 't2'])
        await store.settle(leases.map((lease, i) => (i % 5 === 0 ? retry(lease, 0) : ack(lease))))
        for (const [i, { id }] of leases.entries()) if (i % 5 !== 0) settled.add(id)
      } catch {
        for (const { id } of leases) unsure.add(id)
        isOver = true
      }
    }
  }
  await store.open()
  const all = Promise.all([produce('a'), produce('b'), work(), work()])
  await until('some work was done', () => settled.size > 300)
  await server.kill()
  await all
  await server.resume()
  await until('the store is back', async () => (await store.count()).states !== undefined)

  const { places } = await takeCensus(store)
  for (const id of settled) expect(places.has(id), `${id} was settled`).toBe(false)
  for (const id of accepted) {
    if (!settled.has(id) && !unsure.has(id)) expect(places.has(id), `${id} was accepted`).toBe(true)
  }
  for (const id of places.keys()) expect(accepted.has(id) || refused.has(id), id).toBe(true)
  await store.close()
})

test('P4: a lease lives through the restart: its holder may finish, and tokens go on', async () => {
  const store = storeAt(server.url)
  await store.put([message('a'), message('b')])
  const [a, b] = await claimDue(store)
  if (a === undefined || b === undefined) throw new Error('two were due')
  await server.kill()
  await server.resume()
  await until('the store is back', async () => (await store.count()).states.running === 2)
  expect(await store.settle([ack(a)])).toEqual(['settled'])
  await store.extend([b], 1)
  const taken: Lease[] = []
  await until('the other lapsed', async () => {
    taken.push(...(await claimLapsed(store)))
    return taken.length > 0
  })
  expect(taken[0]?.token).not.toBe(b.token)
  expect(await store.settle([ack(b)])).toEqual(['lost'])
  await store.close()
})

test('LOADING: while the server reads its files calls say so, and afterwards everything is there', async () => {
  await server.admin(['FLUSHALL'])
  const store = storeAt(server.url, freshQueue(), { callTimeout: '500ms' })
  await store.put(Array.from({ length: 1000 }, (_, i) => message(`m${i}`)))
  const fill = "for i = 1, 2000 do redis.call('SET', 'filler:' .. i, string.rep('x', 100)) end"
  await server.admin(['EVAL', fill, '0'])
  await server.admin(['BGREWRITEAOF'])
  await until('the log is a snapshot now', async () =>
    /aof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0/.test(
      String(await server.admin(['INFO', 'persistence'])),
    ),
  )
  await server.kill()
  // Microseconds for each key, and a look at the sockets every few keys.
  await server.launch(['--key-load-delay', '1500', '--loading-process-events-interval-bytes', '1024'])
  const refusals: string[] = []
  await until('the store is back', async () => {
    try {
      return (await store.count()).states.ready === 1000
    } catch (error) {
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
      refusals.push(String(error))
      return false
    }
  })
  expect(refusals.join('\n')).toContain('still loading')
  await store.close()
})
