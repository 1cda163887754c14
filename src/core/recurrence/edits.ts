/**
 * What an edit of a schedule (set, remove, pause, another rhythm) does to occurrences that are placed and lie ahead of it: it
 * takes them back. They count as fired no more,
 * and are not decided any more, so that each is decided once again: it fires if the schedule is active at its moment, and
 * is counted as skipped if not.
 *
 *      edit              until
 *   ─────┼───x────x────x───┼──────► time
 *      until               └ before
 *
 * `until` goes back first and the messages are withdrawn afterwards. If we die in between, they are still there, and
 * deciding them again finds them (the same ids). A message that could not be withdrawn, because it ran already, is kept:
 * `until` goes forward again to behind it, so that it does not fire twice.
 */
import { recurrenceOf, REACH_MS } from './firing.ts'
import { hasSameRhythm, type SchedulePlan, type ScheduleProgress, type StoredSchedule } from './spec.ts'

/** One look places no more than so many. */
const PLACED_MAX = 200

/** The most that are counted as owed by a rhythm that ends. */
const OWED_MAX = 10_000

/** What happened to the messages that an edit took back. */
export type Withdrawal = {
  /** They waited, and are removed. */
  readonly gone: readonly number[]
  /** They ran already. */
  readonly kept: readonly number[]
}

/** Occurrences that were placed and are to come, by the clock of the edit. */
export function placedAhead({ plan, progress }: StoredSchedule, now: number): number[] {
  const { until = now, lastAt = -Infinity } = progress
  return recurrenceOf(plan, progress, now).between(
    Math.max(now, until - REACH_MS),
    Math.min(until, lastAt),
    PLACED_MAX,
  )
}

/** All that was decided and lies ahead is decided no more. */
export function takenBack(schedule: StoredSchedule, now: number): ScheduleProgress {
  const { until = now } = schedule.progress
  return decidedUpTo(schedule, Math.max(now, until - REACH_MS))
}

/**
 * With another rhythm it begins anew at the store's now; what the old one still owed is skipped, and counted, and so is
 * what it has placed: that is withdrawn afterwards.
 */
export function withRhythm(plan: SchedulePlan, found: StoredSchedule, now: number): ScheduleProgress {
  const { plan: old, progress } = found
  if (hasSameRhythm(plan, old)) return progress
  const { until: decided = now, skipped } = progress
  const { count } = recurrenceOf(old, progress, now).countBetween(decided, Math.max(decided, now), OWED_MAX)
  const placed = placedAhead(found, now)
  const { anchorAt: _, until: __, ...rest } = takenBack(found, now)
  return {
    ...rest,
    ...(rest.lastAt === undefined ? {} : { until: rest.lastAt }),
    skipped: skipped + count + placed.length,
    change: 'set',
  }
}

/** As it is after a withdrawal; undefined: as it was. */
export function afterWithdrawal(
  { plan, progress }: StoredSchedule,
  { gone, kept }: Withdrawal,
): ScheduleProgress | undefined {
  const counted = kept.length === 0 ? progress : withKept(progress, { gone, kept })
  const first = isActive(counted) ? firstDecided({ plan, progress: counted }, gone) : undefined
  // Another process set or resumed it meanwhile, and a worker placed these again before we withdrew them.
  if (first !== undefined)
    return { ...decidedUpTo({ plan, progress: counted }, first - 1), change: counted.change ?? 'resumed' }
  return counted === progress ? undefined : counted
}

function withKept(progress: ScheduleProgress, { gone, kept }: Withdrawal): ScheduleProgress {
  const last = Math.max(...kept)
  const passed = gone.filter((at) => at < last).length
  const { until = last, fired, skipped } = progress
  return {
    ...progress,
    until: Math.max(until, last),
    fired: fired + kept.length,
    skipped: skipped + passed,
  }
}

function isActive({ isPaused, isRemoved }: ScheduleProgress): boolean {
  return !isPaused && isRemoved !== true
}

function firstDecided({ plan, progress }: StoredSchedule, moments: readonly number[]): number | undefined {
  const { until = -Infinity } = progress
  const recurrence = recurrenceOf(plan, progress, until)
  return moments.find((at) => at <= until && recurrence.next(at - 1) === at)
}

function decidedUpTo({ plan, progress }: StoredSchedule, from: number): ScheduleProgress {
  const { until = from, lastAt = -Infinity, fired } = progress
  if (from >= until) return progress
  const placed = recurrenceOf(plan, progress, from).between(from, Math.min(until, lastAt), PLACED_MAX)
  const { lastAt: _, ...rest } = progress
  return { ...(placed.length === 0 ? progress : rest), until: from, fired: fired - placed.length }
}
