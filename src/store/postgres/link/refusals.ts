/** What PostgreSQL says when it says no: the five characters of SQLSTATE decide, never the prose. */
import { errorCode, errorText } from '../../../core/errors.ts'
import {
  DISK_FULL,
  LOCKED,
  OUT_OF_MEMORY,
  SqlRefusals,
  TAKES_NO_WRITES,
  noConnectionLeft,
} from '../../sql/server/refusals.ts'

const POOLER_SHARES = 'a pooler shares connections between clients; write ?pooler=transaction'

/** The server stops, or is no primary; or a pooler has mixed up statements. */
const ENDING: ReadonlySet<string> = new Set(['25006', '57P01', '57P02', '57P03', '57P05', '26000', '42P05'])

/** '' for errors that are not PostgreSQL's. */
export function sqlState(error: unknown): string {
  const code = errorCode(error)
  return /^[0-9A-Z]{5}$/.test(code) && 'severity' in (error as object) ? code : ''
}

export const REFUSALS = new SqlRefusals({
  codeOf: sqlState,
  proseOf: errorText,
  passing: {
    '25006': TAKES_NO_WRITES,
    '53100': DISK_FULL,
    '53200': OUT_OF_MEMORY,
    '53300': noConnectionLeft('three'),
    '55P03': LOCKED,
    '57014': { code: 'STORE_UNAVAILABLE', say: 'the call was cancelled on the server' },
  },
  lasting: {
    '28000': 'the server does not let this user in',
    '28P01': 'the server does not know this user and password',
    '3D000': 'there is no such database; create it',
    '3F000': 'the schema is not there; run punctual migrate',
    '42501': 'this user lacks a right that punctual needs; docs/postgres.md lists them',
    '42P01': 'a table of punctual is not there; run punctual migrate',
    '42883': 'a function of punctual is not there; run punctual migrate',
    '42P05': POOLER_SHARES,
    '26000': POOLER_SHARES,
  },
  kindOf: (state) => {
    if (/^(08|40|53|55|57|58)/.test(state)) return 'passing'
    return /^(22|42|XX|P0)/.test(state) ? 'ours' : 'lasting'
  },
  repeated: new Set(['40001', '40P01', '55P03']),
  missing: new Set(['3F000', '42P01', '42883', '42703']),
  ends: (state) => state === '' || state.startsWith('08') || ENDING.has(state),
  isTlsRefused: (_, prose) => prose.includes('does not support SSL'),
})
