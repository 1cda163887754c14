/** Each script alone, on a real server, with the whole key space before and after. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as scripts from '../../../src/store/redis/scripts/generated.ts'
import type { Lease, Store } from '../../../src/store/contract/store.ts'
import {
  ack,
  claimDue,
  claimLapsed,
  claimOne,
  claimReply,
  dead,
  message,
  release,
  retry,
} from '../../../src/testing/conformance/stand.ts'
import { allKeys, dump, type Dump } from './dump.ts'
import { RedisServer } from './server.ts'
import { freshQueue, storeAt } from './stores.ts'

let server: RedisServer
beforeAll(async () => {
  server = await RedisServer.start()
})
afterAll(() => server?.stop())

type Subject = {
  readonly store: Store
  readonly look: () => Promise<Dump>
  readonly at: (now: number) => void
}

/** Opens a store on an empty server, at moment 1000. */
async function withStore(body: (subject: Subject) => Promise<void>): Promise<void> {
  await server.admin(['FLUSHALL'])
  const queue = freshQueue()
  let now = 1000
  const store = storeAt(server.url, queue, { now: () => now })
  await store.open()
  try {
    await body({ store, look: () => dump(server.url, queue), at: (moment) => (now = moment) })
  } finally {
    await store.close()
  }
}

const TOPIC = 'order.close'
const PAYLOAD_A = { a: '#1 of #2 1:{"id":"a"}' }
const WAITING_A = {
  sequence: { last: '2' },
  delay_tasks: { '#1 a': '1500' },
  payload: PAYLOAD_A,
  topics: { '#2': `1 waiting 0 running 0 dead ${TOPIC}` },
  topic_numbers: { [TOPIC]: '#2' },
}
const ONE_RUNS = { '#2': `0 waiting 1 running 0 dead ${TOPIC}` }

async function putA(store: Store): Promise<void> {
  await store.put([message('a', { when: { delayMs: 500 } })])
}

async function runA({ store, at }: Subject): Promise<Lease> {
  await putA(store)
  at(1500)
  return claimOne(store)
}

describe('every script', () => {
  test('compiles on the server, under the name that the client computed', async () => {
    for (const script of Object.values(scripts)) {
      await expect(server.admin(['SCRIPT', 'LOAD', script.source])).resolves.toBe(script.sha)
    }
  })

  test('is loaded again when the server forgot it', () =>
    withStore(async ({ store }) => {
      await putA(store)
      await server.admin(['SCRIPT', 'FLUSH'])
      await expect(store.put([message('a'), message('b')])).resolves.toEqual(['duplicate', 'stored'])
      await server.admin(['SCRIPT', 'FLUSH'])
      await expect(store.count()).resolves.toMatchObject({ states: { delayed: 1, ready: 1 } })
    }))

  test('touches no key but the twelve of its queue', () =>
    withStore(async (subject) => {
      const { store, at } = subject
      await store.settle([retry(await runA(subject), 10)])
      at(1600)
      await store.settle([dead(await claimOne(store))])
      await store.put([message('b', { topic: 'other' }), message('c'), message('d', { priority: 0 })])
      await claimDue(store, 10)
      for (const key of await allKeys(server.url)) expect(key).toMatch(/^punctual:\{test-[^}]+\}:/)
    }))
})

describe('put', () => {
  test('writes the body, the moment, and the topic with its count', () =>
    withStore(async ({ store, look }) => {
      await putA(store)
      expect(await look()).toEqual(WAITING_A)
    }))

  test('keeps each priority in a set of its own', () =>
    withStore(async ({ store, look }) => {
      await store.put([message('h', { priority: 0 }), message('l', { priority: 2, when: { at: 7000 } })])
      expect(await look()).toMatchObject({
        'delay_tasks:high': { '#1 h': '1000' },
        'delay_tasks:low': { '#3 l': '7000' },
      })
    }))

  test('P5: a duplicate changes not one byte, not even the sequence', () =>
    withStore(async ({ store, look }) => {
      await putA(store)
      const before = await look()
      await store.put([message('a', { body: 'other' })])
      expect(await look()).toEqual(before)
    }))

  test('P5: a replacement leaves nothing of the old one', () =>
    withStore(async ({ store, look }) => {
      await putA(store)
      await store.put([message('a', { topic: 'x', priority: 0, ifExists: 'replace', when: { delayMs: 9 } })])
      expect(await look()).toEqual({
        sequence: { last: '4' },
        'delay_tasks:high': { '#3 a': '1009' },
        payload: { a: '#3 of #4 0:{"id":"a"}' },
        topics: { '#4': '1 waiting 0 running 0 dead x' },
        topic_numbers: { x: '#4' },
      })
    }))

  test('a new message and its replacement in one batch leave one message', () =>
    withStore(async ({ store, look }) => {
      await store.put([message('a'), message('a', { ifExists: 'replace', when: { delayMs: 5 } })])
      expect(await look()).toMatchObject({ delay_tasks: { '#3 a': '1005' } })
      expect(Object.keys((await look())['delay_tasks'] ?? {})).toHaveLength(1)
    }))
})

