/**
 * Redis URLs and settings, read once, at the door:
 *
 *   redis://user:password@host:6379/0?callTimeout=5s          rediss://… the same over TLS
 *
 *   connectTimeout   how long one attempt to connect may take            5s
 *   callTimeout      how long a call waits for Redis before it fails      5s
 *   tlsCa, tlsCert, tlsKey   PEM files: the authority, our certificate, its key (rediss only)
 *   tlsServername    the name that the server's certificate carries (rediss only)
 */
import { UsageError, describe, withoutPasswords } from '../../core/errors.ts'
import { parseDuration, type Duration } from '../../core/duration.ts'

export type TlsFiles = {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  readonly servername?: string
}

export type Address = {
  readonly host: string
  readonly port: number
  readonly database: number
  readonly username?: string
  readonly password?: string
  readonly tls?: TlsFiles
}

export type RedisSettings = {
  readonly connectTimeout?: Duration
  readonly callTimeout?: Duration
  /** Tests only: epoch ms to use instead of the server's clock. */
  readonly now?: () => number
}

export type Timeouts = { readonly connectTimeoutMs: number; readonly callTimeoutMs: number }

const PORT = 6379
const TIMEOUT_MS = 5000
const TIMEOUT_RANGE = { min: 50, max: 600_000 }
const DURATION_OPTIONS = ['connectTimeout', 'callTimeout'] as const
const TLS_OPTIONS = { tlsCa: 'ca', tlsCert: 'cert', tlsKey: 'key', tlsServername: 'servername' } as const

export function readTimeouts(settings: RedisSettings): Timeouts {
  return {
    connectTimeoutMs: parseDuration(settings.connectTimeout ?? TIMEOUT_MS, 'connectTimeout', TIMEOUT_RANGE),
    callTimeoutMs: parseDuration(settings.callTimeout ?? TIMEOUT_MS, 'callTimeout', TIMEOUT_RANGE),
  }
}

export function parseRedisUrl(text: string): { readonly address: Address; readonly settings: RedisSettings } {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || (url.protocol !== 'redis:' && url.protocol !== 'rediss:')) {
    throw invalid(text, 'give redis://user:password@host:port/database, or rediss:// for TLS.')
  }
  const isTls = url.protocol === 'rediss:'
  refuseUnknown(url, isTls)
  const tls = isTls ? { tls: tlsFiles(url.searchParams) } : {}
  const username = url.username === '' ? {} : { username: decoded(url.username) }
  const password = url.password === '' ? {} : { password: decoded(url.password) }
  return {
    address: {
      // WHATWG keeps the brackets of an IPv6 address; sockets want it bare.
      host: url.hostname === '' ? 'localhost' : url.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: url.port === '' ? PORT : Number(url.port),
      database: databaseOf(url),
      ...username,
      ...password,
      ...tls,
    },
    settings: durations(url.searchParams),
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch (cause) {
    // Not the part itself: it may be the password.
    throw new UsageError(
      'STORE_URL_INVALID',
      'the name or password in the store URL has a "%" that is not followed by two hexadecimal digits; write "%25" for it.',
      { cause },
    )
  }
}

/** The server as an error message may name it: without the password. */
export function describeAddress({ host, port, tls }: Address): string {
  return `${tls === undefined ? 'redis' : 'rediss'}://${host.includes(':') ? `[${host}]` : host}:${port}`
}

function refuseUnknown(url: URL, isTls: boolean): void {
  const known: readonly string[] = [...DURATION_OPTIONS, ...(isTls ? Object.keys(TLS_OPTIONS) : [])]
  for (const name of url.searchParams.keys()) {
    if (known.includes(name)) continue
    const hint = name in TLS_OPTIONS ? ' (it belongs to rediss://)' : ''
    throw new UsageError(
      'OPTION_UNKNOWN',
      `the store URL has the option ${describe(name)}${hint}; allowed here: ${known.join(', ')}.`,
      { value: name },
    )
  }
}

function durations(query: URLSearchParams): RedisSettings {
  const settings: Record<string, number> = {}
  for (const name of DURATION_OPTIONS) {
    const text = query.get(name)
    if (text === null) continue
    settings[name] = parseDuration(/^\d+$/.test(text) ? Number(text) : text, name, TIMEOUT_RANGE)
  }
  return settings
}

function tlsFiles(query: URLSearchParams): TlsFiles {
  const files: Record<string, string> = {}
  for (const [option, field] of Object.entries(TLS_OPTIONS)) {
    const value = query.get(option)
    if (value !== null) files[field] = value
  }
  return files
}

function databaseOf(url: URL): number {
  const text = url.pathname.replace(/^\//, '')
  if (/^\d{0,5}$/.test(text)) return Number(text)
  throw invalid(url.pathname, 'the path is the number of a database, as in redis://host/0.')
}

function invalid(value: string, remedy: string): UsageError {
  // Never the value whole: it may carry a password.
  const shown = withoutPasswords(value)
  return new UsageError(
    'STORE_URL_INVALID',
    `the store URL ${describe(shown)} is not one for Redis; ${remedy}`,
  )
}
