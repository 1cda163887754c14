/** The watch: of many workers that sleep, who is told of a topic's head, who is woken for it, and when the others look. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { TOPIC, ack, claim, release } from '../../../src/testing/conformance/stand.ts'
import { FALLBACK_MS, Herd, Sleeper, heardBy, inMs } from './herd.ts'
import { RedisServer } from './server.ts'
import { until } from './until.ts'

const MINUTE_MS = 60_000

/** As `inMs`, of the lowest priority. */
const lowInMs = (id: string, delayMs: number, topic: string) => ({
  ...inMs(id, delayMs, topic),
  priority: 2 as const,
})

let server: RedisServer
beforeAll(async () => {
  server = await RedisServer.start()
})
afterAll(() => server?.stop())

async function subscriptionsOf(queue: string): Promise<number> {
  const clients = String(await server.admin(['CLIENT', 'LIST', 'TYPE', 'pubsub']))
  return clients.split(`${queue}:wakeups`).length - 1
}

test('P9: two of many sleepers are told of the head, and woken for a new one', async () => {
  const herd = new Herd(server)
  const all = await herd.sleepers(5)
  const producer = herd.open()
  // Nobody knows who wants the topic: all are woken.
  expect(await heardBy(herd, all, () => producer.put([inMs('a', 9_000)]))).toHaveLength(5)
  const told = []
  for (const sleeper of all) told.push(await sleeper.told())
  expect(told).toEqual([9_000, 9_000, undefined, undefined, undefined])
  expect(await heardBy(herd, all, () => producer.put([inMs('b', 8_000)]))).toEqual(['worker1', 'worker2'])
  expect(await heardBy(herd, all, () => producer.put([inMs('c', 8_500)]))).toEqual([])
})

test('P9: they stay so when the topic has been empty', async () => {
  const herd = new Herd(server)
  const all = await herd.sleepers(4)
  const [first] = all
  await first?.store.put([inMs('a', 0)])
  for (const { store, owner } of all) {
    const { leases } = await new Sleeper(store, owner).claim()
    await store.settle(leases.map(ack))
  }
  await all[2]?.claim()
  expect(await heardBy(herd, all, () => herd.open().put([inMs('b', 0)]))).toEqual(['worker1', 'worker2'])
})

test('P9: a watcher whose connection is gone is passed over: the next in line hears', async () => {
  const herd = new Herd(server)
  const all = await herd.sleepers(4)
  const producer = herd.open()
  await producer.put([inMs('a', 9_000)])
  for (const sleeper of all) await sleeper.claim()
  const [first, ...others] = all
  await first?.store.close()
  await until('the server noticed', async () => (await subscriptionsOf(herd.queue)) === others.length)
  expect(await heardBy(herd, others, () => producer.put([inMs('b', 3_000)]))).toEqual(['worker2', 'worker3'])
})

test('P9: who looks takes the place of watchers that are dead', async () => {
  const herd = new Herd(server)
  const [first, second, third] = await herd.sleepers(3)
  await herd.open().put([inMs('a', 9_000)])
  for (const sleeper of [first, second]) await sleeper?.claim()
  expect(await third?.told()).toBeUndefined()
  await Promise.all([first?.store.close(), second?.store.close()])
  await until('the third is told', async () => (await third?.told()) === 9_000)
})

test('P9: who finds what watchers left lying takes their place, though they are connected', async () => {
  const herd = new Herd(server)
  const [first, second, third] = await herd.sleepers(3)
  await herd.open().put([inMs('a', 100), inMs('b', 9_000)])
  for (const sleeper of [first, second, third]) await sleeper?.claim()
  herd.now += 1_000 // The first two stand still.
  const reply = await third?.claim()
  expect(reply?.leases.map(({ id }) => id)).toEqual(['a'])
  expect(reply?.next).toMatchObject({ state: 'WAITING' })
})

test('P9: watchers that are late for their own look are not counted on', async () => {
  const herd = new Herd(server)
  const [first, second, third] = await herd.sleepers(3)
  await herd.open().put([inMs('a', 90_000)])
  for (const sleeper of [first, second, third]) await sleeper?.claim()
  herd.now += FALLBACK_MS + 500
  expect(await third?.told()).toBeUndefined()
  herd.now += 1_000
  expect(await third?.told()).toBe(90_000 - FALLBACK_MS - 1_500)
})

