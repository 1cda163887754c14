/**
 * Durations and moments as users write them, turned into milliseconds once, at the door.
 *
 *   duration   250   '250ms'  '30s'  '5m'  '48h'  '7d'  '1.5h'
 *   moment     Date | epoch ms
 */
import { UsageError, describe } from '../errors.ts'

export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`
export type Moment = Date | number

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/** 100 years: far enough for a letter to the future, near enough that a unit mix-up is caught. */
export const DELAY_MS_MAX = 36_525 * DAY_MS

/** The year 2000 in epoch milliseconds, or a wait of 30 years: as a plain number it is a date that was meant for "at". */
const DATES_FROM_MS = Date.UTC(2000)

/** The longest wait a Node timer can do: above it, `setTimeout` fires at once. */
export const TIMER_MS_MAX = 2 ** 31 - 1

const UNIT_MS = { ms: 1, s: SECOND_MS, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS } as const
const DURATION_TEXT = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/

export type Range = { readonly min: number; readonly max: number }

/** Reads a duration option; `name` is the option as the user knows it. Fractions of a millisecond are rounded up. */
export function parseDuration(
  value: unknown,
  name: string,
  range: Range = { min: 0, max: DELAY_MS_MAX },
): number {
  const ms = typeof value === 'number' ? value : parseDurationText(value, name)
  if (name === 'delay' && value === ms && ms >= DATES_FROM_MS && ms <= range.max) {
    throw new UsageError(
      'DELAY_OUT_OF_RANGE',
      `delay is ${describe(value)}, which is ${new Date(ms).toISOString().slice(0, 10)} in milliseconds since 1970. For a date use "at"; for so long a wait give a text such as "${Math.round(ms / DAY_MS)}d".`,
      { value },
    )
  }
  if (!(ms >= range.min && ms <= range.max)) {
    const code = name === 'delay' ? 'DELAY_OUT_OF_RANGE' : 'OPTION_INVALID'
    const hint = name === 'delay' ? ' For a date use "at".' : ''
    throw new UsageError(
      code,
      `${name} is ${describe(value)}; allowed: ${formatDuration(range.min)} to ${formatDuration(range.max)}.${hint}`,
      { value },
    )
  }
  return Math.ceil(ms)
}

function parseDurationText(value: unknown, name: string): number {
  const match = typeof value === 'string' ? DURATION_TEXT.exec(value) : null
  if (match === null) {
    throw new UsageError('DURATION_INVALID', `${name} is ${describe(value)}; ${durationHint(value, name)}`, {
      value,
    })
  }
  const [, amount, unit] = match as unknown as [string, string, keyof typeof UNIT_MS]
  return Number(amount) * UNIT_MS[unit]
}

function durationHint(value: unknown, name: string): string {
  if (typeof value === 'string' && /^\d+(?:\.\d+)?$/.test(value) && value.length <= 15)
    return `a text needs its unit: "${value}ms", "${value}s", "${value}m", "${value}h" or "${value}d".`
  const allowed = 'give milliseconds as a number, or a text like "250ms", "30s", "5m", "48h", "7d".'
  return value instanceof Date && name === 'delay' ? `${allowed} For a date use "at".` : allowed
}

/** Reads an absolute moment. The past is fine (due now); what lies beyond 100 years from `now` is refused. */
export function parseMoment(value: unknown, name: string, now: number): number {
  const at = value instanceof Date ? value.getTime() : value
  if (typeof at !== 'number' || Number.isNaN(at)) {
    throw new UsageError(
      'MOMENT_INVALID',
      `${name} is ${describe(value)}; give a valid Date or epoch milliseconds. For a duration use "delay".`,
      { value },
    )
  }
  if (at < 0 || at > now + DELAY_MS_MAX) {
    throw new UsageError(
      'MOMENT_OUT_OF_RANGE',
      `${name} is ${describe(value)}; allowed: 1970 up to 100 years from now, in milliseconds since 1970.`,
      { value },
    )
  }
  return Math.ceil(at)
}

/** 3 March 1973 in milliseconds, the year 5138 in seconds. */
const SECONDS_BELOW = 1e11

/**
 * Reads a moment at which something is to happen. The past is fine here too, but not the early seventies: that is what
 * seconds look like when they are taken for milliseconds, and the message would start at once.
 */
export function parseFutureMoment(value: unknown, name: string, now: number): number {
  const at = parseMoment(value, name, now)
  if (at >= SECONDS_BELOW || now < SECONDS_BELOW) return at
  throw new UsageError(
    'MOMENT_OUT_OF_RANGE',
    `${name} is ${describe(value)}, which is in ${new Date(at).getUTCFullYear()}; moments are milliseconds since 1970, so multiply seconds by 1000. For a duration use "delay".`,
    { value },
  )
}

/** The shortest exact text for a duration: 90000 -> "90s", 172800000 -> "2d". */
export function formatDuration(ms: number): string {
  for (const unit of ['d', 'h', 'm', 's'] as const) {
    if (ms >= UNIT_MS[unit] && ms % UNIT_MS[unit] === 0) return `${ms / UNIT_MS[unit]}${unit}`
  }
  return `${ms}ms`
}
