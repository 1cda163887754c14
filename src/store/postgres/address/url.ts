/**
 * PostgreSQL URLs, read once, at the door:
 *
 *   postgres://user:password@host:5432,host2:5432/database?schema=punctual&sslmode=verify-full
 *
 *   schema           where the tables are                                   punctual
 *   migrate          false: an older or missing schema is refused            true
 *   pooler           transaction: a pooler stands in between that hands every transaction to another connection
 *   listen           postgres://… of the server itself, for wake-ups past such a pooler
 *   durability       replicated: a write is acknowledged when a standby has it too        primary
 *   connectTimeout   how long one attempt to connect may take               5s
 *   callTimeout      how long a call waits before it fails                  5s
 *   sslmode, sslrootcert, sslcert, sslkey, host, user, password, application_name: as `pg` reads them
 */
import { UsageError, describe, urlWithoutPasswords } from '../../../core/errors.ts'
import { parseDuration, type Duration } from '../../../core/input/duration.ts'

export type PostgresSettings = {
  readonly schema?: string
  readonly migrate?: boolean
  readonly pooler?: 'transaction'
  readonly listen?: string
  readonly durability?: 'primary' | 'replicated'
  readonly connectTimeout?: Duration
  readonly callTimeout?: Duration
  /** Tests only: epoch ms to use instead of the server's clock. */
  readonly now?: () => number
}

export type PostgresUrl = {
  /** One for each host, as `pg` reads them. */
  readonly urls: readonly string[]
  /** As messages may name it: without the password. */
  readonly server: string
  readonly settings: PostgresSettings
}

const TIMEOUT_RANGE = { min: 50, max: 600_000 }
const TIMEOUT_MS = 5000
const DURATIONS = ['connectTimeout', 'callTimeout'] as const
const OURS = ['schema', 'migrate', 'pooler', 'listen', 'durability', ...DURATIONS] as const
const PASSED_ON = [
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
  'sslnegotiation',
  'uselibpqcompat',
  'host',
  'user',
  'password',
  'application_name',
]
const SCHEMA = /^[A-Za-z_][A-Za-z0-9_]{0,39}$/
/** Scheme, user and password, hosts, database, query. */
const PARTS = /^(postgres(?:ql)?:)\/\/(?:([^@/?#]*)@)?([^@/?#]*)(\/[^?#@]*)?(\?[^#]*)?$/

export function parsePostgresUrl(text: string): PostgresUrl {
  const [, scheme, login, hosts = '', path = '', query = ''] = PARTS.exec(text) ?? []
  if (scheme === undefined) throw invalidUrl(text)
  const parameters = new URLSearchParams(query)
  refuseUnknown(parameters)
  const settings = readSettings(parameters)
  for (const name of OURS) parameters.delete(name)
  const rest = parameters.size === 0 ? '' : `?${parameters.toString()}`
  const before = login === undefined ? '' : `${login}@`
  const urls = hosts.split(',').map((host) => `postgres://${before}${host}${path}${rest}`)
  for (const url of urls) if (!URL.canParse(url.replace('//@', '//x@'))) throw invalidUrl(text)
  return { urls, server: `postgres://${hosts === '' ? 'localhost' : hosts}${path}`, settings }
}

export function readTimeouts({ connectTimeout, callTimeout }: PostgresSettings): {
  readonly connectTimeoutMs: number
  readonly callTimeoutMs: number
} {
  return {
    connectTimeoutMs: parseDuration(connectTimeout ?? TIMEOUT_MS, 'connectTimeout', TIMEOUT_RANGE),
    callTimeoutMs: parseDuration(callTimeout ?? TIMEOUT_MS, 'callTimeout', TIMEOUT_RANGE),
  }
}

function readSettings(query: URLSearchParams): PostgresSettings {
  const settings: Record<string, unknown> = {}
  for (const name of DURATIONS) {
    const text = query.get(name)
    if (text !== null)
      settings[name] = parseDuration(/^\d+$/.test(text) ? Number(text) : text, name, TIMEOUT_RANGE)
  }
  const schema = query.get('schema')
  if (schema !== null) settings['schema'] = checked('schema', schema, SCHEMA, 'letters, digits and _')
  const migrate = query.get('migrate')
  if (migrate !== null)
    settings['migrate'] = checked('migrate', migrate, /^(true|false)$/, 'true or false') === 'true'
  const pooler = query.get('pooler')
  if (pooler !== null) settings['pooler'] = checked('pooler', pooler, /^transaction$/, 'transaction')
  const durability = query.get('durability')
  if (durability !== null)
    settings['durability'] = checked(
      'durability',
      durability,
      /^(primary|replicated)$/,
      'primary or replicated',
    )
  const listen = query.get('listen')
  if (listen !== null) {
    parsePostgresUrl(listen)
    settings['listen'] = listen
  }
  return settings
}

function checked(name: string, value: string, pattern: RegExp, allowed: string): string {
  if (pattern.test(value)) return value
  throw new UsageError(
    'OPTION_INVALID',
    `${name} in the store URL is ${describe(value)}; allowed: ${allowed}.`,
    { value },
  )
}

function refuseUnknown(query: URLSearchParams): void {
  const known: readonly string[] = [...OURS, ...PASSED_ON]
  for (const name of query.keys()) {
    if (known.includes(name)) continue
    throw new UsageError(
      'OPTION_UNKNOWN',
      `the store URL has the option ${describe(name)}; allowed here: ${known.join(', ')}.`,
      { value: name },
    )
  }
}

function invalidUrl(text: string): UsageError {
  return new UsageError(
    'STORE_URL_INVALID',
    `the store URL ${describe(urlWithoutPasswords(text))} is not one for PostgreSQL; give postgres://USER:PASSWORD@host:port/database, with %40, %2F, %3F and %23 for "@", "/", "?" and "#" in a name or password.`,
  )
}
