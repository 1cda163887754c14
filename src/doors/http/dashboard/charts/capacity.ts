/**
 * How many messages a second the living workers can work off. Each worker works that out from its slots and from how long its handlers
 * took. It is not what they did lately: that is demand. Undefined while no worker has measured anything; then nothing is estimated.
 */
import type { FoundWorker } from '../../../../index.ts'

/** Messages per second. With `topic`: of the workers that handle it. */
export function capacityOf(workers: readonly FoundWorker[], topic: string | undefined): number | undefined {
  let perSecond = 0
  for (const { state, facts } of workers) {
    if (state !== 'alive' || facts?.perSecond === undefined) continue
    if (topic === undefined || facts.topics.includes(topic)) perSecond += facts.perSecond
  }
  return perSecond > 0 ? perSecond : undefined
}
