/**
 * What a schedule does when its message is due: which occurrences fire, which are skipped, and when to look again. Pure;
 * `runtime/schedules` stores the answer in one fenced step (P13).
 *
 *        until                now                     now + REACH
 *   ───────┼────────missed─────┼──────to come─────────────┼──────► time
 *          └ decided before    └ by the store's clock     └ decided now
 *
 * Occurrences fire ahead of their moment: each becomes a message that is due then, so that it is as punctual as any
 * other, whatever happens to the schedule meanwhile. The schedule falls due LEAD before the first that is not decided,
 * which is longer than a lease: a worker that dies with it delays nothing.
 *
 * `until` only grows, so that no occurrence fires twice, even if the store's clock is set back. A schedule that must
 * look at the occurrence before (`overlap: 'skip'`), and one that is paused, decide nothing ahead.
 */
import { Recurrence, type Rhythm } from './recurrence.ts'
import type { SchedulePlan, ScheduleProgress, StoredSchedule } from './spec.ts'

/** A schedule falls due so long before its next occurrence. */
export const LEAD_MS = 60_000
/** And then decides about all that come within this time. */
export const REACH_MS = 90_000
/** An occurrence that could not be decided ahead is on time if it fires within this. */
const ON_TIME_MS = 60_000
/** The most that fire at once, and the most that are counted at once. */
const FIRE_MAX = 100
const COUNT_MAX = 500

export type Tick = StoredSchedule & {
  /** By the store's clock. */
  readonly now: number
  /** When the message of the schedule was put: the moment of a change. */
  readonly changedAt: number
  /** Whether the occurrence that fired last still waits or runs; of interest where overlaps are skipped. */
  readonly isBusy: boolean
}

export type Firing = {
  readonly moments: readonly number[]
  readonly progress: ScheduleProgress
  /** When to look again; undefined: never, it has ended. */
  readonly nextAt: number | undefined
}

type DecidedProgress = ScheduleProgress & { readonly until: number }

export function decideFiring({ plan, progress: before, now, changedAt, isBusy }: Tick): Firing {
  const progress = begin(plan, before, Math.min(changedAt, now), changedAt)
  if (isOver(plan, progress)) return { moments: [], progress, nextAt: undefined }
  // There is more to skip than one look may count.
  if (progress.change !== undefined) return { moments: [], progress, nextAt: now }
  return goOn(plan, recurrenceOf(plan, progress, changedAt), progress, { now, isBusy })
}

/**
 * What a look at the moment of its last change would have begun with. A change of a schedule that comes before a worker
 * has looked at the one before goes on from here: the moment of the change before is forgotten when its message is put anew, and with
 * it would be what the schedule owes since then.
 */
export function begun({ plan, progress }: StoredSchedule, changedAt: number): StoredSchedule {
  return { plan, progress: begin(plan, progress, changedAt, changedAt) }
}

type Situation = { readonly now: number; readonly isBusy: boolean }

function goOn(
  plan: SchedulePlan,
  recurrence: Recurrence,
  progress: DecidedProgress,
  situation: Situation,
): Firing {
  const { now } = situation
  const missed = chooseMissed(plan, recurrence, progress, situation)
  const skipped = skip(recurrence, progress, missed[0] ?? now + 1)
  // There is more to count than one look may.
  if (!skipped.isAll) return { moments: [], progress: skipped.progress, nextAt: now }
  const isAhead = !progress.isPaused && plan.overlap === 'allow'
  const from = Math.max(now, progress.until)
  const coming = isAhead ? recurrence.between(from, now + REACH_MS, FIRE_MAX - missed.length) : []
  const left = (plan.times ?? Infinity) - progress.fired
  const moments = [...missed, ...coming].slice(0, left)
  const isCut = missed.length + coming.length === FIRE_MAX
  const reached = isCut ? (coming.at(-1) ?? now) : isAhead ? now + REACH_MS : now
  const lastAt = moments.at(-1) ?? progress.lastAt
  const next: DecidedProgress = {
    ...skipped.progress,
    until: Math.max(progress.until, reached),
    ...(lastAt === undefined ? {} : { lastAt }),
    fired: progress.fired + moments.length,
    caughtUp: progress.caughtUp + missed.filter((at) => isMissed(plan, at, now)).length,
  }
  return { moments, progress: next, nextAt: nextLook(plan, recurrence, next, now) }
}

