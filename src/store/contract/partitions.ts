/**
 * A queue that is spread over several stores, its partitions. Each keeps the messages that have their home there, and is for
 * the runtime a store of its own: it claims from each, settles where it claimed, and one that is away stops only what is
 * in it. For people the whole is one store, whose verbs reach all of its partitions.
 *
 * Atomic, in order (P7) and by one clock is what happens within one partition, and no more.
 */
import type { Store } from './store.ts'

export type Partitions = {
  readonly stores: readonly Store[]
  /** The number of the one where the message with this id lives. */
  readonly homeOf: (id: string) => number
}

const ALL_IN_ONE = (): number => 0

/** Every store as the runtime sees it: most are their own only partition. */
export function partitionsOf(store: Store): Partitions {
  return store.partitions ?? { stores: [store], homeOf: ALL_IN_ONE }
}
