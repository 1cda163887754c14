/**
 * Messages from one store to the other. Neither store knows of the other, so that nothing here is one step; but a message
 * is taken from the source only after the target has shown it, whole. At every moment it is in at least one of them, and
 * both are paused meanwhile: it runs nowhere twice.
 *
 *   copy     each page is placed in the target; an id that is taken there stays as it is, but for schedules (`schedules.ts`)
 *   settle   each page is compared with what the target shows; what is the same leaves the source
 *
 * Both may be repeated, whatever was done before.
 */
import { scheduleName, scheduleOfOccurrence } from '../../core/recurrence/spec.ts'
import { cutBatches } from '../../core/gathering.ts'
import type { RestoredMessage, Store, StoredMessage } from '../../store/contract/store.ts'
import { sizeOfRestored } from '../../store/contract/sizes.ts'
import { differenceOf, recordOf } from './record.ts'
import { describeRivals, letGo, survivorOf, type Side } from './schedules.ts'
import { KINDS, pagesOf, removedFrom, type Kind, type KindCounts } from './walking.ts'

const PAGE = 500

export type Conflict = { readonly id: string; readonly kind: Kind; readonly why: string }

export type TransferParts = {
  readonly source: Store
  readonly target: Store
  /** Called before each page: proves that this process still is the one that moves. */
  readonly hold: () => Promise<void>
  readonly onProgress: (progress: { readonly step: 'copy' | 'verify'; readonly count: number }) => void
}

/** Answers how many placed occurrences were withdrawn, because the schedule of the other side brings them. */
export async function copyAll({ source, target, hold, onProgress }: TransferParts): Promise<number> {
  let withdrawn = 0
  for (const kind of KINDS) {
    for await (const page of pagesOf(source, kind, pageSize(source, target))) {
      await hold()
      if (kind === 'schedules') withdrawn += await makeWay(source, target, page)
      await restoreAll(target, page.map(recordOf))
      onProgress({ step: 'copy', count: page.length })
    }
  }
  return withdrawn
}

/** Of a schedule that both sides have, one side lets go. */
async function makeWay(source: Store, target: Store, page: readonly StoredMessage[]): Promise<number> {
  let withdrawn = 0
  for (const { inSource, inTarget, survivor } of (await comparePage(target, 'schedules', page)).rivals)
    withdrawn += survivor === 'source' ? await letGo(target, inTarget) : await letGo(source, inSource)
  return withdrawn
}

export type Settled = {
  readonly moved: KindCounts
  readonly conflicts: readonly Conflict[]
  /** What the target does not have. */
  readonly absent: number
}

export async function settleAll({ source, target, hold, onProgress }: TransferParts): Promise<Settled> {
  const moved = { schedules: 0, waiting: 0, dead: 0, remembered: 0 }
  const conflicts: Conflict[] = []
  let absent = 0
  for (const kind of KINDS) {
    for await (const page of pagesOf(source, kind, pageSize(source, target))) {
      await hold()
      const compared = await comparePage(target, kind, page)
      const over = kind === 'remembered' ? await takenAsOver(target, compared.absent) : []
      const arrived = [...compared.same, ...over]
      absent += compared.absent.length - over.length
      conflicts.push(...compared.conflicts, ...compared.rivals.map(stillHeld))
      if (arrived.length > 0) await source.remove(arrived, removedFrom(kind))
      moved[kind] += arrived.length
      onProgress({ step: 'verify', count: page.length })
    }
  }
  return { moved, conflicts, absent }
}

export type FoundInSource = { readonly found: KindCounts; readonly conflicts: readonly Conflict[] }

/** Looks and changes nothing. */
export async function surveyAll({
  source,
  target,
  onProgress,
}: Omit<TransferParts, 'hold'>): Promise<FoundInSource> {
  const found = { schedules: 0, waiting: 0, dead: 0, remembered: 0 }
  const conflicts: Conflict[] = []
  const survivors = new Map<string, Side>()
  for (const kind of KINDS) {
    for await (const page of pagesOf(source, kind, pageSize(source, target))) {
      const compared = await comparePage(target, kind, page)
      for (const { inSource, survivor } of compared.rivals) survivors.set(scheduleName(inSource.id), survivor)
      // What one of both schedules has placed will be withdrawn.
      const sideOf = (id: string): Side | undefined =>
        kind === 'waiting' ? survivors.get(scheduleOfOccurrence(id) ?? '') : undefined
      const stays = compared.rivals.filter(({ survivor }) => survivor === 'target').length
      const withdrawn = page.filter(({ id }) => sideOf(id) === 'target').length
      const taken = compared.conflicts.filter(({ id }) => sideOf(id) === undefined)
      found[kind] += page.length - taken.length - stays - withdrawn
      conflicts.push(...taken)
      onProgress({ step: 'verify', count: page.length })
    }
  }
  return { found, conflicts }
}

type Compared = {
  readonly same: readonly string[]
  readonly conflicts: readonly Conflict[]
  /** Schedules that both sides have, and of which one side can let go. */
  readonly rivals: readonly Rivals[]
  readonly absent: readonly StoredMessage[]
}

type Rivals = { readonly inSource: StoredMessage; readonly inTarget: StoredMessage; readonly survivor: Side }

async function comparePage(target: Store, kind: Kind, page: readonly StoredMessage[]): Promise<Compared> {
  const { items } = await target.inspect({ ids: page.map(({ id }) => id) })
  const shown = new Map(items.map((item) => [item.id, item]))
  const same: string[] = []
  const conflicts: Conflict[] = []
  const rivals: Rivals[] = []
  const absent: StoredMessage[] = []
  for (const inSource of page) {
    const { id } = inSource
    const inTarget = shown.get(id)
    const why = inTarget === undefined ? undefined : differenceOf(recordOf(inSource), inTarget)
    if (inTarget === undefined) absent.push(inSource)
    else if (why === undefined) same.push(id)
    else if (kind === 'schedules') {
      const survivor = survivorOf(inSource, inTarget)
      if (survivor === undefined) conflicts.push({ id, kind, why: describeRivals(id) })
      else rivals.push({ inSource, inTarget, survivor })
    } else conflicts.push({ id, kind, why: `its id is taken in the target by one that ${why}` })
  }
  return { same, conflicts, rivals, absent }
}

/** Set again, or looked at, in the moment in which it was to be let go. */
function stillHeld({ inSource: { id } }: Rivals): Conflict {
  return { id, kind: 'schedules', why: 'both sides changed it meanwhile; run the same move again' }
}

/** What is remembered here may be over by the target's clock already: then it takes it, and does not show it. */
async function takenAsOver(target: Store, absent: readonly StoredMessage[]): Promise<readonly string[]> {
  const results = absent.length === 0 ? [] : await target.restore(absent.map(recordOf))
  return absent.filter((_, index) => results[index] === 'restored').map(({ id }) => id)
}

async function restoreAll(target: Store, records: readonly RestoredMessage[]): Promise<void> {
  const { batchMax, batchBytesMax } = target.capabilities
  const limits = { entriesMax: batchMax, bytesMax: batchBytesMax, sizeOf: sizeOfRestored }
  for (const batch of cutBatches(records, limits)) await target.restore(batch)
}

function pageSize(source: Store, target: Store): number {
  return Math.min(PAGE, source.capabilities.batchMax, target.capabilities.batchMax)
}