test('put: a new topic whose only message is replaced in the same batch leaves no trace', () =>
  withStore(async ({ store, look }) => {
    await store.put([message('a', { topic: 'brief' }), message('a', { ifExists: 'replace' })])
    expect(await look()).toMatchObject({
      topics: { '#4': `1 waiting 0 running 0 dead ${TOPIC}` },
      topic_numbers: { [TOPIC]: '#4' },
    })
    expect(Object.keys((await look())['topic_numbers'] ?? {})).toEqual([TOPIC])
  }))

describe('claim_due', () => {
  test('moves a message from waiting to running in one step', () =>
    withStore(async (subject) => {
      await runA(subject)
      expect(await subject.look()).toEqual({
        sequence: { last: '3' },
        payload: PAYLOAD_A,
        leases: { a: '31500' },
        running: { a: 'due 1500 attempt 1 of #2 token 3.n' },
        topics: ONE_RUNS,
        topic_numbers: { [TOPIC]: '#2' },
      })
    }))

  test('finding nothing due changes not one byte', () =>
    withStore(async ({ store, look }) => {
      await putA(store)
      const before = await look()
      expect(await claimDue(store)).toEqual([])
      expect(await look()).toEqual(before)
    }))

  test('sets aside what is due and not wanted, once', () =>
    withStore(async ({ store, look, at }) => {
      await putA(store)
      at(1500)
      expect(await claimDue(store, 10, ['other'])).toEqual([])
      const aside = {
        ...WAITING_A,
        delay_tasks: { '#1 a': 'aside 1500' },
        pending: { '#2 priority 1 due 1500 #1 a': '' },
      }
      expect(await look()).toEqual(aside)
      expect(await claimDue(store, 10, ['other'])).toEqual([])
      expect(await look()).toEqual(aside)
    }))

  test('takes what was set aside out of both places', () =>
    withStore(async ({ store, look, at }) => {
      await putA(store)
      at(1500)
      await claimDue(store, 10, ['other'])
      await claimOne(store)
      const after = await look()
      expect(after['pending']).toBeUndefined()
      expect(after['delay_tasks']).toBeUndefined()
      expect(after['topics']).toEqual(ONE_RUNS)
    }))

  test('what became due behind a line joins it', () =>
    withStore(async ({ store, look, at }) => {
      await putA(store)
      at(1500)
      await claimDue(store, 10, ['other'])
      await store.put([message('b')])
      expect((await look())['delay_tasks']).toEqual({ '#1 a': 'aside 1500', '#3 b': 'aside 1500' })
    }))

  test('next: what stays behind a merged line is not forgotten', () =>
    withStore(async ({ store, at }) => {
      await store.put([message('x', { when: { at: 995 } }), message('y', { when: { at: 1010 } })])
      await claimDue(store, 10, ['other'])
      await store.put([message('b', { topic: 'b', when: { at: 990 } })])
      at(1020)
      // The first window shows only b; x stands in line beyond it, and is met again beside y in the second.
      const first = await claimReply(store, 1)
      expect(first.leases.map(({ id }) => id)).toEqual(['x'])
      expect(first.next).toEqual({ state: 'EXPIRED' })
      expect((await claimReply(store, 1)).leases.map(({ id }) => id)).toEqual(['y'])
    }))

  test('a message whose body was deleted by somebody is dropped, not handed out for ever', () =>
    withStore(async ({ store, look, at }) => {
      await store.put([message('a'), message('b')])
      const queue = (await allKeys(server.url)).find((key) => key.endsWith(':payload')) ?? ''
      await server.admin(['HDEL', queue, 'a'])
      at(1500)
      expect((await claimDue(store)).map(({ id }) => id)).toEqual(['b'])
      expect((await look())['delay_tasks']).toBeUndefined()
    }))
})

