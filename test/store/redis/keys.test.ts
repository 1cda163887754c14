/** Keys on a real server: who meets whom, what it costs, what is left, and who may open such a queue. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Punctual } from '../../../src/index.ts'
import type { Lease, Settlement, Store } from '../../../src/store/contract/store.ts'
import { takeCensus } from '../../../src/testing/census.ts'
import { flood, keyed, perKey } from '../../../src/testing/conformance/key-stand.ts'
import {
  TOPIC,
  ack,
  claim,
  claimDue,
  idsOf,
  lapse,
  message,
  release,
  retry,
} from '../../../src/testing/conformance/stand.ts'
import { settle } from '../settle.ts'
import { connect, disagreements, type Client } from './keys-agree.ts'
import { RedisServer } from './server.ts'
import { freshQueue, storeAt } from './stores.ts'
import { until } from './until.ts'

let server: RedisServer
let client: Client
const opened: Store[] = []
beforeAll(async () => {
  server = await RedisServer.start()
  client = await connect(server.url)
})
afterAll(async () => {
  await Promise.all(opened.map((store) => store.close()))
  client?.destroy()
  await server?.stop()
})

async function handles(count: number, queue: string): Promise<Store[]> {
  const stores = Array.from({ length: count }, () => storeAt(server.url, queue))
  opened.push(...stores)
  await Promise.all(stores.map((store) => store.open()))
  return stores
}

const namesOf = (queue: string): Promise<string[]> => client.keys(`punctual:*{${queue}}:*`)

/** What is left of keys, but for the mark of the queue. */
async function leftOfKeys(queue: string): Promise<string[]> {
  const kinds = /\}:(?:line|turns|keys|counts|held|keyed|resting)/
  return (await namesOf(queue)).filter((name) => kinds.test(name))
}

/** How often scripts called which commands. */
async function commandsOf(work: () => Promise<unknown>): Promise<Record<string, number>> {
  await server.admin(['CONFIG', 'RESETSTAT'])
  await work()
  const info = String(await server.admin(['INFO', 'commandstats']))
  const calls = [...info.matchAll(/cmdstat_([^:]+):calls=(\d+)/g)]
  const inScripts = calls.filter(
    ([, name = '']) => !/^(?:config|info|eval\w*|time|hello|client|subscribe|ping)/.test(name),
  )
  return Object.fromEntries(inScripts.map(([, name = '', count]) => [name, Number(count)]))
}

const ENDS: readonly ((lease: Lease) => Settlement)[] = [ack, ack, release, (lease) => retry(lease, 1), lapse]

describe.each([1, 2])('P17: %i at a time of each key', (concurrency) => {
  it('holds however claims, settlements and puts of the same keys meet; each is handed out once, and nothing is left', async () => {
    const queue = freshQueue()
    const stores = await handles(4, queue)
    const [first] = stores as [Store]
    await first.control(perKey({ concurrency }))
    const names = ['a', 'b', 'c', 'd', 'e']
    const missing = new Set(names.flatMap((name) => Array.from({ length: 40 }, (_, i) => `${name}-${i}`)))
    const inHand = new Map(names.map((name) => [name, 0]))
    let turns = 0
    const hold = (leases: readonly Lease[], by: number): void => {
      for (const { key = '' } of leases) inHand.set(key, (inHand.get(key) ?? 0) + by)
      expect(Math.max(...inHand.values())).toBeLessThanOrEqual(concurrency)
    }
    const work = async (store: Store): Promise<void> => {
      while (missing.size > 0) {
        const { leases } = await claim(store, { limit: 7 })
        hold(leases, 1)
        const ends = leases.map((lease) => {
          turns += 1
          const end = (turns > 600 ? ack : (ENDS[turns % ENDS.length] ?? ack))(lease)
          if (end.kind === 'ack') expect(missing.delete(lease.id)).toBe(true)
          return end
        })
        hold(leases, -1)
        expect(await settle(store, ends)).toEqual(ends.map(() => 'settled'))
      }
    }
    const produce = async (): Promise<void> => {
      for (let i = 0; i < 40; i += 1) await first.put(names.map((name) => keyed(`${name}-${i}`, name)))
    }
    await Promise.all([produce(), ...stores.map(work)])
    expect(await disagreements(client, queue)).toEqual([])
    expect((await takeCensus(first)).total).toBe(0)
    await claim(first, {})
    expect(await leftOfKeys(queue)).toEqual([])
  })
})

