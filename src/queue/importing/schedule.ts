/**
 * What repeats in another package as a schedule of ours. A cron expression without a zone is read there in the zone of the
 * process that made it, which is stored nowhere; the moment that is next is. A zone in which the expression does not name
 * that moment is wrong, and the schedule stays there: it would run at other hours.
 */
import { retryOptionsOf } from '../../core/input/handle-options.ts'
import { priorityName } from '../../core/message.ts'
import { cronTimes } from '../../core/recurrence/cron.ts'
import type { SchedulePlan, ScheduleSpec } from '../../core/recurrence/spec.ts'
import type { ForeignSchedule } from '../../store/foreign.ts'
import { rankOf, retryOf, topicOf, type ImportRules, type Refusal } from './message.ts'

/** By so much the clocks of their processes may differ. */
const SKEW_MS = 60_000

/** `remark`: what the caller should know of a zone that was only guessed. */
export type ReadZone = { readonly zone?: string; readonly remark?: string } | Refusal

/** Throws a UsageError for what is no cron expression. */
export function zoneOf(schedule: ForeignSchedule, rules: ImportRules): ReadZone {
  const { rhythm } = schedule
  if ('everyMs' in rhythm) return {}
  if (rhythm.zone !== undefined) return { zone: rhythm.zone }
  const zone = rules.zone ?? 'UTC'
  const isSensitive = dependsOnZone(rhythm.cron)
  const next = schedule.nextAt === undefined ? '' : `, ${new Date(schedule.nextAt).toISOString()},`
  const fitting = fit(schedule, rhythm.cron, zone)
  if (fitting === 'wrong')
    return refuse(`its next moment there${next} is not one of "${rhythm.cron}" in ${zone}`)
  if (rules.zone !== undefined || !isSensitive) return { zone }
  if (fitting === 'unknown') return refuse('its next moment does not tell it')
  return { zone, remark: 'its zone: it names none; UTC fits its next moment. If it is another, use --zone' }
}

function refuse(why: string): Refusal {
  return {
    why: `its zone: it names none, and ${why}; use --zone with the zone of the process that made it`,
    option: '--zone',
  }
}

function fit(
  { nextAt, nextMadeAt, startAt = 0 }: ForeignSchedule,
  cron: string,
  zone: string,
): 'right' | 'wrong' | 'unknown' {
  const times = cronTimes(cron, zone)
  // An expression names whole seconds: anything else is a first run at once.
  if (nextAt === undefined || nextAt % 1_000 !== 0) return 'unknown'
  const from = nextMadeAt === undefined ? nextAt : Math.max(nextMadeAt + SKEW_MS, startAt)
  return times.next(Math.min(from, nextAt) - 1) === nextAt ? 'right' : 'wrong'
}

/** Whether it names hours or days; the minutes of an hour are the same in most zones. */
function dependsOnZone(cron: string): boolean {
  return cron
    .trim()
    .split(/\s+/)
    .slice(-4)
    .some((field) => field !== '*' && field !== '?')
}

/** As `schedules.set` takes it. */
export function specOf(
  schedule: ForeignSchedule,
  rules: ImportRules,
  zone: string | undefined,
): ScheduleSpec {
  const { jobName, data, rhythm, firstAt, startAt, endAt, times, policy } = schedule
  const retry = retryOf(policy)
  // Its own next moment anchors it, so that the rhythm stays what it was, and tells later which moments are ours.
  const start = firstAt ?? startAt
  return {
    topic: topicOf(jobName, rules),
    payload: JSON.parse(data) as unknown,
    ...('everyMs' in rhythm ? { every: rhythm.everyMs } : { cron: rhythm.cron, zone: zone ?? 'UTC' }),
    ...(start === undefined ? {} : { start }),
    ...(endAt === undefined ? {} : { end: endAt }),
    ...(times === undefined ? {} : { times }),
    ...(retry === undefined ? {} : { retry: retryOptionsOf(retry) }),
    ...(policy.timeoutMs === undefined ? {} : { timeout: policy.timeoutMs }),
    priority: priorityName(rankOf(policy, rules)),
  }
}

/**
 * Whether a schedule that is here brings what the other brings, at the same moments. How far both have come is not compared,
 * nor a zone that is not known.
 */
export function isSameSchedule(
  plan: SchedulePlan,
  found: SchedulePlan,
  { isZoneKnown }: { readonly isZoneKnown: boolean },
): boolean {
  const content = ({ topic, body, rhythm }: SchedulePlan): string =>
    JSON.stringify([
      topic,
      body,
      'cron' in rhythm ? [rhythm.cron, isZoneKnown ? rhythm.zone : ''] : rhythm.everyMs,
    ])
  return content(plan) === content(found)
}
