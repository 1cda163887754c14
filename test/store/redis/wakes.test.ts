/** The smart notification: who is woken, and above all who is not. Counted by a subscriber of the test's own. */
import { createClient } from 'redis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { wakeChannel } from '../../../src/store/redis/scripts/keys.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import {
  ack,
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
  /** How many wake-ups the body caused. */
  readonly wakes: (body: () => Promise<unknown>) => Promise<number>
}

async function withStore(body: (subject: Subject) => Promise<void>): Promise<void> {
  const queue = freshQueue()
  let now = 1000
  let heard = 0
  let marks = 0
  const store = storeAt(server.url, queue, { now: () => now })
  await store.open()
  const client = await createClient({ url: server.url }).connect()
  const subscriber = await client.duplicate().connect()
  await subscriber.subscribe(wakeChannel(queue), (text) => (text === 'mark' ? (marks += 1) : (heard += 1)))
  // Channels keep the order: when the mark has come, everything before it has.
  const fence = async (): Promise<void> => {
    const mark = marks
    await client.publish(wakeChannel(queue), 'mark')
    await until('the mark came', () => marks > mark)
  }
  const wakes = async (cause: () => Promise<unknown>): Promise<number> => {
    await fence()
    const before = heard
    await cause()
    await fence()
    return heard - before
  }
  try {
    await body({ store, at: (moment) => (now = moment), wakes })
  } finally {
    await store.close()
    client.destroy()
    subscriber.destroy()
  }
}

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
    // One for the first message of an empty queue, one when its line began.
    expect(await wakes(produce)).toBe(2)
  }))

test('P9: and behind such a line a message of another topic still wakes', () =>
  withStore(async ({ store, wakes, at }) => {
    await store.put([message('a')])
    await claimDue(store, 10, ['other'])
    at(2000)
    await store.put([message('b')])
    expect(await wakes(() => store.put([message('x', { topic: 'other' })]))).toBe(1)
  }))

test('P9: a claim that starts a line wakes those who may want it, but not its own process', () =>
  withStore(async ({ store, wakes }) => {
    let own = 0
    store.onWake(() => (own += 1))
    await until('the subscription stands', () => own > 0)
    await store.put([message('a'), message('b')])
    await until('the put was heard', () => own > 1)
    const before = own
    expect(await wakes(() => claimDue(store, 10, ['other']))).toBe(1)
    expect(await wakes(() => claimDue(store, 10, ['other']))).toBe(0)
    // The four marks around them, and nothing of the claims.
    await until('the marks came here too', () => own >= before + 4)
    expect(own).toBe(before + 4)
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
