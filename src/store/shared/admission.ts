/** Refuses a call with more entries than the engine takes at once. */
import { UsageError } from '../../core/errors.ts'
import type { Capabilities, ClaimRequest } from '../contract/store.ts'

export function admitEntries(entries: number, max: number): void {
  if (entries <= max) return
  throw new UsageError('BATCH_TOO_LARGE', `${entries} entries in one call; allowed: ${max}.`, {
    value: entries,
  })
}

/** The limit of a claim counts as entries; its topics have a maximum of their own. */
export function admitClaim(request: ClaimRequest, { batchMax, wantsMax }: Capabilities): void {
  admitEntries(request.limit, batchMax)
  if (request.from === 'lapsed' || request.wants.length <= wantsMax) return
  throw new UsageError(
    'BATCH_TOO_LARGE',
    `${request.wants.length} topics in one claim; allowed: ${wantsMax}.`,
    {
      value: request.wants.length,
    },
  )
}
