/** The constructor's options: every one checked at once, an unknown one refused, all turned into settings. */
import { systemClock, type Clock } from '../clock.ts'
import type { RetryPolicy } from '../core/machines/backoff.ts'
import { PAYLOAD_BYTES_MAX } from '../core/encoding/codec.ts'
import { DAY_MS, parseDuration, TIMER_MS_MAX, type Duration } from '../core/input/duration.ts'
import { UsageError, describe } from '../core/errors.ts'
import type { Logger } from '../core/log.ts'
import { checkTopic, isNewName } from '../core/input/names.ts'
import { checkRecord, parseInteger } from '../core/input/checks.ts'
import {
  parseConcurrency,
  parseRetry,
  parseTimeout,
  RETRY_DEFAULT,
  type RetryOptions,
} from '../core/input/handle-options.ts'
import { isStandardSchema, type StandardSchema, type TopicSchemas } from '../core/input/schema.ts'
import type { Calendars } from '../core/windows/days.ts'
import { WindowBook } from '../core/windows/windows.ts'
import { systemRandom, type Random } from '../random.ts'
import { loadTracing, type Tracing } from '../runtime/telling/tracing.ts'
import type { Store } from '../store/contract/store.ts'
import { STORE_VERBS } from '../store/contract/verbs.ts'
import type { Engine, EngineOptionValues } from '../store/engine.ts'
import {
  DEFAULT_STORE,
  ENGINES,
  engineForClient,
  engineForUrl,
  exampleUrls,
  type EngineOptions,
} from '../store/engines.ts'

/** What every queue has, and what the engines add: the store, and options of their own. */
export type PunctualOptions<Schemas extends TopicSchemas = TopicSchemas> = QueueOptions<Schemas> &
  EngineOptions

export type QueueOptions<Schemas extends TopicSchemas = TopicSchemas> = {
  /** Queues of one store share nothing. Default `default`. */
  queue?: string
  /** How many handlers run at once in this process. Default 100. */
  concurrency?: number
  /** How long a message may be held without a sign of life before others take it over; at least 1 s. Default `15s`. */
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
  /** Days that windows, working days and schedules except by name: `{ de: ['12-25', '2027-04-02'] }`. Nothing of it is stored. */
  calendars?: Calendars
  /** `false`: no traces. Default: traces where the application has `@opentelemetry/api`. */
  tracing?: boolean
  /** Default: warnings and errors to the console. `false`: silence. */
  logger?: Logger | false
  /** For tests: see `punctual/testing`. */
  clock?: Clock
  /** For tests. */
  random?: Random
}

/** A store that the user made, or an engine that makes one. */
export type StoreChoice =
  | { readonly kind: 'given'; readonly store: Store }
  | {
      readonly kind: 'made'
      readonly engine: Engine
      /** A URL, or an object that the engine accepts. */
      readonly target: string | object
      readonly options: EngineOptionValues
    }

export type Settings = {
  readonly store: StoreChoice
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
  readonly windows: WindowBook
  readonly tracing: Tracing | undefined
  readonly logger: Logger
  readonly clock: Clock
  readonly random: Random
}

const OPTION_NAMES = [
  'store',
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
  'calendars',
  'tracing',
  'logger',
  'clock',
  'random',
] as const

export const DEFAULT_QUEUE = 'default'
const QUEUE_BYTES_MAX = 100
const PAYLOAD_LIMIT_MAX = 256 * 1024 * 1024

export function parseSettings(options: unknown): Settings {
  const given = checkRecord(typeof options === 'string' ? { store: options } : (options ?? {}), 'options', [
    // Several engines have options of the same name.
    ...new Set([...OPTION_NAMES, ...ENGINES.flatMap(({ options: own }) => Object.keys(own))]),
  ])
  const duration = (
    name: 'lease' | 'fallback' | 'stopTimeout' | 'lateAfter',
    preset: Duration,
    min: number,
  ): number =>
    parseDuration(given[name] ?? preset, name, {
      min,
      max: name === 'lateAfter' ? DAY_MS * 365 : TIMER_MS_MAX,
    })
  const queue = parseQueue(given.queue ?? DEFAULT_QUEUE)
  const store = chooseStore(given.store ?? DEFAULT_STORE, given)
  const clock = given.clock === undefined ? systemClock : parseClock(given.clock)
  checkTime(store, clock)
  return {
    store,
    queue,
    concurrency: parseConcurrency(given.concurrency ?? 100),
    leaseMs: duration('lease', '15s', 1_000),
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
    windows: new WindowBook(given.calendars),
    tracing: parseTracing(given.tracing ?? true) ? loadTracing(queue) : undefined,
    logger: given.logger === undefined ? consoleLogger : parseLogger(given.logger),
    clock,
    random: given.random === undefined ? systemRandom : parseRandom(given.random),
  }
}

