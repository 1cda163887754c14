/** The three answers of a claim, and the hints that come between them (P9). */
import assert from 'node:assert/strict'
import type { Store, WakeUp } from '../../store/contract/store.ts'
import {
  LEASE_MS,
  ack,
  claim,
  claimLapsed,
  claimOne,
  claimReply,
  dead,
  lapse,
  lapsedReply,
  message,
  only,
  release,
  retry,
  type ConformanceSubject,
} from './stand.ts'
import { test, type ConformanceTest } from './test.ts'

const WAKE_PATIENCE_MS = 10_000
const FENCE = 'fence'
const FENCE_MS = 100

/** Resolves at the next wake-up, of any kind or of this. Real time, because it may travel through a real server. */
export function nextWake(store: Store, owner?: string, wanted?: WakeUp['kind']): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = store.onWake(({ kind }) => {
      if (wanted !== undefined && kind !== wanted) return
      clearTimeout(patience)
      end()
      resolve()
    }, owner)
    const patience = setTimeout(() => {
      end()
      reject(new Error(`no wake-up within ${WAKE_PATIENCE_MS} ms`))
    }, WAKE_PATIENCE_MS)
  })
}

/**
 * Until the subscription of a sleeper stands, and has heard all that was said before: one that begins calls everybody once, and
 * what was said earlier may still be on its way. A test that did not wait for that would pass without the wake-up that it is
 * about. Answers the kind that is to be heard then; none where only calls now and then are.
 */
export async function hearing<Kind extends WakeUp['kind'] | undefined>(
  { store: speaker, isDeaf = false }: ConformanceSubject,
  sleeper: Store,
  kind: Kind,
): Promise<Kind | undefined> {
  if (isDeaf) return undefined
  const heard: WakeUp[] = []
  await claim(sleeper, { owner: FENCE, topics: [FENCE] })
  const end = sleeper.onWake((wake) => {
    if (wake.kind === 'due') heard.push(wake)
  }, FENCE)
  const ids: string[] = []
  while (heard.length === 0) {
    assert.ok(ids.length < WAKE_PATIENCE_MS / FENCE_MS, 'the sleeper hears nothing')
    const delayMs = 1_000_000 - ids.length
    ids.push(`fence ${ids.length}`)
    await speaker.put(ids.slice(-1).map((id) => message(id, { topic: FENCE, when: { delayMs } })))
    for (let ms = 0; ms < FENCE_MS && heard.length === 0; ms += 5)
      await new Promise((resolve) => setTimeout(resolve, 5))
  }
  end()
  await speaker.remove(ids, 'waiting')
  return kind
}

const SLEEPER = 'sleeper'

/** Prepares, and answers what is to wake the sleeper. */
type WakeScene = (subject: ConformanceSubject) => Promise<() => Promise<unknown>>

/**
 * The sleeper asks, is told to wait, and must hear of the cause: in the caller's own process, and in another one where
 * the engine is shared. An engine may wake one of many sleepers only; here there is one.
 */
