/**
 * What MySQL, MariaDB and the sockets say when they say no, turned into errors sorted by what the caller can do. The number
 * of the error decides, never the prose.
 */
import {
  InvariantError,
  PunctualError,
  UnavailableError,
  UsageError,
  type ErrorCode,
} from '../../../core/errors.ts'
import type { LinkFailures } from '../../link/link.ts'

type MysqlAdvice = { readonly code: ErrorCode; readonly say: string }

/** Passes by waiting. */
const UNAVAILABLE: Readonly<Record<number, MysqlAdvice>> = {
  1021: { code: 'STORE_FULL', say: 'the disk of the server is full' },
  1037: { code: 'STORE_FULL', say: 'the server is out of memory' },
  1040: { code: 'STORE_UNAVAILABLE', say: 'the server has no connection left; raise max_connections' },
  1041: { code: 'STORE_FULL', say: 'the server is out of memory' },
  1114: { code: 'STORE_FULL', say: 'a table is full' },
  1203: {
    code: 'STORE_UNAVAILABLE',
    say: 'this user has no connection left; raise max_user_connections',
  },
  1205: {
    code: 'STORE_UNAVAILABLE',
    say: 'a message is locked by somebody’s open transaction; end it, or try again later',
  },
  1213: { code: 'STORE_UNAVAILABLE', say: 'calls kept each other waiting; try again' },
  1290: {
    code: 'STORE_UNAVAILABLE',
    say: 'this server takes no writes; if no failover is under way, point the URL at the primary',
  },
  1836: {
    code: 'STORE_UNAVAILABLE',
    say: 'this server takes no writes; if no failover is under way, point the URL at the primary',
  },
}

/** Somebody has to change something. */
const REFUSED: Readonly<Record<number, string>> = {
  1044: 'this user may not use that database',
  1045: 'the server does not know this user and password',
  1049: 'there is no such database; create it',
  1142: 'this user lacks a right that punctual needs; docs/mysql.md lists them',
  1146: 'a table of punctual is not there; run punctual migrate',
  1153: 'a call is larger than the server takes; raise max_allowed_packet to 16M or more',
  1227: 'this user lacks a right that punctual needs; docs/mysql.md lists them',
  1370: 'this user lacks a right that punctual needs; docs/mysql.md lists them',
  1665: 'the server keeps a binary log of statements; set binlog_format to MIXED or ROW',
}

/** Repeated by us: a deadlock, a lock that was not to be had, a row that changed meanwhile, an id that came meanwhile. */
const REPEATED: ReadonlySet<number> = new Set([1020, 1062, 1205, 1213])
/** A table, a column or the database is not there. */
const MISSING: ReadonlySet<number> = new Set([1049, 1054, 1146])
/** The server stops, was told to end this session, or takes no writes any more. */
const ENDING: ReadonlySet<number> = new Set([1053, 1077, 1080, 1290, 1836, 1927, 1928, 3024, 4031])

/** 0 for errors that are not the server's: those of a socket, and of the driver itself. */
export function errorNumber(error: unknown): number {
  if (!(error instanceof Error) || !('errno' in error) || typeof error.errno !== 'number') return 0
  // From 45,000 on the driver speaks, and not the server.
  return error.errno >= 1000 && error.errno < 45_000 ? error.errno : 0
}

export const INTERRUPTED = 1317
export const NO_SUCH_THREAD = 1094

export function isRepeatable(error: unknown): boolean {
  return REPEATED.has(errorNumber(error))
}

export function isMissing(error: unknown): boolean {
  return MISSING.has(errorNumber(error))
}

export const FAILURES: LinkFailures = {
  toError: toPunctualError,
  toOpeningError: toPunctualError,
  isForEngine: (error) =>
    isRepeatable(error) || isMissing(error) || [INTERRUPTED, NO_SUCH_THREAD].includes(errorNumber(error)),
  endsConnection: (error) => {
    const number = errorNumber(error)
    return (number === 0 && !(error instanceof PunctualError)) || ENDING.has(number)
  },
}

export function toPunctualError(error: unknown, server: string): PunctualError {
  if (error instanceof PunctualError) return error
  const number = errorNumber(error)
  const text = proseOf(error)
  if (number === 0) return fromSocket(error, text, server)
  const passing = UNAVAILABLE[number]
  if (passing !== undefined)
    return new UnavailableError(passing.code, `${server}: ${passing.say} (${text}).`, { cause: error })
  const lasting = REFUSED[number]
  if (lasting !== undefined)
    return new UsageError('STORE_REFUSED', `${server}: ${lasting} (${text}).`, { cause: error })
  const state = error instanceof Error && 'sqlState' in error ? String(error.sqlState) : ''
  if (ENDING.has(number) || number === INTERRUPTED || /^(08|40|70)/.test(state))
    return new UnavailableError('STORE_UNAVAILABLE', `${server} refuses for now: ${text}.`, { cause: error })
  if (/^(21|22|42)/.test(state))
    return new InvariantError(`a statement failed on ${server}: ${text} (${number})`, { cause: error })
  return new UsageError('STORE_REFUSED', `${server} refuses: ${text} (${number}).`, { cause: error })
}

/** Without the statement, which the driver adds: it holds what users stored. */
function proseOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const own = 'sqlMessage' in error && typeof error.sqlMessage === 'string' ? error.sqlMessage : error.message
  return (own.split('\n')[0] ?? '').slice(0, 500)
}

/** Certificates and protocols do not change by waiting. */
const TLS =
  /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|CERT_|ERR_TLS_|ERR_SSL_|ERR_OSSL_|EPROTO|ER_SERVER_NOT_SUPPORT_SSL)/

function fromSocket(error: unknown, text: string, server: string): PunctualError {
  const codes = [error, error instanceof Error ? error.cause : undefined].map((one) =>
    one instanceof Error && 'code' in one ? String(one.code) : '',
  )
  if (codes.some((code) => TLS.test(code)))
    return new UsageError('STORE_REFUSED', `${server}: no trusted TLS connection (${text}).`, {
      cause: error,
    })
  return new UnavailableError('STORE_UNAVAILABLE', `${server} is not reachable: ${text || codes[0]}.`, {
    cause: error,
  })
}