/** Refuses an option that the chosen engine would not look at. */
export function chooseStore(value: unknown, given: EngineOptionValues = {}): StoreChoice {
  const choice = readStore(value)
  const engine = choice.kind === 'made' ? choice.engine : undefined
  const options: Record<string, unknown> = {}
  for (const option of new Set(ENGINES.flatMap((one) => Object.keys(one.options)))) {
    if (given[option] === undefined) continue
    const spec = engine?.options[option]
    if (spec === undefined) throw foreignOption(option, given[option], engine)
    options[option] = spec.parse(given[option])
  }
  return choice.kind === 'made' ? { ...choice, options } : choice
}

function readStore(value: unknown): StoreChoice {
  if (typeof value === 'string')
    return { kind: 'made', engine: engineForUrl(value), target: value, options: {} }
  if (isStore(value)) return { kind: 'given', store: value }
  if (typeof value === 'object' && value !== null) {
    const engine = engineForClient(value)
    if (engine !== undefined) return { kind: 'made', engine, target: value, options: {} }
  }
  const urls = exampleUrls().map((url) => `"${url}"`)
  const clients = ENGINES.flatMap(({ client }) => client?.what ?? [])
  throw new UsageError(
    'STORE_INVALID',
    `store is ${describe(value)}; give a URL like ${urls.join(' or ')}, ${[...clients, 'or a store'].join(', ')}.`,
    { value },
  )
}

function foreignOption(option: string, value: unknown, engine: Engine | undefined): UsageError {
  const where = engine === undefined ? 'a store object' : `a ${engine.name} store`
  const owner = ENGINES.filter(({ options }) => option in options)
    .map(({ name }) => name)
    .join(' or ')
  return new UsageError(
    'OPTION_INVALID',
    `${option} is given with ${where}; only a ${owner} store has this option, so leave it out.`,
    { value },
  )
}

function isStore(value: unknown): value is Store {
  return hasMethods<Store>(value, [...STORE_VERBS, 'onWake']) && 'capabilities' in value
}

/** Braces have a meaning of their own in the keys of some stores. */
export function isQueueName(value: unknown): value is string {
  return isNewName(value, QUEUE_BYTES_MAX) && !/[{}]/.test(value)
}

function parseQueue(value: unknown): string {
  if (isQueueName(value)) return value
  throw new UsageError(
    'OPTION_INVALID',
    `queue is ${describe(value)}; give a text of 1 to ${QUEUE_BYTES_MAX} bytes without control characters or braces, other than "." and "..".`,
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

function parseTracing(value: unknown): boolean {
  if (typeof value === 'boolean') return value
  throw new UsageError('OPTION_INVALID', `tracing is ${describe(value)}; give true or false.`, { value })
}

function parseLogger(value: unknown): Logger {
  if (value === false) return silentLogger
  return parseObject<Logger>(value, 'logger', ['warn', 'error'])
}

function parseClock(value: unknown): Clock {
  return parseObject<Clock>(value, 'clock', ['now', 'monotonic', 'schedule', 'soon'])
}

/** A store that other processes see goes by a time of its own: with a clock that stands still nothing would come due. */
function checkTime(store: StoreChoice, clock: Clock): void {
  if (store.kind === 'given' || clock.watch === undefined || store.engine.reach === 'process') return
  throw new UsageError(
    'UNSUPPORTED',
    `a ${store.engine.name} store goes by real time and cannot follow a virtual clock; use store: "memory:" with it, or leave clock out.`,
    { value: clock },
  )
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

export const silentLogger: Logger = { warn() {}, error() {} }

const consoleLogger: Logger = {
  ...silentLogger,
  warn: (message) => console.warn(`punctual: ${message}`), // oxlint-disable-line no-console
  error: (message) => console.error(`punctual: ${message}`), // oxlint-disable-line no-console
}
