/** What a caller asks for in `produce`, `reschedule`, `revive` and `purge`, checked and normalised. */
import { encodePolicy, type MessagePolicy } from '../encoding/codec.ts'
import { parseDuration, parseMoment, type Duration, type Moment } from './duration.ts'
import { UsageError, describe } from '../errors.ts'
import type { IfExpired } from '../outcome.ts'
import { spreadOut } from '../spread.ts'
import {
  checkId,
  checkTopic,
  PRIORITIES,
  priorityRank,
  type MessageState,
  type Priority,
  type PriorityRank,
} from '../message.ts'
import { checkRecord, parseOneOf } from './checks.ts'
import { parseRetry, parseTimeout, type RetryOptions } from './handle-options.ts'

/** When: after a time, or at a moment. Not both; neither means now. */
export type When = { delay?: Duration | undefined; at?: never } | { at?: Moment | undefined; delay?: never }

export type ProduceOptions = MessageOptions & {
  /** What to do when the id exists: leave it (default), replace it unless it runs, or fail. */
  ifExists?: IfExists
}

/** As for `produce`; what exists cannot make the attempt fail. */
export type FollowUpOptions = MessageOptions & { ifExists?: Exclude<IfExists, 'fail'> }

export type MessageOptions = When & {
  /** Your own id makes producing idempotent. 1 to 200 bytes. */
  id?: string
  priority?: Priority
  /** Not started within this time after it is due: see `ifExpired`. */
  ttl?: Duration
  /** `dead` (default): to the dead letters, reason "expired". `skip`: completed without having run, event `skipped`. */
  ifExpired?: IfExpired
  /** Due later by a share of this time, which depends on the id alone: what would all be due at once is spread out. */
  spread?: Duration
  /** Overrides the topic's and the queue's. */
  retry?: RetryOptions
  /** Overrides the topic's and the queue's. */
  timeout?: Duration
}

export type IfExists = 'keep' | 'replace' | 'fail'

/** In so many milliseconds, or at that moment. */
export type DueMoment = { readonly delayMs: number } | { readonly at: number }

export type ParsedProduce = {
  readonly id: string | undefined
  readonly when: DueMoment
  readonly ifExists: IfExists
  readonly priority: PriorityRank
  readonly spreadMs: number
  readonly meta: string
}

const NOW: DueMoment = { delayMs: 0 }
const PLAIN: ParsedProduce = {
  id: undefined,
  when: NOW,
  ifExists: 'keep',
  priority: 1,
  spreadMs: 0,
  meta: '',
}
const PRODUCE_KEYS = [
  'delay',
  'at',
  'id',
  'ifExists',
  'priority',
  'ttl',
  'ifExpired',
  'spread',
  'retry',
  'timeout',
] as const

export function parseProduce(options: unknown, now: number): ParsedProduce {
  if (options === undefined) return PLAIN
  const given = checkRecord(options, 'options', PRODUCE_KEYS)
  return {
    id: given.id === undefined ? undefined : checkId(given.id),
    when: parseWhen(given.delay, given.at, now),
    ifExists:
      given.ifExists === undefined
        ? 'keep'
        : parseOneOf(given.ifExists, 'ifExists', ['keep', 'replace', 'fail']),
    priority:
      given.priority === undefined ? 1 : priorityRank(parseOneOf(given.priority, 'priority', PRIORITIES)),
    spreadMs: given.spread === undefined ? 0 : parseDuration(given.spread, 'spread'),
    meta: parsePolicy(given),
  }
}

/** The policy options of a message, as text. */
export function parsePolicy(given: Partial<Record<(typeof POLICY_KEYS)[number], unknown>>): string {
  const { ttl, ifExpired, retry, timeout } = given
  if (ttl === undefined && ifExpired === undefined && retry === undefined && timeout === undefined) return ''
  const policy: MessagePolicy = {
    ...(ttl === undefined ? {} : { ttlMs: parseDuration(ttl, 'ttl') }),
    ...(isSkipped(ifExpired, ttl) ? { ifExpired: 'skip' } : {}),
    ...(retry === undefined ? {} : { retry: parseRetry(retry) }),
    ...(timeout === undefined ? {} : { timeoutMs: parseTimeout(timeout) }),
  }
  return encodePolicy(policy)
}

