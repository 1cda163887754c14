/**
 * A job that a schedule of the other queue made for one of its moments. If the schedule was imported before the job, the
 * schedule here brings the same moment, and the import leaves the job out: otherwise that moment would run twice.
 */
import { recurrenceOf } from '../../core/recurrence/firing.ts'
import { decodeSchedule, occurrenceId, scheduleId, type StoredSchedule } from '../../core/recurrence/spec.ts'
import type { Store } from '../../store/contract/store.ts'
import type { ForeignJob } from '../../store/foreign.ts'

/** Undefined: there is none, or it was removed. */
export async function readSchedule(store: Store, name: string): Promise<StoredSchedule | undefined> {
  const [stored] = (await store.inspect({ ids: [scheduleId(name)] })).items
  const found = stored === undefined ? undefined : decodeSchedule(JSON.parse(stored.body))
  return found === undefined || found.progress.isRemoved === true ? undefined : found
}

/** `now`: of a schedule that no worker has looked at yet, what is later fires. */
export async function isOwnOccurrence(
  store: Store,
  { occurrence, topics }: Pick<ForeignJob, 'occurrence'> & { readonly topics: readonly string[] },
  { now, idPrefix }: { readonly now: number; readonly idPrefix: string },
): Promise<boolean> {
  if (occurrence === undefined) return false
  const name = idPrefix + occurrence.schedule
  const { at } = occurrence
  const found = await readSchedule(store, name)
  if (found === undefined || !topics.includes(found.plan.topic)) return false
  const { plan, progress } = found
  if (recurrenceOf(plan, progress, now).next(at - 1) !== at) return false
  // An imported schedule starts at the first moment that it brings.
  if (plan.startAt !== undefined || at === progress.lastAt || at > (progress.until ?? now)) return true
  return (await store.inspect({ ids: [occurrenceId(name, at)] })).items.length > 0
}
