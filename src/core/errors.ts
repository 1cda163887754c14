/**
 * Errors, sorted by what the caller can do about them:
 *
 *   UsageError        fix the call        nothing was stored or changed
 *   UnavailableError  wait, try again     the store did not answer; the effect of this call is unknown
 *   InvariantError    report it to us     punctual broke one of its own rules
 *
 * Each carries a stable `code`. `ERROR_CODES` is the whole list; a test keeps `docs/errors.md`, to
 * which `page` leads, equal to it.
 */

export const ERROR_CODES = {
  OPTION_UNKNOWN: 'an option that does not exist here',
  OPTION_INVALID: 'an option with a value of the wrong type or outside its range',
  DURATION_INVALID: 'a duration that is neither milliseconds nor a text like "30s"',
  DELAY_OUT_OF_RANGE: 'a delay that is negative, not finite, or longer than 100 years',
  MOMENT_INVALID: 'a moment that is neither a valid Date nor epoch milliseconds',
  MOMENT_OUT_OF_RANGE:
    'a moment before 1970 (or, where something is to happen, before 1973: seconds) or more than 100 years ahead',
  DELAY_AND_AT: 'two of "delay", "at" and "after" given together',
  TOPIC_INVALID:
    'a topic that is not a text of 1 to 200 bytes without control characters, other than . and .., or a handler for a pattern like "mail.*"',
  TOPIC_UNKNOWN: 'a topic that the declared topics do not contain',
  KEY_INVALID: 'a key that is not a text of 1 to 200 bytes without control characters, other than . and ..',
  TAG_INVALID:
    'a tag that is not a text of 1 to 200 bytes without control characters, other than . and .., or more than 4 tags',
  ID_INVALID: 'an id that is not a text of 1 to 200 bytes without control characters, other than . and ..',
  ID_EXISTS: 'a message with this id exists and ifExists is "fail"',
  PAYLOAD_UNSERIALISABLE: 'a payload that JSON cannot carry',
  PAYLOAD_TOO_LARGE: 'a payload larger than payloadLimit',
  PAYLOAD_MISMATCH: 'a payload that its topic’s schema refuses',
  ENCODING_INVALID: 'bytes that are not UTF-8, where a text is expected',
  BATCH_TOO_LARGE: 'more entries in one call than its maximum',
  CURSOR_INVALID: 'a cursor that did not come from list()',
  FILTER_INVALID: 'a filter that names neither ids nor a state, topic or tag, or mixes both',
  HANDLER_INVALID: 'a handler that is not a function',
  HANDLER_EXISTS: 'a second handler for one topic',
  STORE_URL_INVALID: 'a store URL that no engine understands',
  STORE_INVALID: 'a store object that does not keep the contract',
  CRON_INVALID: 'a cron expression that cannot be read, or that never comes',
  ATTEMPT_OVER:
    'a follow-up attached, or a message completed, after its handler had ended or it was completed already',
  TRANSACTION_MISSING: 'a transaction that is not open on the connection that was given for it',
  TRANSACTION_OPEN: 'a transaction that is open already on the connection on which another is to begin',
  LEASE_LOST: 'a message that is to be completed in a transaction, but may be another worker’s by now',
  QUEUE_STOPPED: 'a call on a queue that was stopped',
  STORE_UNAVAILABLE: 'the store did not answer',
  STORE_PARTIAL: 'a part of the store did not answer; the others did what was asked',
  STORE_UNREPLICATED:
    'the primary took the call, but too few replicas confirmed it in time; or none is configured',
  STORE_FULL: 'the store is out of memory or disk and takes no more messages',
  STORE_CORRUPT: 'the files of the store are damaged',
  STORE_FOREIGN: 'a path that is not a store of punctual, nor can be one',
  STORE_TOO_NEW: 'a store that a newer version of punctual made',
  STORE_TOO_OLD: 'a store that a version of punctual from before 0.1.0 made',
  STORE_REFUSED:
    'the store refused the call, and waiting will not help: credentials, rights, foreign keys, version',
  STORE_UNSUITED:
    'a server that speaks the protocol and is something else, on which a queue would break its promises or nothing is proved',
  STORE_PROTOCOL: 'the store sent what its protocol does not allow, and the connection was given up',
  STORE_CLIENT_MISSING: 'the package that speaks to this store is not installed',
  STORE_CLIENT_TOO_OLD: 'the package that speaks to this store is of a version that is too old',
  MOVE_REFUSED: 'a move of a queue into itself, to another target than before, or beside another move',
  MOVE_UNFINISHED: 'a move that could not be finished: messages still run in the source',
  CONTROLS_TOO_MANY: 'a pause or a limit for one topic more than may have one',
  UNSUPPORTED: 'something that the engine of this store cannot do',
  STORE_CLOSED: 'the store was closed while the call was under way',
  BROKER_URL_INVALID: 'a broker URL that is not like amqp://host/vhost',
  BROKER_CLIENT_MISSING: 'the package that speaks to the broker is not installed',
  BROKER_CLIENT_TOO_OLD: 'the package that speaks to the broker is of a version that is too old',
  BROKER_UNAVAILABLE: 'the broker did not answer',
  BROKER_REFUSED: 'the broker refused the bridge: credentials, virtual host, rights',
  BROKER_MISMATCH: 'an exchange or queue on the broker is missing, or of another kind than the bridge needs',
  HEADER_INVALID: 'an AMQP message with a header that the bridge cannot follow or carry',
  INVARIANT: 'a rule of punctual itself was broken',
} as const

