/** The constructor's options: every one checked at once, an unknown one refused, all turned into settings. */
import { systemClock, type Clock } from '../clock.ts'
import type { RetryPolicy } from '../core/backoff.ts'
import { PAYLOAD_BYTES_MAX } from '../core/codec.ts'
import { DAY_MS, parseDuration, TIMER_MS_MAX, type Duration } from '../core/input/duration.ts'
import { UsageError, describe } from '../core/errors.ts'
import type { Logger } from '../core/log.ts'
import { checkTopic, isName } from '../core/message.ts'
import {
  checkRecord,
  parseConcurrency,
  parseInteger,
  parseRetry,
  parseTimeout,
  RETRY_DEFAULT,
  type RetryOptions,
} from '../core/input/options.ts'
import { isStandardSchema, type StandardSchema, type TopicSchemas } from '../core/input/schema.ts'
import { systemRandom, type Random } from '../random.ts'
import type { Store } from '../store/contract/store.ts'

/** A client of the package `redis`: its settings are used, on connections of punctual's own. */
export type ExistingClient = { duplicate(overrides?: object): unknown; sendCommand: unknown }

/** What an acknowledged write has reached; see docs/redis.md. */
export type DurabilityOption =
  | 'primary'
  | 'replicated'
  | {
      /** How many replicas must have it. Default 1. */
      replicas?: number
      /** How long to wait for them; then the call fails, its effect unknown. Default `1s`. */
      timeout?: Duration
    }

export type PunctualOptions<Schemas extends TopicSchemas = TopicSchemas> = {
  /**
   * A URL (`memory:`, `file:PATH`, `redis://...`, `redis+sentinel://...`), a client of the package `redis`, or a store object, which its maker
   * closes. Default `file:.punctual`.
   */
  store?: string | ExistingClient | Store
  /** Redis only. `replicated`: a write is acknowledged when a replica has it too. Default `primary`. */
  durability?: DurabilityOption
  /** Queues of one store share nothing. Default `default`. */
  queue?: string
  /** How many handlers run at once in this process. Default 100. */
  concurrency?: number
  /** How long a message may be held without a sign of life before others take it over; at least 1 s. Default `30s`. */
  lease?: Duration
  /** How often to look without having been woken: the most a lost wake-up can cost. Default `5s`. */
  fallback?: Duration
  /** Default: three retries, after 1, 5 and 30 minutes. */
  retry?: RetryOptions
  /** How long one attempt may take. Default `60s`. */
  timeout?: Duration
  /** How long `stop` waits for running handlers. Default `30s`. */
  stopTimeout?: Duration
  /** Started later than this: the `late` event. Default `1s`. */
  lateAfter?: Duration
  /** The largest payload in bytes of JSON. Default 1 MiB. */
  payloadLimit?: number
  /** A schema for each topic. Payloads that do not fit are refused, and so are topics without one. */
  topics?: Schemas
  /** Default: warnings and errors to the console. `false`: silence. */
  logger?: Logger | false
  /** For tests: see `punctual/testing`. */
  clock?: Clock
  /** For tests. */
  random?: Random
}

export type DurabilitySettings = {
  readonly durability: 'primary' | 'replicated'
  readonly replicas?: number
  readonly replicationTimeout?: Duration
}

export type Settings = {
  readonly store: string | ExistingClient | Store
  /** What was said in code; a URL may say it too. */
  readonly durability: DurabilitySettings | undefined
  readonly queue: string
  readonly concurrency: number
  readonly leaseMs: number
  readonly fallbackMs: number
  readonly retry: RetryPolicy
  readonly timeoutMs: number
  readonly stopTimeoutMs: number
  readonly lateAfterMs: number
  readonly payloadLimit: number
  readonly schemas: ReadonlyMap<string, StandardSchema> | undefined
  readonly logger: Logger
  readonly clock: Clock
  readonly random: Random
}

const OPTION_NAMES = [
  'store',
  'durability',
  'queue',
  'concurrency',
  'lease',
  'fallback',
  'retry',
  'timeout',
  'stopTimeout',
  'lateAfter',
  'payloadLimit',
  'topics',
  'logger',
  'clock',
  'random',
] as const

export const DEFAULT_STORE = 'file:.punctual'
const QUEUE_BYTES_MAX = 100
const PAYLOAD_LIMIT_MAX = 256 * 1024 * 1024
const STORE_VERBS = ['open', 'close', 'put', 'claim', 'settle', 'extend', 'inspect', 'onWake'] as const

export function parseSettings(options: unknown): Settings {
  const given = checkRecord(
    typeof options === 'string' ? { store: options } : (options ?? {}),
    'options',
    OPTION_NAMES,
  )
  const duration = (
    name: 'lease' | 'fallback' | 'stopTimeout' | 'lateAfter',
    preset: Duration,
    min: number,
  ): number =>
    parseDuration(given[name] ?? preset, name, {
      min,
      max: name === 'lateAfter' ? DAY_MS * 365 : TIMER_MS_MAX,
    })
  return {
    store: parseStore(given.store ?? DEFAULT_STORE),
    durability: given.durability === undefined ? undefined : parseDurability(given.durability),
    queue: parseQueue(given.queue ?? 'default'),
    concurrency: parseConcurrency(given.concurrency ?? 100),
    leaseMs: duration('lease', '30s', 1_000),
    fallbackMs: duration('fallback', '5s', 100),
    retry: given.retry === undefined ? RETRY_DEFAULT : parseRetry(given.retry),
    timeoutMs: parseTimeout(given.timeout ?? '60s'),
    stopTimeoutMs: duration('stopTimeout', '30s', 0),
    lateAfterMs: duration('lateAfter', '1s', 0),
    payloadLimit: parseInteger(given.payloadLimit ?? PAYLOAD_BYTES_MAX, 'payloadLimit', {
      min: 1,
      max: PAYLOAD_LIMIT_MAX,
    }),
    schemas: given.topics === undefined ? undefined : parseTopics(given.topics),
    logger: given.logger === undefined ? consoleLogger : parseLogger(given.logger),
    clock: given.clock === undefined ? systemClock : parseClock(given.clock),
    random: given.random === undefined ? systemRandom : parseRandom(given.random),
  }
}

