/** From what the contract says about time to an engine's own clock, and back. */
import { DELAY_MS_MAX } from '../../core/input/duration.ts'
import { FOLLOW_UPS_MAX } from '../contract/sizes.ts'
import type { DueTime, NewMessage, Next, Settlement } from '../contract/store.ts'

export function dueAtOf(when: DueTime, now: number): number {
  return 'at' in when ? when.at : now + when.delayMs
}

/**
 * When a new message is produced and due, if it replaces one that waits and was produced at `replacedAt`: with a latest
 * moment, replacing again and again postpones it no further than that.
 */
export function boundedMoment(
  { when, latestMs }: Pick<NewMessage, 'when' | 'latestMs'>,
  replacedAt: number | undefined,
  now: number,
): { readonly dueAt: number; readonly producedAt: number } {
  const dueAt = dueAtOf(when, now)
  if (latestMs === undefined) return { dueAt, producedAt: now }
  const producedAt = replacedAt ?? now
  return { dueAt: Math.min(dueAt, producedAt + latestMs), producedAt }
}

/** When to ask again, if the next thing happens at this moment. */
export function nextAt(at: number | undefined, now: number): Next {
  if (at === undefined || at === Infinity) return { state: 'NO_TASK' }
  return at <= now ? { state: 'EXPIRED' } : { state: 'WAITING', ms: at - now }
}

/** The same, if a topic behind a pause or a limit may be handed out at `sharpAt`, without any lead. */
export function nextOfBoth(at: number | undefined, sharpAt: number | undefined, now: number): Next {
  if ((at ?? Infinity) <= (sharpAt ?? Infinity)) return nextAt(at, now)
  const next = nextAt(sharpAt, now)
  return next.state === 'WAITING' ? { ...next, isSharp: true } : next
}

/**
 * False for what no engine keeps: a number that is NaN, infinite or beyond every moment that users can name; too many
 * messages carried, or one that seizes.
 */
export function isStorable(settlement: Settlement): boolean {
  const { kind } = settlement
  if (kind === 'retry') return isMoment({ delayMs: settlement.delayMs })
  if (kind === 'again' && !isMoment(settlement.when)) return false
  if (kind !== 'ack' && kind !== 'again') return true
  if (kind === 'ack' && settlement.remember !== undefined && !isMoment({ delayMs: settlement.remember.ms }))
    return false
  const { followUps } = settlement
  return followUps === undefined || (followUps.length <= FOLLOW_UPS_MAX && followUps.every(canFollow))
}

function canFollow({ when, ifExists }: NewMessage): boolean {
  return isMoment(when) && ifExists !== 'seize'
}

/** Whether the handler itself said that it has completed. */
export function isOwnWord(settlement: Settlement): boolean {
  return settlement.kind === 'ack' && settlement.isOwnWord === true
}

function isMoment(when: DueTime): boolean {
  return 'at' in when ? Number.isFinite(when.at) : when.delayMs >= 0 && when.delayMs <= DELAY_MS_MAX
}
