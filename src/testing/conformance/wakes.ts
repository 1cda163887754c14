/** The three answers of a claim, and the hints that come between them (P9). */
import assert from 'node:assert/strict'
import type { Store } from '../../store/contract/store.ts'
import {
  LEASE_MS,
  ack,
  claimOne,
  claimReply,
  dead,
  message,
  retry,
  type ConformanceSubject,
} from './bench.ts'
import { test, type ConformanceTest } from './test.ts'

const WAKE_PATIENCE_MS = 10_000

/** Resolves at the next wake-up. Real time, because a wake-up may travel through a real server. */
function nextWake(store: Store): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = store.onWake(() => {
      clearTimeout(patience)
      end()
      resolve()
    })
    const patience = setTimeout(() => {
      end()
      reject(new Error(`no wake-up within ${WAKE_PATIENCE_MS} ms`))
    }, WAKE_PATIENCE_MS)
  })
}

/** Whoever sleeps hears of it: the caller's own process and, where the engine is shared, another one. */
async function wakes({ store, another }: ConformanceSubject, cause: () => Promise<unknown>): Promise<void> {
  const other = await another?.()
  const heard = [store, ...(other === undefined ? [] : [other])].map(nextWake)
  await cause()
  await Promise.all(heard)
}

export const wakeTests: readonly ConformanceTest[] = [
  test('next: NO_TASK when nothing waits', async ({ store }) => {
    assert.deepEqual(await claimReply(store), { leases: [], next: { state: 'NO_TASK' } })
  }),

  test('next: NO_TASK when all that is there runs or is dead', async ({ store }) => {
    await store.put([message('a'), message('b')])
    await claimOne(store)
    await store.settle([dead(await claimOne(store))])
    assert.deepEqual((await claimReply(store)).next, { state: 'NO_TASK' })
  }),

  test('next: WAITING until the head, to the millisecond', async ({ store, advance }) => {
    await store.put([
      message('far', { when: { delayMs: 90_000 } }),
      message('near', { when: { delayMs: 5000 } }),
    ])
    await advance(1234)
    const { next } = await claimReply(store)
    assert.equal(next.state, 'WAITING')
    assert.ok(next.state === 'WAITING' && next.ms > 3765 && next.ms <= 3766, JSON.stringify(next))
  }),

  test('next: WAITING follows a cancelled and a rescheduled head', async ({ store }) => {
    await store.put([1, 2, 3].map((s) => message(`${s}`, { when: { delayMs: s * 100_000 } })))
    await store.remove(['1'], 'waiting')
    const second = (await claimReply(store)).next
    assert.ok(
      second.state === 'WAITING' && second.ms > 199_999 && second.ms <= 200_000,
      JSON.stringify(second),
    )
    await store.reschedule([{ id: '2', when: { delayMs: 400_000 } }])
    const third = (await claimReply(store)).next
    assert.ok(third.state === 'WAITING' && third.ms > 299_999 && third.ms <= 300_000, JSON.stringify(third))
  }),

  test('next: EXPIRED while more is due than was handed out', async ({ store }) => {
    await store.put([message('a'), message('b')])
    assert.equal((await claimReply(store, 1)).next.state, 'EXPIRED')
    assert.equal((await claimReply(store, 1)).next.state, 'NO_TASK')
  }),

  test('next: what is overdue for others does not keep the caller awake', async ({ store, advance }) => {
    await store.put([
      message('a', { topic: 'others' }),
      message('b', { topic: 'others', when: { delayMs: 10 } }),
    ])
    await advance(60_000)
    let reply = await claimReply(store)
    // Moving them out of the way may take a few calls, but not for ever.
    for (let i = 0; i < 5 && reply.next.state === 'EXPIRED'; i += 1) reply = await claimReply(store)
    assert.deepEqual(reply, { leases: [], next: { state: 'NO_TASK' } })
  }),

  test('next: for lapsed leases, the time until the next one ends', async ({ store, advance }) => {
    assert.deepEqual(await store.claim({ from: 'lapsed', owner: 'reaper', limit: 10, leaseMs: LEASE_MS }), {
      leases: [],
      next: { state: 'NO_TASK' },
    })
    await store.put([message('a')])
    await claimOne(store)
    await advance(1000)
    const { next } = await store.claim({ from: 'lapsed', owner: 'reaper', limit: 10, leaseMs: LEASE_MS })
    assert.ok(
      next.state === 'WAITING' && next.ms > LEASE_MS - 1001 && next.ms <= LEASE_MS - 1000,
      JSON.stringify(next),
    )
  }),

  test('P9: the first message of an empty queue wakes', async (subject) => {
    await wakes(subject, () => subject.store.put([message('a', { when: { delayMs: 60_000 } })]))
  }),

  test('P9: a new head wakes', async (subject) => {
    await subject.store.put([message('a', { when: { delayMs: 60_000 } })])
    await claimReply(subject.store)
    await wakes(subject, () => subject.store.put([message('b', { when: { delayMs: 30_000 } })]))
  }),

  test('P9: a message due now wakes while others are far off', async (subject) => {
    await subject.store.put([message('a', { when: { delayMs: 60_000 } })])
    await claimReply(subject.store)
    await wakes(subject, () => subject.store.put([message('b')]))
  }),

  test('P9: a retry wakes', async (subject) => {
    await subject.store.put([message('a')])
    const lease = await claimOne(subject.store)
    await claimReply(subject.store)
    await wakes(subject, () => subject.store.settle([retry(lease, 1000)]))
  }),

  test('P9: a reschedule to an earlier moment wakes', async (subject) => {
    await subject.store.put([message('a', { when: { delayMs: 60_000 } })])
    await claimReply(subject.store)
    await wakes(subject, () => subject.store.reschedule([{ id: 'a', when: { delayMs: 1000 } }]))
  }),

  test('P9: a revived message wakes', async (subject) => {
    await subject.store.put([message('a')])
    await subject.store.settle([dead(await claimOne(subject.store))])
    await claimReply(subject.store)
    await wakes(subject, () => subject.store.revive(['a']))
  }),

  test('P9: after the wake-up was taken back, no listener is called', async ({ store }) => {
    let calls = 0
    store.onWake(() => (calls += 1))()
    await store.put([message('a')])
    await store.settle([ack(await claimOne(store))])
    assert.equal(calls, 0)
  }),
]