export function isStore(value: unknown): value is Store {
  return hasMethods<Store>(value, STORE_VERBS) && 'capabilities' in value
}

function parseStore(value: unknown): string | ExistingClient | Store {
  if (typeof value === 'string' || isStore(value)) return value
  refuseManyServers(value)
  if (hasMethods<ExistingClient>(value, ['duplicate', 'sendCommand'])) return value
  throw new UsageError(
    'STORE_INVALID',
    `store is ${describe(value)}; give a URL like "file:.punctual" or "redis://localhost:6379", a client of "redis", or a store.`,
    { value },
  )
}

/** Clients of the same package that send a call again by themselves, and keep their settings to themselves. */
function refuseManyServers(value: unknown): void {
  const isSentinel = hasMethods<{ getMasterNode: unknown }>(value, ['getMasterNode'])
  if (!isSentinel && !hasMethods<{ nodeClient: unknown }>(value, ['nodeClient'])) return
  const remedy = isSentinel
    ? 'give a URL instead: redis+sentinel://host1,host2,host3/mymaster'
    : 'give a URL or a client of one server instead'
  throw new UsageError(
    'STORE_INVALID',
    `store is a client made by ${isSentinel ? 'createSentinel' : 'createCluster'}, whose settings cannot be read; ${remedy}.`,
    { value },
  )
}

function parseDurability(value: unknown): DurabilitySettings {
  if (value === 'primary' || value === 'replicated') return { durability: value }
  if (typeof value !== 'object' || value === null) {
    throw new UsageError(
      'OPTION_INVALID',
      `durability is ${describe(value)}; give "primary", "replicated" or { replicas, timeout }.`,
      { value },
    )
  }
  const { replicas, timeout } = checkRecord(value, 'durability', ['replicas', 'timeout'])
  return {
    durability: 'replicated',
    ...(replicas === undefined
      ? {}
      : { replicas: parseInteger(replicas, 'durability.replicas', { min: 1, max: 100 }) }),
    ...(timeout === undefined
      ? {}
      : { replicationTimeout: parseDuration(timeout, 'durability.timeout', { min: 50, max: 600_000 }) }),
  }
}

function parseQueue(value: unknown): string {
  // Braces mark the part of a Redis key that decides its cluster slot.
  if (isName(value, QUEUE_BYTES_MAX) && !/[{}]/.test(value)) return value
  throw new UsageError(
    'OPTION_INVALID',
    `queue is ${describe(value)}; give a text of 1 to ${QUEUE_BYTES_MAX} bytes without control characters or braces.`,
    { value },
  )
}

function parseTopics(value: unknown): ReadonlyMap<string, StandardSchema> {
  if (typeof value !== 'object' || value === null) {
    throw new UsageError('OPTION_INVALID', `topics is ${describe(value)}; give an object of schemas.`, {
      value,
    })
  }
  const schemas = new Map<string, StandardSchema>()
  for (const [topic, schema] of Object.entries(value)) {
    if (!isStandardSchema(schema)) {
      throw new UsageError(
        'OPTION_INVALID',
        `topics["${topic}"] is ${describe(schema)}; give a Standard Schema, such as one of zod, valibot or arktype.`,
        { value: schema },
      )
    }
    schemas.set(checkTopic(topic), schema)
  }
  return schemas
}

function parseLogger(value: unknown): Logger {
  if (value === false) return silentLogger
  return parseObject<Logger>(value, 'logger', ['debug', 'info', 'warn', 'error'])
}

function parseClock(value: unknown): Clock {
  return parseObject<Clock>(value, 'clock', ['now', 'monotonic', 'schedule', 'soon'])
}

function parseRandom(value: unknown): Random {
  return parseObject<Random>(value, 'random', ['next'])
}

function parseObject<T>(value: unknown, name: string, methods: readonly (keyof T & string)[]): T {
  if (hasMethods<T>(value, methods)) return value
  throw new UsageError('OPTION_INVALID', `${name} is ${describe(value)}; it needs: ${methods.join(', ')}.`, {
    value,
  })
}

function hasMethods<T>(value: unknown, names: readonly (keyof T & string)[]): value is T & object {
  if (typeof value !== 'object' || value === null) return false
  const record = value as Readonly<Record<string, unknown>>
  return names.every((name) => typeof record[name] === 'function')
}

const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} }

const consoleLogger: Logger = {
  ...silentLogger,
  warn: (message) => console.warn(`punctual: ${message}`), // oxlint-disable-line no-console
  error: (message) => console.error(`punctual: ${message}`), // oxlint-disable-line no-console
}