test('P4: no token is given twice, even when a failover set the sequence back', () =>
  withStore(async (subject) => {
    const first = await runA(subject)
    const key = (await allKeys(server.url)).find((name) => name.endsWith(':sequence')) ?? ''
    await subject.store.settle([release(first)])
    await server.admin(['SET', key, '2'])
    const second = await claimOne(subject.store)
    expect(second.token).not.toBe(first.token)
    await expect(subject.store.extend([first], 1000)).resolves.toEqual(['lost'])
    await expect(subject.store.settle([ack(first), ack(second)])).resolves.toEqual(['lost', 'settled'])
  }))

describe('claim_lapsed', () => {
  test('gives the lease a new end and a new token, and nothing else', () =>
    withStore(async (subject) => {
      await runA(subject)
      const before = await subject.look()
      subject.at(40_000)
      await claimLapsed(subject.store)
      expect(await subject.look()).toEqual({
        ...before,
        sequence: { last: '4' },
        leases: { a: '70000' },
        running: { a: 'due 1500 attempt 1 of #2 token 4.n' },
      })
    }))
})

describe('extend', () => {
  test('moves the end of the lease, and nothing else', () =>
    withStore(async (subject) => {
      const lease = await runA(subject)
      const before = await subject.look()
      await subject.store.extend([lease], 5000)
      expect(await subject.look()).toEqual({ ...before, leases: { a: '6500' } })
    }))

  test('P4: with an old token changes not one byte', () =>
    withStore(async (subject) => {
      const lease = await runA(subject)
      const before = await subject.look()
      await subject.store.extend([{ ...lease, token: '1.other' }], 5000)
      expect(await subject.look()).toEqual(before)
    }))
})

describe('settle', () => {
  test('ack leaves nothing but the sequence', () =>
    withStore(async (subject) => {
      await subject.store.settle([ack(await runA(subject))])
      expect(await subject.look()).toEqual({ sequence: { last: '3' } })
    }))

  test('retry waits again, with the failure beside it', () =>
    withStore(async (subject) => {
      await subject.store.settle([retry(await runA(subject), 100, 'boom')])
      expect(await subject.look()).toEqual({
        ...WAITING_A,
        sequence: { last: '3' },
        delay_tasks: { '#1 a': '1600' },
        failures: { a: 'attempts 1 due 0 |boom' },
      })
    }))

  test('release puts it back as it was', () =>
    withStore(async (subject) => {
      await subject.store.settle([release(await runA(subject))])
      expect(await subject.look()).toEqual({ ...WAITING_A, sequence: { last: '3' } })
    }))

  test('dead keeps the body, the moment and the reason', () =>
    withStore(async (subject) => {
      const lease = await runA(subject)
      subject.at(1700)
      await subject.store.settle([dead(lease, 'failed', 'boom')])
      expect(await subject.look()).toEqual({
        sequence: { last: '3' },
        payload: PAYLOAD_A,
        failures: { a: 'attempts 1 due 1500 failed|boom' },
        dead: { a: '1700' },
        topics: { '#2': `0 waiting 0 running 1 dead ${TOPIC}` },
        topic_numbers: { [TOPIC]: '#2' },
      })
    }))

  test('P4: with an old token changes not one byte', () =>
    withStore(async (subject) => {
      const lease = { ...(await runA(subject)), token: '1.other' }
      const before = await subject.look()
      await subject.store.settle([ack(lease), retry(lease, 1), release(lease), dead(lease)])
      expect(await subject.look()).toEqual(before)
    }))
})

