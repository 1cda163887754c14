/** Refuses a call with more entries than the engine takes at once. */
import { UsageError } from '../../core/errors.ts'

export function admitEntries(entries: number, max: number): void {
  if (entries <= max) return
  throw new UsageError('BATCH_TOO_LARGE', `${entries} entries in one call; allowed: ${max}.`, {
    value: entries,
  })
}