test('P12: a watcher without room leaves, and the next one is woken in its place', async () => {
  const herd = new Herd(server)
  const all = await herd.sleepers(4)
  const [first] = all
  await herd.open().put([inMs('a', 100), inMs('b', 9_000)])
  for (const sleeper of all) await sleeper.claim()
  herd.now += 100
  expect(await heardBy(herd, all, async () => first?.claim({ limit: 1 }))).toEqual(['worker3'])
  expect(await all[2]?.told()).toBe(8_900)
  expect(await first?.told()).toBeUndefined()
})

test('P12: a watcher that is behind calls one more to help, each time another', async () => {
  const herd = new Herd(server)
  const all = await herd.sleepers(5)
  const [first] = all
  await herd.open().put([inMs('a', 100), inMs('b', 1_100), inMs('c', 9_000)])
  for (const sleeper of all) await sleeper.claim()
  herd.now += 1_000
  expect(await heardBy(herd, all, async () => first?.claim())).toEqual(['worker3'])
  herd.now += 1_000
  expect(await heardBy(herd, all, async () => first?.claim())).toEqual(['worker4'])
  expect(await first?.told()).toBe(7_000)
})

test('P12: a helper whose connection is gone leaves the list', async () => {
  const herd = new Herd(server)
  const all = await herd.sleepers(4)
  const [first, second, third, fourth] = all
  await herd.open().put([inMs('a', 100), inMs('b', 1_100), inMs('c', 2_100), inMs('d', 9_000)])
  for (const sleeper of all) await sleeper.claim()
  await third?.store.close()
  await until('the server noticed', async () => (await subscriptionsOf(herd.queue)) === 3)
  const alive = [first, second, fourth].filter((sleeper) => sleeper !== undefined)
  // It is called first, and does not hear it; from then on the other one is.
  for (const heard of [[], ['worker4'], ['worker4']]) {
    herd.now += 1_000
    expect(await heardBy(herd, alive, async () => first?.claim())).toEqual(heard)
  }
})

test('P9: a watcher that keeps its looks stays one', async () => {
  const herd = new Herd(server)
  const [first, second, third] = await herd.sleepers(3)
  await herd.open().put([inMs('a', 90_000)])
  for (const sleeper of [first, second, third]) await sleeper?.claim()
  for (let times = 0; times < 3; times += 1) {
    herd.now += FALLBACK_MS
    for (const sleeper of [first, second]) expect(await sleeper?.told()).toBe(1_090_000 - herd.now)
  }
  herd.now += 500
  expect(await third?.told()).toBeUndefined()
})

test('P12: who asks often stands in the list once', async () => {
  const herd = new Herd(server)
  const all = await herd.sleepers(4)
  const [first, , third, fourth] = all
  await herd.open().put([inMs('a', 9_000)])
  for (const sleeper of all.slice(0, 3)) await sleeper.claim()
  for (let times = 0; times < 20; times += 1) await third?.claim()
  await fourth?.claim()
  const busy = { topics: [], limit: 0, busy: [TOPIC] }
  expect(await heardBy(herd, all, async () => third?.claim(busy))).toEqual([])
  expect(await heardBy(herd, all, async () => first?.claim(busy))).toEqual(['worker4'])
})

test('P9: a sleeper that wants many topics is told of the first, and woken for a new one', async () => {
  const herd = new Herd(server)
  const all = await herd.sleepers(3)
  const topics = Array.from({ length: 60 }, (_, i) => `t${i}`)
  await herd.open().put([inMs('1', 9_000, 't7'), lowInMs('2', 8_000, 't50')])
  const told = []
  for (const sleeper of all) told.push(await sleeper.told({ topics }))
  expect(told).toEqual([8_000, 8_000, undefined])
  expect(await heardBy(herd, all, () => herd.open().put([lowInMs('3', 5_000, 't50')]))).toEqual([
    'worker1',
    'worker2',
  ])
})

