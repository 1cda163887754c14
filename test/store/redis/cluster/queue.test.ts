/** A queue on a real cluster, as its users see it. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { homeOf } from '../../../../src/core/encoding/home.ts'
import { Punctual, type PunctualOptions } from '../../../../src/index.ts'
import { partitionTag, slotOf } from '../../../../src/store/redis/cluster/slots.ts'
import { freshQueue, storeAt } from '../stores.ts'
import { until } from '../until.ts'
import { RedisCluster } from './servers.ts'

const PARTITIONS = 6

let cluster: RedisCluster
beforeAll(async () => {
  cluster = await RedisCluster.start()
})
afterAll(() => cluster?.stop())

function open(name: string, options: PunctualOptions = {}, url = `?partitions=${PARTITIONS}`): Punctual {
  const queue = new Punctual({ store: cluster.url(url), queue: name, logger: false, ...options })
  onTestFinished(async () => {
    await queue.stop({ timeout: 0 })
  })
  return queue
}

/** Long enough that only a wake-up can have brought what comes before it. */
const NEVER = '10m'

describe('a queue over masters', () => {
  it('every message runs once, on whichever worker, and the masters share them', async () => {
    const name = freshQueue()
    const done: string[] = []
    for (let i = 0; i < 2; i += 1) {
      const worker = open(name)
      worker.handle('t', ({ id }) => void done.push(id))
      await worker.start()
    }
    const producer = open(name)
    const ids = await producer.produceMany(
      Array.from({ length: 600 }, (_, i) => ({ topic: 't', delay: i % 500 })),
    )
    await until('all are done', () => done.length >= ids.length)
    expect(done.toSorted()).toEqual(ids.toSorted())
    await until('nothing is left', async () => {
      const { counts } = await producer.stats()
      return counts.delayed + counts.ready + counts.running === 0
    })
    const slots = Array.from({ length: PARTITIONS }, (_, k) => slotOf(partitionTag(name, k, PARTITIONS)))
    const masters = await Promise.all(slots.map((slot) => cluster.masterOf(slot)))
    expect(new Set(masters.map(({ id }) => id)).size).toBe(3)
  })

  it('P9: a wake-up reaches a sleeping worker in every partition', async () => {
    const name = freshQueue()
    const worker = open(name, { fallback: NEVER })
    const done: string[] = []
    worker.handle('t', ({ id }) => void done.push(id))
    await worker.start()
    const producer = open(name)
    for (let i = 0; i < 5 * PARTITIONS; i += 1) {
      const id = await producer.produce('t', {}, { id: `m${i}` })
      await until(`${id} in partition ${homeOf(id, PARTITIONS)} is done`, () => done.includes(id))
    }
    // Told to nobody else: each publishes on the master of its slot.
    const stats = await Promise.all(
      cluster.members.map(async ({ server }) => String(await server.admin(['CLUSTER', 'INFO']))),
    )
    for (const info of stats) expect(info).not.toMatch(/cluster_stats_messages_publish_sent:[1-9]/)
  })

  it('P14: a pause holds on all masters, until it is resumed', async () => {
    const name = freshQueue()
    const worker = open(name, { fallback: NEVER })
    const done: string[] = []
    worker.handle('t', ({ id }) => void done.push(id))
    await worker.start()
    const people = open(name)
    await people.pause('t')
    await people.produceMany(Array.from({ length: 60 }, () => ({ topic: 't' })))
    expect((await people.stats()).controls).toEqual([{ topic: 't', paused: {} }])
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(done).toEqual([])
    await people.resume('t')
    await until('all run', () => done.length === 60)
    await expect(people.limit('t', { rate: '1/1s' })).rejects.toMatchObject({ code: 'UNSUPPORTED' })
  })

  it('tags, lists, cancelling and dead letters over all partitions', async () => {
    const queue = open(freshQueue())
    const ids = Array.from({ length: 90 }, (_, i) => `id-${i}`)
    await queue.produceMany(
      ids.map((id, i) => ({ topic: `t${i % 3}`, id, delay: '1h', tag: `tag-${i % 2}` })),
    )
    const listed: string[] = []
    let cursor: string | undefined
    do {
      const page = await queue.list({
        state: 'delayed',
        limit: 20,
        ...(cursor === undefined ? {} : { cursor }),
      })
      listed.push(...page.items.map(({ id }) => id))
      cursor = page.cursor
    } while (cursor !== undefined)
    expect(listed.toSorted()).toEqual(ids.toSorted())
    expect((await queue.stats()).topics).toMatchObject({
      t0: { waiting: 30 },
      t1: { waiting: 30 },
      t2: { waiting: 30 },
    })
    expect(await queue.cancel({ tag: 'tag-1' })).toEqual({ cancelled: 45, running: 0 })
    expect(await queue.cancel({ ids: ids.slice(0, 4) })).toEqual({ cancelled: 2, running: 0 })
    expect(
      (await queue.forecast({ until: '2h', bars: 2 })).bars.reduce((sum, { count }) => sum + count, 0),
    ).toBe(43)
    expect(await queue.purge({ state: 'delayed' })).toBe(43)
  })

  it('P7: messages of one orderBy start in order', async () => {
    const name = freshQueue()
    const producer = open(name)
    for (let i = 0; i < 50; i += 1) await producer.produce('t', i, { orderBy: 'customer-7' })
    const worker = open(name, { concurrency: 1 })
    const done: unknown[] = []
    worker.handle('t', ({ payload }) => void done.push(payload))
    await worker.start()
    await until('all are done', () => done.length === 50)
    expect(done).toEqual(Array.from({ length: 50 }, (_, i) => i))
  })

  it('P13: schedules fire, and are listed', async () => {
    const name = freshQueue()
    const worker = open(name)
    const done: string[] = []
    worker.handle('t', ({ id }) => void done.push(id))
    await worker.start()
    for (const one of ['a', 'b', 'c'])
      await worker.schedules.set(one, { topic: 't', payload: {}, every: '1s' })
    await until('each has fired twice', () =>
      ['a', 'b', 'c'].every((one) => done.filter((id) => id.startsWith(`{${one}}@`)).length >= 2),
    )
    expect((await worker.schedules.list()).items.map((one) => one.name).toSorted()).toEqual(['a', 'b', 'c'])
  })

  it('who works is told once, and the connections are few', async () => {
    const name = freshQueue()
    const worker = open(name)
    worker.handle('t', () => undefined)
    await worker.start()
    await until('it is seen', async () => (await worker.workers()).length === 1)
    for (const { server } of await cluster.masters()) {
      const clients = String(await server.admin(['CLIENT', 'LIST'])).split('\n')
      expect(clients.filter((line) => line.includes(`name=punctual:${name}`)).length).toBeLessThanOrEqual(2)
    }
  })

  it('the doctor has something to say about each master', async () => {
    const queue = open(freshQueue())
    const findings = (await queue.doctor()).map(({ what }) => what).join('\n')
    for (const { server } of await cluster.masters()) expect(findings).toContain(`127.0.0.1:${server.port}: `)
    for (const part of [
      '3 masters for all 16384 slots',
      'every master has a replica',
      'clocks of the masters agree',
    ])
      expect(findings).toContain(part)
  })
})

describe('the number of partitions', () => {
  it('is fixed at first use; another is refused with both named', async () => {
    const name = freshQueue()
    await open(name).produce('t', {}, { delay: '1h' })
    const other = storeAt(cluster.url('?partitions=8'), name)
    onTestFinished(() => other.close())
    await expect(other.open()).rejects.toMatchObject({
      code: 'STORE_REFUSED',
      message: expect.stringMatching(/has 6 partitions, and the URL says 8/) as string,
    })
  })

  it('of two that open a queue first with different numbers, at most one succeeds', async () => {
    for (let round = 0; round < 5; round += 1) {
      const name = freshQueue()
      const stores = [4, 8].map((partitions) => storeAt(cluster.url(`?partitions=${partitions}`), name))
      onTestFinished(async () => {
        for (const store of stores) await store.close()
      })
      const opened = await Promise.allSettled(stores.map((store) => store.open()))
      expect(opened.filter(({ status }) => status === 'fulfilled').length).toBeLessThanOrEqual(1)
    }
  })

  it('queues are listed by it', async () => {
    const name = freshQueue()
    await open(name).produce('t', {}, { delay: '1h' })
    const { names } = await Punctual.queues(cluster.url())
    expect(names).toContain(name)
  })
})
