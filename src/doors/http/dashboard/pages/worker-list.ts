/** The workers of the queue, and what they can do together. */
import type { FoundWorker } from '../../../../index.ts'
import { capacityOf } from '../charts/capacity.ts'
import { place } from '../state/address.ts'
import { inQueue } from '../state/api.ts'
import { useAnswer, type Asked } from '../state/ask.ts'

export type WorkersAnswer = { readonly workers: readonly FoundWorker[] }

export function useWorkers(): Asked<WorkersAnswer> {
  return useAnswer<WorkersAnswer>(inQueue('workers'))
}

/** A second; for the topic that is shown, or for all. Undefined: nothing is known of it. */
export function useCapacity(): number | undefined {
  const answer = useWorkers()
  return capacityOf(answer.value?.workers ?? [], place.value.query.get('topic') ?? undefined)
}
