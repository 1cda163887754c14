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
 *   unproved         true: a server on which nothing is proved is used all the same
 *   connectTimeout   how long one attempt to connect may take               5s
 *   callTimeout      how long a call waits before it fails                  5s
 *   sslmode, sslrootcert, sslcert, sslkey, host, user, password, application_name: as `pg` reads them
 */
import { UsageError, describe, urlWithoutPasswords } from '../../../core/errors.ts'
import {
  TIMEOUT_OPTIONS,
  invalidOption,
  readDurations,
  readMigrate,
  readWord,
  refuseUnknown,
  type TimeoutSettings,
} from '../../shared/url-options.ts'
import { readConsents, type Consent } from '../../shared/suited.ts'

export type PostgresSettings = TimeoutSettings & {
  readonly schema?: string
  readonly migrate?: boolean
  readonly pooler?: 'transaction'
  readonly listen?: string
  readonly durability?: 'primary' | 'replicated'
  readonly allowed?: readonly Consent[]
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

const OURS = ['schema', 'migrate', 'pooler', 'listen', 'durability', 'unproved', ...TIMEOUT_OPTIONS] as const
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
  refuseUnknown(parameters, [...OURS, ...PASSED_ON])
  const settings = readSettings(parameters)
  for (const name of OURS) parameters.delete(name)
  const rest = parameters.size === 0 ? '' : `?${parameters.toString()}`
  const before = login === undefined ? '' : `${login}@`
  const urls = hosts.split(',').map((host) => `postgres://${before}${host}${path}${rest}`)
  for (const url of urls) if (!URL.canParse(url.replace('//@', '//x@'))) throw invalidUrl(text)
  return { urls, server: `postgres://${hosts === '' ? 'localhost' : hosts}${path}`, settings }
}

function readSettings(query: URLSearchParams): PostgresSettings {
  const schema = query.get('schema') ?? undefined
  if (schema !== undefined && !SCHEMA.test(schema))
    throw invalidOption('schema', schema, 'letters, digits and _')
  const pooler = readWord(query, 'pooler', ['transaction'])
  const durability = readWord(query, 'durability', ['primary', 'replicated'])
  const listen = query.get('listen')
  if (listen !== null) parsePostgresUrl(listen)
  return {
    ...readDurations(query, TIMEOUT_OPTIONS),
    ...readMigrate(query),
    ...readConsents(query),
    ...(schema === undefined ? {} : { schema }),
    ...(pooler === undefined ? {} : { pooler }),
    ...(durability === undefined ? {} : { durability }),
    ...(listen === null ? {} : { listen }),
  }
}

function invalidUrl(text: string): UsageError {
  return new UsageError(
    'STORE_URL_INVALID',
    `the store URL ${describe(urlWithoutPasswords(text))} is not one for PostgreSQL; give postgres://USER:PASSWORD@host:port/database, with %40, %2F, %3F and %23 for "@", "/", "?" and "#" in a name or password.`,
  )
}