export type ErrorCode = keyof typeof ERROR_CODES

export type ErrorDetails = {
  /** The offending value, as it was given. */
  readonly value?: unknown
  readonly cause?: unknown
}

/** Below `node_modules`: what a person can open, and Node prints with the error. */
export function pageOf(code: ErrorCode): string {
  return `punctual/docs/errors.md#${code.toLowerCase()}`
}

export abstract class PunctualError extends Error {
  readonly code: ErrorCode
  readonly value: unknown
  /** Where it is explained, in the docs that came with this package. */
  readonly page: string

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.value = details.value
    this.page = pageOf(code)
  }
}

/** The call is wrong: fix it. Nothing was stored or changed. */
export class UsageError extends PunctualError {
  override readonly name = 'UsageError'
}

/** The store did not answer: wait and try again. Whether the call took effect is unknown. */
export class UnavailableError extends PunctualError {
  override readonly name = 'UnavailableError'
}

/** A bug in punctual: please report it. */
export class InvariantError extends PunctualError {
  override readonly name = 'InvariantError'

  constructor(message: string, details: ErrorDetails = {}) {
    super('INVARIANT', message, details)
  }
}

/** Whether to wait and try again. By name: there may be several copies of this package in one process. */
export function isUnavailable(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'name' in error && error.name === 'UnavailableError'
}

/**
 * The code of an error of Node or of a server, '' for none. By shape: under Jest, or inside `node:vm`, Node's own errors are
 * no `Error` of this realm.
 */
export function errorCode(error: unknown): string {
  return hasField(error, 'code') ? String(error.code) : ''
}

/** What it says, by shape too. */
export function errorText(error: unknown): string {
  return hasField(error, 'message') ? String(error.message) : String(error)
}

function hasField<Name extends string>(
  value: unknown,
  name: Name,
): value is { readonly [N in Name]: unknown } {
  return typeof value === 'object' && value !== null && name in value && value[name as never] !== undefined
}

export function assertNever(value: never): never {
  throw new InvariantError(`a case was forgotten: ${describe(value)}`, { value })
}

export function invariant(condition: boolean, message: string): asserts condition {
  if (!condition) throw new InvariantError(message)
}

const SHOWN_MAX = 80

/**
 * A text with URLs in it, as it may be shown: passwords must not appear on a screen or in a log. Our own hints, which say
 * `//USER:PASSWORD@`, stay.
 */
export function withoutPasswords(text: string): string {
  return text.replace(/\/\/(?!(?:USER)?:PASSWORD@)[^\s"]*@/g, '//…@').replace(/(password=)[^&\s"]*/gi, '$1…')
}

/** The same for a text that is meant as one URL: everything before its last "@" may be a password. */
export function urlWithoutPasswords(url: string): string {
  return withoutPasswords(url.replace(/^([a-z][a-z0-9+.-]*:)?(\/\/)?.*@/is, '$1$2…@'))
}

/** A value as a person would recognise it in an error message: short, on one line, never throwing. */
export function describe(value: unknown): string {
  const text = describeWhole(value).replace(/[\p{Cc}\u2028\u2029]/gu, '\uFFFD')
  return text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX)}…`
}

function describeWhole(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return `"${value.slice(0, SHOWN_MAX + 1)}"`
    case 'bigint':
      return `${value}n`
    case 'function':
      return `a function${value.name === '' ? '' : ` (${value.name})`}`
    case 'symbol':
      return 'a symbol'
    case 'object':
      return describeObject(value)
    default:
      return String(value)
  }
}

function describeObject(value: object | null): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'an invalid Date' : value.toISOString()
  try {
    const keys = Object.keys(value)
    return keys.length === 0 ? 'an empty object' : `an object with ${keys.slice(0, 5).join(', ')}`
  } catch {
    return 'an object' // A proxy may throw from its traps; a message about an error must not.
  }
}
