/** What MySQL and MariaDB say when they say no: the number of the error decides, never the prose. */
import { PunctualError, errorCode } from '../../../core/errors.ts'
import {
  DISK_FULL,
  LOCKED,
  OUT_OF_MEMORY,
  SqlRefusals,
  TAKES_NO_WRITES,
  noConnectionLeft,
} from '../../sql/server/refusals.ts'

const LACKS_A_RIGHT = 'this user lacks a right that punctual needs; docs/mysql.md lists them'

export const INTERRUPTED = 1317
export const NO_SUCH_THREAD = 1094

/** The server stops, was told to end this session, or takes no writes any more. */
const ENDING: ReadonlySet<number> = new Set([1053, 1077, 1080, 1290, 1836, 1927, 1928, 3024, 4031])

/** 0 for errors that are not the server's: those of a socket, and of the driver itself. */
export function errorNumber(error: unknown): number {
  if (!(error instanceof Error) || !('errno' in error) || typeof error.errno !== 'number') return 0
  // From 45,000 on the driver speaks, and not the server.
  return error.errno >= 1000 && error.errno < 45_000 ? error.errno : 0
}

const PLUGIN_UNKNOWN =
  'this account logs in by a plugin that the client does not know; give it caching_sha2_password or mysql_native_password'
const NO_TRUST = 'this account sends its password only to a server with a trusted certificate; set sslca'

/** Ways to log in that end in the driver, before the server has answered. */
const LOGIN_REFUSED: Readonly<Record<string, string>> = {
  ER_CANNOT_RETRIEVE_RSA_KEY:
    'this account sends its password only encrypted; add ?ssl=true, or, where the network is trusted, ?publicKey=fetch, or ?publicKey=FILE with the server’s public_key.pem',
  ER_AUTHENTICATION_PLUGIN_NOT_SUPPORTED: PLUGIN_UNKNOWN,
  ER_NOT_SUPPORTED_AUTH_PLUGIN: PLUGIN_UNKNOWN,
  ER_CLEAR_PASSWORD_WITHOUT_SSL: 'this account sends its password as it is, which needs TLS; add ?ssl=true',
  ER_SELF_SIGNED_NO_PWD: NO_TRUST,
  ER_SELF_SIGNED_BAD_PLUGIN: NO_TRUST,
  ER_SELF_SIGNED_SHA256: NO_TRUST,
}

export const REFUSALS = new SqlRefusals({
  codeOf: (error) => String(errorNumber(error) || ''),
  proseOf,
  passing: {
    1021: DISK_FULL,
    1037: OUT_OF_MEMORY,
    1040: noConnectionLeft('four'),
    1041: OUT_OF_MEMORY,
    1114: { code: 'STORE_FULL', say: 'a table is full' },
    1203: {
      code: 'STORE_UNAVAILABLE',
      say: 'this user has no connection left; raise max_user_connections',
    },
    1205: LOCKED,
    1213: { code: 'STORE_UNAVAILABLE', say: 'calls kept each other waiting; try again' },
    1290: TAKES_NO_WRITES,
    1836: TAKES_NO_WRITES,
  },
  lasting: {
    1044: 'this user may not use that database',
    1045: 'the server does not know this user and password',
    1049: 'there is no such database; create it',
    1142: LACKS_A_RIGHT,
    1146: 'a table of punctual is not there; run punctual migrate',
    1153: 'a call is larger than the server takes; raise max_allowed_packet to 16M or more',
    1227: LACKS_A_RIGHT,
    1370: LACKS_A_RIGHT,
    1665: 'the server keeps a binary log of statements; set binlog_format to MIXED or ROW',
  },
  kindOf: (number, error) => {
    const state = error instanceof Error && 'sqlState' in error ? String(error.sqlState) : ''
    if (ENDING.has(Number(number)) || Number(number) === INTERRUPTED || /^(08|40|70)/.test(state))
      return 'passing'
    return /^(21|22|42)/.test(state) ? 'ours' : 'lasting'
  },
  // A row that changed meanwhile, an id that came meanwhile, a lock that did not come in time, a deadlock.
  repeated: new Set(['1020', '1062', '1205', '1213']),
  missing: new Set(['1049', '1054', '1146']),
  expected: new Set([String(INTERRUPTED), String(NO_SUCH_THREAD)]),
  ends: (number, error) => (number === '' ? !(error instanceof PunctualError) : ENDING.has(Number(number))),
  isTlsRefused: (error) => errorCode(error).startsWith('ER_SERVER_NOT_SUPPORT_SSL'),
  refusedByDriver: (error) => LOGIN_REFUSED[errorCode(error)],
})

function proseOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const own = 'sqlMessage' in error && typeof error.sqlMessage === 'string' ? error.sqlMessage : error.message
  return (own.split('\n')[0] ?? '').slice(0, 500)
}
