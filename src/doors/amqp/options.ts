/** What a bridge is told, checked at once and turned into settings. */
import { systemClock, type Clock } from '../../clock.ts'
import { describe, urlWithoutPasswords, UsageError } from '../../core/errors.ts'
import { parseDuration, TIMER_MS_MAX, type Duration } from '../../core/input/duration.ts'
import { checkRecord, parseInteger } from '../../core/input/checks.ts'
import { parseRetry, type RetryOptions } from '../../core/input/handle-options.ts'
import { isName, isNewName, NAME_BYTES_MAX } from '../../core/input/names.ts'
import type { Logger } from '../../core/log.ts'
import type { PunctualOptions } from '../../index.ts'
import { systemRandom, type Random } from '../../random.ts'
import { bridgeLine, type BridgeEvent, type Tell } from './events.ts'

export type BridgeRoute = {
  /** The exchange that publishers use; the bridge declares it (durable, type topic). It is the topic in punctual. */
  from: string
  /** The exchange that gets the messages at their moment, with the same routing key. It must exist. `''`: the default exchange. */
  to: string
}

export type BridgeOptions = {
  /** `amqp://user:password@host:5672/vhost`, or `amqps://`. */
  url: string
  /** Default: from `punctual.delayed` to the default exchange, where the routing key is the name of a queue. */
  routes?: readonly BridgeRoute[]
  /** Where the messages wait: as in `new Punctual({ store })`. */
  store?: NonNullable<PunctualOptions['store']>
  /** As in `new Punctual({ queue })`; it is part of the names of the bridge's queues on the broker. Default `default`. */
  queue?: string
  durability?: NonNullable<PunctualOptions['durability']>
  lease?: Duration
  /** How long `stop` waits for the broker's confirms. Default `10s`. */
  stopTimeout?: Duration
  /** For what the broker returns or refuses. Default: five retries, after 1 s, 10 s, 1, 5 and 30 minutes. */
  retry?: RetryOptions
  /** How many messages are on their way in at once. Default 1000. */
  prefetch?: number
  /** How many messages are on their way out at once. Default 1000. */
  concurrency?: number
  /** How often the connections show signs of life, in whole seconds; a silent one is given up after about three. Default `10s`. */
  heartbeat?: Duration
  /** For `amqps://`: as in `tls.connect`, such as `{ ca, cert, key }`. */
  tls?: object
  /** `http://user:password@host:15672`, the management plugin. Only the doctor asks it. */
  management?: string
  /** What happens on the way. Default: warnings to the logger. */
  onEvent?: (event: BridgeEvent) => void
  logger?: Logger | false
  /** For tests. */
  clock?: Clock
  /** For tests. */
  random?: Random
}

export type BridgeSettings = {
  readonly url: string
  /** The same without a password. */
  readonly urlShown: string
  readonly user: string
  readonly routes: readonly Readonly<BridgeRoute>[]
  readonly queueName: string
  readonly prefetch: number
  readonly heartbeatS: number
  readonly retryLimit: number
  readonly tls: object
  readonly management: string | undefined
  readonly tell: Tell
  readonly clock: Clock
  readonly random: Random
  /** For the queue that keeps the messages. */
  readonly queue: PunctualOptions
}

const OPTION_NAMES = [
  'url',
  'routes',
  'store',
  'queue',
  'durability',
  'lease',
  'stopTimeout',
  'retry',
  'prefetch',
  'concurrency',
  'heartbeat',
  'tls',
  'management',
  'onEvent',
  'logger',
  'clock',
  'random',
] as const

export const ROUTE_DEFAULT: BridgeRoute = { from: 'punctual.delayed', to: '' }
/** A missing binding is often noticed and fixed at once; a bridge that died counts as a failure too. */
const RETRY_DEFAULT: RetryOptions = { delays: ['1s', '10s', '1m', '5m', '30m'] }
export const BODY_BYTES_MAX = 16 * 1024 * 1024
/** A body as base64, and as much for headers and the frame around them as a broker lets through. */
const PAYLOAD_BYTES_MAX = Math.ceil(BODY_BYTES_MAX / 3) * 4 + 1024 * 1024
const ROUTES_MAX = 1_000
const EXCHANGE_BYTES_MAX = 255

