/** The queue in numbers. */
import type { LatenessPercentiles } from '../core/lateness.ts'
import type { StateCounts, Store, TopicCounts } from '../store/contract/store.ts'

export type Stats = {
  readonly counts: StateCounts
  readonly topics: Readonly<Record<string, TopicCounts>>
  /** The earliest moment among delayed and ready messages, in epoch milliseconds. */
  readonly nextDueAt?: number
  /** Of what this process started in the last minute or two; absent when that is nothing. */
  readonly latenessMs?: LatenessPercentiles
}

export async function readStats(store: Store, latenessMs: LatenessPercentiles | undefined): Promise<Stats> {
  const { states, nextDueAt } = await store.count()
  const { topics } = await store.countTopics({ limit: store.capabilities.batchMax })
  return {
    counts: states,
    topics,
    ...(nextDueAt === undefined ? {} : { nextDueAt }),
    ...(latenessMs === undefined ? {} : { latenessMs }),
  }
}
