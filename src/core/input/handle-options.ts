/** Options as users write them, checked at the door and turned into settings that the rest of the code can trust. */
import { checkRecord, parseInteger, parseNumber } from './checks.ts'
import { parseDuration, TIMER_MS_MAX, DAY_MS, type Duration } from './duration.ts'
import type { RetryPolicy } from '../machines/backoff.ts'
import { UsageError, describe } from '../errors.ts'
import { neverOpens, type WindowBook, type Windows, type Within } from '../windows/windows.ts'

export type RetryOptions = {
  /** How many retries after the first attempt. Default: as many as `delays` has, or 3. */
  limit?: number
  /** The wait before each retry; the last one repeats. Default: 1, 5 and 30 minutes. */
  delays?: readonly Duration[]
  /** Growing waits instead: `base`, then `base x factor`, and so on up to `cap`. */
  exponential?: {
    base: Duration
    /** 1 to 100. Default 2: each wait is twice the one before. */
    factor?: number
    /** No wait is longer. Default 1 day. */
    cap?: Duration
    /** 0 to 1: chance shortens each wait by up to this share, and never makes it longer. Default 0.2. */
    jitter?: number
  }
}

export type HandleOptions = {
  /** How many of this topic run at once in this process. Default: the queue's `concurrency`. */
  concurrency?: number
  /** How long one attempt may take before its signal aborts and it counts as failed. Default: the queue's. */
  timeout?: Duration
  /** Default: the queue's. */
  retry?: RetryOptions
  /** Messages of this topic that bring no window start only there. */
  within?: Within
}

export const RETRY_LIMIT_MAX = 1_000_000
export const CONCURRENCY_MAX = 100_000

const MINUTE_MS = 60_000

/** Three retries, after 1, 5 and 30 minutes. */
export const RETRY_DEFAULT: RetryPolicy = { limit: 3, waits: [MINUTE_MS, 5 * MINUTE_MS, 30 * MINUTE_MS] }
const EXPONENTIAL_DEFAULT = { factor: 2, cap: DAY_MS, jitter: 0.2 } as const

export type HandleSettings = {
  readonly concurrency: number
  readonly timeoutMs: number
  readonly retry: RetryPolicy
  readonly within?: Windows
}

export function parseHandleOptions(
  options: unknown,
  defaults: HandleSettings,
  { now, book }: { readonly now: number; readonly book: WindowBook },
): HandleSettings {
  if (options === undefined) return defaults
  const names = ['concurrency', 'timeout', 'retry', 'within'] as const
  const { concurrency, timeout, retry, within } = checkRecord(options, 'options', names)
  const windows = within === undefined ? undefined : book.read(within)
  if (windows !== undefined && windows.opening(now) === undefined) throw neverOpens(within)
  return {
    concurrency: concurrency === undefined ? defaults.concurrency : parseConcurrency(concurrency),
    timeoutMs: timeout === undefined ? defaults.timeoutMs : parseTimeout(timeout),
    retry: retry === undefined ? defaults.retry : parseRetry(retry),
    ...(windows === undefined ? {} : { within: windows }),
  }
}

export function parseConcurrency(value: unknown): number {
  return parseInteger(value, 'concurrency', { min: 1, max: CONCURRENCY_MAX })
}

export function parseTimeout(value: unknown): number {
  return parseDuration(value, 'timeout', { min: 1, max: TIMER_MS_MAX })
}

export function parseRetry(value: unknown): RetryPolicy {
  if (Number.isInteger(value) && Number(value) >= 0) {
    throw new UsageError(
      'OPTION_INVALID',
      `retry is ${describe(value)}; give an object such as { limit: ${describe(value)} }.`,
      { value },
    )
  }
  const { limit, delays, exponential } = checkRecord(value, 'retry', ['limit', 'delays', 'exponential'])
  if (delays !== undefined && exponential !== undefined) {
    throw new UsageError('OPTION_INVALID', 'retry has both "delays" and "exponential"; give one of them.', {
      value,
    })
  }
  const waits = exponential === undefined ? parseDelays(delays) : parseExponential(exponential)
  const limitDefault = Array.isArray(delays) ? delays.length : RETRY_DEFAULT.limit
  return {
    limit:
      limit === undefined
        ? limitDefault
        : parseInteger(limit, 'retry.limit', { min: 0, max: RETRY_LIMIT_MAX }),
    waits,
  }
}

/** As `parseRetry` takes it; durations in milliseconds. */
export function retryOptionsOf({ limit, waits }: RetryPolicy): RetryOptions {
  if (!('baseMs' in waits)) return { limit, delays: [...waits] }
  const { baseMs: base, factor, capMs: cap, jitter } = waits
  return { limit, exponential: { base, factor, cap, jitter } }
}

function parseDelays(value: unknown): readonly number[] {
  if (value === undefined) return RETRY_DEFAULT.waits as readonly number[]
  if (!Array.isArray(value) || value.length === 0 || value.length > 1000) {
    throw new UsageError(
      'OPTION_INVALID',
      `retry.delays is ${describe(value)}; give a list of 1 to 1000 durations like ["1m", "5m"]. For no retries use limit: 0.`,
      { value },
    )
  }
  return value.map((delay, i) => parseDuration(delay, `retry.delays[${i}]`))
}

function parseExponential(value: unknown): RetryPolicy['waits'] {
  const { base, factor, cap, jitter } = checkRecord(value, 'retry.exponential', [
    'base',
    'factor',
    'cap',
    'jitter',
  ])
  return {
    baseMs: parseDuration(base, 'retry.exponential.base', { min: 1, max: DAY_MS }),
    factor: parseNumber(factor ?? EXPONENTIAL_DEFAULT.factor, 'retry.exponential.factor', {
      min: 1,
      max: 100,
    }),
    capMs: parseDuration(cap ?? EXPONENTIAL_DEFAULT.cap, 'retry.exponential.cap', {
      min: 1,
      max: 365 * DAY_MS,
    }),
    jitter: parseNumber(jitter ?? EXPONENTIAL_DEFAULT.jitter, 'retry.exponential.jitter', { min: 0, max: 1 }),
  }
}

/** The timeout of a `stop`, in milliseconds. */
export function parseStop(options: unknown, defaultMs: number): number {
  if (options === undefined) return defaultMs
  const { timeout } = checkRecord(options, 'options', ['timeout'])
  return timeout === undefined ? defaultMs : parseDuration(timeout, 'timeout', { min: 0, max: TIMER_MS_MAX })
}
