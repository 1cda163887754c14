/** From what the contract says about time to an engine's own clock, and back. */
import type { DueTime, Next } from '../contract/store.ts'

export function dueAtOf(when: DueTime, now: number): number {
  return 'at' in when ? when.at : now + when.delayMs
}

/** When to ask again, if the next thing happens at this moment. */
export function nextAt(at: number | undefined, now: number): Next {
  if (at === undefined) return { state: 'NO_TASK' }
  return at <= now ? { state: 'EXPIRED' } : { state: 'WAITING', ms: at - now }
}