test('P9: a watcher that is told to ask again at once is counted on meanwhile', async () => {
  const herd = new Herd(server)
  const [first, second, third] = await herd.sleepers(3)
  await herd.open().put([inMs('1', 0, 'a'), inMs('2', 0, 'a'), inMs('3', 9_000, 'b')])
  const busyWith = async (sleeper: Sleeper | undefined) => {
    const wants = [
      { topic: 'a', limit: 0 },
      { topic: 'b', limit: 10 },
    ]
    const { store = herd.open(), owner = '' } = sleeper ?? {}
    return claim(store, { owner, wants, limit: 10, sleeper: { fallbackMs: FALLBACK_MS, busy: [] } })
  }
  for (const sleeper of [first, second]) expect((await busyWith(sleeper)).next).toEqual({ state: 'EXPIRED' })
  expect(await third?.told({ topics: ['b'] })).toBeUndefined()
})

test('P12: one that has room left is still counted on', async () => {
  const herd = new Herd(server)
  const all = await herd.sleepers(3)
  await herd.open().put([inMs('a', 100), inMs('b', 9_000)])
  for (const sleeper of all) await sleeper.claim()
  herd.now += 100
  expect(await heardBy(herd, all, async () => all[0]?.claim({ limit: 10 }))).toEqual([])
  expect(await all[0]?.told()).toBe(8_900)
})

test('P12: a worker that says it can take none of a topic is not counted on for it', async () => {
  const herd = new Herd(server)
  const all = await herd.sleepers(3)
  const topics = ['a', 'b']
  await herd.open().put([inMs('1', 9_000, 'a'), inMs('2', 9_500, 'b')])
  for (const sleeper of all) await sleeper.claim({ topics })
  expect(await heardBy(herd, all, async () => all[0]?.claim({ topics: ['b'], busy: ['a'] }))).toEqual([
    'worker3',
  ])
  expect(await all[2]?.told({ topics })).toBe(9_000)
  expect(await all[0]?.told({ topics: ['b'] })).toBe(9_500)
  // Nothing at all.
  expect(await heardBy(herd, all, async () => all[0]?.claim({ topics: [], limit: 0, busy: topics }))).toEqual(
    ['worker3'],
  )
})

test.each([0, 500])('P12: when all have left, everybody is woken once, %i ms late', async (lateMs) => {
  const herd = new Herd(server)
  const all = await herd.sleepers(2)
  await herd.open().put(Array.from({ length: 9 }, (_, i) => inMs(`m${i}`, 100)))
  for (const sleeper of all) await sleeper.claim()
  herd.now += 100 + lateMs
  const take = (place: number) => async () => all[place]?.claim({ limit: 1 })
  expect(await heardBy(herd, all, take(0))).toEqual([])
  expect(await heardBy(herd, all, take(1))).toEqual(['worker1', 'worker2'])
  expect(await heardBy(herd, all, take(0))).toEqual([])
})

test('P9: a message that comes late wakes those who watch, and they stay so', async () => {
  const herd = new Herd(server)
  const all = await herd.sleepers(4)
  await herd.open().put([inMs('a', 9_000)])
  for (const sleeper of all) await sleeper.claim()
  for (const lateMs of [1_000, 2_000, 3_000]) {
    const late = { ...inMs(`late by ${lateMs}`, 0), when: { at: herd.now - lateMs } }
    expect(await heardBy(herd, all, () => herd.open().put([late]))).toEqual(['worker1', 'worker2'])
  }
})

test('P9: a batch of several topics wakes a worker that watches them once', async () => {
  const herd = new Herd(server)
  const [worker] = await herd.sleepers(1)
  if (worker === undefined) throw new Error('one came')
  const topics = ['a', 'b']
  await herd.open().put([inMs('1', 9_000, 'a'), inMs('2', 9_000, 'b')])
  await worker.claim({ topics })
  let woken = 0
  await heardBy(herd, [worker], async () => {
    woken = -worker.wakes
    await herd.open().put([inMs('3', 1_000, 'a'), inMs('4', 1_000, 'b')])
  })
  woken += worker.wakes
  expect(woken).toBe(1)
})