it('P17: a key’s next starts when the one before has ended, in whichever process, and not when somebody looks', async () => {
  const queue = freshQueue()
  const inHand: string[] = []
  const done: string[] = []
  const workers = [0, 1].map(() => {
    const worker = new Punctual({ store: server.url, queue, fallback: '60s' })
    worker.handle('serial', async ({ id }) => {
      inHand.push(id)
      expect(inHand).toHaveLength(1)
      await new Promise((resolve) => setImmediate(resolve))
      inHand.pop()
      done.push(id)
    })
    return worker
  })
  onTestFinished(async () => void (await Promise.all(workers.map((worker) => worker.stop()))))
  const [first] = workers as [Punctual]
  await first.limit('serial', { perKey: { concurrency: 1 } })
  await Promise.all(workers.map((worker) => worker.start()))
  const ids = Array.from({ length: 50 }, (_, i) => `m-${String(i).padStart(2, '0')}`)
  for (const id of ids) await first.produce('serial', {}, { id, key: 'k' })
  await until('all are done', () => done.length === ids.length)
  expect(done, 'in order').toEqual(ids)
})

it('P18: messages without a key cost the calls that they always did, and nothing about keys is stored', async () => {
  const queue = freshQueue()
  const [store] = (await handles(1, queue)) as [Store]
  const put = await commandsOf(() => store.put([message('a'), message('b'), message('c', { priority: 0 })]))
  expect(put).toEqual({
    exists: 1,
    get: 1,
    hexists: 1,
    hmget: 2,
    hset: 1,
    publish: 1,
    set: 1,
    zadd: 6,
    zmscore: 2,
    zrange: 2,
    zscore: 2,
  })
  let leases: readonly Lease[] = []
  const claimed = await commandsOf(async () => (leases = await claimDue(store, 3)))
  expect(claimed).toEqual({
    exists: 2,
    hdel: 1,
    hincrby: 2,
    hmget: 2,
    hset: 1,
    zadd: 1,
    zmscore: 1,
    zrange: 4,
    zrem: 4,
    zremrangebyrank: 2,
    zscore: 3,
  })
  const settled = await commandsOf(() => store.settle(leases.map(ack)))
  expect(settled).toEqual({ exists: 3, hdel: 4, hexists: 1, hincrby: 2, hlen: 1, hmget: 1, zrem: 1 })
  expect((await namesOf(queue)).map((name) => name.slice(name.indexOf('}:') + 2))).toEqual(['order'])
})

it('P18: keys with something in every state leave nothing when it is gone', async () => {
  const queue = freshQueue()
  const [store] = (await handles(1, queue)) as [Store]
  await store.put([...flood('a', 5), ...flood('b', 1), keyed('late', 'c', { when: { delayMs: 3_600_000 } })])
  await store.control(perKey({ concurrency: 1 }))
  const [one, other] = await claimDue(store)
  if (one === undefined || other === undefined) throw new Error('both keys have a turn')
  await settle(store, [retry(one, 3_600_000), { ...other, kind: 'dead', reason: 'enough', error: '' }])
  await store.remove(
    [...flood('a', 5), keyed('late', 'c')].map(({ id }) => id),
    'waiting',
  )
  await store.remove(
    flood('b', 1).map(({ id }) => id),
    'dead',
  )
  await store.remove(
    flood('a', 5).map(({ id }) => id),
    'dead',
  )
  expect((await takeCensus(store)).total).toBe(1 - (other.key === 'b' || one.key === 'b' ? 1 : 0))
  await store.control(perKey(undefined))
  await claim(store, {})
  expect(await leftOfKeys(queue)).toEqual([])
})

