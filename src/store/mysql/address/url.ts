/**
 * MySQL and MariaDB URLs, read once, at the door:
 *
 *   mysql://user:password@host:3306,host2:3306/database?ssl=true
 *
 *   migrate          false: tables that are missing or older are refused     true
 *   ssl              true: only with a trusted certificate; skip-verify: with any
 *   sslca            a file with the certificate to trust
 *   socketPath       a unix socket instead of a host
 *   connectTimeout   how long one attempt to connect may take                5s
 *   callTimeout      how long a call waits before it fails                   5s
 */
import { UsageError, describe, urlWithoutPasswords } from '../../../core/errors.ts'
import { parseDuration, type Duration } from '../../../core/input/duration.ts'

export type MysqlSettings = {
  readonly migrate?: boolean
  readonly connectTimeout?: Duration
  readonly callTimeout?: Duration
  /** Tests only: epoch ms to use instead of the server's clock. */
  readonly now?: () => number
  /** Tests only: no session can be woken, as behind a proxy. */
  readonly isDeaf?: boolean
}

export type MysqlAddress = {
  readonly hosts: readonly { readonly host: string; readonly port: number }[]
  readonly socketPath?: string
  readonly user: string
  readonly password: string
  readonly database: string
  readonly ssl?: 'true' | 'skip-verify'
  readonly sslca?: string
}

export type MysqlUrl = {
  readonly address: MysqlAddress
  /** As messages may name it: without the password. */
  readonly server: string
  readonly settings: MysqlSettings
}

const PORT = 3306
const TIMEOUT_RANGE = { min: 50, max: 600_000 }
const TIMEOUT_MS = 5000
const DURATIONS = ['connectTimeout', 'callTimeout'] as const
const KNOWN: readonly string[] = ['migrate', 'ssl', 'sslca', 'socketPath', ...DURATIONS]
/** Scheme, user and password, hosts, database, query. */
const PARTS = /^(mysql|mariadb):\/\/(?:([^@/?#:]*)(?::([^@/?#]*))?@)?([^@/?#]*)\/([^?#@/]+)(\?[^#]*)?$/

export function parseMysqlUrl(text: string): MysqlUrl {
  const [, scheme, user = 'root', password = '', hosts = '', database = '', query = ''] =
    PARTS.exec(text) ?? []
  if (scheme === undefined) throw invalidUrl(text)
  const parameters = new URLSearchParams(query)
  for (const name of parameters.keys()) if (!KNOWN.includes(name)) throw unknownOption(name)
  const ssl = parameters.get('ssl')
  if (ssl !== null) checked('ssl', ssl, /^(true|skip-verify)$/, 'true or skip-verify')
  const sslca = parameters.get('sslca')
  const socketPath = parameters.get('socketPath')
  try {
    return {
      address: {
        hosts: hosts.split(',').map((host) => hostOf(host, text)),
        user: decodeURIComponent(user),
        password: decodeURIComponent(password),
        database: decodeURIComponent(database),
        ...(ssl === null ? {} : { ssl: ssl as 'true' | 'skip-verify' }),
        ...(sslca === null ? {} : { sslca }),
        ...(socketPath === null ? {} : { socketPath }),
      },
      server: `${scheme}://${hosts === '' ? 'localhost' : hosts}/${database}`,
      settings: readSettings(parameters),
    }
  } catch (error) {
    if (error instanceof URIError) throw invalidUrl(text)
    throw error
  }
}

export function readTimeouts({ connectTimeout, callTimeout }: MysqlSettings): {
  readonly connectTimeoutMs: number
  readonly callTimeoutMs: number
} {
  return {
    connectTimeoutMs: parseDuration(connectTimeout ?? TIMEOUT_MS, 'connectTimeout', TIMEOUT_RANGE),
    callTimeoutMs: parseDuration(callTimeout ?? TIMEOUT_MS, 'callTimeout', TIMEOUT_RANGE),
  }
}

function hostOf(text: string, url: string): { readonly host: string; readonly port: number } {
  const [, host = '', port = String(PORT)] = /^(\[[0-9a-fA-F:]+\]|[^:[\]]*)(?::(\d{1,5}))?$/.exec(text) ?? []
  if (host === '' && text !== '') throw invalidUrl(url)
  return { host: host === '' ? 'localhost' : host.replaceAll(/[[\]]/g, ''), port: Number(port) }
}

function readSettings(query: URLSearchParams): MysqlSettings {
  const settings: Record<string, unknown> = {}
  for (const name of DURATIONS) {
    const text = query.get(name)
    if (text !== null)
      settings[name] = parseDuration(/^\d+$/.test(text) ? Number(text) : text, name, TIMEOUT_RANGE)
  }
  const migrate = query.get('migrate')
  if (migrate !== null)
    settings['migrate'] = checked('migrate', migrate, /^(true|false)$/, 'true or false') === 'true'
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

function unknownOption(name: string): UsageError {
  return new UsageError(
    'OPTION_UNKNOWN',
    `the store URL has the option ${describe(name)}; allowed here: ${KNOWN.join(', ')}.`,
    { value: name },
  )
}

function invalidUrl(text: string): UsageError {
  return new UsageError(
    'STORE_URL_INVALID',
    `the store URL ${describe(urlWithoutPasswords(text))} is not one for MySQL or MariaDB; give mysql://user:password@host:port/database, with %40, %2F, %3A, %3F and %23 for "@", "/", ":", "?" and "#" in a name or password.`,
  )
}
