/**
 * A copy of the directory while it is in use. LMDB copies one snapshot, whatever is written meanwhile, and leaves
 * the free pages out, so a backup is also as small as the store can be. The format file comes last: a backup that
 * was cut short has none, and is recognised by that.
 */
import { readdir } from 'node:fs/promises'
import { UsageError } from '../../core/errors.ts'
import { sealDirectory } from './directory.ts'
import type { Environment } from './environment.ts'
import { explainFailure } from './failure.ts'
import { makeDirectory } from './make-directory.ts'

export async function backupTo(environment: Environment, directory: string): Promise<void> {
  await makeDirectory(directory)
  const found = await filesIn(directory)
  if (found.length > 0) {
    throw new UsageError(
      'STORE_FOREIGN',
      `${directory} contains "${found[0]}"; a backup needs an empty directory, which may be new.`,
      { value: directory },
    )
  }
  try {
    await environment.tree.copyTo(directory)
    await sealDirectory(directory)
  } catch (error) {
    throw await explainFailure(error, directory)
  }
}

async function filesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory)
  } catch (error) {
    throw await explainFailure(error, directory)
  }
}
