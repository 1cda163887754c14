/** How a worker elsewhere says that an attempt ended, in the words of `core/machines/outcome`. */
import { assertNever } from '../../../core/errors.ts'
import { parseDuration } from '../../../core/input/duration.ts'
import type { Ending } from '../../../core/machines/outcome.ts'
import { CallError } from '../../shared/failure.ts'
import { anything, duration, object, oneOf, optional, text, type Checked } from '../schema/schema.ts'

export const OUTCOMES = ['completed', 'failed', 'retry', 'snooze', 'dead', 'released'] as const

export const SETTLED_LEASE = object({
  lease: text(),
  outcome: oneOf(...OUTCOMES),
  error: optional(text({ about: 'what went wrong; kept with the message' })),
  in: optional(duration()),
  reason: optional(text()),
  result: optional(anything('kept as long as the message is remembered, up to 16 KiB')),
})
export type SettledLease = Checked<typeof SETTLED_LEASE>

/**
 *   completed  done
 *   failed     again by the retry policy, or dead
 *   retry      the same, but after `in`
 *   snooze     again after `in`, the attempt not counted
 *   dead       to the dead letters at once
 *   released   given back as it was, the attempt not counted
 */
export function endingOf(told: SettledLease): Ending {
  const { outcome, error = 'the worker gave no reason', reason = 'dead', result } = told
  switch (outcome) {
    case 'completed':
      return result === undefined ? { kind: 'returned' } : { kind: 'returned', result }
    case 'failed':
      return { kind: 'threw', error }
    case 'retry':
      return { kind: 'threw', error: like('RetryIn', error, { delayMs: delayOf(told) }) }
    case 'snooze':
      return { kind: 'threw', error: like('Snooze', error, { delayMs: delayOf(told) }) }
    case 'dead':
      return { kind: 'threw', error: like('DeadLetter', told.error ?? reason, { reason }) }
    case 'released':
      return { kind: 'stopped' }
    default:
      return assertNever(outcome)
  }
}

function delayOf({ in: delay, outcome }: SettledLease): number {
  if (delay !== undefined) return parseDuration(delay, 'in')
  throw new CallError(`${outcome} needs "in": after how long.`)
}

/** As if a handler had thrown it; the stack of this server would tell no reader anything. */
function like(name: string, message: string, more: Readonly<Record<string, unknown>>): unknown {
  return { name, message, stack: message, ...more }
}
