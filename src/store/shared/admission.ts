/**
 * What no engine should be asked: more entries in one call than it takes at once are refused, and none are answered with none.
 * Stores on servers stand behind `admitting`; the others ask for it where they count their entries anyway.
 */
import { UsageError } from '../../core/errors.ts'
import { entriesOfSettlement } from '../contract/sizes.ts'
import type { Capabilities, ClaimRequest, Settlement, Store } from '../contract/store.ts'
import { StoreWrapper, type StoreVerb } from '../contract/verbs.ts'

/** Their first argument is the list of entries. */
const OF_LISTS = ['put', 'remove', 'reschedule', 'revive', 'extend', 'settle', 'record', 'restore'] as const
/** Their first argument names a list, or has a limit. */
const OF_QUERIES = { inspect: 'ids', countTopics: 'topics', keys: 'keys', remembered: undefined } as const

export function admitting(store: Store): Store {
  return new AdmittingStore(store)
}

class AdmittingStore extends StoreWrapper {
  override around<T>(verb: StoreVerb, [first]: readonly unknown[], call: () => Promise<T>): Promise<T> {
    try {
      this.#admit(verb, first)
    } catch (error) {
      return Promise.reject(error)
    }
    const isNone = isOfList(verb) && (first as readonly unknown[]).length === 0
    return isNone ? Promise.resolve((verb === 'record' ? undefined : []) as T) : call()
  }

  #admit(verb: StoreVerb, first: unknown): void {
    const { capabilities } = this
    if (isOfList(verb)) admitEntries((first as readonly unknown[]).length, capabilities.batchMax)
    if (verb === 'settle') admitSettlements(first as readonly Settlement[], capabilities.batchMax)
    if (verb === 'claim') admitClaim(first as ClaimRequest, capabilities)
    if (verb in OF_QUERIES) {
      const name = OF_QUERIES[verb as keyof typeof OF_QUERIES]
      const { limit, ...query } = first as { readonly limit: number; readonly [list: string]: unknown }
      const list = name === undefined ? undefined : (query[name] as readonly string[] | undefined)
      admitEntries(list?.length ?? limit, capabilities.batchMax)
    }
  }
}

function isOfList(verb: StoreVerb): boolean {
  return (OF_LISTS as readonly StoreVerb[]).includes(verb)
}

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
