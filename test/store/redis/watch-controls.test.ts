/** The watch of topics that are paused or have a limit: what is told, who is woken, who steps in. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { limit, pause, rate, resume } from '../../../src/testing/conformance/control-stand.ts'
import { TOPIC, ack, release } from '../../../src/testing/conformance/stand.ts'
import { Herd, heardBy, inMs, type Sleeper } from './herd.ts'
import { RedisServer } from './server.ts'

let server: RedisServer
beforeAll(async () => {
  server = await RedisServer.start()
})
afterAll(() => server?.stop())

const ALL = ['worker1', 'worker2', 'worker3', 'worker4']

async function toldTo(sleepers: readonly Sleeper[]): Promise<readonly (number | undefined)[]> {
  const told = []
  for (const sleeper of sleepers) told.push(await sleeper.told())
  return told
}

/** Four sleepers, of which the first two watch; `b` and those after it are due when `a` has been taken. */
async function atConcurrencyOne(): Promise<{ herd: Herd; all: readonly Sleeper[]; holder: Sleeper }> {
  const herd = new Herd(server)
  const [holder, ...all] = await herd.sleepers(5)
  if (holder === undefined) throw new Error('five came')
  await holder.store.put(['a', 'b', 'c'].map((id) => inMs(id, 0)))
  await holder.store.control(limit({ concurrency: 1 }))
  return { herd, all, holder }
}

test('P14: nobody sleeps for the head of a paused topic; a pause and a resume reach everybody', async () => {
  const herd = new Herd(server)
  const all = await herd.sleepers(4)
  const { store } = all[0] ?? {}
  await store?.put([inMs('a', 9_000)])
  expect(await toldTo(all)).toEqual([9_000, 9_000, undefined, undefined])
  expect(await heardBy(herd, all, async () => store?.control(pause()))).toEqual(ALL)
  expect(await toldTo(all)).toEqual([undefined, undefined, undefined, undefined])
  expect(await heardBy(herd, all, async () => store?.control(resume()))).toEqual(ALL)
  expect(await toldTo(all)).toEqual([9_000, 9_000, undefined, undefined])
})

test('P14: who leaves a paused topic wakes nobody for it', async () => {
  const herd = new Herd(server)
  const all = await herd.sleepers(4)
  await all[0]?.store.put([inMs('a', 9_000)])
  await toldTo(all)
  await all[0]?.store.control(pause())
  const leave = async () => all[0]?.claim({ topics: ['b'], busy: [TOPIC] })
  expect(await heardBy(herd, all, leave)).toEqual([])
  await all[0]?.store.control(resume())
  const leaveToo = async () => all[1]?.claim({ topics: ['b'], busy: [TOPIC] })
  expect(await heardBy(herd, all, leaveToo)).toEqual(['worker4'])
})

test('P14: two are told when a timed pause ends', async () => {
  const herd = new Herd(server)
  const all = await herd.sleepers(4)
  await all[0]?.store.put([inMs('a', 0)])
  await all[0]?.store.control({ kind: 'pause', topic: TOPIC, until: { delayMs: 3_000 } })
  expect(await toldTo(all)).toEqual([3_000, 3_000, undefined, undefined])
  const { next } = (await all[0]?.claim()) ?? {}
  expect(next).toMatchObject({ state: 'WAITING', isSharp: true })
})

test('P14: two are told when a rate allows the next, and an overdue backlog takes no watcher out', async () => {
  const herd = new Herd(server)
  const all = await herd.sleepers(4)
  const { store } = all[0] ?? {}
  await store?.put(['a', 'b', 'c', 'd', 'e'].map((id) => inMs(id, 0)))
  await store?.control(limit(rate(1_000)))
  expect((await all[0]?.claim())?.leases.map(({ id }) => id)).toEqual(['a'])
  const told = await toldTo(all)
  expect(told[0]).toBeGreaterThan(400)
  expect(told).toEqual([told[0], told[0], undefined, undefined])
  herd.now += 1_000
  const late = (await all[3]?.claim()) ?? { leases: [] }
  expect(late).toMatchObject({ leases: [{ id: 'b' }], next: { state: 'NO_TASK' }, limited: [TOPIC] })
  const again = await toldTo(all)
  expect(again).toEqual([again[0], again[0], undefined, undefined])
  expect(again[0]).toBeGreaterThan(400)
})

test('P14: nobody waits at the limit of concurrency, and a settlement there wakes those who watch', async () => {
  const { herd, all, holder } = await atConcurrencyOne()
  for (const sleeper of all) await sleeper.claim({ limit: 10 })
  const { leases } = await holder.claim()
  // The first of them took it; nobody is told anything while it runs.
  expect(leases).toEqual([])
  const [first] = all
  const held = await first?.store.owned(first.owner)
  expect(held?.leases.map(({ id }) => id)).toEqual(['a'])
  expect(await toldTo(all)).toEqual([undefined, undefined, undefined, undefined])
  const settle = async () => first?.store.settle((held?.leases ?? []).map(ack))
  expect(await heardBy(herd, [holder, ...all], settle)).toEqual(['worker2', 'worker3'])
  expect((await all[1]?.claim())?.leases.map(({ id }) => id)).toEqual(['b'])
})

test('P14: what is given back at the limit wakes a watcher that is not its giver', async () => {
  const { herd, all } = await atConcurrencyOne()
  for (const sleeper of all) await sleeper.claim()
  const [first] = all
  const held = (await first?.store.owned(first.owner))?.leases ?? []
  const settle = async () => first?.store.settle(held.map(release))
  expect(await heardBy(herd, all, settle)).toEqual(['worker3', 'worker4'])
})

test('P14: who can start no more of a limited topic leaves, and the next one is woken and told', async () => {
  const herd = new Herd(server)
  const all = await herd.sleepers(4)
  const { store } = all[0] ?? {}
  await store?.put([inMs('a', 100), inMs('b', 100), inMs('c', 9_000)])
  await store?.control(limit({ concurrency: 5 }))
  expect(await toldTo(all)).toEqual([100, 100, undefined, undefined])
  herd.now += 100
  // Ten would fit into its memory; one can start.
  const take = async () => all[0]?.claim({ limit: 10, free: 1 })
  expect(await heardBy(herd, all, take)).toEqual(['worker3'])
  expect((await all[2]?.claim())?.leases.map(({ id }) => id)).toEqual(['b'])
  expect(await all[0]?.told({ limit: 10, free: 0 })).toBeUndefined()
})
