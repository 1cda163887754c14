/**
 * What can go wrong at this door, and what the shell is told:
 *
 *   0  fine
 *   1  failed: the store did not answer, a message is missing, the doctor found a problem
 *   2  wrong usage: nothing was done; the line says how to call it
 *
 * Programs read the code: one of the library's where the library complained, else one of `CLI_CODES`.
 */
import { withoutPasswords } from '../../core/errors.ts'
import { PunctualError, UsageError } from '../../index.ts'
import { printable } from './printable.ts'

export const EXIT = { fine: 0, failed: 1, usage: 2 } as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** Some quote what they were given, which may be of any length. */
const LINE_MAX = 1_000

export const CLI_CODES = {
  call: 'CALL_INVALID',
  failed: 'FAILED',
  /** An error that nobody foresaw: a bug of ours, or of a module of handlers. */
  unexpected: 'UNEXPECTED',
} as const

/** The command line is wrong. `command` is the one whose help shows how it is meant. */
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

export type FailureReport = { readonly code: ExitCode; readonly line: string; readonly errorCode: string }

/** One line for a person, one number for the shell, one word for programs. `command` is what ran. */
export function describeFailure(error: unknown, command: string | undefined): FailureReport {
  if (error instanceof CallError) {
    const shown = error.command ?? command
    const help = shown === undefined ? 'punctual --help' : `punctual ${shown} --help`
    return {
      code: EXIT.usage,
      line: `${oneLine(error.message)} See "${help}".`,
      errorCode: CLI_CODES.call,
    }
  }
  if (error instanceof PunctualError) {
    const code = error instanceof UsageError ? EXIT.usage : EXIT.failed
    return { code, line: oneLine(error.message), errorCode: error.code }
  }
  if (error instanceof FailedError) {
    const errorCode = error.cause instanceof PunctualError ? error.cause.code : CLI_CODES.failed
    return { code: EXIT.failed, line: oneLine(error.message), errorCode }
  }
  const line = oneLine(error instanceof Error ? error.message : String(error))
  return { code: EXIT.failed, line, errorCode: CLI_CODES.unexpected }
}

function oneLine(text: string): string {
  const line = withoutPasswords(printable(text.replace(/\s*\n\s*/g, ' ')))
  return line.length <= LINE_MAX ? line : `${line.slice(0, LINE_MAX)}…`
}
