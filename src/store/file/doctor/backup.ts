/**
 * A copy of the store while it is in use. SQLite copies one snapshot, whatever is written meanwhile, and leaves free
 * pages out. The copy has another name until it is on the disk: one that was cut short is recognised by that.
 */
import { closeSync, fsyncSync, openSync, renameSync } from 'node:fs'
import path from 'node:path'
import { UsageError } from '../../../core/errors.ts'
import type { Database } from '../database/database.ts'
import { DATA_FILE, filesIn, syncDirectory } from '../directory.ts'
import { explainFailure } from '../failure.ts'

export function backupTo(db: Database, directory: string): void {
  try {
    refuseUsed(directory)
    const draft = path.join(directory, `${DATA_FILE}.new`)
    db.run('VACUUM INTO ?', draft)
    const descriptor = openSync(draft, 'r+')
    try {
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
    renameSync(draft, path.join(directory, DATA_FILE))
    syncDirectory(directory)
  } catch (error) {
    throw explainFailure(error, directory)
  }
}

function refuseUsed(directory: string): void {
  const [found] = filesIn(directory)
  if (found === undefined) return
  throw new UsageError(
    'STORE_FOREIGN',
    `${directory} contains "${found}"; a backup needs an empty directory, which may be new.`,
    { value: directory },
  )
}
