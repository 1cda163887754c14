/**
 * MySQL and MariaDB URLs, read once, at the door:
 *
 *   mysql://user:password@host:3306,host2:3306/database?ssl=true
 *
 *   migrate          false: tables that are missing or older are refused     true
 *   ssl              true: only with a trusted certificate; skip-verify: with any
 *   sslca            a file with the certificate to trust
 *   publicKey        without TLS, of MySQL: a file with the server's public key, or fetch: ask the server for it
 *   socketPath       a unix socket instead of a host
 *   unproved         true: a server on which nothing is proved is used all the same
 *   writer           one: of a cluster whose nodes all take writes, all processes speak to one at a time
 *   connectTimeout   how long one attempt to connect may take                5s
 *   callTimeout      how long a call waits before it fails                   5s
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

export type MysqlSettings = TimeoutSettings & {
  readonly migrate?: boolean
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
  readonly publicKey?: PublicKeySource
  readonly allowed?: readonly Consent[]
}

/** With which a password is encrypted where there is no TLS: `caching_sha2_password`, the default of MySQL 8, asks for that. */
export type PublicKeySource = { readonly from: 'server' } | { readonly from: 'file'; readonly path: string }

export type MysqlUrl = {
  readonly address: MysqlAddress
  /** As messages may name it: without the password. */
  readonly server: string
  readonly settings: MysqlSettings
}

const PORT = 3306
const KNOWN: readonly string[] = [
  'migrate',
  'ssl',
  'sslca',
  'publicKey',
  'socketPath',
  'unproved',
  'writer',
  ...TIMEOUT_OPTIONS,
]
/** Scheme, user and password, hosts, database, query. */
const PARTS = /^(mysql|mariadb):\/\/(?:([^@/?#:]*)(?::([^@/?#]*))?@)?([^@/?#]*)\/([^?#@/]+)(\?[^#]*)?$/

export function parseMysqlUrl(text: string): MysqlUrl {
  const [, scheme, user = 'root', password = '', hosts = '', database = '', query = ''] =
    PARTS.exec(text) ?? []
  if (scheme === undefined) throw invalidUrl(text)
  const parameters = new URLSearchParams(query)
  refuseUnknown(parameters, KNOWN)
  const ssl = readWord(parameters, 'ssl', ['true', 'skip-verify'])
  const sslca = parameters.get('sslca')
  const publicKey = parameters.get('publicKey')
  const socketPath = parameters.get('socketPath')
  try {
    return {
      address: {
        hosts: hosts.split(',').map((host) => hostOf(host, text)),
        user: decodeURIComponent(user),
        password: decodeURIComponent(password),
        database: decodeURIComponent(database),
        ...readConsents(parameters, ['unproved=true', 'writer=one']),
        ...(ssl === undefined ? {} : { ssl }),
        ...(sslca === null ? {} : { sslca }),
        ...(publicKey === null ? {} : { publicKey: publicKeySource(publicKey) }),
        ...(socketPath === null ? {} : { socketPath }),
      },
      server: `${scheme}://${hosts === '' ? 'localhost' : hosts}/${database}`,
      settings: { ...readDurations(parameters, TIMEOUT_OPTIONS), ...readMigrate(parameters) },
    }
  } catch (error) {
    if (error instanceof URIError) throw invalidUrl(text)
    throw error
  }
}

function hostOf(text: string, url: string): { readonly host: string; readonly port: number } {
  const [, host = '', port = String(PORT)] = /^(\[[0-9a-fA-F:]+\]|[^:[\]]*)(?::(\d{1,5}))?$/.exec(text) ?? []
  if (host === '' && text !== '') throw invalidUrl(url)
  return { host: host === '' ? 'localhost' : host.replaceAll(/[[\]]/g, ''), port: Number(port) }
}

function publicKeySource(text: string): PublicKeySource {
  if (text === '') throw invalidOption('publicKey', text, 'fetch, or the path of a file')
  return text === 'fetch' ? { from: 'server' } : { from: 'file', path: text }
}

function invalidUrl(text: string): UsageError {
  return new UsageError(
    'STORE_URL_INVALID',
    `the store URL ${describe(urlWithoutPasswords(text))} is not one for MySQL or MariaDB; give mysql://user:password@host:port/database, with %40, %2F, %3A, %3F and %23 for "@", "/", ":", "?" and "#" in a name or password.`,
  )
}
