/** Rows of pg-boss as the importer takes them. */
import type { PriorityRank } from '../../../core/message.ts'
import type { ForeignJob, ForeignPolicy, ForeignSchedule } from '../../foreign.ts'

/** `job`: the whole row as JSON, without data and output. Numbers are texts. */
export type BossJob = {
  readonly id: string
  readonly name: string
  readonly data: string
  readonly state: 'created' | 'retry' | 'failed'
  readonly error: string
  readonly due_at: string
  readonly created_at: string
  readonly completed_at: string | null
  readonly expire_in: string | null
  readonly job: string
}

/** Both rows as JSON. */
export type BossSchedule = { readonly schedule: string; readonly queue: string }

type Columns = Readonly<Record<string, unknown>>

/** The retries that pg-boss 10 has where nothing was said; later ones write them into each row. */
const RETRIES_DEFAULT = 2
/** The seconds that an attempt has where nothing was said. */
const EXPIRE_DEFAULT = 900
/** Its waits stop growing there. */
const DOUBLINGS_MAX = 16

export function jobOf(row: BossJob): ForeignJob {
  const columns = JSON.parse(row.job) as Columns
  const isFailed = row.state === 'failed'
  const dueAt = Number(row.due_at)
  const attempts = typeof columns['started_on'] === 'string' ? Number(columns['retry_count']) + 1 : 0
  const without = withoutOf(columns, isFailed)
  const isInAnother = isFailed && typeof columns['dead_letter'] === 'string'
  return {
    id: row.id,
    name: row.name,
    data: row.data,
    producedAt: Number(row.created_at),
    dueAt,
    failures: attempts,
    error: row.error,
    policy: policyOf(columns, Number(row.expire_in ?? columns['expire_seconds'] ?? 0)),
    ...(isFailed ? { diedAt: Number(row.completed_at ?? dueAt) } : {}),
    ...(isInAnother
      ? { leftOut: `it failed, and its copy is in its dead letter queue ${String(columns['dead_letter'])}` }
      : {}),
    ...(without === undefined ? {} : { without }),
  }
}

export function scheduleOf({ schedule, queue }: BossSchedule): ForeignSchedule {
  const columns = JSON.parse(schedule) as Columns
  const defaults = JSON.parse(queue) as Columns
  const options = (columns['options'] ?? {}) as Columns
  const name = String(columns['name'])
  const [key, kind, zone] = [textOf(columns['key']), textOf(columns['kind']), textOf(columns['timezone'])]
  const policy = policyOf(
    {
      retry_limit: options['retryLimit'] ?? defaults['retry_limit'],
      retry_delay: options['retryDelay'] ?? defaults['retry_delay'],
      retry_backoff: options['retryBackoff'] ?? defaults['retry_backoff'],
      retry_delay_max: options['retryDelayMax'] ?? defaults['retry_delay_max'],
      priority: options['priority'],
    },
    expireOf(options) ?? Number(defaults['expire_seconds'] ?? EXPIRE_DEFAULT),
  )
  const missing = [
    typeof options['singletonKey'] === 'string' ? 'its singleton key' : undefined,
    typeof options['missed'] === 'string'
      ? `its "missed": ${options['missed']}, and here the latest moment that was missed is caught up with`
      : undefined,
  ].filter((what) => what !== undefined)
  return {
    name: key === '' ? name : `${name}:${key}`,
    jobName: name,
    data: JSON.stringify(columns['data'] ?? null),
    rhythm: { cron: String(columns['cron']), zone: zone || 'UTC' },
    policy,
    ...(kind === '' || kind === 'cron'
      ? {}
      : { leftOut: `it is no cron expression but of the kind ${kind}` }),
    ...(missing.length === 0 ? {} : { without: missing.join('; ') }),
  }
}

/** Version 10 takes hours and minutes as well. */
function expireOf(options: Columns): number | undefined {
  const [hours, minutes, seconds] = ['expireInHours', 'expireInMinutes', 'expireInSeconds'].map(
    (unit) => options[unit],
  )
  if (hours !== undefined) return Number(hours) * 3_600
  if (minutes !== undefined) return Number(minutes) * 60
  return seconds === undefined ? undefined : Number(seconds)
}

/** '' where a version has no such column. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function policyOf(columns: Columns, timeoutS: number): ForeignPolicy {
  const delayMs = Number(columns['retry_delay'] ?? 0) * 1_000
  const longestMs = Number(columns['retry_delay_max'] ?? Infinity) * 1_000
  const priority = Number(columns['priority'] ?? 0)
  return {
    retries: Number(columns['retry_limit'] ?? RETRIES_DEFAULT),
    priority,
    rank: rankOf(priority),
    ...(timeoutS > 0 ? { timeoutMs: timeoutS * 1_000 } : {}),
    backoff:
      columns['retry_backoff'] === true
        ? {
            // The first wait is one to two times the delay, by chance; then it doubles.
            kind: 'exponential',
            ms: Math.max(1_000, delayMs) * 2,
            jitter: 0.5,
            capMs: Math.min(Math.max(1_000, delayMs) * 2 ** DOUBLINGS_MAX, longestMs),
          }
        : { kind: 'fixed', ms: delayMs, jitter: 0 },
  }
}

/** Theirs: any number, the largest first, 0 by default. */
function rankOf(priority: number): PriorityRank {
  return priority > 0 ? 0 : priority === 0 ? 1 : 2
}

function withoutOf(columns: Columns, isFailed: boolean): string | undefined {
  const policy = columns['policy']
  const deadLetter = isFailed ? '' : textOf(columns['dead_letter'])
  const missing = [
    deadLetter === ''
      ? undefined
      : `its dead letter queue ${deadLetter}: it becomes a dead letter of its own topic`,
    typeof columns['singleton_key'] === 'string' ? 'its singleton key' : undefined,
    typeof columns['group_id'] === 'string' ? 'its group' : undefined,
    typeof policy === 'string' && policy !== 'standard' ? `the policy "${policy}" of its queue` : undefined,
  ].filter((what) => what !== undefined)
  return missing.length === 0 ? undefined : missing.join(', ')
}
