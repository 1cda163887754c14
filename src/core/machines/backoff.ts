/**
 * How long to wait after a failure. Always a whole number of milliseconds, never negative, never above the cap.
 * `outcome.ts` decides whether to retry at all; `input/handle-options.ts` has the defaults.
 */
import { DELAY_MS_MAX } from '../input/duration.ts'

export type Exponential = {
  readonly baseMs: number
  readonly factor: number
  readonly capMs: number
  /** 0 to 1: the share of the wait that chance may take away, so that a thousand failures do not come back at once. */
  readonly jitter: number
}

export type RetryPolicy = {
  /** How many times after the first. */
  readonly limit: number
  /** A list of waits (the last one repeats), or growing ones. */
  readonly waits: readonly number[] | Exponential
}

/** The wait before retry number `retry` (1 for the first). `chance` is uniform in [0, 1). */
export function retryDelayMs({ waits }: RetryPolicy, retry: number, chance: number): number {
  if (isExponential(waits)) return exponentialMs(waits, retry, chance)
  return waits[Math.min(retry, waits.length) - 1] ?? 0
}

export function exponentialMs(growth: Exponential, failures: number, chance: number): number {
  // Infinity, from a huge exponent, is cut off by the cap like any other number.
  const grown = growth.baseMs * growth.factor ** Math.max(0, failures - 1)
  const whole = Math.min(grown, growth.capMs, DELAY_MS_MAX)
  return Math.ceil(whole * (1 - growth.jitter * chance))
}

function isExponential(waits: RetryPolicy['waits']): waits is Exponential {
  return 'baseMs' in waits
}
