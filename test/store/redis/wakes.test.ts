/** The smart notification: who is woken, and above all who is not. Counted by a subscriber of the test's own. */
import { createClient } from 'redis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { QueueKeys, tagOf } from '../../../src/store/redis/scripts/keys.ts'
import { WantedTopics } from '../../../src/store/shared/wanted-topics.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import {
  ack,
  claim,
  claimDue,
  claimOne,
  dead,
  message,
  release,
  retry,
} from '../../../src/testing/conformance/stand.ts'
import { RedisServer } from './server.ts'
import { freshQueue, storeAt } from './stores.ts'
import { until } from './until.ts'

let server: RedisServer
beforeAll(async () => {
  server = await RedisServer.start()
})
afterAll(() => server?.stop())

type Subject = {
  readonly store: Store
  readonly at: (now: number) => void
  /** What the wake-ups said that the body caused: who need not hear it, and the topics. */
  readonly said: (body: () => Promise<unknown>) => Promise<string[]>
  /** How many they were. */
  readonly wakes: (body: () => Promise<unknown>) => Promise<number>
  /** How often a listener of the store's own was called; `owner` is whose. */
  readonly hears: (owner: string, body: () => Promise<unknown>) => Promise<number>
}

async function withStore(body: (subject: Subject) => Promise<void>): Promise<void> {
  const queue = freshQueue()
  const { channel } = new QueueKeys(tagOf(queue))
  let now = 1000
  const heard: string[] = []
  let marks = 0
  const store = storeAt(server.url, queue, { now: () => now })
  await store.open()
  const client = await createClient({ url: server.url }).connect()
  const subscriber = await client.duplicate().connect()
  await subscriber.subscribe(channel, (text) => (text === MARK ? (marks += 1) : heard.push(text)))
  // Channels keep the order: when the mark has come, everything before it has.
  const fence = async (): Promise<void> => {
    const mark = marks
    await client.publish(channel, MARK)
    await until('the mark came', () => marks > mark)
  }
  const said: Subject['said'] = async (cause) => {
    await fence()
    const before = heard.length
    await cause()
    await fence()
    return heard.slice(before)
  }
  const hears: Subject['hears'] = async (owner, cause) => {
    const sentinel = { owner: 'sentinel', topics: ['sentinel'] }
    await claim(store, sentinel)
    let [calls, last] = [0, 0]
    const ends = [store.onWake(() => (calls += 1), owner), store.onWake(() => (last += 1), sentinel.owner)]
    // Only the sentinel is concerned by it: when it was heard, everything before it was.
    const heardAll = async (): Promise<void> => {
      const before = last
      await until('the sentinel was woken', async () => {
        await client.publish(channel, '\nsentinel')
        return last > before
      })
    }
    await heardAll()
    const before = calls
    await cause()
    await heardAll()
    for (const end of ends) end()
    return calls - before
  }
  const wakes: Subject['wakes'] = async (cause) => (await said(cause)).length
  try {
    await body({ store, at: (moment) => (now = moment), said, wakes, hears })
  } finally {
    await store.close()
    client.destroy()
    subscriber.destroy()
  }
}

const MARK = 'mark'
const manyTopics = (count: number) =>
  Array.from({ length: count }, (_, i) => message(`${count}-${i}`, { topic: `t${count}-${i}` }))
const later = (id: string, delayMs: number) => message(id, { when: { delayMs } })

test('P9: a batch wakes once, however many of it are new heads', () =>
  withStore(async ({ store, wakes }) => {
    const batch = Array.from({ length: 500 }, (_, i) => later(`m${i}`, 10_000 - i))
    expect(await wakes(() => store.put(batch))).toBe(1)
  }))

test('P9: what comes after the head wakes nobody', () =>
  withStore(async ({ store, wakes }) => {
    await store.put([later('head', 1000)])
    expect(await wakes(() => store.put([later('a', 1000), later('b', 2000)]))).toBe(0)
    expect(await wakes(() => store.put([message('c', { priority: 0, when: { delayMs: 1500 } })]))).toBe(0)
  }))

test('P9: a duplicate wakes nobody', () =>
  withStore(async ({ store, wakes }) => {
    await store.put([later('a', 1000)])
    expect(await wakes(() => store.put([message('a')]))).toBe(0)
  }))

test('an overdue head that nobody takes causes no storm', () =>
  withStore(async ({ store, wakes, at }) => {
    await store.put([later('a', 1)])
    at(5000)
    const produce = async (): Promise<void> => {
      for (let i = 0; i < 50; i += 1) await store.put([message(`m${i}`)])
    }
    expect(await wakes(produce)).toBe(0)
  }))

test('a line that its workers do not work off causes no storm, though other workers come by', () =>
  withStore(async ({ store, wakes }) => {
    const produce = async (): Promise<void> => {
      for (let i = 0; i < 50; i += 1) {
        await store.put([message(`m${i}`)])
        await claimDue(store, 10, ['other'])
      }
    }
    expect(await wakes(produce)).toBe(1)
  }))