export const POLICY_KEYS = ['ttl', 'ifExpired', 'retry', 'timeout'] as const

function isSkipped(ifExpired: unknown, ttl: unknown): boolean {
  if (ifExpired === undefined) return false
  const parsed = parseOneOf(ifExpired, 'ifExpired', ['dead', 'skip'])
  if (ttl !== undefined) return parsed === 'skip'
  throw new UsageError('OPTION_INVALID', `ifExpired is "${parsed}" without a ttl; give both.`, {
    value: ifExpired,
  })
}

function parseWhen(delay: unknown, at: unknown, now: number): DueMoment {
  if (at === undefined) return delay === undefined ? NOW : { delayMs: parseDuration(delay, 'delay') }
  if (delay === undefined) return { at: parseMoment(at, 'at', now) }
  throw new UsageError(
    'DELAY_AND_AT',
    `delay is ${describe(delay)} and at is ${describe(at)}; give one of them.`,
    {
      value: { delay, at },
    },
  )
}

/** What `reschedule` takes. */
export type RescheduleOptions = When & { spread?: Duration }

/** For `reschedule`, where "now" must be said: a forgotten option would start the message at once. */
export function parseReschedule(options: unknown, id: string, now: number): DueMoment {
  const { delay, at, spread } = checkRecord(options, 'options', ['delay', 'at', 'spread'])
  if (delay === undefined && at === undefined) {
    throw new UsageError(
      'OPTION_INVALID',
      'reschedule needs { delay } or { at }; for now use { delay: 0 }.',
      {
        value: options,
      },
    )
  }
  const windowMs = spread === undefined ? 0 : parseDuration(spread, 'spread')
  return spreadOut(parseWhen(delay, at, now), id, windowMs)
}

/** By id, or everything in a state, perhaps of one topic. */
export type Filter = { ids: readonly string[] } | { state: MessageState; topic?: string }

export type ParsedFilter =
  { readonly ids: readonly string[] } | { readonly state: MessageState; readonly topic: string | undefined }

export const IDS_MAX = 10_000

export function parseFilter(value: unknown, states: readonly MessageState[]): ParsedFilter {
  const { ids, state, topic } = checkRecord(value, 'filter', ['ids', 'state', 'topic'])
  if (ids !== undefined && state === undefined && topic === undefined) return { ids: checkIds(ids) }
  if (ids !== undefined || state === undefined) {
    throw new UsageError(
      'FILTER_INVALID',
      'a filter is { ids } or { state, topic? }; it never means "everything".',
      {
        value,
      },
    )
  }
  return {
    state: parseOneOf(state, 'state', states),
    topic: topic === undefined ? undefined : checkTopic(topic),
  }
}

export function checkIds(value: unknown): readonly string[] {
  if (!Array.isArray(value)) {
    throw new UsageError('ID_INVALID', `ids is ${describe(value)}; give an array of ids.`, { value })
  }
  if (value.length > IDS_MAX) {
    throw new UsageError('BATCH_TOO_LARGE', `${value.length} ids in one call; allowed: ${IDS_MAX}.`, {
      value: value.length,
    })
  }
  return value.map(checkId)
}

/** The most messages that one `produceMany` takes. */
export const PRODUCE_MANY_MAX = 10_000

export function checkEntries(entries: unknown): void {
  if (!Array.isArray(entries)) {
    throw new UsageError(
      'OPTION_INVALID',
      `produceMany got ${describe(entries)}; give an array of messages.`,
      {
        value: entries,
      },
    )
  }
  if (entries.length > PRODUCE_MANY_MAX) {
    throw new UsageError(
      'BATCH_TOO_LARGE',
      `${entries.length} messages in one call; allowed: ${PRODUCE_MANY_MAX}.`,
      {
        value: entries.length,
      },
    )
  }
  for (const [i, entry] of entries.entries()) {
    if (typeof entry === 'object' && entry !== null) continue
    throw new UsageError(
      'OPTION_INVALID',
      `message ${i} is ${describe(entry)}; give { topic, payload, ... }.`,
      {
        value: entry,
      },
    )
  }
}
