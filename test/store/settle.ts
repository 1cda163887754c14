import type { SettleResult, Settlement, Store } from '../../src/store/contract/store.ts'

/** As a worker does it: what somebody else has locked in this moment is tried again. */
export async function settle(store: Store, settlements: readonly Settlement[]): Promise<SettleResult[]> {
  const results = await store.settle(settlements)
  const locked = settlements.filter((_, i) => results[i] === 'locked')
  if (locked.length === 0) return results
  const again = await settle(store, locked)
  return results.map((result) => (result === 'locked' ? (again.shift() ?? 'locked') : result))
}