test('P9: and behind such a line a message of another topic still wakes', () =>
  withStore(async ({ store, said, at }) => {
    await store.put([message('a')])
    at(2000)
    await store.put([message('b')])
    expect(await said(() => store.put([message('x', { topic: 'other' })]))).toEqual(['\nother'])
  }))

test('P9: a wake-up names its topics, and all where they are many', () =>
  withStore(async ({ store, said }) => {
    expect(await said(() => store.put(manyTopics(3)))).toEqual(['\nt3-0\nt3-1\nt3-2'])
    expect(await said(() => store.put(manyTopics(30)))).toEqual(['\n'])
  }))

test('P9: workers of other topics hear nothing of it', () =>
  withStore(async ({ store, hears }) => {
    await claimDue(store, 1, ['mine', 'mine too'])
    const put = (topic: string) => () => store.put([message(topic, { topic })])
    expect(await hears('test', put('others'))).toBe(0)
    expect(await hears('test', put('mine too'))).toBe(1)
  }))

test('P9: a worker that named no topic yet is concerned by all', () => {
  const wanted = new WantedTopics()
  const due = { kind: 'due' }
  expect(wanted.hear('a', '\nt')).toEqual(due)
  wanted.note('b', [{ topic: 'u', limit: 1 }])
  expect(wanted.hear('a', '\nt')).toEqual(due)
  expect(wanted.hear('b', '\nt')).toBeUndefined()
  expect(wanted.hear('b', '\nt\nu')).toEqual(due)
  expect(wanted.hear('b', '\n')).toEqual(due)
  expect(wanted.hear('b', 'b\nu')).toBeUndefined()
  expect(wanted.hear(undefined, 'b\nu')).toEqual(due)
  wanted.forget('b')
  expect(wanted.hear('b', '\nt')).toEqual(due)
})

test('P9: a wake-up of another kind names it, and concerns the workers of its topic', () => {
  const wanted = new WantedTopics()
  wanted.note('b', [{ topic: 'u', limit: 1 }])
  expect(wanted.hear('b', ' controls\nu')).toEqual({ kind: 'controls' })
  expect(wanted.hear('b', ' controls\n')).toEqual({ kind: 'controls' })
  expect(wanted.hear('b', ' controls\nt')).toBeUndefined()
})

test('P9: who gives a message back is not woken for it, and others are', () =>
  withStore(async ({ store, said, hears }) => {
    await store.put([message('a'), message('b'), message('c')])
    const [a, b, c] = await claimDue(store, 3)
    if (a === undefined || b === undefined || c === undefined) throw new Error('three were due')
    expect(await hears('test', () => store.settle([release(a)]))).toBe(0)
    await claim(store, { owner: 'other' })
    expect(await hears('other', () => store.settle([release(b)]))).toBe(1)
    await claimDue(store)
    expect(await said(() => store.settle([release(c)]))).toEqual(['test\norder.close'])
  }))

test('P9: all that one owner gives back at once does not wake it; what two give back wakes both', () =>
  withStore(async ({ store, said }) => {
    await store.put([message('a'), message('b')])
    const both = await claimDue(store, 2)
    expect(await said(() => store.settle(both.map(release)))).toEqual(['test\norder.close'])
    const own = await claimOne(store)
    const { leases } = await claim(store, { owner: 'other' })
    expect(await said(() => store.settle([own, ...leases].map(release)))).toEqual(['\norder.close'])
  }))

test('P9: with a retry in the same call the giver is woken too', () =>
  withStore(async ({ store, said }) => {
    await store.put([message('a'), message('b')])
    const [a, b] = await claimDue(store, 2)
    if (a === undefined || b === undefined) throw new Error('two were due')
    expect(await said(() => store.settle([release(a), retry(b, 0)]))).toEqual(['\norder.close'])
  }))

test('P9: retry, release, reschedule and revive wake where they lower the head, once per batch', () =>
  withStore(async ({ store, wakes, at }) => {
    await store.put([message('a'), message('b'), later('head', 5000)])
    const [a, b] = await claimDue(store, 2)
    if (a === undefined || b === undefined) throw new Error('two were due')
    expect(await wakes(() => store.settle([retry(a, 100), retry(b, 50)]))).toBe(1)
    expect(await wakes(() => store.reschedule([{ id: 'head', when: { delayMs: 10_000 } }]))).toBe(0)
    expect(await wakes(() => store.reschedule([{ id: 'head', when: { delayMs: 1 } }]))).toBe(1)
    at(1001)
    const head = await claimOne(store)
    expect(await wakes(() => store.settle([release(head)]))).toBe(1)
    await store.settle([dead(await claimOne(store))])
    expect(await wakes(() => store.revive(['head', 'nobody']))).toBe(1)
  }))

test('an acknowledgement wakes nobody', () =>
  withStore(async ({ store, wakes }) => {
    await store.put([message('a'), message('b')])
    const leases = await claimDue(store)
    expect(await wakes(() => store.settle(leases.map(ack)))).toBe(0)
  }))
