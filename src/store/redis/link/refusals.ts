/**
 * What Redis and the sockets say when they say no, turned into errors sorted by what the caller can do.
 *
 * Redis tells its errors apart by the first word of the text ("OOM command not allowed..."); before version 7 an
 * error inside a script carries that word further back ("ERR Error running script...: -OOM command..."). That word,
 * never the prose after it, decides.
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
import { ErrorReply, ProtocolError } from './parser.ts'

type Advice = { readonly code: ErrorCode; readonly say: string }

/** Passes by waiting. */
const UNAVAILABLE: Readonly<Record<string, Advice>> = {
  LOADING: { code: 'STORE_UNAVAILABLE', say: 'Redis is still loading its data from disk' },
  READONLY: {
    code: 'STORE_UNAVAILABLE',
    say: 'this Redis is a read-only replica; if no failover is under way, point the URL at the primary',
  },
  UNBLOCKED: {
    code: 'STORE_UNAVAILABLE',
    say: 'this Redis became a replica while the call waited for its replicas',
  },
  MASTERDOWN: { code: 'STORE_UNAVAILABLE', say: 'this replica lost its primary' },
  CLUSTERDOWN: { code: 'STORE_UNAVAILABLE', say: 'the Redis cluster is down' },
  TRYAGAIN: { code: 'STORE_UNAVAILABLE', say: 'the Redis cluster is moving this slot' },
  BUSY: { code: 'STORE_UNAVAILABLE', say: 'Redis is busy with somebody’s long script' },
  NOREPLICAS: {
    code: 'STORE_UNAVAILABLE',
    say: 'Redis has fewer healthy replicas than min-replicas-to-write',
  },
  MISCONF: {
    code: 'STORE_FULL',
    say: 'Redis cannot write its snapshot and refuses writes; look at its log and its disk',
  },
  OOM: {
    code: 'STORE_FULL',
    say: 'Redis reached maxmemory and takes no more messages; those it has are still worked off. Raise maxmemory',
  },
}

/** What a server says that was the primary and is a replica now. */
export const DEMOTED: ReadonlySet<string> = new Set(['READONLY', 'UNBLOCKED'])

/** What a server says before it does anything of a call: it may be sent again. */
export const UNDONE: ReadonlySet<string> = new Set([
  'MOVED',
  'ASK',
  'TRYAGAIN',
  'CLUSTERDOWN',
  'LOADING',
  'MASTERDOWN',
])

/** Passes only when a person changes something. */
const REFUSED: Readonly<Record<string, string>> = {
  NOAUTH: 'Redis wants a password: redis://:PASSWORD@host or redis://USER:PASSWORD@host',
  WRONGPASS: 'Redis does not know this user and password',
  NOPERM: 'this Redis user lacks a right that punctual needs; docs/redis.md lists them',
  WRONGTYPE: 'a key of this queue holds something else; choose another queue name or remove the foreign key',
  MOVED: 'this is a cluster node; a single-server URL cannot follow its redirections',
  CROSSSLOT: 'this is a cluster, and a proxy before it split the keys of a queue',
  DENIED: 'Redis runs in protected mode: set a password or bind it to this network',
}

/** Certificates and protocols do not change by waiting. */
const TLS_REFUSALS: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_HAS_EXPIRED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'EPROTO',
])

/** What OpenSSL says of a file that is no certificate or key. */
const BAD_CERTIFICATE_FILE = 'ERR_OSSL_'

/** The word by which Redis names an error, '' for errors that are not Redis’s. */
export function refusalWord(error: unknown): string {
  if (!(error instanceof ErrorReply)) return ''
  const inner = / -([A-Z]{2,}) /.exec(error.message)?.[1]
  return inner ?? /^([A-Z]{2,})(?: |$)/.exec(error.message)?.[1] ?? 'ERR'
}

/** Any failure of a call or a connection, as an error of ours. */
export function toPunctualError(error: unknown, server: string): PunctualError {
  if (error instanceof PunctualError) return error
  return error instanceof ErrorReply ? fromReply(error, server) : fromSocket(error, server)
}

/** The same while a connection is being opened: who answers with something else there is not Redis, and stays so. */
export function toOpeningError(error: unknown, server: string): PunctualError {
  if (!(error instanceof ProtocolError)) return toPunctualError(error, server)
  return new UsageError(
    'STORE_REFUSED',
    `${server} does not speak the protocol of Redis (${error.message}); is this the port of something else?`,
    { cause: error },
  )
}

function fromReply(error: ErrorReply, server: string): PunctualError {
  const word = refusalWord(error)
  const text = error.message
  const passing = UNAVAILABLE[word]
  if (passing !== undefined) {
    return new UnavailableError(passing.code, `${server}: ${passing.say} (${text}).`, { cause: error })
  }
  const lasting = REFUSED[word]
  if (lasting !== undefined) {
    return new UsageError('STORE_REFUSED', `${server}: ${lasting} (${text}).`, { cause: error })
  }
  if (text.includes('user_script')) {
    return new InvariantError(`a script failed on ${server}: ${text}`, { cause: error })
  }
  if (word === 'ERR') return new UsageError('STORE_REFUSED', `${server} refuses: ${text}.`, { cause: error })
  return new UnavailableError('STORE_UNAVAILABLE', `${server} refuses for now: ${text}.`, { cause: error })
}

function fromSocket(error: unknown, server: string): PunctualError {
  if (error instanceof ProtocolError) {
    return new UnavailableError(
      'STORE_PROTOCOL',
      `${server} sent what is not an answer of Redis (${error.message}), and the connection is given up.`,
      { cause: error },
    )
  }
  const code = errorCode(error)
  const text = textOf(error, code)
  if (TLS_REFUSALS.has(code) || code.startsWith(BAD_CERTIFICATE_FILE)) {
    return new UsageError(
      'STORE_REFUSED',
      `${server}: no trusted TLS connection (${text}). Give the authority with ?tlsCa=FILE, and rediss:// only where the server speaks TLS.`,
      { cause: error },
    )
  }
  return new UnavailableError('STORE_UNAVAILABLE', `${server} is not reachable: ${text}.`, { cause: error })
}

/** A name with several addresses fails with an error for each, and without a text of its own. */
function textOf(error: unknown, code: string): string {
  if (error instanceof AggregateError && error.message === '') {
    const texts = error.errors.map(errorText)
    return texts.length === 0 ? code : texts.join(', ')
  }
  return errorText(error)
}