/** Those of the past that fire all the same, in order. */
function chooseMissed(
  { catchUp, overlap }: SchedulePlan,
  recurrence: Recurrence,
  { until, isPaused }: DecidedProgress,
  { now, isBusy }: Situation,
): number[] {
  if (isPaused || isBusy) return []
  if (overlap === 'skip') {
    const latest = recurrence.lastBetween(until, now, 1)
    return latest.filter((at) => catchUp !== 'none' || now - at <= ON_TIME_MS)
  }
  if (catchUp === 'none') return []
  if (catchUp === 'one') return recurrence.lastBetween(until, now, 1)
  return recurrence.lastBetween(Math.max(until, now - catchUp.allMs - 1), now, catchUp.max)
}

/** What fires ahead is never late, so that what is left for the past was missed. */
function isMissed({ overlap }: SchedulePlan, at: number, now: number): boolean {
  return overlap === 'allow' ? at <= now : now - at > ON_TIME_MS
}

/** Counts what is skipped before this moment, as far as one look may. */
function skip(
  recurrence: Recurrence,
  progress: DecidedProgress,
  before: number,
): { readonly progress: DecidedProgress; readonly isAll: boolean } {
  if (before <= progress.until + 1) return { progress, isAll: true }
  const { count, until } = recurrence.countBetween(progress.until, before, COUNT_MAX)
  const isAll = until === before - 1
  return { progress: { ...progress, skipped: progress.skipped + count, until }, isAll }
}

function nextLook(
  plan: SchedulePlan,
  recurrence: Recurrence,
  progress: DecidedProgress,
  now: number,
): number | undefined {
  if (isOver(plan, progress)) return undefined
  const next = recurrence.next(progress.until)
  if (next === undefined) return undefined
  const isAhead = !progress.isPaused && plan.overlap === 'allow'
  return Math.max(now, isAhead ? next - LEAD_MS : next)
}

/**
 * A schedule that was set counts from the moment at which the store set it: what lay before is neither missed nor repeated.
 * A schedule that was resumed skips what fell into the pause, whether or not a worker ran then.
 */
function begin(
  plan: SchedulePlan,
  { change, ...progress }: ScheduleProgress,
  resumedAt: number,
  changedAt: number,
): DecidedProgress {
  const first = firstUntil(plan, changedAt)
  const until = change === 'set' ? Math.max(progress.until ?? first, first) : (progress.until ?? first)
  const isUnanchored = 'everyMs' in plan.rhythm && (plan.startAt ?? progress.anchorAt) === undefined
  const began = { ...progress, until, ...(isUnanchored ? { anchorAt: changedAt } : {}) }
  if (change !== 'resumed' || isOver(plan, began)) return began
  const skipped = skip(recurrenceOf(plan, began, changedAt), began, resumedAt + 1)
  return skipped.isAll ? skipped.progress : { ...skipped.progress, change }
}

/**
 * A start at this very moment counts itself. One that is to come bounds the occurrences; nothing is decided up to it, so
 * that an edit may still begin earlier.
 */
function firstUntil({ startAt = -Infinity }: SchedulePlan, changedAt: number): number {
  return startAt >= changedAt ? Math.min(startAt - 1, changedAt) : changedAt
}

function isOver({ times = Infinity }: SchedulePlan, { fired }: ScheduleProgress): boolean {
  return fired >= times
}

/** `nowAt`: stands for an anchor that is not known yet. */
export function recurrenceOf(plan: SchedulePlan, progress: ScheduleProgress, nowAt: number): Recurrence {
  const { rhythm, startAt, endAt } = plan
  const whole: Rhythm =
    'cron' in rhythm ? rhythm : { ...rhythm, anchorAt: startAt ?? progress.anchorAt ?? nowAt }
  return new Recurrence(whole, { startAt, endAt })
}
