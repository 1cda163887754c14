/** What the library throws, as an error that says what to do. */
import { statfs } from 'node:fs/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { InvariantError, PunctualError, UnavailableError } from '../../core/errors.ts'
import { corrupt } from './seal.ts'

/** As LMDB says it (map full, no space, quota), and as Node does. */
const FULL: ReadonlySet<unknown> = new Set([-30_792, 28, 122, 'ENOSPC', 'EDQUOT'])
const EIO = 5
/** Page not found, corrupted, panic, version mismatch, not an LMDB file, bad transaction, problem. */
const DAMAGE: ReadonlySet<unknown> = new Set([-30_797, -30_796, -30_795, -30_794, -30_793, -30_782, -30_779])
/** Below this much room a failed write is put down to the lack of it: the library reports a short write as EIO. */
const FULL_BYTES = 4 * 1024 * 1024

export async function explainFailure(error: unknown, directory: string): Promise<PunctualError> {
  if (error instanceof PunctualError) return error
  const cause = await causeOf(error)
  const code = codeOf(cause)
  if (DAMAGE.has(code)) return corrupt(`${directory} cannot be read (${messageOf(cause)})`, cause)
  if (FULL.has(code)) return fullError(directory, cause)
  if (code === EIO && (await freeBytes(directory)) < FULL_BYTES) return fullError(directory, cause)
  if (cause instanceof RangeError || cause instanceof TypeError) {
    return new InvariantError(`the file store failed: ${messageOf(cause)}`, { cause })
  }
  return new UnavailableError('STORE_UNAVAILABLE', `the file store failed: ${messageOf(cause)}`, { cause })
}

export function fullError(directory: string, cause?: unknown): UnavailableError {
  return new UnavailableError(
    'STORE_FULL',
    `no room left for ${directory}: nothing was stored, and nothing that was stored before is lost. Free some space on its disk.`,
    { value: directory, ...(cause === undefined ? {} : { cause }) },
  )
}

export async function freeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory)
  return bavail * bsize
}

/** A failed commit carries a promise of its cause, which is settled by the next turn of the event loop. */
async function causeOf(thrown: unknown): Promise<unknown> {
  if (!(thrown instanceof Error) || !('commitError' in thrown)) return thrown
  const cause = Promise.resolve(thrown.commitError).then(
    () => thrown,
    (reason: unknown) => reason,
  )
  return Promise.race([cause, nextTurn().then(() => thrown)])
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
