/**
 * What becomes of a message after an attempt. The one place that decides "retry or dead, and when": no engine and no
 * other part of the runtime does.
 */
import { retryDelayMs, type RetryPolicy } from './backoff.ts'
import { formatDuration, parseDuration, type Duration } from './input/duration.ts'
import { assertNever } from './errors.ts'

/** Throw it from a handler to choose when the next attempt comes. The retry limit still decides whether. */
export class RetryIn extends Error {
  override readonly name = 'RetryIn'
  readonly delayMs: number

  constructor(delay: Duration, options?: { message?: string; cause?: unknown }) {
    const delayMs = parseDuration(delay, 'delay')
    super(options?.message ?? `retry in ${formatDuration(delayMs)}`, { cause: options?.cause })
    this.delayMs = delayMs
  }
}

/** Throw it from a handler when no retry can help: the message goes to the dead letters at once. */
export class DeadLetter extends Error {
  override readonly name = 'DeadLetter'
  readonly reason: string

  constructor(reason: string, options?: { cause?: unknown }) {
    super(reason, { cause: options?.cause })
    this.reason = reason
  }
}

/** How an attempt ended. */
export type Ending =
  | { readonly kind: 'returned' }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'timed out'; readonly timeoutMs: number }
  /** The lease ended and nobody answered: the worker died, or was cut off. */
  | { readonly kind: 'lapsed' }
  /** The worker stops; it is nobody's fault. */
  | { readonly kind: 'stopped' }

export type Outcome =
  | { readonly kind: 'ack' }
  | { readonly kind: 'release' }
  | { readonly kind: 'retry'; readonly delayMs: number; readonly error: string }
  | { readonly kind: 'dead'; readonly reason: string; readonly error: string }

const ACK: Outcome = { kind: 'ack' }
const RELEASE: Outcome = { kind: 'release' }

/** `attempt` includes the one that just ended. `chance` is uniform in [0, 1). */
export function decideOutcome(attempt: number, ending: Ending, policy: RetryPolicy, chance: number): Outcome {
  switch (ending.kind) {
    case 'returned':
      return ACK
    case 'stopped':
      return RELEASE
    case 'threw':
      return decideThrown(attempt, ending.error, policy, chance)
    case 'timed out':
      return retryOrDead(attempt, policy, {
        delayMs: retryDelayMs(policy, attempt, chance),
        reason: 'timeout',
        error: `the handler did not end within ${formatDuration(ending.timeoutMs)}`,
      })
    case 'lapsed':
      return retryOrDead(attempt, policy, {
        delayMs: retryDelayMs(policy, attempt, chance),
        reason: 'lapsed',
        error: 'the lease ended without an answer: the worker died or was cut off',
      })
    default:
      return assertNever(ending)
  }
}

function decideThrown(attempt: number, error: unknown, policy: RetryPolicy, chance: number): Outcome {
  if (isDeadLetter(error)) return { kind: 'dead', reason: error.reason, error: errorText(error) }
  const delayMs = isRetryIn(error) ? error.delayMs : retryDelayMs(policy, attempt, chance)
  return retryOrDead(attempt, policy, { delayMs, reason: 'failed', error: errorText(error) })
}

type Failure = { readonly delayMs: number; readonly reason: string; readonly error: string }

function retryOrDead(attempt: number, policy: RetryPolicy, { delayMs, reason, error }: Failure): Outcome {
  return attempt > policy.limit ? { kind: 'dead', reason, error } : { kind: 'retry', delayMs, error }
}

/** A lapse found by a process that has no handler, and so no policy, for the topic: back to whoever has one. */
export function decideForeignLapse(): Outcome {
  return {
    kind: 'retry',
    delayMs: 0,
    error: 'the lease ended without an answer: the worker died or was cut off',
  }
}

export type Start = {
  readonly attempt: number
  readonly latenessMs: number
  readonly ttlMs: number | undefined
  readonly policy: RetryPolicy
}

/** Whether a message may still be started; undefined when it may. */
export function decideStart({ attempt, latenessMs, ttlMs, policy }: Start): Outcome | undefined {
  // The ttl asks for a first start in time. A retry comes when its policy says, however late that is.
  if (ttlMs !== undefined && attempt === 1 && latenessMs > ttlMs) {
    const error = `not started within ${formatDuration(ttlMs)} after it was due`
    return { kind: 'dead', reason: 'expired', error }
  }
  // Only after foreign lapses: everybody else counts before giving it back.
  if (attempt > policy.limit + 1) {
    return {
      kind: 'dead',
      reason: 'lapsed',
      error: `its workers died or were cut off; attempts: ${attempt - 1}`,
    }
  }
  return undefined
}

const ERROR_TEXT_MAX = 2_000

/** An error as it is kept with the message: the stack where there is one, cut to a size that a store can bear. */
export function errorText(error: unknown): string {
  return textOf(error).slice(0, ERROR_TEXT_MAX).toWellFormed()
}

function textOf(error: unknown): string {
  try {
    if (error instanceof Error) return error.stack ?? `${error.name}: ${error.message}`
    return typeof error === 'string' ? error : (JSON.stringify(error) ?? String(error))
  } catch {
    return 'an error that cannot be shown' // Its toString or toJSON threw.
  }
}

// By name, not by instance: a handler module may have loaded its own copy of this package.
function isRetryIn(error: unknown): error is RetryIn {
  return (
    error instanceof Error &&
    error.name === 'RetryIn' &&
    'delayMs' in error &&
    typeof error.delayMs === 'number'
  )
}

function isDeadLetter(error: unknown): error is DeadLetter {
  return (
    error instanceof Error &&
    error.name === 'DeadLetter' &&
    'reason' in error &&
    typeof error.reason === 'string'
  )
}
