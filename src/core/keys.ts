/**
 * Keys: what belongs together within a topic, a customer for instance. Of each key only its first message stands in the
 * line of its topic, with the key's *turn* as its place. So fair shares, one at a time, several at once and so many a
 * second are one question: when is this key's turn?
 *
 *   turn of a key, in one priority = the latest of   dueAt of its first message there
 *                                                    when it was last served, which is now, again and again
 *                                                    when its rate allows another start
 *                                  = none            while as many of its messages run as it is allowed
 *                                                    while a retry of a serial key holds it, but for that retry
 *
 * Fairness. Serving a key moves its turn to now, behind every key that is due and waits: of each other key at most one
 * message goes before the first of this one (P16). A key of weight w is moved by every w-th service only. A message
 * without a key is a key of its own, whose turn is its dueAt.
 *
 * Order in a key: priority, dueAt, produce order. A retry moves the message behind others of its key, by the store's doing
 * and not by the user's; so a key that is allowed one at a time (*serial*) is held by its retry, and by what lapsed, until
 * that was handed out again, or was cancelled or moved. Snooze, reschedule and revive set a moment of the user's own: they
 * hold nothing.
 *
 * A key whose first message comes with a moment that has passed begins as if it was served now: a message that claims to be
 * old gains nothing by it.
 *
 * Several services in one millisecond, or of one claim, need an order: each gets a stamp, a little later than the one before
 * (`nextStamp`), so that no key is served twice before another that is due.
 */
import type { Allowance } from './controls.ts'

/** What one key is allowed in place of `perKey`, and its weight. */
export type KeyLimit = Allowance & {
  /** How many of its messages are handed out for one of each other key. Default: 1. */
  readonly weight?: number
}

/** What holds for one key. */
export type KeyTerms = Allowance & { readonly weight: number }

/** Where a key stands among those of its topic and priority: when it was served, and how often since it was moved. */
export type KeyTurn = { readonly servedAt: number; readonly used: number }

/** So many keys of a topic may have limits of their own. */
export const KEY_LIMITS_MAX = 1_000
export const KEY_WEIGHT_MAX = 1_000

export const FRESH_TURN: KeyTurn = { servedAt: 0, used: 0 }

/** In milliseconds: how much later the next service counts. */
const STAMP_STEP_MS = 0.001

/** A limit of its own with a rate or a concurrency replaces that of all keys; one with a weight alone does not. */
export function termsOf(perKey: Allowance | undefined, own: KeyLimit | undefined): KeyTerms {
  const weight = own?.weight ?? 1
  const isOwn = own?.rate !== undefined || own?.concurrency !== undefined
  const { rate, concurrency } = (isOwn ? own : perKey) ?? {}
  return {
    weight,
    ...(rate === undefined ? {} : { rate }),
    ...(concurrency === undefined ? {} : { concurrency }),
  }
}

/** One at a time: a retry holds it. */
export function isSerial({ concurrency }: Allowance): boolean {
  return concurrency === 1
}

/** Of a service now, after the one before. */
export function nextStamp(before: number, now: number): number {
  return Math.max(before, now) + STAMP_STEP_MS
}

/** Of a key that was served at this stamp. */
export function servedTurn({ servedAt, used }: KeyTurn, weight: number, stamp: number): KeyTurn {
  return used + 1 >= weight ? { servedAt: stamp, used: 0 } : { servedAt, used: used + 1 }
}

/** Of a key that had no message of this priority, when one enters that is due then. */
export function enteredTurn(dueAt: number, now: number): KeyTurn {
  return dueAt < now ? { servedAt: now, used: 0 } : FRESH_TURN
}
