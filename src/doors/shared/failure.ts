/**
 * What can go wrong at a door, and what the other side is told: an exit code for a shell, a status for an HTTP client,
 * one line for a person, one code for programs.
 *
 *   exit 0  fine
 *   exit 1  failed: the store did not answer or refused us, a message is missing, the doctor found a problem
 *   exit 2  wrong usage: nothing was done; the line says how to call it
 *
 * The code is one of the library's where the library complained, else one of `DOOR_CODES`.
 */
import { ERROR_CODES, pageOf, withoutPasswords } from '../../core/errors.ts'
import { PunctualError, type ErrorCode } from '../../index.ts'
import { printable } from './printable.ts'

export const EXIT = { fine: 0, failed: 1, usage: 2 } as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

export const DOOR_CODES = {
  call: 'CALL_INVALID',
  failed: 'FAILED',
  /** An error that nothing expects: a bug of punctual, or of a module of handlers. */
  unexpected: 'UNEXPECTED',
} as const
export type DoorCode = (typeof DOOR_CODES)[keyof typeof DOOR_CODES]

type Answer = readonly [exit: ExitCode, status: number]

const { failed, usage } = EXIT

/** Every code, as a shell and as an HTTP client hear it. */
export const ANSWERS: Readonly<Record<ErrorCode | DoorCode, Answer>> = {
  CALL_INVALID: [usage, 400],
  FAILED: [failed, 500],
  UNEXPECTED: [failed, 500],

  OPTION_UNKNOWN: [usage, 400],
  OPTION_INVALID: [usage, 400],
  DURATION_INVALID: [usage, 400],
  DELAY_OUT_OF_RANGE: [usage, 400],
  MOMENT_INVALID: [usage, 400],
  MOMENT_OUT_OF_RANGE: [usage, 400],
  DELAY_AND_AT: [usage, 400],
  TOPIC_INVALID: [usage, 400],
  TOPIC_UNKNOWN: [usage, 400],
  KEY_INVALID: [usage, 400],
  TAG_INVALID: [usage, 400],
  ID_INVALID: [usage, 400],
  ID_EXISTS: [failed, 409],
  PAYLOAD_UNSERIALISABLE: [usage, 400],
  PAYLOAD_TOO_LARGE: [usage, 413],
  PAYLOAD_MISMATCH: [usage, 422],
  ENCODING_INVALID: [usage, 400],
  BATCH_TOO_LARGE: [usage, 413],
  CURSOR_INVALID: [usage, 400],
  FILTER_INVALID: [usage, 400],
  HANDLER_INVALID: [usage, 500],
  HANDLER_EXISTS: [usage, 500],
  ATTEMPT_OVER: [usage, 500],
  TRANSACTION_MISSING: [usage, 500],
  TRANSACTION_OPEN: [usage, 500],
  LEASE_LOST: [usage, 500],
  CRON_INVALID: [usage, 400],
  CONTROLS_TOO_MANY: [usage, 409],
  HEADER_INVALID: [usage, 400],
  MOVE_REFUSED: [failed, 409],
  MOVE_UNFINISHED: [failed, 409],
  UNSUPPORTED: [usage, 501],

  // The client did nothing wrong: the operator gave the door this store or broker.
  STORE_URL_INVALID: [usage, 500],
  STORE_INVALID: [usage, 500],
  STORE_FOREIGN: [usage, 500],
  STORE_TOO_NEW: [usage, 500],
  STORE_TOO_OLD: [usage, 500],
  STORE_REFUSED: [failed, 500],
  STORE_UNSUITED: [usage, 500],
  STORE_CLIENT_MISSING: [usage, 500],
  STORE_CLIENT_TOO_OLD: [usage, 500],
  BROKER_URL_INVALID: [usage, 500],
  BROKER_CLIENT_MISSING: [usage, 500],
  BROKER_CLIENT_TOO_OLD: [usage, 500],
  BROKER_REFUSED: [failed, 500],
  BROKER_MISMATCH: [usage, 500],
  STORE_CORRUPT: [failed, 500],
  STORE_FULL: [failed, 507],

  // Trying again later helps.
  STORE_UNAVAILABLE: [failed, 503],
  STORE_PROTOCOL: [failed, 503],
  BROKER_UNAVAILABLE: [failed, 503],
  STORE_PARTIAL: [failed, 503],
  STORE_UNREPLICATED: [failed, 503],
  STORE_CLOSED: [failed, 503],
  QUEUE_STOPPED: [usage, 503],

  INVARIANT: [failed, 500],
}

/** The call is wrong. `command` is the one whose help shows how it is meant. */
export class CallError extends Error {
  override readonly name = 'CallError'
  readonly command: string | undefined

  constructor(message: string, command?: string) {
    super(message)
    this.command = command
  }
}

/** The call was fine, and could not be done. */
export class FailedError extends Error {
  override readonly name = 'FailedError'
}

export type FailureReport = {
  readonly exit: ExitCode
  readonly status: number
  readonly code: ErrorCode | DoorCode
  readonly line: string
  /** Of the library's codes: where they are explained. */
  readonly page?: string
}

export function describeFailure(error: unknown): FailureReport {
  const code = codeOf(error)
  // What was done before the failure stays done, so that the call as a whole was not wrong usage.
  const [exit, status] = error instanceof FailedError ? [EXIT.failed, ANSWERS[code][1]] : ANSWERS[code]
  const line = oneLine(error instanceof Error ? error.message : String(error))
  return { exit, status, code, line, ...(isLibraryCode(code) ? { page: pageOf(code) } : {}) }
}

function isLibraryCode(code: ErrorCode | DoorCode): code is ErrorCode {
  return Object.hasOwn(ERROR_CODES, code)
}

function codeOf(error: unknown): ErrorCode | DoorCode {
  if (error instanceof CallError) return DOOR_CODES.call
  if (error instanceof PunctualError) return error.code
  if (!(error instanceof FailedError)) return DOOR_CODES.unexpected
  return error.cause instanceof PunctualError ? error.cause.code : DOOR_CODES.failed
}

/** Some quote what they were given, which may be of any length. */
const LINE_MAX = 1_000

function oneLine(text: string): string {
  const line = withoutPasswords(printable(text.replace(/\s*\n\s*/g, ' ')))
  return line.length <= LINE_MAX ? line : `${line.slice(0, LINE_MAX)}…`
}