export function parseBridgeOptions(options: unknown): BridgeSettings {
  const given = checkRecord(options, 'options', OPTION_NAMES) as Partial<BridgeOptions>
  const retry = given.retry ?? RETRY_DEFAULT
  return {
    ...parseBrokerUrl(given.url),
    routes: parseRoutes(given.routes ?? [ROUTE_DEFAULT]),
    queueName: given.queue ?? 'default', // The queue itself checks it.
    prefetch: parseInteger(given.prefetch ?? 1_000, 'prefetch', { min: 1, max: 65_535 }),
    heartbeatS: Math.ceil(
      parseDuration(given.heartbeat ?? '10s', 'heartbeat', { min: 1_000, max: 600_000 }) / 1_000,
    ),
    retryLimit: parseRetry(retry).limit,
    tls: given.tls === undefined ? {} : parseTls(given.tls),
    management: given.management === undefined ? undefined : parseManagement(given.management),
    tell: given.onEvent === undefined ? toLogger(given.logger) : parseListener(given.onEvent),
    clock: given.clock ?? systemClock,
    random: given.random ?? systemRandom,
    queue: {
      ...pick(given, ['store', 'queue', 'durability', 'lease', 'logger', 'clock', 'random']),
      retry,
      stopTimeout: given.stopTimeout ?? '10s',
      concurrency: parseInteger(given.concurrency ?? 1_000, 'concurrency', { min: 1, max: 100_000 }),
      payloadLimit: PAYLOAD_BYTES_MAX,
      // A broker that is away or blocks is not the message's fault: its handler waits as long as that takes.
      timeout: TIMER_MS_MAX,
    },
  }
}

export function parseBrokerUrl(value: unknown): Pick<BridgeSettings, 'url' | 'urlShown' | 'user'> {
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined
  if (
    typeof value !== 'string' ||
    url === undefined ||
    !['amqp:', 'amqps:'].includes(url.protocol) ||
    url.host === ''
  ) {
    const shown = typeof value === 'string' ? `"${urlWithoutPasswords(value)}"` : describe(value)
    throw new UsageError(
      'BROKER_URL_INVALID',
      `the broker's URL is ${shown}; give one like "amqp://localhost:5672/vhost".`,
      { value },
    )
  }
  return {
    url: value,
    urlShown: urlWithoutPasswords(value),
    user: url.username === '' ? 'guest' : decodeURIComponent(url.username),
  }
}

function parseRoutes(value: unknown): readonly Readonly<BridgeRoute>[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > ROUTES_MAX) {
    throw new UsageError(
      'OPTION_INVALID',
      `routes is ${describe(value)}; give a list of 1 to ${ROUTES_MAX} like [{ from: "orders.delayed", to: "orders" }].`,
      { value },
    )
  }
  const routes = value.map(parseRoute)
  const names = routes.map(({ from }) => from)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) {
    throw new UsageError(
      'OPTION_INVALID',
      `routes names the exchange "${twice}" twice; a message goes one way only.`,
      { value },
    )
  }
  return routes
}

function parseRoute(value: unknown): Readonly<BridgeRoute> {
  const { from, to } = checkRecord(value, 'route', ['from', 'to'])
  if (!isNewName(from, NAME_BYTES_MAX) || from.startsWith('amq.')) {
    throw new UsageError(
      'OPTION_INVALID',
      `route.from is ${describe(from)}; give the name of an exchange, 1 to ${NAME_BYTES_MAX} bytes, not beginning with "amq.", and not "." or "..".`,
      { value: from },
    )
  }
  if (to !== '' && !isName(to, EXCHANGE_BYTES_MAX)) {
    throw new UsageError(
      'OPTION_INVALID',
      `route.to is ${describe(to)}; give the name of an exchange, or "" for the default exchange.`,
      { value: to },
    )
  }
  if (from === to) {
    throw new UsageError(
      'OPTION_INVALID',
      `route.from and route.to are both "${from}": every message would come back.`,
      {
        value,
      },
    )
  }
  return { from, to }
}

function parseManagement(value: unknown): string {
  if (typeof value === 'string' && URL.canParse(value) && /^https?:/.test(value)) return value
  throw new UsageError(
    'OPTION_INVALID',
    `management is ${typeof value === 'string' ? `"${urlWithoutPasswords(value)}"` : describe(value)}; give a URL like "http://localhost:15672".`,
    { value },
  )
}

function parseTls(value: unknown): object {
  if (typeof value === 'object' && value !== null) return value
  throw new UsageError(
    'OPTION_INVALID',
    `tls is ${describe(value)}; give an object with ca, cert and key, as for tls.connect.`,
    { value },
  )
}

/** The queue itself checks the logger. */
function toLogger(logger: Logger | false | undefined): Tell {
  if (logger === false) return () => undefined
  return (event) => {
    const line = `bridge: ${bridgeLine(event)}`
    if (event.kind === 'connected' || event.kind === 'unblocked') logger?.info?.(line)
    else if (logger !== undefined) logger.warn(line)
    else console.warn(`punctual ${line}`) // oxlint-disable-line no-console
  }
}

function parseListener(value: unknown): Tell {
  if (typeof value === 'function') return value as Tell
  throw new UsageError('OPTION_INVALID', `onEvent is ${describe(value)}; give a function.`, { value })
}

function pick<T extends object, K extends keyof T>(from: T, names: readonly K[]): Partial<Pick<T, K>> {
  return Object.fromEntries(
    names.filter((name) => from[name] !== undefined).map((name) => [name, from[name]]),
  ) as Partial<Pick<T, K>>
}
