/** A job of another package as a message of ours: its id, moment, attempts, waits, priority. */
import { encodePolicy, type MessagePolicy } from '../../core/encoding/codec.ts'
import { DELAY_MS_MAX, DAY_MS } from '../../core/input/duration.ts'
import { RETRY_LIMIT_MAX, type RetryOptions } from '../../core/input/handle-options.ts'
import type { RetryPolicy } from '../../core/machines/backoff.ts'
import { ID_BYTES_MAX, isName, priorityName, TOPIC_BYTES_MAX, type PriorityRank } from '../../core/message.ts'
import type { ForeignJob, ForeignPolicy, ForeignSchedule } from '../../store/engine.ts'
import type { RestoredMessage } from '../../store/contract/store.ts'
import type { ScheduleSpec } from '../../core/recurrence/spec.ts'

export type ImportRules = {
  /** All jobs become messages of this topic; absent: of the topic that is called as they are. */
  readonly topic?: string
  /** How long an id stays taken after its message is done, so that importing again does not run it again. */
  readonly rememberMs: number
  /** Up to the first number high, up to the second normal. Absent: what has a priority is low, what has none is normal. */
  readonly priorities?: readonly [high: number, normal: number]
}

/** A text: why it cannot become one. */
export function messageOf(job: ForeignJob, rules: ImportRules, now: number): RestoredMessage | string {
  const topic = rules.topic ?? job.name
  if (job.leftOut !== undefined) return job.leftOut
  if (!isName(topic, TOPIC_BYTES_MAX)) return 'its name cannot be a topic; use --topic'
  if (!isName(job.id, ID_BYTES_MAX)) return 'its id is too long or has control characters'
  // What waits there is due in the order in which it waits, which need not be that of production.
  const dueAt = Math.min(Math.max(1, Math.ceil(job.dueAt ?? now)), now + DELAY_MS_MAX)
  const policy: MessagePolicy = {
    ...(job.policy.timeoutMs === undefined ? {} : { timeoutMs: job.policy.timeoutMs }),
    ...retryOf(job.policy),
    ...(rules.rememberMs === 0 ? {} : { rememberMs: rules.rememberMs }),
  }
  return {
    id: job.id,
    topic,
    body: job.data,
    meta: encodePolicy(policy),
    tags: [],
    priority: rankOf(job.policy, rules),
    state: 'ready',
    dueAt,
    firstDueAt: dueAt,
    producedAt: Math.floor(job.producedAt || now),
    attempt: job.failures,
    lapses: 0,
    error: job.error.replaceAll('\0', '\u2400'),
    reason: '',
    until: 0,
  }
}

/** Without a backoff the others try again at once. */
function retryOf({ retries, backoff }: ForeignPolicy): { readonly retry?: RetryPolicy } {
  if (retries === undefined) return {}
  const limit = Math.min(retries, RETRY_LIMIT_MAX)
  if (backoff?.kind !== 'exponential') return { retry: { limit, waits: [backoff?.ms ?? 0] } }
  const { ms: baseMs, jitter } = backoff
  return { retry: { limit, waits: { baseMs, factor: 2, capMs: DAY_MS * 365, jitter } } }
}

function rankOf({ priority }: ForeignPolicy, { priorities }: ImportRules): PriorityRank {
  if (priorities === undefined) return priority === 0 ? 1 : 2
  const [high, normal] = priorities
  return priority <= high ? 0 : priority <= normal ? 1 : 2
}

/** As `schedules.set` takes it. */
export function specOf(schedule: ForeignSchedule, rules: ImportRules): ScheduleSpec {
  const { jobName, data, rhythm, nextAt, startAt, endAt, times, policy } = schedule
  const retry = retryOptionsOf(policy)
  // Its own next moment anchors it, so that the rhythm stays what it was.
  const start = 'everyMs' in rhythm ? (nextAt ?? startAt) : startAt
  return {
    topic: rules.topic ?? jobName,
    payload: JSON.parse(data) as unknown,
    ...('everyMs' in rhythm ? { every: rhythm.everyMs } : rhythm),
    ...(start === undefined ? {} : { start }),
    ...(endAt === undefined ? {} : { end: endAt }),
    ...(times === undefined ? {} : { times }),
    ...(retry === undefined ? {} : { retry }),
    priority: priorityName(rankOf(policy, rules)),
  }
}

function retryOptionsOf(policy: ForeignPolicy): RetryOptions | undefined {
  const { retry } = retryOf(policy)
  if (retry === undefined) return undefined
  const { limit, waits } = retry
  if (!('baseMs' in waits)) return { limit, delays: [...waits] }
  const { baseMs: base, factor, capMs: cap, jitter } = waits
  return { limit, exponential: { base, factor, cap, jitter } }
}
