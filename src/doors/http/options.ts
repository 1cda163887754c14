/** What `serve` takes, checked. */
import { systemClock, type Clock } from '../../clock.ts'
import { describe, UsageError } from '../../core/errors.ts'
import { checkRecord, parseInteger } from '../../core/input/checks.ts'
import type { Logger } from '../../core/log.ts'
import { Punctual } from '../../index.ts'
import { silentLogger } from '../../queue/settings.ts'
import { systemRandom, type Random } from '../../random.ts'
import type { AccessCheck } from './access/access.ts'
import { parseTokenRecord, Tokens, type TokenRecord } from './access/tokens.ts'
import type { QueueSource } from './served.ts'

/** A queue, whatever its topics are. */
export type ServableQueue = Pick<Punctual, 'stats' | 'stop'>

export type ServeOptions = {
  /** The queues to serve. Who made them stops them. */
  queues: readonly ServableQueue[]
  /** Mounted into an application: who a request comes from, as the application knows. Gets the host's own request. */
  access?: AccessCheck
  /** Tokens, as `punctual token` makes them; a function is asked again for each call, so that they can change. */
  tokens?: readonly TokenRecord[] | (() => readonly TokenRecord[])
  /** Where it is mounted: `/punctual`. Default: at the root. */
  basePath?: string
  /** Names in `Host` that are answered besides loopback. Default: with tokens any, without none. */
  allowedHosts?: readonly string[]
  /** Origins whose pages may call: `https://ops.example`. Default: none. */
  cors?: readonly string[]
  /** Signs lease handles, sessions and confirmations; the same for all servers of a store. Default: made at the start. */
  secret?: string
  /** Calls a second that one token may make. Default 10,000. */
  rate?: number
  /** Default: warnings and errors to the console. `false`: silence. */
  logger?: Logger | false
  /** For tests: see `punctual/testing`. */
  clock?: Clock
  /** For tests. */
  random?: Random
}

/** What the command line adds. */
export type InnerOptions = {
  readonly storeName?: string
  readonly source?: QueueSource
}

export type ServeSettings = {
  readonly queues: readonly Punctual[]
  readonly access: AccessCheck | undefined
  readonly tokens: (() => Tokens) | undefined
  readonly basePath: string
  readonly allowedHosts: readonly string[]
  readonly cors: readonly string[]
  readonly secret: string | undefined
  readonly rate: number
  readonly logger: Logger
  readonly clock: Clock
  readonly random: Random
}

const OPTION_NAMES = [
  'queues',
  'access',
  'tokens',
  'basePath',
  'allowedHosts',
  'cors',
  'secret',
  'rate',
  'logger',
  'clock',
  'random',
] as const

export const SECRET_LENGTH_MIN = 16
const RATE_DEFAULT = 10_000
const BASE_PATH = /^(?:\/[\w.~-]+)+$/

export function parseServeOptions(options: ServeOptions): ServeSettings {
  checkRecord(options, 'options', OPTION_NAMES)
  const { queues, access, tokens, basePath = '', secret, rate, logger, clock, random } = options
  if (!Array.isArray(queues) || !queues.every((queue) => queue instanceof Punctual))
    throw invalid('queues', queues, 'an array of queues: [new Punctual(...)]')
  if (access !== undefined && typeof access !== 'function') throw invalid('access', access, 'a function')
  if (access !== undefined && tokens !== undefined)
    throw invalid('access', access, 'either access or tokens, not both')
  if (basePath !== '' && !BASE_PATH.test(basePath))
    throw invalid('basePath', basePath, 'a path like "/punctual"')
  if (secret !== undefined && (typeof secret !== 'string' || secret.length < SECRET_LENGTH_MIN))
    throw new UsageError(
      'OPTION_INVALID',
      `secret is too short; give a text of at least ${SECRET_LENGTH_MIN} characters, such as: openssl rand -hex 24`,
    )
  return {
    queues: queues as readonly Punctual[],
    access,
    tokens: tokens === undefined ? undefined : parseTokens(tokens),
    basePath,
    allowedHosts: parseTexts(options.allowedHosts, 'allowedHosts'),
    cors: parseTexts(options.cors, 'cors'),
    secret,
    rate: parseInteger(rate ?? RATE_DEFAULT, 'rate', { min: 1, max: 10_000_000 }),
    logger: logger === false ? silentLogger : (logger ?? consoleLogger),
    clock: clock ?? systemClock,
    random: random ?? systemRandom,
  }
}

function parseTokens(given: NonNullable<ServeOptions['tokens']>): () => Tokens {
  if (typeof given !== 'function') {
    const tokens = makeTokens(given)
    return () => tokens
  }
  let last: readonly TokenRecord[] | undefined
  let tokens = makeTokens([])
  return () => {
    const records = given()
    if (records !== last) {
      tokens = makeTokens(records)
      last = records
    }
    return tokens
  }
}

function makeTokens(records: readonly TokenRecord[]): Tokens {
  if (!Array.isArray(records)) throw invalid('tokens', records, 'an array of tokens')
  return new Tokens(records.map((record, i) => parseTokenRecord(record, `tokens[${i}]`)))
}

function parseTexts(value: unknown, name: string): readonly string[] {
  if (value === undefined) return []
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value
  throw invalid(name, value, 'an array of texts')
}

function invalid(name: string, value: unknown, what: string): UsageError {
  return new UsageError('OPTION_INVALID', `${name} is ${describe(value)}; give ${what}.`, { value })
}

const consoleLogger: Logger = {
  warn: (message) => console.warn(`punctual: ${message}`), // oxlint-disable-line no-console
  error: (message) => console.error(`punctual: ${message}`), // oxlint-disable-line no-console
}
