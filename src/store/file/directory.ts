/**
 * The directory: is it ours, do we understand it, and is it all there?
 *
 *   format       the version of the layout, readable without opening anything else; written last, when the rest is
 *                on the disk
 *   data.mdb     the tree
 *   lock.mdb     who reads and who writes; made anew when nobody has the store open
 *   wake-<n>     touched to wake the sleepers of queue n in other processes
 *
 * No format file: fine if the directory is empty, or if it holds nothing but a tree of ours whose making was cut
 * short (the caller looks inside). A format file without its tree is a loss, and is said so instead of being
 * papered over with an empty store.
 */
import { open, readFile, readdir, rename, stat } from 'node:fs/promises'
import path from 'node:path'
import { UsageError } from '../../core/errors.ts'
import { readHead } from './head.ts'
import { corrupt } from './seal.ts'

export const FORMAT_VERSION = 1
export const DATA_FILE = 'data.mdb'
const FORMAT_FILE = 'format'
const FORMAT_TEXT = /^punctual file store, format (\d+)\n/
/** What may lie in a directory whose making was cut short. */
const OWN_FILES = /^(?:data\.mdb|lock\.mdb|format\.\d+\.new|wake-\d+)$/

/** `new`: it still needs its format file, once the tree inside is known to be ours. */
export type DirectoryState = 'ours' | 'new'

export async function inspectDirectory(directory: string): Promise<DirectoryState> {
  const names = await readdir(directory)
  const data = path.join(directory, DATA_FILE)
  if (names.includes(FORMAT_FILE)) {
    await checkFormat(path.join(directory, FORMAT_FILE))
    const problem = names.includes(DATA_FILE) ? (await readHead(data)).problem : 'it is missing'
    if (problem !== undefined) throw corrupt(`${data}: ${problem}`)
    return 'ours'
  }
  const foreign = names.find((name) => !OWN_FILES.test(name))
  if (foreign !== undefined) throw foreignError(directory, `it contains "${foreign}"`)
  if (names.includes(DATA_FILE) && (await stat(data)).size > 0) {
    const { problem } = await readHead(data)
    if (problem !== undefined) throw foreignError(directory, `${DATA_FILE}: ${problem}`)
  }
  return 'new'
}

export function foreignError(directory: string, why: string, cause?: unknown): UsageError {
  return new UsageError(
    'STORE_FOREIGN',
    `${directory} is not a punctual file store: ${why}. Name a directory of its own, which may be new.`,
    { value: directory, ...(cause === undefined ? {} : { cause }) },
  )
}

export function tooNewError(where: string, version: number): UsageError {
  return new UsageError(
    'STORE_TOO_NEW',
    `${where} has format ${version}; this version of punctual knows formats up to ${FORMAT_VERSION}. Update punctual.`,
    { value: version },
  )
}

/** Makes the directory recognisable for good, and the names of its files durable. */
export async function sealDirectory(directory: string): Promise<void> {
  // Named after the process: two of them may be making the same store.
  const draft = path.join(directory, `${FORMAT_FILE}.${process.pid}.new`)
  const file = await open(draft, 'w')
  try {
    await file.write(`punctual file store, format ${FORMAT_VERSION}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(draft, path.join(directory, FORMAT_FILE))
  await syncDirectory(directory)
  await syncDirectory(path.dirname(directory))
}

export async function dataBytes(directory: string): Promise<number> {
  return (await stat(path.join(directory, DATA_FILE))).size
}

async function checkFormat(file: string): Promise<void> {
  const text = await readFile(file, 'utf8')
  const version = Number(FORMAT_TEXT.exec(text)?.[1])
  if (Number.isNaN(version)) throw corrupt(`${file} does not begin with "punctual file store, format ..."`)
  if (version > FORMAT_VERSION) throw tooNewError(file, version)
}

/** A new name is only durable once its directory is. Windows neither allows nor needs this. */
async function syncDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
