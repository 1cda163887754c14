/**
 * A directory and those above it, made where they are missing, or a word about what is in the way.
 *
 * Not `mkdir` with `recursive`: where the parent exists and still nothing can be made in it (below /proc, in a
 * directory that was deleted while somebody stood in it), Node tries without end, at full speed.
 */
import { mkdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { UsageError, describe, errorCode, type PunctualError } from '../../core/errors.ts'
import { explainFailure, isRefused } from './failure.ts'

/** Codes of failures that do not pass by waiting, and what they mean. */
const IN_THE_WAY: Readonly<Record<string, string>> = {
  EEXIST: 'something that is no directory has this name',
  ENOTDIR: 'a part of the path is no directory',
  ENOENT: 'no directory can be made there',
  ENAMETOOLONG: 'the name is too long',
  ELOOP: 'its links run in a circle',
  EINVAL: 'the name is not allowed there',
  ERR_INVALID_ARG_VALUE: 'a path has no null bytes',
}

export async function makeDirectory(directory: string): Promise<void> {
  try {
    await makeWithParents(path.resolve(directory))
  } catch (error) {
    throw explain(error, directory)
  }
}

async function makeWithParents(directory: string): Promise<void> {
  if (await isDirectory(directory)) return
  const parent = path.dirname(directory)
  if (parent !== directory) await makeWithParents(parent)
  try {
    await mkdir(directory)
  } catch (error) {
    // Another process may have been quicker.
    if (errorCode(error) !== 'EEXIST' || !(await isDirectory(directory))) throw error
  }
}

async function isDirectory(name: string): Promise<boolean> {
  try {
    return (await stat(name)).isDirectory()
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false
    throw error
  }
}

function explain(error: unknown, directory: string): PunctualError {
  const code = errorCode(error)
  const why = IN_THE_WAY[code]
  if (why !== undefined) {
    return new UsageError(
      'STORE_FOREIGN',
      `${describe(directory)} cannot be a directory: ${why}. Name another path; it may be new.`,
      { value: directory, cause: error },
    )
  }
  if (isRefused(error, directory)) {
    return new UsageError(
      'STORE_REFUSED',
      `${describe(directory)} cannot be made (${code}): this user may not write there. Name another path, or fix the rights.`,
      { value: directory, cause: error },
    )
  }
  return explainFailure(error, directory)
}
