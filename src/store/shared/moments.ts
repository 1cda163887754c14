/** From what the contract says about time to an engine's own clock, and back. */
import { DELAY_MS_MAX } from '../../core/input/duration.ts'
import type { DueTime, Next, Settlement } from '../contract/store.ts'

export function dueAtOf(when: DueTime, now: number): number {
  return 'at' in when ? when.at : now + when.delayMs
}

/** When to ask again, if the next thing happens at this moment. */
export function nextAt(at: number | undefined, now: number): Next {
  if (at === undefined || at === Infinity) return { state: 'NO_TASK' }
  return at <= now ? { state: 'EXPIRED' } : { state: 'WAITING', ms: at - now }
}

/** False for numbers that no engine can keep: NaN, infinite, or beyond every moment that users can name. */
export function isStorable(settlement: Settlement): boolean {
  if (settlement.kind === 'ack') return settlement.remember === undefined || isSpan(settlement.remember.ms)
  return settlement.kind !== 'retry' || isSpan(settlement.delayMs)
}

function isSpan(ms: number): boolean {
  return ms >= 0 && ms <= DELAY_MS_MAX
}
