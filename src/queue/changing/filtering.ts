/**
 * Changing all messages that fit a filter, some hundred at a time: a look at a page, then one call for what is on it. No
 * single call to the store is unbounded. What runs is counted and left alone.
 *
 * Messages move meanwhile, also by our own doing, and it ends all the same:
 *
 *   over a tag     each message is met at most once: the walk does not follow its state
 *   over states    cancelled and purged ones are gone; a walk over dead ones ends at those that died before it began;
 *                  rescheduled ones may be met again at their new moment, by which they are known
 *
 * If we die half-way: what is done stays done, and the same call goes on, because that no longer fits.
 */
import { assertNever } from '../../core/errors.ts'
import type { FilterOptions, ParsedFilter, Selection } from '../../core/input/filter.ts'
import type { SpreadMoment } from '../../core/input/request.ts'
import { spreadMs, spreadOut } from '../../core/spread.ts'
import type { ListWalk } from '../../core/input/questions.ts'
import { Gaps } from '../looking/gaps.ts'
import type {
  Page,
  RemoveResult,
  RescheduleResult,
  ReviveResult,
  Store,
  StoredMessage,
} from '../../store/contract/store.ts'

/** `running`: how many fit and were left alone because they run; with a limit, of those that were looked at. */
export type CancelCounts = { readonly cancelled: number; readonly running: number }
export type RescheduleCounts = { readonly rescheduled: number; readonly running: number }

const BATCH = 500

/** Where a message can be changed: while it waits, or when it is dead. */
type ChangePlace = 'waiting' | 'dead'
type ChangeResult = 'done' | 'running' | 'missing'

type Deed = {
  readonly places: readonly ChangePlace[]
  readonly act: (ids: readonly string[], place: ChangePlace) => Promise<readonly ChangeResult[]>
  /** Whether it was changed by this very call, and is met again. */
  readonly isDone?: (message: StoredMessage) => boolean
}

/** `cancelling`: its handler was told to end, and it is gone when that ends, unless the handler says that it has completed. */
export type CancelResult = 'cancelled' | 'running' | 'cancelling' | 'missing'

export async function cancelOne(store: Store, id: string, isRunningToo: boolean): Promise<CancelResult> {
  const [result = 'missing'] = await store.remove(
    [id],
    'waiting',
    ...(isRunningToo ? [{ isRunningToo }] : []),
  )
  return result === 'removed' ? 'cancelled' : result
}

export async function cancelAll(
  store: Store,
  filter: ParsedFilter,
  options: FilterOptions,
): Promise<CancelCounts> {
  const act: Deed['act'] = async (ids) => (await store.remove(ids, 'waiting')).map(resultOf)
  const { done, running } = await change(store, filter, options, { places: ['waiting'], act })
  return { cancelled: done, running }
}

export async function rescheduleAll(
  store: Store,
  filter: ParsedFilter,
  { when, spreadMs: windowMs }: SpreadMoment,
  options: FilterOptions,
): Promise<RescheduleCounts> {
  const moments = new Set<number>()
  const { done, running } = await change(store, filter, options, {
    places: ['waiting'],
    act: async (ids) => {
      const results = (
        await store.reschedule(ids.map((id) => ({ id, when: spreadOut(when, id, windowMs) })))
      ).map(resultOf)
      const first = ids.find((_, i) => results[i] === 'done')
      if (first === undefined) return results
      // All of one call are due at the same moment, but for the share of each. If this one is gone already, the moment is now, and none is met again.
      for (const { id, dueAt } of (await store.inspect({ ids: [first] })).items)
        moments.add(dueAt - spreadMs(id, windowMs))
      return results
    },
    isDone: ({ id, dueAt }) => moments.has(dueAt - spreadMs(id, windowMs)),
  })
  return { rescheduled: done, running }
}

export async function reviveAll(store: Store, filter: ParsedFilter, options: FilterOptions): Promise<number> {
  const act: Deed['act'] = async (ids) => (await store.revive(ids)).map(resultOf)
  return (await change(store, filter, options, { places: ['dead'], act })).done
}

/** Dead ones first: there a remembered id counts as one that is removed. */
export async function purgeAll(store: Store, filter: ParsedFilter, options: FilterOptions): Promise<number> {
  const act: Deed['act'] = async (ids, place) => (await store.remove(ids, place)).map(resultOf)
  return (await change(store, filter, options, { places: ['dead', 'waiting'], act })).done
}

type ChangeCounts = { readonly done: number; readonly running: number }

