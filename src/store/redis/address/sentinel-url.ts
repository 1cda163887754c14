/**
 * URLs that name sentinels instead of a server; these know which server is the primary now:
 *
 *   redis+sentinel://user:password@host1:26379,host2,host3/primary-name/0?sentinelPassword=…
 *
 * User and password are for the primary; the sentinels have their own, as options. `rediss+sentinel://` is TLS to
 * both. No URL parser of the platform takes several hosts, so that the text is cut up here.
 */
import { UsageError, describe } from '../../../core/errors.ts'
import { readOptions, readTls, type RedisSettings } from './options.ts'
import {
  credentials,
  databaseOf,
  hostAndPort,
  invalidUrl,
  withoutBrackets,
  withoutLeaks,
  type Address,
} from './url.ts'

export type SentinelGroup = {
  readonly sentinels: readonly Address[]
  /** What the sentinels call the primary. */
  readonly primaryName: string
  /** Everything about the primary but where it is. */
  readonly primary: Omit<Address, 'host' | 'port'>
}

const PORT = 26_379
const SENTINELS_MAX = 100
const EXAMPLE = 'redis+sentinel://host1:26379,host2:26379,host3:26379/mymaster/0'

export function isSentinelUrl(text: string): boolean {
  return /^rediss?\+sentinel:/i.test(text)
}

export type SentinelUrl = { readonly group: SentinelGroup; readonly settings: RedisSettings }

export function parseSentinelUrl(text: string): SentinelUrl {
  return withoutLeaks(text, () => readUrl(text))
}

function readUrl(text: string): SentinelUrl {
  const parts = /^(rediss?)\+sentinel:\/\/([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/i.exec(text)
  if (parts === null) throw invalidUrl(text, `give ${EXAMPLE}.`)
  const [, kind = '', authority = '', path = '', queryText = ''] = parts
  const scheme = { isTls: kind.toLowerCase() === 'rediss', isSentinel: true }
  const query = new URLSearchParams(queryText)
  const settings = readOptions(query, scheme)
  const tls = readTls(query, scheme)
  const at = authority.lastIndexOf('@')
  if (authority.indexOf('@') !== at) {
    throw invalidUrl(
      text,
      'name and password stand once, before the first sentinel; in them, write %40 for "@".',
    )
  }
  const own = sentinelCredentials(query)
  const sentinels = authority
    .slice(at + 1)
    .split(',')
    .map((entry) => ({ ...hostOf(entry, text), database: 0, ...own, ...tls }))
  if (sentinels.length > SENTINELS_MAX) {
    throw invalidUrl(text, `it names ${sentinels.length} sentinels; allowed: ${SENTINELS_MAX}.`)
  }
  const { primaryName, database } = pathOf(path, text)
  const login = loginOf(authority.slice(0, Math.max(at, 0)), text)
  return { group: { sentinels, primaryName, primary: { database, ...login, ...tls } }, settings }
}

/** The group as an error message may name it: without passwords. */
export function describeGroup({ sentinels, primaryName, primary }: SentinelGroup): string {
  const scheme = primary.tls === undefined ? 'redis' : 'rediss'
  return `${scheme}+sentinel://${sentinels.map(hostAndPort).join(',')}/${primaryName}`
}

function hostOf(entry: string, whole: string): { readonly host: string; readonly port: number } {
  const [, host = '', port = ''] = /^(\[[0-9a-f:.%]+\]|[^:[\]@\s]+)(?::(\d{1,5}))?$/i.exec(entry) ?? []
  const number = port === '' ? PORT : Number(port)
  if (host === '' || number < 1 || number > 65_535) {
    throw invalidUrl(
      whole,
      `${describe(entry)} is no sentinel; give host or host:port, divided by commas, as in ${EXAMPLE}.`,
    )
  }
  return { host: withoutBrackets(host), port: number }
}

function pathOf(path: string, whole: string): { readonly primaryName: string; readonly database: number } {
  const [encodedName = '', database = '', ...rest] = path.split('/')
  const primaryName = decode(encodedName, whole)
  if (primaryName === '' || rest.length > 0) {
    throw invalidUrl(
      whole,
      `its path is what the sentinels call the primary, often "mymaster", and the number of a database: ${EXAMPLE}.`,
    )
  }
  return { primaryName, database: databaseOf(database, EXAMPLE) }
}

function loginOf(login: string, whole: string): ReturnType<typeof credentials> {
  const colon = login.indexOf(':')
  const [username, password] = colon < 0 ? [login, ''] : [login.slice(0, colon), login.slice(colon + 1)]
  decode(username + password, whole)
  return credentials(username, password)
}

function sentinelCredentials(query: URLSearchParams): Pick<Address, 'username' | 'password'> {
  const username = query.get('sentinelUsername')
  const password = query.get('sentinelPassword')
  if (username !== null && password === null) {
    throw new UsageError(
      'OPTION_INVALID',
      'the store URL has sentinelUsername without sentinelPassword; give both, or the password alone.',
      { value: username },
    )
  }
  return {
    ...(username === null ? {} : { username }),
    ...(password === null ? {} : { password }),
  }
}

function decode(text: string, whole: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw invalidUrl(whole, 'a percent sign begins two hexadecimal digits; the sign itself is %25.')
  }
}
