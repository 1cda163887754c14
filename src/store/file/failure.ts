/** What SQLite and the file system throw, as an error that says what to do. */
import { accessSync, constants, statfsSync } from 'node:fs'
import { SQLITE, sqliteCode } from './database/driver.ts'
import {
  InvariantError,
  PunctualError,
  UnavailableError,
  UsageError,
  describe,
  errorCode,
  errorText,
} from '../../core/errors.ts'

/** Our statements are fixed, so one that SQLite does not understand met tables that are not as we made them. */
const DAMAGE: ReadonlySet<unknown> = new Set([
  SQLITE.error,
  SQLITE.corrupt,
  SQLITE.mismatch,
  SQLITE.notadb,
  // Node's word for a number that is larger than any of ours.
  'ERR_OUT_OF_RANGE',
])
/** Failures of the file system that do not pass by waiting. */
const NOT_ALLOWED: ReadonlySet<unknown> = new Set(['EACCES', 'EPERM', 'EROFS'])
/** Below this much room a failed write is put down to the lack of it. */
const FULL_BYTES = 1024 * 1024

export function explainFailure(error: unknown, directory: string): PunctualError {
  if (error instanceof PunctualError) return error
  const message = errorText(error)
  const code = codeOf(error)
  if (DAMAGE.has(code) || error instanceof SyntaxError) {
    return corrupt(`${directory} cannot be read (${message})`, error)
  }
  if (isFull(error, directory)) return fullError(directory, error)
  if (isRefused(error, directory)) return refusedError(directory, error)
  if (error instanceof RangeError || error instanceof TypeError) {
    return new InvariantError(`the file store failed: ${message}`, { cause: error })
  }
  return new UnavailableError('STORE_UNAVAILABLE', `the file store failed: ${message}`, { cause: error })
}

export function isFull(error: unknown, directory: string): boolean {
  const code = codeOf(error)
  if (code === SQLITE.full || code === 'ENOSPC' || code === 'EDQUOT') return true
  return (code === SQLITE.ioerr || code === SQLITE.cantopen) && freeBytes(directory) < FULL_BYTES
}

/** This user may not read or write there. */
export function isRefused(error: unknown, directory: string): boolean {
  const code = codeOf(error)
  if (code === SQLITE.readonly || NOT_ALLOWED.has(code)) return true
  return code === SQLITE.cantopen && !isWritable(directory)
}

function isWritable(directory: string): boolean {
  try {
    accessSync(directory, constants.R_OK | constants.W_OK)
    return true
  } catch {
    return false
  }
}

function refusedError(directory: string, cause: unknown): UsageError {
  return new UsageError(
    'STORE_REFUSED',
    `${describe(directory)} cannot be written (${errorText(cause)}): this user needs the right to read and write the directory and every file in it, also only to look. Fix the rights, use another user, or name another path.`,
    { value: directory, cause },
  )
}

export function fullError(directory: string, cause?: unknown): UnavailableError {
  return new UnavailableError(
    'STORE_FULL',
    `no room left for ${directory}: nothing was stored, and nothing that was stored before is lost. Free some space on its disk.`,
    { value: directory, ...(cause === undefined ? {} : { cause }) },
  )
}

export function corrupt(what: string, cause?: unknown): UnavailableError {
  return new UnavailableError(
    'STORE_CORRUPT',
    `${what}: the file store is damaged. Stop all processes that use it, keep a copy of the directory, and restore a backup (docs/file.md).`,
    cause === undefined ? {} : { cause },
  )
}

export function closedError(): UnavailableError {
  return new UnavailableError('STORE_CLOSED', 'the file store is closed; open a new queue.')
}

export function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize
}

/** A number of SQLite's, or a word of Node's. */
function codeOf(error: unknown): unknown {
  return sqliteCode(error) ?? errorCode(error)
}