function wakes(name: string, scene: WakeScene, topics?: readonly string[]): readonly ConformanceTest[] {
  const check = async (subject: ConformanceSubject, sleeper: Store): Promise<void> => {
    const cause = await scene(subject)
    const { leases, next } = await claim(sleeper, {
      owner: SLEEPER,
      ...(topics === undefined ? {} : { topics }),
    })
    assert.deepEqual([leases, next.state === 'EXPIRED'], [[], false], 'the sleeper may sleep')
    const heard = nextWake(sleeper, SLEEPER, await hearing(subject, sleeper, 'due'))
    await cause()
    await heard
  }
  return [
    test(`P9: ${name}`, (subject) => check(subject, subject.store)),
    test(`P9: ${name}, in another process`, async (subject) =>
      check(subject, (await subject.another?.()) ?? subject.store)),
  ]
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
    // Moving them out of the way may take a few calls, but must end.
    for (let i = 0; i < 5 && reply.next.state === 'EXPIRED'; i += 1) reply = await claimReply(store)
    assert.deepEqual(reply, { leases: [], next: { state: 'NO_TASK' } })
  }),

  test('next: for lapsed leases, the time until the next one ends', async ({ store, advance }) => {
    assert.deepEqual((await lapsedReply(store)).next, { state: 'NO_TASK' })
    await store.put([message('a')])
    await claimOne(store)
    await advance(1000)
    // An engine that can tell a dead owner at once asks to be asked again sooner.
    const { next } = await lapsedReply(store)
    assert.ok(next.state === 'WAITING' && next.ms >= 900 && next.ms <= LEASE_MS - 1000, JSON.stringify(next))
  }),

  ...wakes('a successor that takes the place of what ran', async ({ store }) => {
    await store.put([message('a')])
    const lease = await claimOne(store)
    await store.put([message('a', { ifExists: 'replace' })])
    return () => store.settle([ack(lease)])
  }),

  ...wakes('the first message of an empty queue wakes', async ({ store }) => {
    return () => store.put([message('a', { when: { delayMs: 60_000 } })])
  }),

  ...wakes('a new head wakes', async ({ store }) => {
    await store.put([message('a', { when: { delayMs: 60_000 } })])
    return () => store.put([message('b', { when: { delayMs: 30_000 } })])
  }),

  ...wakes('a message due now wakes while others are far off', async ({ store }) => {
    await store.put([message('a', { when: { delayMs: 60_000 } })])
    return () => store.put([message('b')])
  }),

  ...wakes('a retry wakes', async ({ store }) => {
    await store.put([message('a')])
    const lease = await claimOne(store)
    return () => store.settle([retry(lease, 1000)])
  }),

  ...wakes('a release wakes others', async ({ store }) => {
    await store.put([message('a')])
    const lease = await claimOne(store)
    return () => store.settle([release(lease)])
  }),

  ...wakes('a lapse wakes', async ({ store, advance }) => {
    await store.put([message('a')])
    await claimOne(store)
    await advance(LEASE_MS)
    const lease = only(await claimLapsed(store))
    return () => store.settle([lapse(lease)])
  }),

  ...wakes('a reschedule to an earlier moment wakes', async ({ store }) => {
    await store.put([message('a', { when: { delayMs: 60_000 } })])
    return () => store.reschedule([{ id: 'a', when: { delayMs: 1000 } }])
  }),

  ...wakes('a revived message wakes', async ({ store }) => {
    await store.put([message('a')])
    await store.settle([dead(await claimOne(store))])
    return () => store.revive(['a'])
  }),

  ...wakes(
    'the first message of a topic wakes while another topic waits',
    async ({ store }) => {
      await store.put([message('a', { topic: 'a', when: { delayMs: 1000 } })])
      return () => store.put([message('b', { topic: 'b', when: { delayMs: 500 } })])
    },
    ['a', 'b'],
  ),

  ...wakes(
    'a message that comes after those of other topics wakes',
    async ({ store }) => {
      await store.put([message('a', { topic: 'a', when: { delayMs: 1000 } })])
      // Without owners a claim may speak of all topics: the sleeper then wakes for a, and asks again.
      const delayMs = 900_000
      return () => store.put([message('b', { topic: 'b', when: { delayMs } })])
    },
    ['b'],
  ),

  test('P9: where no wake-up is lost, one that released still hears of what others bring', async ({
    store,
  }) => {
    if (store.capabilities.wakes !== 'sure') return
    await store.put([message('a')])
    const lease = only((await claim(store, { owner: SLEEPER })).leases)
    await claim(store, { owner: SLEEPER })
    await store.settle([release(lease)])
    // It was not told of its own release, and sleeps as long as it was told before.
    const heard = nextWake(store, SLEEPER)
    await store.put([message('b', { when: { delayMs: 5 } })])
    await heard
  }),

  test('P9: after the wake-up was taken back, no listener is called', async ({ store }) => {
    let calls = 0
    store.onWake(() => (calls += 1))()
    await store.put([message('a')])
    await store.settle([ack(await claimOne(store))])
    assert.equal(calls, 0)
  }),
]
