/**
 * What PostgreSQL and the sockets say when they say no, turned into errors sorted by what the caller can do. The five
 * characters of SQLSTATE decide, never the prose.
 */
import {
  InvariantError,
  PunctualError,
  UnavailableError,
  UsageError,
  errorCode,
  errorText,
  type ErrorCode,
} from '../../../core/errors.ts'
import type { LinkFailures } from '../../link/link.ts'

type SqlAdvice = { readonly code: ErrorCode; readonly say: string }

/** Passes by waiting. */
const UNAVAILABLE: Readonly<Record<string, SqlAdvice>> = {
  '25006': {
    code: 'STORE_UNAVAILABLE',
    say: 'this server takes no writes; if no failover is under way, point the URL at the primary',
  },
  '53100': { code: 'STORE_FULL', say: 'the disk of the server is full' },
  '53200': { code: 'STORE_FULL', say: 'the server is out of memory' },
  '53300': { code: 'STORE_UNAVAILABLE', say: 'the server has no connection left; raise max_connections' },
  '55P03': {
    code: 'STORE_UNAVAILABLE',
    say: 'a message is locked by somebody’s open transaction; end it, or try again later',
  },
  '57014': { code: 'STORE_UNAVAILABLE', say: 'the call was cancelled on the server' },
}

/** Somebody has to change something. */
const REFUSED: Readonly<Record<string, string>> = {
  '28000': 'the server does not let this user in',
  '28P01': 'the server does not know this user and password',
  '3D000': 'there is no such database; create it',
  '3F000': 'the schema is not there; run punctual migrate',
  '42501': 'this user lacks a right that punctual needs; docs/postgres.md lists them',
  '42P01': 'a table of punctual is not there; run punctual migrate',
  '42883': 'a function of punctual is not there; run punctual migrate',
  '42P05': 'a pooler shares connections between clients; write ?pooler=transaction',
  '26000': 'a pooler shares connections between clients; write ?pooler=transaction',
}

/** Repeated by us: the transaction was rolled back whole. */
const REPEATED: ReadonlySet<string> = new Set(['40001', '40P01', '55P03'])
/** Something of the schema is missing. */
const MISSING: ReadonlySet<string> = new Set(['3F000', '42P01', '42883', '42703'])
/** The connection leads nowhere any more: the server stops, or is no primary; or a pooler has mixed up statements. */
const ENDING: ReadonlySet<string> = new Set(['25006', '57P01', '57P02', '57P03', '57P05', '26000', '42P05'])

/** '' for errors that are not PostgreSQL's. */
export function sqlState(error: unknown): string {
  const code = errorCode(error)
  return /^[0-9A-Z]{5}$/.test(code) && 'severity' in (error as object) ? code : ''
}

export function isRepeatable(error: unknown): boolean {
  return REPEATED.has(sqlState(error))
}

export function isMissing(error: unknown): boolean {
  return MISSING.has(sqlState(error))
}

export const FAILURES: LinkFailures = {
  toError: toPunctualError,
  toOpeningError: toPunctualError,
  isForEngine: (error) => isRepeatable(error) || isMissing(error),
  endsConnection: (error) => {
    const state = sqlState(error)
    return state === '' || state.startsWith('08') || ENDING.has(state)
  },
}

export function toPunctualError(error: unknown, server: string): PunctualError {
  if (error instanceof PunctualError) return error
  const state = sqlState(error)
  const text = errorText(error)
  if (state === '') return fromSocket(error, text, server)
  const passing = UNAVAILABLE[state]
  if (passing !== undefined)
    return new UnavailableError(passing.code, `${server}: ${passing.say} (${text}).`, { cause: error })
  const lasting = REFUSED[state]
  if (lasting !== undefined)
    return new UsageError('STORE_REFUSED', `${server}: ${lasting} (${text}).`, { cause: error })
  if (/^(08|40|53|55|57|58)/.test(state))
    return new UnavailableError('STORE_UNAVAILABLE', `${server} refuses for now: ${text}.`, { cause: error })
  if (/^(22|42|XX|P0)/.test(state))
    return new InvariantError(`a statement failed on ${server}: ${text} (${state})`, { cause: error })
  return new UsageError('STORE_REFUSED', `${server} refuses: ${text} (${state}).`, { cause: error })
}

/** Certificates and protocols do not change by waiting. */
const TLS =
  /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|CERT_|ERR_TLS_|ERR_SSL_|ERR_OSSL_|EPROTO)/

function fromSocket(error: unknown, text: string, server: string): PunctualError {
  const code = errorCode(error)
  if (TLS.test(code) || text.includes('does not support SSL'))
    return new UsageError('STORE_REFUSED', `${server}: no trusted TLS connection (${text}).`, {
      cause: error,
    })
  return new UnavailableError('STORE_UNAVAILABLE', `${server} is not reachable: ${text || code}.`, {
    cause: error,
  })
}