test('P9: workers of other topics watch their own', async () => {
  const herd = new Herd(server)
  const all = await herd.sleepers(5)
  const [one, two, both, other] = all
  await herd.open().put([inMs('1', 9_000, 'a'), inMs('2', 5_000, 'b')])
  expect(await one?.told({ topics: ['a'] })).toBe(9_000)
  expect(await two?.told({ topics: ['a'] })).toBe(9_000)
  expect(await both?.told({ topics: ['a', 'b'] })).toBe(5_000)
  expect(await other?.told({ topics: ['b'] })).toBe(5_000)
  const put = (id: string, topic: string) => () => herd.open().put([inMs(id, 1_000, topic)])
  expect(await heardBy(herd, all, put('3', 'b'))).toEqual(['worker3', 'worker4'])
  expect(await heardBy(herd, all, put('4', 'a'))).toEqual(['worker1', 'worker2'])
})

test('P9: who gives back is not woken for it, and another watcher is', async () => {
  const herd = new Herd(server)
  const all = await herd.sleepers(3)
  const [first] = all
  await herd.open().put([inMs('a', 0), inMs('b', 9_000)])
  const leases = (await first?.claim())?.leases ?? []
  for (const sleeper of all.slice(1)) await sleeper.claim()
  expect(await heardBy(herd, all, async () => first?.store.settle(leases.map(release)))).toEqual([
    'worker2',
    'worker3',
  ])
})

test('P9: of many idle workers each looks within a minute, and some within every fallback interval', async () => {
  const herd = new Herd(server)
  // The looks are counted by what each store is told.
  const workers = await herd.sleepers(30)
  const looksAt = new Map<Sleeper, number>()
  const looks: number[] = []
  for (const worker of workers) looksAt.set(worker, herd.now + ((await worker.claim()).lookMs ?? 0))
  const end = herd.now + 3 * MINUTE_MS
  for (;;) {
    const [next, at] = [...looksAt].reduce((a, b) => (a[1] <= b[1] ? a : b))
    if (at > end) break
    herd.now = at
    looks.push(at)
    const { lookMs = Infinity } = await next.claim()
    expect(lookMs).toBeLessThanOrEqual(MINUTE_MS)
    expect(lookMs).toBeGreaterThanOrEqual(FALLBACK_MS - 1)
    looksAt.set(next, at + lookMs)
  }
  const gaps = looks.slice(1).map((at, i) => at - (looks[i] ?? 0))
  expect(Math.max(...gaps)).toBeLessThanOrEqual(FALLBACK_MS)
  // On their own they would look 36 times each.
  expect(looks.length).toBeLessThan(300)
})

test('P9: looks of workers that are gone are not counted on', async () => {
  const herd = new Herd(server)
  const workers = await herd.sleepers(7)
  for (const worker of workers) await worker.claim()
  const [killed, alive] = [workers.slice(0, 4), workers.slice(4)]
  const channels = async () =>
    (await server.admin(['PUBSUB', 'CHANNELS', `*${herd.queue}*:wakeups:*`])) as string[]
  expect(await channels()).toHaveLength(workers.length)
  for (const { store } of killed) await store.close()
  await until('they hear no more', async () => (await channels()).length === alive.length)
  // The time of their looks, and a little later.
  herd.now += FALLBACK_MS + 750
  for (const worker of alive) expect((await worker.claim()).lookMs).toBeLessThanOrEqual(FALLBACK_MS)
})

test('P9: who is woken before its look keeps it, so that looks stay spread', async () => {
  const herd = new Herd(server)
  const workers = await herd.sleepers(8)
  for (const worker of workers) await worker.claim()
  const last = workers.at(-1)
  const before = (await last?.claim())?.lookMs ?? 0
  expect(before).toBeGreaterThan(FALLBACK_MS)
  herd.now += 1_000
  expect((await last?.claim())?.lookMs).toBe(before - 1_000)
})

test('P9: the clock of the store is set back: enough workers look within the fallback again', async () => {
  const herd = new Herd(server)
  const workers = await herd.sleepers(8)
  for (const worker of workers) await worker.claim()
  herd.now -= 20_000
  const looks: number[] = []
  for (const worker of workers) looks.push((await worker.claim()).lookMs ?? Infinity)
  expect(looks.filter((lookMs) => lookMs <= FALLBACK_MS)).toHaveLength(4)
})

