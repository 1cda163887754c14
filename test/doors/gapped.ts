/** A queue over three partitions, some of everything in each, of which the second can be sent away. */
import { homeOf } from '../../src/core/encoding/home.ts'
import { systemClock } from '../../src/clock.ts'
import { Punctual, type Store } from '../../src/index.ts'
import { MemoryStore } from '../../src/store/memory/store.ts'
import { PartitionedStore } from '../../src/store/partitioned/store.ts'
import { FaultyStore } from '../../src/testing/index.ts'

const PARTS = 3
/** The second, as people are told of it. */
export const AWAY = 'partition 2 of 3'

export type Gapped = {
  readonly store: Store
  /** The ids of the messages that live in the second partition. */
  readonly hidden: readonly string[]
  readonly sendAway: () => void
}

export async function makeGapped(): Promise<Gapped> {
  const parts = Array.from(
    { length: PARTS },
    () => new FaultyStore(new MemoryStore(systemClock), systemClock, { shared: true }),
  )
  const store = new PartitionedStore(parts)
  const queue = new Punctual({ store, logger: false })
  const ids = Array.from({ length: 30 }, (_, i) => `m${i}`)
  await queue.produceMany(ids.map((id, i) => ({ topic: 't', id, delay: i % 2 === 0 ? '1h' : 0, tag: 'red' })))
  await queue.schedules.set('nightly', { topic: 't', cron: '0 3 * * *' })
  // The store is the test's: a queue that was handed one does not close it.
  await queue.stop()
  return {
    store,
    hidden: ids.filter((id) => homeOf(id, PARTS) === 1),
    sendAway: () => {
      const [, second] = parts
      if (second !== undefined) second.fate = () => ({ kind: 'refuse' })
    },
  }
}
