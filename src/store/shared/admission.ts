/** Refuses a call with more entries than the engine takes at once. */
import { UsageError } from '../../core/errors.ts'
import { entriesOfSettlement } from '../contract/sizes.ts'
import type { Capabilities, ClaimRequest, Settlement } from '../contract/store.ts'

export function admitEntries(entries: number, max: number): void {
  if (entries <= max) return
  throw new UsageError('BATCH_TOO_LARGE', `${entries} entries in one call; allowed: ${max}.`, {
    value: entries,
  })
}

/** The messages that settlements carry are entries too. A single settlement passes, however many it carries. */
export function admitSettlements(settlements: readonly Settlement[], max: number): void {
  let entries = 0
  for (const settlement of settlements) entries += entriesOfSettlement(settlement)
  if (settlements.length > 1) admitEntries(entries, max)
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
