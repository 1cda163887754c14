/** Whom a change of a pause or a limit wakes (P9, P14), in the same process and in another one. */
import assert from 'node:assert/strict'
import type { Lease, Store, WakeUp } from '../../store/contract/store.ts'
import {
  TOPIC,
  ack,
  claim,
  claimDue,
  dead,
  message,
  release,
  retry,
  type ConformanceSubject,
} from './stand.ts'
import { controlTest, limitTest } from './control-stand.ts'
import type { ConformanceTest } from './test.ts'
import { hearing, nextWake } from './wakes.ts'

const SLEEPER = 'sleeper'

/** Prepares, and answers what is to wake the sleeper. */
type ControlScene = (store: Store) => Promise<() => Promise<unknown>>

function wakes(
  name: string,
  kind: WakeUp['kind'] | undefined,
  scene: ControlScene,
): readonly ConformanceTest[] {
  const test = name.includes('limit') ? limitTest : controlTest
  const check = async (subject: ConformanceSubject, sleeper: Store): Promise<void> => {
    const cause = await scene(subject.store)
    const { leases, next } = await claim(sleeper, { owner: SLEEPER })
    assert.deepEqual([leases, next.state === 'EXPIRED'], [[], false], 'the sleeper may sleep')
    const heard = nextWake(sleeper, SLEEPER, await hearing(subject, sleeper, kind))
    await cause()
    await heard
  }
  return [
    test(name, (subject) => check(subject, subject.store)),
    test(`${name}, in another process`, async (subject) =>
      check(subject, (await subject.another?.()) ?? subject.store)),
  ]
}

/** Two run, which is the limit, and one waits. */
async function atLimit(store: Store): Promise<Lease> {
  await store.put([message('a'), message('b'), message('c')])
  await store.control({ kind: 'limit', topic: TOPIC, limit: { concurrency: 2 } })
  const [first] = await claimDue(store)
  assert.ok(first !== undefined)
  return first
}

export const controlWakeTests: readonly ConformanceTest[] = [
  ...wakes('a pause is told to sleepers', 'controls', async (store) => {
    return () => store.control({ kind: 'pause', topic: TOPIC })
  }),

  ...wakes('a pause of the whole queue is told to sleepers', 'controls', async (store) => {
    return () => store.control({ kind: 'pause', topic: '' })
  }),

  ...wakes('a resume wakes', 'controls', async (store) => {
    await store.put([message('a')])
    await store.control({ kind: 'pause', topic: TOPIC })
    return () => store.control({ kind: 'resume', topic: TOPIC })
  }),

  ...wakes('a higher limit wakes', 'controls', async (store) => {
    await atLimit(store)
    return () => store.control({ kind: 'limit', topic: TOPIC, limit: { concurrency: 3 } })
  }),

  ...wakes('a limit that is taken back wakes', 'controls', async (store) => {
    await atLimit(store)
    return () => store.control({ kind: 'limit', topic: TOPIC, limit: null })
  }),

  ...wakes('an acknowledgement at the limit wakes', undefined, async (store) => {
    const lease = await atLimit(store)
    return () => store.settle([ack(lease)])
  }),

  ...wakes('a retry at the limit wakes', undefined, async (store) => {
    const lease = await atLimit(store)
    return () => store.settle([retry(lease, 3_600_000)])
  }),

  ...wakes('a death at the limit wakes', undefined, async (store) => {
    const lease = await atLimit(store)
    return () => store.settle([dead(lease)])
  }),

  ...wakes('what is given back at the limit wakes others', undefined, async (store) => {
    const lease = await atLimit(store)
    return () => store.settle([release(lease)])
  }),

  ...wakes('a message for a limited topic wakes', undefined, async (store) => {
    await store.control({ kind: 'limit', topic: TOPIC, limit: { rate: { intervalMs: 1_000, burst: 5 } } })
    return () => store.put([message('a', { when: { delayMs: 100 } })])
  }),
]
