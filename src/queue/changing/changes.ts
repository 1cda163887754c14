/** Cancel, reschedule, revive and purge as callers say them: checked first, and then done to the store. */
import {
  checkIds,
  parseCancel,
  parseFilter,
  parseFilterOptions,
  type Filter,
} from '../../core/input/filter.ts'
import type { SpreadMoment } from '../../core/input/request.ts'
import { checkId } from '../../core/input/names.ts'
import { spreadOut } from '../../core/spread.ts'
import type { RescheduleResult, Store } from '../../store/contract/store.ts'
import {
  cancelAll,
  cancelOne,
  purgeAll,
  rescheduleAll,
  reviveAll,
  type CancelCounts,
  type CancelResult,
  type RescheduleCounts,
} from './filtering.ts'

type OnStore<T> = (store: Store) => Promise<T>

const WAITING_STATES = ['delayed', 'ready'] as const

export function parseCancelCall(
  which: unknown,
  options: unknown,
  now: number,
): OnStore<CancelResult | CancelCounts> {
  if (isFilter(which)) {
    const parsed = [parseFilter(which, WAITING_STATES, now), parseFilterOptions(options)] as const
    return (store) => cancelAll(store, ...parsed)
  }
  const [id, isRunningToo] = [checkId(which), parseCancel(options)]
  return (store) => cancelOne(store, id, isRunningToo)
}

export function parseRescheduleCall(
  which: unknown,
  moment: SpreadMoment,
  options: unknown,
  now: number,
): OnStore<RescheduleResult | RescheduleCounts> {
  if (isFilter(which)) {
    const parsed = [parseFilter(which, WAITING_STATES, now), moment, parseFilterOptions(options)] as const
    return (store) => rescheduleAll(store, ...parsed)
  }
  const id = checkId(which)
  const when = spreadOut(moment.when, id, moment.spreadMs)
  return async (store) => (await store.reschedule([{ id, when }]))[0] ?? 'missing'
}

export function parseReviveCall(which: unknown, options: unknown, now: number): OnStore<number> {
  const filter = Array.isArray(which) ? { ids: checkIds(which) } : parseFilter(which, ['dead'], now)
  const parsed = parseFilterOptions(options)
  return (store) => reviveAll(store, filter, parsed)
}

export function parsePurgeCall(filter: unknown, options: unknown, now: number): OnStore<number> {
  const parsed = [parseFilter(filter, [...WAITING_STATES, 'dead'], now), parseFilterOptions(options)] as const
  return (store) => purgeAll(store, ...parsed)
}

function isFilter(which: unknown): which is Filter {
  return typeof which === 'object' && which !== null
}