test('P6: who looks within the fallback is told when a lease of another ends, all when it has', async () => {
  const herd = new Herd(server)
  const workers = await herd.sleepers(8)
  for (const worker of workers) await worker.claim()
  const [holder, near] = workers
  const far = workers.at(-1)
  await herd.open().put([inMs('a', 0)])
  const { leases } = await claim(holder?.store ?? herd.open(), { owner: 'worker1', leaseMs: 4_000 })
  expect(leases).toHaveLength(1)
  expect((await holder?.claim())?.lapseMs).toBe(Infinity)
  expect((await near?.claim())?.lapseMs).toBe(4_000)
  expect((await far?.claim())?.lapseMs).toBe(Infinity)
  herd.now += 4_000
  expect((await far?.claim())?.lapseMs).toBe(0)
})

test('a server that is full still lets workers sleep', async () => {
  const herd = new Herd(server)
  const [worker] = await herd.sleepers(1)
  await herd.open().put([inMs('a', 9_000)])
  await server.admin(['CONFIG', 'SET', 'maxmemory', '1'])
  onTestFinished(() => void server.admin(['CONFIG', 'SET', 'maxmemory', '0']))
  expect(await worker?.told()).toBe(9_000)
  await server.admin(['CONFIG', 'SET', 'maxmemory', '0'])
})

test('the looks at a set of topics go with the last of those who want it', async () => {
  const herd = new Herd(server)
  const workers = await herd.sleepers(8)
  for (const worker of workers) await worker.claim({ topics: ['a', 'b'] })
  const [key = ''] = (await server.admin(['KEYS', `*${herd.queue}}:looks:*`])) as string[]
  // -1 would be for ever; on a machine that stood still they may be gone already.
  const leftMs = Number(await server.admin(['PTTL', key]))
  expect(leftMs).not.toBe(-1)
  expect(leftMs).toBeLessThan(2 * FALLBACK_MS)
})

test('the looks at a set of topics stay until the last of them is over', async () => {
  const herd = new Herd(server)
  const [worker] = await herd.sleepers(1)
  // In the server's own time: on a machine that stood still meanwhile, the next look tells.
  await until('they stay longer than the fallback', async () => {
    const [seconds, micros] = ((await server.admin(['TIME'])) as string[]).map(Number)
    herd.now += FALLBACK_MS
    await worker?.claim({ topics: ['a', 'b'] })
    const [key = ''] = (await server.admin(['KEYS', `*${herd.queue}}:looks:*`])) as string[]
    const begunAt = (seconds ?? 0) * 1_000 + (micros ?? 0) / 1_000
    return Number(await server.admin(['PEXPIRETIME', key])) >= begunAt + FALLBACK_MS
  })
})

test('who has no room for more leaves nothing behind at a topic that is empty', async () => {
  const herd = new Herd(server)
  const [worker] = await herd.sleepers(1)
  await herd.open().put([inMs('a', 100)])
  expect(await worker?.told()).toBe(100)
  herd.now += 100
  expect((await worker?.claim({ limit: 1 }))?.leases).toHaveLength(1)
  expect(String(await server.admin(['KEYS', `*${herd.queue}}*`]))).not.toContain(':watch')
})

test('nothing is written for topics without a message, and nothing is left when workers leave', async () => {
  const herd = new Herd(server)
  const [worker] = await herd.sleepers(1)
  const keys = async () => String(await server.admin(['KEYS', `*${herd.queue}}*`]))
  await worker?.claim({ topics: ['a', 'b', 'c'] })
  expect(await keys()).not.toContain(':watch')
  await herd.open().put([inMs('1', 0, 'a')])
  const leases = (await worker?.claim({ topics: ['a', 'b', 'c'] }))?.leases ?? []
  expect(await keys()).toContain(':watch')
  await worker?.store.settle(leases.map(ack))
  await worker?.claim({ topics: [], limit: 0, busy: ['a', 'b', 'c'] })
  await worker?.store.leave('worker1')
  expect(await keys()).not.toMatch(/:watch|:looks/)
})
