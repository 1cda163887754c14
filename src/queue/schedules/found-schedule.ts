/** A schedule as `schedules.list` and `schedules.get` show it. */
import { decodePayload, decodePolicy } from '../../core/encoding/codec.ts'
import { retryOptionsOf, type RetryOptions } from '../../core/input/handle-options.ts'
import { recurrenceOf } from '../../core/recurrence/firing.ts'
import type { Overlap, SchedulePlan, StoredSchedule } from '../../core/recurrence/spec.ts'
import type { TimeWindow } from '../../core/windows/windows.ts'
import { priorityName, type Priority } from '../../core/message.ts'

export type FoundSchedule = {
  readonly name: string
  readonly topic: string
  readonly payload: unknown
  readonly state: 'active' | 'paused' | 'ended'
  readonly cron?: string
  readonly zone?: string
  /** Days of the week, and dates on which it does not fire. */
  readonly days?: string
  readonly except?: readonly string[]
  readonly everyMs?: number
  /** Epoch milliseconds. */
  readonly startAt?: number
  readonly endAt?: number
  readonly times?: number
  readonly catchUp: SchedulePlan['catchUp']
  readonly overlap: Overlap
  readonly spreadMs: number
  readonly ttlMs?: number
  /** Of its occurrences. */
  readonly within?: readonly TimeWindow[]
  /** Of its occurrences, with durations in milliseconds. Absent: that of the handler holds. */
  readonly retry?: RetryOptions
  readonly priority: Priority
  readonly key?: string
  /** The occurrence that fired last, perhaps one that is just to come; epoch milliseconds. */
  readonly lastAt?: number
  /** The next after now, by this machine's clock; absent when none comes. */
  readonly nextAt?: number
  readonly fired: number
  /** Because it was paused, or missed and not caught up, or overlapped. */
  readonly skipped: number
  /** Of those that fired: after their moment, because no worker ran then. */
  readonly caughtUp: number
}

export type SchedulePage = {
  readonly items: readonly FoundSchedule[]
  readonly cursor?: string
  /** Partitions that did not answer, by name: their schedules are not listed. Absent where all did. */
  readonly missing?: readonly string[]
}

export function describeSchedule(
  name: string,
  { plan, progress }: StoredSchedule,
  { now, changedAt }: { readonly now: number; readonly changedAt: number },
): FoundSchedule {
  const { topic, body, meta, priority, key, rhythm, startAt, endAt, times, catchUp, overlap, spreadMs } = plan
  const { lastAt, fired, skipped, caughtUp, isPaused } = progress
  const isOver = fired >= (times ?? Infinity)
  const nextAt = isOver ? undefined : recurrenceOf(plan, progress, changedAt).next(now)
  const { ttlMs, retry, within } = decodePolicy(meta) ?? {}
  return {
    name,
    topic,
    payload: decodePayload(body),
    state: nextAt === undefined ? 'ended' : isPaused ? 'paused' : 'active',
    ...rhythm,
    ...(startAt === undefined ? {} : { startAt }),
    ...(endAt === undefined ? {} : { endAt }),
    ...(times === undefined ? {} : { times }),
    catchUp,
    overlap,
    spreadMs,
    ...(ttlMs === undefined ? {} : { ttlMs }),
    ...(within === undefined ? {} : { within }),
    ...(retry === undefined ? {} : { retry: retryOptionsOf(retry) }),
    priority: priorityName(priority),
    ...(key === undefined ? {} : { key }),
    ...(lastAt === undefined ? {} : { lastAt }),
    ...(nextAt === undefined || isPaused ? {} : { nextAt }),
    fired,
    skipped,
    caughtUp,
  }
}
