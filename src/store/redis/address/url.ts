/**
 * Redis URLs, read once, at the door:
 *
 *   redis://user:password@host:6379/0?callTimeout=5s          rediss://… the same over TLS
 *
 * With Sentinel: `sentinel-url`. What may stand behind the question mark: `url-options`.
 */
import { UsageError, describe, urlWithoutPasswords } from '../../../core/errors.ts'
import { readOptions, readTls, type RedisSettings, type TlsFiles } from './options.ts'

export type Address = {
  readonly host: string
  readonly port: number
  readonly database: number
  readonly username?: string
  readonly password?: string
  readonly tls?: TlsFiles
}

const PORT = 6379

export type RedisUrl = { readonly address: Address; readonly settings: RedisSettings }

export function parseRedisUrl(text: string): RedisUrl {
  return withoutLeaks(text, () => readUrl(text))
}

/**
 * A "/", "?" or "#" in a password ends the part of the URL where passwords stand: what follows looks like a path or an
 * option, and a complaint would quote it. An "@" behind tells, and then nothing is quoted.
 */
export function withoutLeaks<T>(text: string, read: () => T): T {
  const [, path = '', query = '', fragment = ''] =
    /^[^:]*:(?:\/\/)?[^/?#]*([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(text) ?? []
  const isAmbiguous = `${path}${query}${fragment}`.includes('@')
  if (!isAmbiguous) return read()
  // Only the value of an option may have one.
  if (`${path}${fragment}`.includes('@')) throw passwordCutOff(text)
  try {
    return read()
  } catch {
    throw passwordCutOff(text)
  }
}

function passwordCutOff(text: string): UsageError {
  return invalidUrl(
    text,
    'in a name or password write %2F for "/", %3F for "?" and %23 for "#", and everywhere %40 for an "@" that does not stand before the host.',
  )
}

function readUrl(text: string): RedisUrl {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || (url.protocol !== 'redis:' && url.protocol !== 'rediss:')) {
    throw invalidUrl(text, 'give redis://USER:PASSWORD@host:port/database, or rediss:// for TLS.')
  }
  const scheme = { isTls: url.protocol === 'rediss:', isSentinel: false, isCluster: false }
  const settings = readOptions(url.searchParams, scheme)
  return {
    address: {
      // WHATWG keeps the brackets of an IPv6 address; sockets want it bare.
      host: url.hostname === '' ? 'localhost' : withoutBrackets(url.hostname),
      port: url.port === '' ? PORT : Number(url.port),
      database: databaseOf(url.pathname.replace(/^\//, ''), 'redis://host/0'),
      ...credentials(url.username, url.password),
      ...readTls(url.searchParams, scheme),
    },
    settings,
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
  return `${tls === undefined ? 'redis' : 'rediss'}://${hostAndPort({ host, port })}`
}

export function hostAndPort({ host, port }: { readonly host: string; readonly port: number }): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

export function withoutBrackets(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1')
}

/** Both percent-encoded, as they stand in the URL. */
export function credentials(
  username: string,
  password: string,
): { readonly username?: string; readonly password?: string } {
  return {
    ...(username === '' ? {} : { username: decoded(username) }),
    ...(password === '' ? {} : { password: decoded(password) }),
  }
}

export function databaseOf(text: string, example: string): number {
  if (/^\d{0,5}$/.test(text)) return Number(text)
  throw invalidUrl(`/${text}`, `the path ends in the number of a database, as in ${example}.`)
}

export function invalidUrl(value: string, remedy: string): UsageError {
  // Never the value whole: it may carry a password.
  const shown = urlWithoutPasswords(value)
  return new UsageError(
    'STORE_URL_INVALID',
    `the store URL ${describe(shown)} is not one for Redis; ${remedy}`,
  )
}