describe('remove', () => {
  test('cancels what waits, in its set or set aside, without a trace', () =>
    withStore(async ({ store, look, at }) => {
      await putA(store)
      await store.remove(['a'], 'waiting')
      expect(await look()).toEqual({ sequence: { last: '2' } })
      await putA(store)
      at(1500)
      await claimDue(store, 10, ['other'])
      await store.remove(['a'], 'waiting')
      expect(await look()).toEqual({ sequence: { last: '4' } })
    }))

  test('purges what is dead without a trace', () =>
    withStore(async (subject) => {
      await subject.store.settle([dead(await runA(subject))])
      await subject.store.remove(['a'], 'dead')
      expect(await subject.look()).toEqual({ sequence: { last: '3' } })
    }))

  test('of what runs, is unknown or is in another state changes not one byte', () =>
    withStore(async (subject) => {
      await runA(subject)
      await subject.store.put([message('waits')])
      const before = await subject.look()
      await subject.store.remove(['a', 'nobody'], 'waiting')
      await subject.store.remove(['a', 'nobody', 'waits'], 'dead')
      expect(await subject.look()).toEqual(before)
    }))
})

describe('reschedule and revive', () => {
  test('a reschedule moves the moment, and nothing else', () =>
    withStore(async ({ store, look }) => {
      await putA(store)
      await store.reschedule([{ id: 'a', when: { at: 9000 } }])
      expect(await look()).toEqual({ ...WAITING_A, delay_tasks: { '#1 a': '9000' } })
    }))

  test('a reschedule of what was set aside takes it out of the line', () =>
    withStore(async ({ store, look, at }) => {
      await putA(store)
      at(1500)
      await claimDue(store, 10, ['other'])
      await store.reschedule([{ id: 'a', when: { delayMs: 100 } }])
      expect(await look()).toEqual({ ...WAITING_A, delay_tasks: { '#1 a': '1600' } })
    }))

  test('a revived message is as a new one, in its old place of the produce order', () =>
    withStore(async (subject) => {
      await subject.store.settle([dead(await runA(subject))])
      await subject.store.revive(['a'])
      expect(await subject.look()).toEqual({ ...WAITING_A, sequence: { last: '3' } })
    }))

  test('of what is missing or runs they change not one byte', () =>
    withStore(async (subject) => {
      await runA(subject)
      const before = await subject.look()
      await subject.store.reschedule([
        { id: 'a', when: { delayMs: 1 } },
        { id: 'nobody', when: { delayMs: 1 } },
      ])
      await subject.store.revive(['a', 'nobody'])
      expect(await subject.look()).toEqual(before)
    }))
})

describe('inspect and count', () => {
  test('change not one byte', () =>
    withStore(async (subject) => {
      const { store, at } = subject
      await store.settle([dead(await runA(subject))])
      await store.put([message('b'), message('c', { when: { delayMs: 5 } })])
      at(1600)
      await claimOne(store)
      const before = await subject.look()
      for (const state of ['delayed', 'ready', 'running', 'dead'] as const) {
        await store.inspect({ state, limit: 10, topic: TOPIC })
      }
      await store.inspect({ ids: ['a', 'b', 'c', 'nobody'] })
      await store.count()
      expect(await subject.look()).toEqual(before)
    }))
})

test('nothing is left behind: after 5,000 messages, keys and memory are back at the start', () =>
  withStore(async ({ store, look }) => {
    const usedMemory = async (): Promise<number> =>
      Number(/used_memory:(\d+)/.exec(String(await server.admin(['INFO', 'memory'])))?.[1])
    const round = async (): Promise<void> => {
      for (let batch = 0; batch < 5; batch += 1) {
        await store.put(
          Array.from({ length: 1000 }, (_, i) =>
            message(`${batch}-${i}`, { topic: `t${i % 7}`, priority: (i % 3) as 0 | 1 | 2 }),
          ),
        )
      }
      const topics = Array.from({ length: 7 }, (_, i) => `t${i}`)
      for (let leases = await claimDue(store, 1000, topics); leases.length > 0;) {
        await store.settle(leases.map(ack))
        leases = await claimDue(store, 1000, topics)
      }
    }
    await round() // Warms up the script cache and the allocator.
    const before = await usedMemory()
    await round()
    expect(Object.keys(await look())).toEqual(['sequence'])
    expect(await allKeys(server.url)).toHaveLength(1)
    expect((await usedMemory()) - before).toBeLessThan(200_000)
  }))
