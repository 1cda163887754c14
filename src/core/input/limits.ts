/** Pauses and limits as users say them, checked and turned into the words of the contract. */
import type { Allowance, RateLimit, TopicLimit } from '../controls.ts'
import { UsageError, describe } from '../errors.ts'
import { KEY_WEIGHT_MAX, type KeyLimit } from '../keys.ts'
import { checkKey, checkTopic } from './names.ts'
import { checkRecord, parseInteger } from './checks.ts'
import { DELAY_MS_MAX, formatDuration, parseDuration, parseFutureMoment, type Duration } from './duration.ts'
import type { Ahead } from './questions.ts'

export type PauseOptions = {
  /** When the pause ends by itself: a moment, or a time from now as text ('2h'). Default: when somebody resumes it. */
  until?: Ahead
}

export type ResumeOptions = {
  /** Spreads what is due now, and what comes due meanwhile, over this time. Default: all of it may start at once. */
  over?: Duration
}

/** So many in so much time: '100/1m', '5/s'. */
export type Rate = `${number}/${string}`

export type LimitOptions = {
  /** How many may start in how much time, over all processes: '100/1m'. */
  rate?: Rate
  /** How many may start at once after a quiet time. Default: what the rate allows in 100 ms, at least 1. */
  burst?: number
  /** How many may run at once, over all processes. */
  concurrency?: number
  /** What each key of the topic is allowed, over all processes. */
  perKey?: KeyAllowance
}

/** With `concurrency: 1` the messages of a key start one after the other, and a retry holds those behind it. */
export type KeyAllowance = Pick<LimitOptions, 'rate' | 'burst' | 'concurrency'>

/** Of one key, in place of `perKey`; with a weight alone, `perKey` holds for it too. */
export type KeyLimitOptions = KeyAllowance & {
  /** So many of its messages are handed out for one of each other key. Default: 1. */
  weight?: number
}

const RATE = /^(\d+(?:\.\d+)?)\/(\d+(?:\.\d+)?)?(ms|s|m|h|d)$/
const RATE_COUNT_MAX = 1_000_000
const RATE_MS_MAX = 366 * 86_400_000
const INTERVAL_MS_MIN = 0.001
const NUMBER_MAX = 1_000_000
/** Claims a few milliseconds late must not cost a fast topic its rate. */
const BURST_MS = 100

/** Undefined stands for the whole queue. */
export function parseControlled(topic: unknown): string | undefined {
  return topic === undefined ? undefined : checkTopic(topic)
}

/** Undefined: until somebody resumes it. */
export function parsePause(
  options: unknown,
  now: number,
): { readonly delayMs: number } | { readonly at: number } | undefined {
  const { until } = checkRecord(options ?? {}, 'options', ['until'])
  if (until === undefined) return undefined
  if (typeof until === 'string')
    return { delayMs: parseDuration(until, 'until', { min: 1, max: DELAY_MS_MAX }) }
  return { at: parseFutureMoment(until, 'until', now) }
}

/** Over how many milliseconds; undefined: at once. */
export function parseResume(options: unknown): number | undefined {
  const { over } = checkRecord(options ?? {}, 'options', ['over'])
  return over === undefined ? undefined : parseDuration(over, 'over', { min: 1_000, max: RATE_MS_MAX })
}

export function parseLimit(options: unknown): TopicLimit | null {
  if (options === null) return null
  const { perKey, ...given } = checkRecord(options, 'limit', [...ALLOWANCE_KEYS, 'perKey'])
  if (perKey === undefined) return parseAllowance(given, options, LIMIT_WORDS)
  const each = parseAllowance(checkRecord(perKey, 'perKey', ALLOWANCE_KEYS), perKey, PER_KEY_WORDS)
  const isBoth = ALLOWANCE_KEYS.some((name) => given[name] !== undefined)
  return { ...(isBoth ? parseAllowance(given, options, LIMIT_WORDS) : {}), perKey: each }
}

/** The key that a limit is of; undefined: the whole topic. */
export function parseLimitedKey(options: unknown): string | undefined {
  const { key } = checkRecord(options ?? {}, 'options', ['key'])
  return key === undefined ? undefined : checkKey(key)
}

