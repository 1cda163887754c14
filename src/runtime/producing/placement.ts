/**
 * Which partition of a queue each message of a batch goes to: the home of its id (`core/encoding/home`). Of a queue of several partitions each has calls of
 * its own, so that a batch that fails takes none of another partition with it.
 */
import { cutBatches, type BatchLimits } from '../../core/gathering.ts'
import type { Partitions, Store } from '../../store/contract/store.ts'
import type { Draft } from '../producer.ts'

/** What one call of one partition takes. */
export type ProduceBatch = {
  readonly store: Store
  readonly drafts: readonly Draft[]
  /** Where each of them stands among all. */
  readonly placeOf: (index: number) => number
}

/** In order, a list of batches for each partition. */
export function placeDrafts(
  { homeOf, stores }: Partitions,
  drafts: readonly Draft[],
  limits: BatchLimits<Draft>,
): ProduceBatch[][] {
  const [only] = stores
  if (stores.length === 1 && only !== undefined) return [cut(only, drafts, limits)]
  const places = stores.map((): number[] => [])
  for (const [i, { message }] of drafts.entries()) places[homeOf(message.id)]?.push(i)
  return stores.map((store, partition) => {
    const its = places[partition] ?? []
    const own = its.map((place) => drafts[place] as Draft)
    return cut(store, own, limits).map(({ placeOf, ...batch }) => ({
      ...batch,
      placeOf: (index) => its[placeOf(index)] ?? index,
    }))
  })
}

function cut(store: Store, drafts: readonly Draft[], limits: BatchLimits<Draft>): ProduceBatch[] {
  if (drafts.length === 0) return []
  let next = 0
  return cutBatches(drafts, limits).map((batch) => {
    const from = next
    next += batch.length
    return { store, drafts: batch, placeOf: (index) => from + index }
  })
}
