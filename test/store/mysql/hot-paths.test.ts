/** The quick ways of putting, claiming and settling have the results of the slow ones. */
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { LeaseRef, Settlement, Store } from '../../../src/store/contract/store.ts'
import { claim, message } from '../../../src/testing/conformance/stand.ts'
import { until } from '../redis/until.ts'
import { freshDatabase, isMysqlThere } from './server.ts'
import { freshQueue, storeAt } from './stores.ts'

let url = ''
beforeAll(async () => {
  if (isMysqlThere) url = await freshDatabase()
})

async function open(queue: string): Promise<Store> {
  const store = storeAt(url, queue)
  onTestFinished(() => store.close())
  await store.open()
  return store
}

const acks = (leases: readonly LeaseRef[]): Settlement[] =>
  leases.map(({ id, topic, token }) => ({ id, topic, token, kind: 'ack' }))

describe.skipIf(!isMysqlThere)('hot paths', () => {
  it('puts that come at once: each has its own answer, also where ids are taken or come twice', async () => {
    const store = await open(freshQueue())
    await store.put([message('taken')])
    const ids = [...Array.from({ length: 300 }, (_, i) => `m${i}`), 'taken', 'm7', 'm299']
    const answers = await Promise.all(ids.map((id) => store.put([message(id)])))
    expect(answers.slice(0, 300).flat()).toEqual(Array.from({ length: 300 }, () => 'stored'))
    expect(answers.slice(300).flat()).toEqual(['duplicate', 'duplicate', 'duplicate'])
    expect((await store.count()).states).toMatchObject({ ready: 301 })
  })

  it('P7: what another puts before or above the rest is not overlooked for long', async () => {
    const queue = freshQueue()
    const [mine, other] = [await open(queue), await open(queue)]
    const now = Date.now()
    await other.put(
      Array.from({ length: 400 }, (_, i) => message(`m${i}`, { when: { at: now - 1_000 + i } })),
    )
    const order: string[] = []
    const take = async (): Promise<void> => {
      const { leases } = await claim(mine, { limit: 2 })
      order.push(...leases.map(({ id }) => id))
      await mine.settle(acks(leases))
    }
    await take()
    await take()
    await other.put([message('urgent', { priority: 0 }), message('earlier', { when: { at: now - 60_000 } })])
    await until('both came', async () => {
      await take()
      return order.includes('urgent') && order.includes('earlier')
    })
    expect(order.indexOf('urgent')).toBeLessThan(order.indexOf('earlier'))
    await until('all came', async () => {
      await take()
      return order.length === 402
    })
    expect(new Set(order).size).toBe(402)
    expect(await mine.count()).toMatchObject({ states: { ready: 0, delayed: 0, running: 0 } })
  })

  it('large bodies come whole, in their order, beside small ones', async () => {
    const store = await open(freshQueue())
    const bodies = [10, 5_000, 4_096, 4_097, 100_000, 0].map((length) => 'ä'.repeat(length / 2))
    const base = Date.now() - 1_000
    await store.put(bodies.map((body, i) => message(`m${i}`, { body, when: { at: base + i } })))
    const { leases } = await claim(store, { limit: 10 })
    expect(leases.map(({ body }) => body)).toEqual(bodies)
    expect(leases.map(({ attempt }) => attempt)).toEqual(bodies.map(() => 1))
  })

  it('P4: acks of several claims at once settle what is held, and nothing under an old token', async () => {
    const store = await open(freshQueue())
    await store.put(['a', 'b', 'c', 'd'].map((id) => message(id, id === 'd' ? { tags: ['x'] } : {})))
    const [first, second] = [await claim(store, { limit: 2 }), await claim(store, { limit: 2 })]
    const [a, b] = first.leases
    const [c, d] = second.leases
    if (a === undefined || b === undefined || c === undefined || d === undefined)
      throw new Error('four are due')
    await store.remove([c.id], 'waiting', { isRunningToo: true })
    const results = await store.settle([
      ...acks([a, { ...b, token: c.token }, c, d]),
      ...acks([
        { id: 'nobody', topic: 't', token: a.token },
        { id: 'strange', topic: 't', token: 'no token of ours' },
      ]),
    ])
    expect(results).toEqual(['settled', 'lost', 'cancelled', 'settled', 'lost', 'lost'])
    expect(await store.settle(acks([a, b]))).toEqual(['lost', 'settled'])
    expect(await store.count()).toMatchObject({ states: { ready: 0, delayed: 0, running: 0 } })
  })
})