/** Of one key. */
export function parseKeyLimit(options: unknown): KeyLimit | null {
  if (options === null) return null
  const { weight, ...given } = checkRecord(options, 'limit', [...ALLOWANCE_KEYS, 'weight'])
  const isWeightAlone = weight !== undefined && ALLOWANCE_KEYS.every((name) => given[name] === undefined)
  return {
    ...(isWeightAlone ? {} : parseAllowance(given, options, KEY_WORDS)),
    ...(weight === undefined
      ? {}
      : { weight: parseInteger(weight, 'weight', { min: 1, max: KEY_WEIGHT_MAX }) }),
  }
}

const ALLOWANCE_KEYS = ['rate', 'burst', 'concurrency'] as const

/** What a limit without anything in it is told. */
const LIMIT_WORDS =
  'limit has none of "rate", "concurrency" and "perKey"; give one of them, or null to take the limit back.'
const PER_KEY_WORDS = 'perKey has neither "rate" nor "concurrency"; give one of them, or leave perKey out.'
const KEY_WORDS =
  'limit of a key has none of "rate", "concurrency" and "weight"; give one of them, or null to take the limit back.'

function parseAllowance(
  { rate, burst, concurrency }: { readonly [K in (typeof ALLOWANCE_KEYS)[number]]?: unknown },
  value: unknown,
  words: string,
): Allowance {
  if (rate === undefined && concurrency === undefined)
    throw new UsageError('OPTION_INVALID', words, { value })
  if (burst !== undefined && rate === undefined) {
    throw new UsageError('OPTION_INVALID', 'limit has a "burst" without a "rate"; give both.', {
      value: burst,
    })
  }
  return {
    ...(rate === undefined ? {} : { rate: parseRate(rate, burst) }),
    ...(concurrency === undefined
      ? {}
      : { concurrency: parseInteger(concurrency, 'concurrency', { min: 1, max: NUMBER_MAX }) }),
  }
}

function parseRate(value: unknown, burst: unknown): RateLimit {
  const match = typeof value === 'string' ? RATE.exec(value) : null
  const [, count = '', amount = '1', unit = ''] = match ?? []
  const ms = match === null ? NaN : parseDuration(`${amount}${unit}`, 'rate')
  const intervalMs = ms / Number(count)
  const isFine =
    Number(count) > 0 &&
    Number(count) <= RATE_COUNT_MAX &&
    intervalMs >= INTERVAL_MS_MIN &&
    intervalMs <= RATE_MS_MAX
  if (!isFine) {
    throw new UsageError(
      'OPTION_INVALID',
      `rate is ${describe(value)}; give a text like "100/1m", "5/1s", "1000/1h": how many, in how much time.`,
      { value },
    )
  }
  return {
    intervalMs,
    burst:
      burst === undefined ? burstOf(intervalMs) : parseInteger(burst, 'burst', { min: 1, max: NUMBER_MAX }),
  }
}

/** How many may start at once where `burst` is not given: as many as the rate allows in BURST_MS. */
export function burstOf(intervalMs: number): number {
  return Math.max(1, Math.min(NUMBER_MAX, Math.ceil(BURST_MS / intervalMs)))
}

const UNITS_MS = [1_000, 60_000, 3_600_000, 86_400_000]

/** Written as the option `rate` takes it: so many in the shortest of its units in which at least one may start. */
export function formatRate(intervalMs: number): Rate {
  const unitMs = UNITS_MS.find((ms) => ms >= intervalMs * 0.999) ?? 86_400_000
  const exactMs = UNITS_MS.find((ms) => ms >= unitMs && isWhole(ms / intervalMs)) ?? unitMs
  const count = exactMs / intervalMs
  const shown = isWhole(count) ? Math.round(count) : Number(count.toPrecision(3))
  return `${shown}/${formatDuration(exactMs)}`
}

function isWhole(count: number): boolean {
  return Math.abs(count - Math.round(count)) < 1e-6 * count
}
