/**
 * URLs that name sentinels instead of a server; these know which server is the primary now:
 *
 *   redis+sentinel://user:password@host1:26379,host2,host3/primary-name/0?sentinelPassword=…
 *
 * User and password are for the primary; the sentinels have their own, as options. `rediss+sentinel://` is TLS to
 * both.
 */
import { UsageError } from '../../../core/errors.ts'
import { decodePart, readHostsUrl, type HostsKind } from './hosts.ts'
import { readOptions, readTls, type RedisSettings } from './options.ts'
import { databaseOf, hostAndPort, invalidUrl, withoutLeaks, type Address } from './url.ts'

export type SentinelGroup = {
  readonly sentinels: readonly Address[]
  /** What the sentinels call the primary. */
  readonly primaryName: string
  /** Everything about the primary but where it is. */
  readonly primary: Omit<Address, 'host' | 'port'>
}

const EXAMPLE = 'redis+sentinel://host1:26379,host2:26379,host3:26379/mymaster/0'
const KIND: HostsKind = {
  scheme: 'sentinel',
  example: EXAMPLE,
  one: 'sentinel',
  many: 'sentinels',
  port: 26_379,
  hostsMax: 100,
}

export function isSentinelUrl(text: string): boolean {
  return /^rediss?\+sentinel:/i.test(text)
}

export type SentinelUrl = { readonly group: SentinelGroup; readonly settings: RedisSettings }

export function parseSentinelUrl(text: string): SentinelUrl {
  return withoutLeaks(text, () => readUrl(text))
}

function readUrl(text: string): SentinelUrl {
  const { isTls, hosts, login, path, query } = readHostsUrl(text, KIND)
  const kind = { isTls, isSentinel: true, isCluster: false }
  const settings = readOptions(query, kind)
  const tls = readTls(query, kind)
  const own = sentinelCredentials(query)
  const sentinels = hosts.map((place) => ({ ...place, database: 0, ...own, ...tls }))
  const { primaryName, database } = pathOf(path, text)
  return { group: { sentinels, primaryName, primary: { database, ...login, ...tls } }, settings }
}

/** The group as an error message may name it: without passwords. */
export function describeGroup({ sentinels, primaryName, primary }: SentinelGroup): string {
  const scheme = primary.tls === undefined ? 'redis' : 'rediss'
  return `${scheme}+sentinel://${sentinels.map(hostAndPort).join(',')}/${primaryName}`
}

function pathOf(path: string, whole: string): { readonly primaryName: string; readonly database: number } {
  const [encodedName = '', database = '', ...rest] = path.split('/')
  const primaryName = decodePart(encodedName, whole)
  if (primaryName === '' || rest.length > 0) {
    throw invalidUrl(
      whole,
      `its path is what the sentinels call the primary, often "mymaster", and the number of a database: ${EXAMPLE}.`,
    )
  }
  return { primaryName, database: databaseOf(database, EXAMPLE) }
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
