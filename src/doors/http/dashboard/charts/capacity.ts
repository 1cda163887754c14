/**
 * What the living workers can do, as each says of itself: by its slots, and how long its handlers were measured to take. Not what they did
 * lately: that is demand. Pure. Undefined while no worker has measured anything, and then nothing is estimated.
 */
import type { FoundWorker } from '../../../../index.ts'

/** A second. `topic`: of those that handle it. */
export function capacityOf(workers: readonly FoundWorker[], topic: string | undefined): number | undefined {
  let perSecond = 0
  for (const { state, facts } of workers) {
    if (state !== 'alive' || facts?.perSecond === undefined) continue
    if (topic === undefined || facts.topics.includes(topic)) perSecond += facts.perSecond
  }
  return perSecond > 0 ? perSecond : undefined
}
