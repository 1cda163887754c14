/** Queues that another version laid out: this one would see nothing of them, and its messages would lie beside theirs. */
import { UsageError } from '../../core/errors.ts'

export function tooOld(queue: string, key: string): UsageError {
  return new UsageError(
    'STORE_TOO_OLD',
    `queue ${queue} holds messages that an older version of punctual stored (${key}), which this one does not read; work them off with that version, or choose another queue name.`,
    { value: key },
  )
}

export function tooNew(queue: string, key: string): UsageError {
  return new UsageError(
    'STORE_TOO_NEW',
    `queue ${queue} holds messages that a newer version of punctual stored (${key}); update punctual.`,
    { value: key },
  )
}
