/** How the cases about pauses and limits are written. */
import assert from 'node:assert/strict'
import type { ClaimReply, ControlChange, Feature, Store, TopicLimit } from '../../store/contract/store.ts'
import { TOPIC, message } from './stand.ts'
import { test, type ConformanceTest } from './test.ts'

/** Only for engines that have controls. */
export function controlTest(name: string, run: ConformanceTest['run']): ConformanceTest {
  return featureTest('controls', name, run)
}

/** Only for engines that have limits too. */
export function limitTest(name: string, run: ConformanceTest['run']): ConformanceTest {
  return featureTest('limits', name, run)
}

function featureTest(feature: Feature, name: string, run: ConformanceTest['run']): ConformanceTest {
  return test(`P14: ${name}`, async (subject) => {
    if (subject.store.capabilities.features.includes(feature)) await run(subject)
  })
}

export const pause = (topic = TOPIC): ControlChange => ({ kind: 'pause', topic })
export const resume = (topic = TOPIC): ControlChange => ({ kind: 'resume', topic })
export const limit = (to: TopicLimit | null, topic = TOPIC): ControlChange => ({
  kind: 'limit',
  topic,
  limit: to,
})
export const rate = (intervalMs: number, burst = 1): TopicLimit => ({ rate: { intervalMs, burst } })

export async function putMany(store: Store, count: number, topic = TOPIC): Promise<void> {
  await store.put(Array.from({ length: count }, (_, i) => message(`${topic}-${i}`, { topic })))
}

export function assertWaits({ next }: ClaimReply, ms: number): void {
  const isRight = next.state === 'WAITING' && next.ms > ms - 1.001 && next.ms <= ms + 1
  assert.ok(isRight, `next is ${JSON.stringify(next)}, and should be in ${ms} ms`)
}

export function assertNoTask({ leases, next }: ClaimReply): void {
  assert.deepEqual([leases, next], [[], { state: 'NO_TASK' }])
}
