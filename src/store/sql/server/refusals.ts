/**
 * What a server says when it says no, as errors sorted by what the caller can do. The code of the error decides, never the
 * prose. A dialect brings its codes and what each means.
 */
import {
  InvariantError,
  PunctualError,
  UnavailableError,
  UsageError,
  errorCode,
  type ErrorCode,
} from '../../../core/errors.ts'
import type { LinkFailures } from '../../link/link.ts'

export type SqlAdvice = { readonly code: ErrorCode; readonly say: string }

/** The same words for each dialect. */
export const TAKES_NO_WRITES: SqlAdvice = {
  code: 'STORE_UNAVAILABLE',
  say: 'this server takes no writes; if no failover is under way, point the URL at the primary',
}
export const OUT_OF_MEMORY: SqlAdvice = { code: 'STORE_FULL', say: 'the server is out of memory' }
export const DISK_FULL: SqlAdvice = { code: 'STORE_FULL', say: 'the disk of the server is full' }
/** `many`: how many a worker has where there are enough. */
export function noConnectionLeft(many: string): SqlAdvice {
  return {
    code: 'STORE_UNAVAILABLE',
    say: `the server has no connection left (a worker has ${many}, and works with one; a producer has one); raise max_connections, or let fewer processes connect`,
  }
}
export const LOCKED: SqlAdvice = {
  code: 'STORE_UNAVAILABLE',
  say: 'a message is locked by somebody’s open transaction; end it, or try again later',
}

export type SqlCodes = {
  /** '' for errors that are not the server's: those of a socket, and of the driver itself. */
  readonly codeOf: (error: unknown) => string
  /** Without the statement, which a driver may add: it holds what users stored. */
  readonly proseOf: (error: unknown) => string
  /** Passes by waiting. */
  readonly passing: Readonly<Record<string, SqlAdvice>>
  /** Somebody has to change something. */
  readonly lasting: Readonly<Record<string, string>>
  /** What the other codes are: passing, a fault of ours, or lasting. */
  readonly kindOf: (code: string, error: unknown) => 'passing' | 'ours' | 'lasting'
  /** Repeated by us: the transaction was rolled back whole. */
  readonly repeated: ReadonlySet<string>
  /** A part of the schema is not there. */
  readonly missing: ReadonlySet<string>
  /** Told to the engine as they are, beside those two. */
  readonly expected?: ReadonlySet<string>
  /** The connection leads nowhere any more. */
  readonly ends: (code: string, error: unknown) => boolean
  /** Beside `TLS`: how the driver says that the server has none. */
  readonly isTlsRefused: (error: unknown, prose: string) => boolean
  /** What to change where the driver itself refuses to go on; undefined: the socket failed. */
  readonly refusedByDriver?: (error: unknown) => string | undefined
}

export class SqlRefusals implements LinkFailures {
  readonly #codes: SqlCodes

  constructor(codes: SqlCodes) {
    this.#codes = codes
  }

  isRepeatable(error: unknown): boolean {
    return this.#codes.repeated.has(this.#codes.codeOf(error))
  }

  isMissing(error: unknown): boolean {
    return this.#codes.missing.has(this.#codes.codeOf(error))
  }

  isForEngine(error: unknown): boolean {
    const { codeOf, expected } = this.#codes
    return this.isRepeatable(error) || this.isMissing(error) || expected?.has(codeOf(error)) === true
  }

  endsConnection(error: unknown): boolean {
    return this.#codes.ends(this.#codes.codeOf(error), error)
  }

  toOpeningError(error: unknown, server: string): PunctualError {
    return this.toError(error, server)
  }

  toError(error: unknown, server: string): PunctualError {
    if (error instanceof PunctualError) return error
    const { codeOf, proseOf, passing, lasting, kindOf } = this.#codes
    const [code, prose, cause] = [codeOf(error), proseOf(error), { cause: error }]
    if (code === '') return this.#fromSocket(error, prose, server)
    const advice = passing[code]
    if (advice !== undefined)
      return new UnavailableError(advice.code, `${server}: ${advice.say} (${prose}).`, cause)
    const remedy = lasting[code]
    if (remedy !== undefined)
      return new UsageError('STORE_REFUSED', `${server}: ${remedy} (${prose}).`, cause)
    const kind = kindOf(code, error)
    if (kind === 'passing')
      return new UnavailableError('STORE_UNAVAILABLE', `${server} refuses for now: ${prose}.`, cause)
    return kind === 'ours'
      ? new InvariantError(`a statement failed on ${server}: ${prose} (${code})`, cause)
      : new UsageError('STORE_REFUSED', `${server} refuses: ${prose} (${code}).`, cause)
  }

  #fromSocket(error: unknown, prose: string, server: string): PunctualError {
    const cause = { cause: error }
    const reason = error instanceof Error ? error.cause : undefined
    const isTls = [error, reason].some((one) => TLS.test(errorCode(one)))
    if (isTls || this.#codes.isTlsRefused(error, prose))
      return new UsageError('STORE_REFUSED', `${server}: no trusted TLS connection (${prose}).`, cause)
    const remedy = this.#codes.refusedByDriver?.(error)
    if (remedy !== undefined) return new UsageError('STORE_REFUSED', `${server}: ${remedy}.`, cause)
    const what = prose === '' ? errorCode(error) : prose
    return new UnavailableError('STORE_UNAVAILABLE', `${server} is not reachable: ${what}.`, cause)
  }
}

/** Certificates and protocols do not change by waiting. */
const TLS =
  /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|CERT_|ERR_TLS_|ERR_SSL_|ERR_OSSL_|EPROTO)/