async function change(
  store: Store,
  filter: ParsedFilter,
  options: FilterOptions,
  deed: Deed,
): Promise<ChangeCounts> {
  if ('ids' in filter && options.dryRun !== true) return changeIds(store, filter.ids, options, deed)
  const limit = 'ids' in filter ? Infinity : filter.limit
  let [done, running, looked] = [0, 0, 0]
  const gaps = new Gaps()
  for await (const page of steps(store, filter, deed.places)) {
    if (options.signal?.aborted === true) break
    const { items, scanned } = page
    gaps.note(page)
    looked += scanned
    const runs = new Set(items.filter(({ state }) => state === 'running').map(({ id }) => id))
    running += runs.size
    let left = limit - done
    for (const place of deed.places) {
      const there = items.filter((item) => isIn(item, place) && deed.isDone?.(item) !== true)
      const ids = there.slice(0, left).map(({ id }) => id)
      if (ids.length === 0) continue
      const results = options.dryRun === true ? ids.map(() => 'done' as const) : await deed.act(ids, place)
      const { done: changed, running: started } = countResults(results)
      done += changed
      left -= changed
      // One that runs is counted where it is met; one that has begun meanwhile is met in the walk over what runs.
      if (!walksRunning(filter, deed.places)) running += started - ids.filter((id) => runs.has(id)).length
    }
    options.onProgress?.({ done, looked })
    if (done >= limit) break
  }
  gaps.assertNone(`${done} messages elsewhere are done.`)
  return { done, running }
}

/** Nothing need be looked at first: the answers say what was where. */
async function changeIds(
  store: Store,
  given: readonly string[],
  { onProgress, signal }: FilterOptions,
  { places, act }: Deed,
): Promise<ChangeCounts> {
  const ids = [...new Set(given)]
  const size = Math.min(BATCH, store.capabilities.batchMax)
  let [done, running] = [0, 0]
  for (let from = 0; from < ids.length; from += size) {
    if (signal?.aborted === true) break
    let left: readonly string[] = ids.slice(from, from + size)
    for (const place of places) {
      if (left.length === 0) break
      const results = await act(left, place)
      const counts = countResults(results)
      done += counts.done
      running += counts.running
      left = left.filter((_, i) => results[i] === 'missing')
    }
    onProgress?.({ done, looked: Math.min(ids.length, from + size) })
  }
  return { done, running }
}

type FilterStep = Pick<Page, 'items' | 'scanned' | 'missing'>

async function* steps(
  store: Store,
  filter: ParsedFilter,
  places: readonly ChangePlace[],
): AsyncGenerator<FilterStep> {
  const size = Math.min(BATCH, store.capabilities.batchMax)
  if ('ids' in filter) {
    const ids = [...new Set(filter.ids)]
    for (let from = 0; from < ids.length; from += size)
      yield await store.inspect({ ids: ids.slice(from, from + size) })
    return
  }
  for (const walk of walksOf(filter, places)) {
    let cursor: string | undefined
    do {
      const place = cursor === undefined ? {} : { cursor }
      const page = await store.inspect({ ...filter.search, ...walk, limit: size, ...place })
      yield page
      cursor = page.cursor
    } while (cursor !== undefined)
  }
}

function walksOf(filter: Selection, places: readonly ChangePlace[]): readonly ListWalk[] {
  const { state, tag } = filter
  if (tag !== undefined) return [state === undefined ? { tag } : { tag, state }]
  if (state !== undefined) return [{ state }]
  return [
    ...places.flatMap((place) => (place === 'dead' ? (['dead'] as const) : (['delayed', 'ready'] as const))),
    ...(walksRunning(filter, places) ? (['running'] as const) : []),
  ].map((one) => ({ state: one }))
}

/** Where no state is named, what runs is walked over too: to be counted, and for the successors that wait for it. */
function walksRunning(filter: ParsedFilter, places: readonly ChangePlace[]): boolean {
  const isByState = !('ids' in filter) && filter.tag === undefined && filter.state === undefined
  return isByState && places.includes('waiting')
}

/** One that runs is left alone; its successor waits. */
function isIn({ state, successor }: StoredMessage, place: ChangePlace): boolean {
  if (place === 'dead') return state === 'dead'
  return state === 'delayed' || state === 'ready' || successor !== undefined
}

function resultOf(result: RemoveResult | RescheduleResult | ReviveResult): ChangeResult {
  switch (result) {
    case 'removed':
    case 'rescheduled':
    case 'revived':
      return 'done'
    case 'running':
    case 'missing':
      return result
    case 'cancelling':
      return 'running'
    default:
      return assertNever(result)
  }
}

function countResults(results: readonly ChangeResult[]): ChangeCounts {
  return {
    done: results.filter((result) => result === 'done').length,
    running: results.filter((result) => result === 'running').length,
  }
}
