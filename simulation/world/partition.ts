/**
 * One of the stores over which the queue of a simulation is spread, with a clock of its own, and with those who watch it. Most
 * simulations have one.
 */
import { PartitionedStore } from '../../src/store/partitioned/store.ts'
import type { Store } from '../../src/store/contract/store.ts'
import type { ControlsJudge } from '../judges/controls.ts'
import type { KeysJudge } from '../judges/keys.ts'
import type { Ledger } from '../judges/ledger.ts'
import type { StoreTime } from './store-time.ts'

export type Partition = {
  /** From 0. */
  readonly number: number
  readonly store: Store
  readonly time: StoreTime
  readonly ledger: Ledger
  readonly controls: ControlsJudge
  readonly keys: KeysJudge
}

/** The stores of all partitions, as a queue has them. */
export function asOne(stores: readonly Store[]): Store {
  const [first] = stores
  return first !== undefined && stores.length === 1 ? first : new PartitionedStore(stores)
}
