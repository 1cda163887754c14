/** A job of another package as a message of ours: its id, moment, attempts, waits, priority. */
import { encodePolicy, type MessagePolicy } from '../../core/encoding/codec.ts'
import { DELAY_MS_MAX, DAY_MS } from '../../core/input/duration.ts'
import { RETRY_LIMIT_MAX } from '../../core/input/handle-options.ts'
import type { RetryPolicy } from '../../core/machines/backoff.ts'
import { errorText } from '../../core/machines/outcome.ts'
import { type PriorityRank } from '../../core/message.ts'
import { NAME_BYTES_MAX, isNewName } from '../../core/input/names.ts'
import type { ForeignJob, ForeignPolicy } from '../../store/foreign.ts'
import type { RestoredMessage } from '../../store/contract/store.ts'

export type ImportRules = {
  /** All jobs become messages of this topic; absent: of the topic that is called as they are. */
  readonly topic?: string
  /** Of jobs without a name. */
  readonly unnamed?: string
  /** How long an id stays taken after its message is done, so that importing again does not run it again. */
  readonly rememberMs: number
  /** Up to the first number high, up to the second normal. Absent: what has a priority is low, what has none is normal. */
  readonly priorities?: readonly [high: number, normal: number]
  /** In front of ids and of the names of schedules: the ids of two queues may be the same. */
  readonly idPrefix?: string
  /** Of cron expressions that name none. */
  readonly zone?: string
  /** What failed for good stays there. */
  readonly leavesFailed?: boolean
}

/** Why it stays there; and the option that would bring it, or what else would, where there is one. */
export type Refusal = { readonly why: string; readonly option?: string; readonly remedy?: string }

export function messageOf(job: ForeignJob, rules: ImportRules, now: number): RestoredMessage | Refusal {
  const topic = topicOf(job.name, rules)
  const id = (rules.idPrefix ?? '') + job.id
  const isDead = job.diedAt !== undefined
  if (isDead && rules.leavesFailed === true) return { why: 'it failed for good' }
  if (job.leftOut !== undefined) return { why: job.leftOut }
  if (topic === '')
    return { why: 'it has no name, and a topic needs one; use --unnamed TOPIC', option: '--unnamed' }
  if (!isNewName(topic, NAME_BYTES_MAX))
    return {
      why: `its name is "." or "..", or has more than ${NAME_BYTES_MAX} bytes or control characters, and cannot be a topic; use --topic`,
      option: '--topic',
    }
  if (!isNewName(id, NAME_BYTES_MAX))
    return {
      why: `its id${rules.idPrefix === undefined ? '' : ', after --id-prefix,'} is "." or "..", or has more than ${NAME_BYTES_MAX} bytes or control characters`,
      remedy: `let a worker there finish it, or produce it here with another id${rules.idPrefix === undefined ? '' : ', or give a shorter --id-prefix'}`,
    }
  // What waits there is due in the order in which it waits, which need not be that of production.
  const dueAt = Math.min(Math.max(1, Math.ceil(job.dueAt ?? job.diedAt ?? now)), now + DELAY_MS_MAX)
  const retry = retryOf(job.policy)
  // What waits there has an attempt left, also if somebody retried it by hand after its last one: here too.
  const attempt = isDead ? job.failures : Math.min(job.failures, retry?.limit ?? 0)
  const policy: MessagePolicy = {
    ...(job.policy.timeoutMs === undefined ? {} : { timeoutMs: job.policy.timeoutMs }),
    ...(retry === undefined ? {} : { retry }),
    ...(rules.rememberMs === 0 ? {} : { rememberMs: rules.rememberMs }),
  }
  return {
    id,
    topic,
    body: job.data,
    meta: encodePolicy(policy),
    tags: [],
    priority: rankOf(job.policy, rules),
    state: isDead ? 'dead' : 'ready',
    dueAt,
    firstDueAt: dueAt,
    producedAt: Math.floor(job.producedAt || now),
    attempt,
    lapses: 0,
    error: errorText(job.error).replaceAll('\0', '\u2400'),
    reason: isDead ? 'failed' : '',
    until: job.diedAt ?? 0,
  }
}

/** '' where it has no name, and none was given for it. */
export function topicOf(name: string, { topic, unnamed = '' }: ImportRules): string {
  return topic ?? (name === '' ? unnamed : name)
}

/** As this import calls it, and as one without --topic did. */
export function topicsOf(name: string, rules: ImportRules): readonly string[] {
  const { topic: _all, ...others } = rules
  return [topicOf(name, rules), topicOf(name, others)]
}

/** Without a backoff the others try again at once. */
export function retryOf({ retries, backoff }: ForeignPolicy): RetryPolicy | undefined {
  if (retries === undefined) return undefined
  const limit = Math.min(retries, RETRY_LIMIT_MAX)
  const { kind = 'fixed', ms: baseMs = 0, jitter = 0, capMs = DAY_MS * 365 } = backoff ?? {}
  if (kind === 'fixed' && (jitter === 0 || baseMs === 0)) return { limit, waits: [baseMs] }
  return { limit, waits: { baseMs, factor: kind === 'fixed' ? 1 : 2, capMs, jitter } }
}

export function rankOf({ priority, rank }: ForeignPolicy, { priorities }: ImportRules): PriorityRank {
  if (rank !== undefined) return rank
  if (priorities === undefined) return priority === 0 ? 1 : 2
  const [high, normal] = priorities
  return priority <= high ? 0 : priority <= normal ? 1 : 2
}
