/**
 * The directory: is it ours, do we understand it, and is it all there?
 *
 *   queue.db, queue.db-wal, queue.db-shm   SQLite's: the store, its journal, and an index of that
 *   reserve                                space that is given up when the disk is full
 *   wake-<n>                               touched to wake the sleepers of a queue in other processes
 *
 * The store is made before anything else, so other files of ours without it mean that it was lost, and that is said
 * instead of being papered over with an empty store.
 */
import { closeSync, fsyncSync, openSync, readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { UsageError } from '../../core/errors.ts'
import { FORMAT_VERSION } from './database/schema.ts'
import { corrupt } from './failure.ts'

/** `full`: resolved means on the disk. `off`: resolved means with the operating system. */
export type SyncMode = 'full' | 'off'

export const DATA_FILE = 'queue.db'
export const WAL_FILE = 'queue.db-wal'
const OWN_FILES = /^(?:queue\.db(?:-wal|-shm|-journal)?|reserve|wake-[0-9a-f]+)$/
/** What systems and their file managers leave in any directory: Finder, Explorer, NFS, a disk's own root. */
const SYSTEM_FILES = /^(?:\.DS_Store|\._.*|\.localized|desktop\.ini|thumbs\.db|\.nfs[0-9a-f]+|lost\+found)$/i
/** How the store lay on the disk before it was SQLite. */
const LMDB_FILE = 'data.mdb'

/** Without what belongs to no process. */
export function filesIn(directory: string): string[] {
  return readdirSync(directory).filter((name) => !SYSTEM_FILES.test(name))
}

export function inspectDirectory(directory: string): void {
  const names = filesIn(directory)
  if (names.includes(LMDB_FILE)) throw tooOldError(directory)
  const foreign = names.find((name) => !OWN_FILES.test(name))
  if (foreign !== undefined) throw foreignError(directory, `it contains "${foreign}"`)
  const hasOthers = names.some((name) => name === 'reserve' || name.startsWith('wake-'))
  if (hasOthers && sizeOf(directory, DATA_FILE) === 0) {
    const what = names.includes(DATA_FILE) ? 'is empty' : 'is missing'
    throw corrupt(`${path.join(directory, DATA_FILE)} ${what}`)
  }
}

export function sizeOf(directory: string, file: string): number {
  return statSync(path.join(directory, file), { throwIfNoEntry: false })?.size ?? 0
}

export function foreignError(directory: string, why: string): UsageError {
  return new UsageError(
    'STORE_FOREIGN',
    `${directory} is not a punctual file store: ${why}. Name a directory of its own, which may be new.`,
    { value: directory },
  )
}

export function tooNewError(directory: string, version: number): UsageError {
  return new UsageError(
    'STORE_TOO_NEW',
    `${directory} has format ${version}; this version of punctual knows formats up to ${FORMAT_VERSION}. Update punctual.`,
    { value: version },
  )
}

function tooOldError(directory: string): UsageError {
  return new UsageError(
    'STORE_TOO_OLD',
    `${directory} contains ${LMDB_FILE}: a version of punctual from before 0.1.0 wrote it, and this one cannot read it. Let that version finish its messages, or name another directory.`,
    { value: directory },
  )
}

/** A new name is only durable once its directory is. Windows neither allows nor needs this. */
export function syncDirectory(directory: string): void {
  if (process.platform === 'win32') return
  const descriptor = openSync(directory, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
