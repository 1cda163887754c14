/** What a message keeps through its attempts, as the ledger works it out for itself. */
import type { Settlement } from '../../src/store/contract/store.ts'

export type Kept = {
  readonly producedAt: number
  /** The moment last set by produce, reschedule or revive. */
  firstDueAt: number
  /** Leases that lapsed in a row. */
  lapses: number
}

export function keepSettlement(kept: Kept, settlement: Settlement): void {
  if (settlement.kind === 'lapse') kept.lapses += 1
  if (settlement.kind === 'again' && settlement.keepsLapses !== true) kept.lapses = 0
  if (settlement.kind === 'retry') kept.lapses = settlement.isLapse === true ? kept.lapses + 1 : 0
}