it('P18: what is blocked behind one key costs a claim nothing, whether it is little or much', async () => {
  const costs = []
  for (const count of [10, 5_000]) {
    const [store] = (await handles(1, freshQueue())) as [Store]
    await store.control(perKey({ concurrency: 1 }))
    const all = flood('busy', count)
    for (let at = 0; at < count; at += 1_000) await store.put(all.slice(at, at + 1_000))
    expect(await claimDue(store)).toHaveLength(1)
    costs.push(await commandsOf(() => claim(store, {})))
  }
  expect(costs[1]).toEqual(costs[0])
})

it('P16: a flood with priority and messages without a key keep their places beside keys', async () => {
  let now = Date.UTC(2030, 0, 1)
  const store = storeAt(server.url, freshQueue(), { now: () => now })
  opened.push(store)
  await store.open()
  await store.put(Array.from({ length: 5 }, (_, i) => message(`plain-${i}`, { when: { delayMs: 2 * i } })))
  await store.put(
    Array.from({ length: 5 }, (_, i) => keyed(`keyed-${i}`, `k${i}`, { when: { delayMs: 2 * i + 1 } })),
  )
  now += 20
  const ids: string[] = []
  for (let i = 0; i < 5; i += 1) ids.push(...idsOf(await claimDue(store, 2)))
  expect(ids).toEqual([0, 1, 2, 3, 4].flatMap((i) => [`plain-${i}`, `keyed-${i}`]))
})

describe('a queue with keys', () => {
  it('has a mark from its first message with a key on, for which versions that know no keys refuse to open it', async () => {
    const queue = freshQueue()
    const mark = `punctual:3:{${queue}}:payload`
    const [store] = (await handles(1, queue)) as [Store]
    await store.put([message('a')])
    expect(await client.type(mark)).toBe('none')
    await store.put([keyed('b', 'k')])
    expect(await client.type(mark), 'they ask whether anything is there').not.toBe('none')
    const [again] = (await handles(1, queue)) as [Store]
    expect(await claimDue(again)).toHaveLength(2)
  })

  it('is marked by a limit of keys, too', async () => {
    const queue = freshQueue()
    const [store] = (await handles(1, queue)) as [Store]
    await store.control(perKey({ concurrency: 1 }))
    expect(await client.type(`punctual:3:{${queue}}:payload`)).not.toBe('none')
  })

  it('is refused where the mark is one of a newer version', async () => {
    const queue = freshQueue()
    await client.set(`punctual:3:{${queue}}:payload`, 'keys and more')
    await expect(handles(1, queue)).rejects.toMatchObject({ code: 'STORE_TOO_NEW' })
    await client.set(`punctual:3:{${queue}-2}:payload`, 'keys')
    await handles(1, `${queue}-2`)
  })
})

describe('the doctor', () => {
  it('says when the lines of keys were changed', async () => {
    const queue = freshQueue()
    const [store] = (await handles(1, queue)) as [Store]
    await store.put(flood('k', 3))
    const problems = async (): Promise<string[]> =>
      (await store.doctor())
        .filter(({ what }) => what.startsWith('keys of this queue'))
        .map(({ what }) => what)
    expect(await problems()).toEqual([])
    await client.zRem(`punctual:2:{${queue}}:turns:${TOPIC}:1`, 'k')
    expect(await problems()).toEqual([expect.stringContaining('1 key waits without a turn')])
    await client.zRemRangeByRank(`punctual:2:{${queue}}:line:${TOPIC}\vk:1`, 0, 0)
    expect(await problems()).toContainEqual(
      expect.stringContaining('2 messages of keys wait in lines that list 3'),
    )
  })
})
