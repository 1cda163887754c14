/**
 * What becomes of a message after an attempt. The one place that decides "retry or dead, and when": no engine and no
 * other part of the runtime does.
 */
import { retryDelayMs, type RetryPolicy } from './backoff.ts'
import { DELAY_MS_MAX, formatDuration, parseDuration, type Duration } from '../input/duration.ts'
import { assertNever } from '../errors.ts'
import type { DueMoment } from '../input/request.ts'
import type { RememberedOutcome } from '../message.ts'
import type { WindowAnswer } from '../windows/windows.ts'

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

/** Throw it from a handler that cannot work yet: the message is due again then, and no attempt is counted. */
export class Snooze extends Error {
  override readonly name = 'Snooze'
  readonly delayMs: number

  constructor(delay: Duration, options?: { message?: string; cause?: unknown }) {
    const delayMs = parseDuration(delay, 'delay')
    super(options?.message ?? `snooze for ${formatDuration(delayMs)}`, { cause: options?.cause })
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
  /** `isOwnWord`: the handler said that it has completed. */
  | { readonly kind: 'returned'; readonly result?: unknown; readonly isOwnWord?: true }
  /** It asks to be due again then. */
  | { readonly kind: 'again'; readonly when: DueMoment }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'timed out'; readonly timeoutMs: number }
  /** We ended it, and it is not the fault of the message: the worker stops, or its lease was in doubt. */
  | { readonly kind: 'stopped' }
  /** Who ran it for us, elsewhere, was not heard of in time: as if a lease had lapsed. `lapses`: of those before. */
  | { readonly kind: 'lapsed'; readonly lapses: number }

export type Outcome =
  | { readonly kind: 'ack'; readonly remember?: RememberedEnd; readonly isOwnWord?: true }
  /** Too late to be useful, and completed without having run. */
  | { readonly kind: 'skip'; readonly remember?: RememberedEnd }
  /** Due again then, this attempt not counted. `isMoved`: its window did it; its handler has not run. */
  | { readonly kind: 'again'; readonly when: DueMoment; readonly isMoved?: true }
  | { readonly kind: 'release' }
  | { readonly kind: 'retry'; readonly delayMs: number; readonly error: string; readonly isLapse?: true }
  /** Back in its place, due as before: its worker died or was cut off. */
  | { readonly kind: 'lapse'; readonly error: string }
  | { readonly kind: 'dead'; readonly reason: string; readonly error: string }

/** A retry cannot help. */
export const UNREADABLE: Outcome = {
  kind: 'dead',
  reason: 'unreadable',
  error: 'the stored policy of the message cannot be read',
}

/** What stays of a message that is done: for how long, how it ended, what its handler returned. */
export type RememberedEnd = {
  readonly ms: number
  readonly outcome: RememberedOutcome
  readonly result: string
}

const ACK: Outcome = { kind: 'ack' }
const RELEASE: Outcome = { kind: 'release' }

/** `attempt` includes the one that just ended. `chance` is uniform in [0, 1). */
export function decideOutcome(attempt: number, ending: Ending, policy: RetryPolicy, chance: number): Outcome {
  switch (ending.kind) {
    case 'returned':
      return ACK
    case 'again':
      return ending
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
      return decideLapse({ attempt, lapses: ending.lapses, policy, chance })
    default:
      return assertNever(ending)
  }
}

function decideThrown(attempt: number, error: unknown, policy: RetryPolicy, chance: number): Outcome {
  if (isSnooze(error)) return { kind: 'again', when: { delayMs: storableMs(error.delayMs) } }
  const asked = isRetryIn(error) ? error.delayMs : undefined
  const deadLetter = asked === undefined ? findDeadLetter(error) : undefined
  if (deadLetter !== undefined)
    return { kind: 'dead', reason: cutText(deadLetter.reason), error: errorText(error) }
  const delayMs = asked ?? retryDelayMs(policy, attempt, chance)
  return retryOrDead(attempt, policy, { delayMs, reason: 'failed', error: errorText(error) })
}

type Failure = { readonly delayMs: number; readonly reason: string; readonly error: string }

function retryOrDead(attempt: number, policy: RetryPolicy, { delayMs, reason, error }: Failure): Outcome {
  return attempt > policy.limit
    ? { kind: 'dead', reason, error }
    : { kind: 'retry', delayMs: storableMs(delayMs), error }
}

/** A wait that every engine can store, whatever a policy or an error asked for. */
function storableMs(delayMs: number): number {
  return Number.isNaN(delayMs) ? 0 : Math.min(Math.max(0, Math.ceil(delayMs)), DELAY_MS_MAX)
}

export type Lapse = {
  readonly attempt: number
  /** How many leases of this message had lapsed in a row before. */
  readonly lapses: number
  /** Undefined where this process has no handler for the topic. */
  readonly policy: RetryPolicy | undefined
  readonly chance: number
}

/** The share of the wait after a lapse that chance may take away. */
const LAPSE_JITTER = 0.5

export const LAPSE_ERROR = 'the lease ended without an answer: the worker died or was cut off'

/**
 * The worker of a message died or was cut off. It goes back to its place, so that order and lateness stay true. A
 * message that does it to two workers in a row may be the reason: it waits by its retry policy, and chance shortens that,
 * so that what lapsed together does not come back together.
 */
export function decideLapse({ attempt, lapses, policy, chance }: Lapse): Outcome {
  if (policy === undefined) return { kind: 'lapse', error: LAPSE_ERROR }
  const outcome = retryOrDead(attempt, policy, {
    delayMs: retryDelayMs(policy, attempt, chance),
    reason: 'lapsed',
    error: LAPSE_ERROR,
  })
  if (outcome.kind !== 'retry') return outcome
  if (lapses === 0) return { kind: 'lapse', error: LAPSE_ERROR }
  return { ...outcome, delayMs: Math.ceil(outcome.delayMs * (1 - LAPSE_JITTER * chance)), isLapse: true }
}

export type Start = {
  readonly attempt: number
  /** How many leases of this message had lapsed in a row before. */
  readonly lapses: number
  /** Since the moment that was last set by produce, reschedule or snooze. */
  readonly latenessMs: number
  readonly ttlMs: number | undefined
  readonly ifExpired: IfExpired
  /** Absent: it may start at any time. */
  readonly window?: WindowAnswer | undefined
  readonly policy: RetryPolicy
}

/** What becomes of a message that was not started within its ttl. */
export type IfExpired = 'dead' | 'skip'

const SKIP: Outcome = { kind: 'skip' }

/**
 * The ttl asks for a first start in time: workers that died have not made one. A retry comes when its policy says, however
 * late that is.
 */
export function isExpired({
  attempt,
  lapses,
  latenessMs,
  ttlMs,
}: Pick<Start, 'attempt' | 'lapses' | 'latenessMs' | 'ttlMs'>): boolean {
  return ttlMs !== undefined && lapses === attempt - 1 && latenessMs > ttlMs
}

/** Whether a message may still be started; undefined when it may. */
export function decideStart(start: Start): Outcome | undefined {
  const { attempt, ttlMs = 0, policy } = start
  if (isExpired(start)) {
    if (start.ifExpired === 'skip') return SKIP
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
  return start.window === undefined ? undefined : outsideWindow(start.window, attempt, policy)
}

/** A worker that cannot read a window lacks a calendar, or the zone: another one, or a newer version, may have it. */
function outsideWindow(window: WindowAnswer, attempt: number, policy: RetryPolicy): Outcome | undefined {
  switch (window.kind) {
    case 'open':
      return undefined
    case 'closed':
      return { kind: 'again', when: { at: window.opening.at }, isMoved: true }
    case 'unreadable':
      return retryOrDead(attempt, policy, {
        delayMs: retryDelayMs(policy, attempt, 0),
        reason: 'window',
        error: window.error,
      })
    default:
      return assertNever(window)
  }
}

const ERROR_TEXT_MAX = 2_000
/** How deep a chain of causes is looked through. */
const CAUSES_MAX = 10

/** What stands before the stack of an error that is kept with a message. */
export function messageIn(kept: string): string {
  const [said = ''] = kept.split(/\n\s+at /, 1)
  return said.replace(/^Error: /, '')
}

/** An error as it is kept with the message: the stack where there is one, cut to a size that a store can bear. */
export function errorText(error: unknown): string {
  return cutText(textOf(error))
}

function cutText(text: string): string {
  return text.slice(0, ERROR_TEXT_MAX).toWellFormed()
}

function textOf(error: unknown): string {
  try {
    if (isErrorLike(error)) return error.stack ?? `${error.name}: ${error.message}`
    return typeof error === 'string' ? error : (JSON.stringify(error) ?? String(error))
  } catch {
    return 'an error that cannot be shown' // Its toString or toJSON threw.
  }
}

// By what they carry, not by instance: a handler module may have loaded its own copy of this package, and test runners
// give each module its own `Error`.
function isErrorLike(value: unknown): value is Error {
  try {
    if (typeof value !== 'object' || value === null) return false
    const { name, message, stack } = value as Readonly<Record<keyof Error, unknown>>
    const isText = typeof name === 'string' && typeof message === 'string'
    return isText && (stack === undefined || typeof stack === 'string')
  } catch {
    return false // A getter or a proxy threw.
  }
}

function isRetryIn(error: unknown): error is RetryIn {
  return isErrorLike(error) && error.name === 'RetryIn' && hasDelay(error)
}

function isSnooze(error: unknown): error is Snooze {
  return isErrorLike(error) && error.name === 'Snooze' && hasDelay(error)
}

function hasDelay(error: Error): error is Error & { delayMs: number } {
  return 'delayMs' in error && typeof error.delayMs === 'number' && !Number.isNaN(error.delayMs)
}

/** The error itself, or one that caused it: wrapping an error does not change what it says. */
function findDeadLetter(error: unknown): DeadLetter | undefined {
  let candidate = error
  for (let depth = 0; depth < CAUSES_MAX && isErrorLike(candidate); depth += 1) {
    if (isDeadLetter(candidate)) return candidate
    candidate = candidate.cause
  }
  return undefined
}

function isDeadLetter(error: Error): error is DeadLetter {
  return error.name === 'DeadLetter' && 'reason' in error && typeof error.reason === 'string'
}
