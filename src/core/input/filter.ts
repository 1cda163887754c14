/** Which messages a caller means in `cancel`, `reschedule`, `revive` and `purge`, checked and normalised. */
import type { Duration, Moment } from './duration.ts'
import { UsageError, describe } from '../errors.ts'
import { type MessageState } from '../message.ts'
import { checkId, checkTag } from './names.ts'
import { checkRecord, parseInteger, parseOneOf } from './checks.ts'
import { parseSearch, type Search } from './search.ts'

/** Messages by their ids, or all that fit at least one of `state`, `topic`, `tag` and `key`, and the rest; never "everything". */
export type Filter = { ids: readonly string[] } | (Narrowing & FilterParts)

type Narrowing = { state: MessageState } | { topic: string } | { tag: string } | { key: string }

export type FilterParts = {
  /** Default: every state that the call can change. */
  state?: MessageState
  topic?: string
  tag?: string
  key?: string
  /** Dead for at least this long, or, in any other state, produced at least this long ago. */
  olderThan?: Duration
  /** Due at or after this moment. */
  dueFrom?: Moment
  /** Due before this moment. */
  dueUntil?: Moment
  /** How the id begins. */
  idPrefix?: string
  /** A part of the payload as it is stored, in JSON. */
  text?: string
  /** At most so many are changed. */
  limit?: number
}

/** Of parts that a door was told: the queue refuses them where they name nothing. */
export function filterOf(parts: FilterParts | { readonly ids: readonly string[] }): Filter {
  return parts as Filter
}

export type CancelOptions = {
  /** One that runs too: its handler is told to end wherever it runs, and it is not tried again. */
  running?: boolean
}

export type FilterOptions = {
  /** Changes nothing, and answers as if it had. */
  dryRun?: boolean
  /** Called after each step: a filter is worked off some hundred messages at a time. */
  onProgress?: (progress: FilterProgress) => void
  /** Ends it after the step that is under way; what is done stays done, and is answered. */
  signal?: AbortSignal
}

export type FilterProgress = {
  /** How many were changed so far. */
  readonly done: number
  /** How many were looked at so far. */
  readonly looked: number
}

export type ParsedFilter = { readonly ids: readonly string[] } | Selection

/** All that fit, in the words of the contract. */
export type Selection = {
  /** Undefined: the caller named none. */
  readonly state: MessageState | undefined
  readonly tag: string | undefined
  readonly search: Search
  readonly limit: number
}

export const IDS_MAX = 10_000

const FILTER_KEYS = [
  'ids',
  'state',
  'topic',
  'tag',
  'key',
  'olderThan',
  'dueFrom',
  'dueUntil',
  'idPrefix',
  'text',
  'limit',
] as const

/** `states`: those that the call can change. */
export function parseFilter(value: unknown, states: readonly MessageState[], now: number): ParsedFilter {
  const { ids, ...given } = checkRecord(value, 'filter', FILTER_KEYS)
  const { state, tag, limit, ...search } = given
  if (ids !== undefined) {
    if (Object.values(given).every((part) => part === undefined)) return { ids: checkIds(ids) }
    throw filterInvalid('a filter has "ids" beside other parts; give { ids } alone.', value)
  }
  const { topic, key } = search
  if ([state, topic, tag, key].every((part) => part === undefined))
    throw filterInvalid(
      'a filter is { ids }, or has at least one of state, topic, tag and key; it never means "everything".',
      value,
    )
  return {
    state: state === undefined ? undefined : parseOneOf(state, 'state', states),
    tag: tag === undefined ? undefined : checkTag(tag),
    search: parseSearch(search, now),
    limit:
      limit === undefined ? Infinity : parseInteger(limit, 'limit', { min: 1, max: Number.MAX_SAFE_INTEGER }),
  }
}

export function parseCancel(options: unknown): boolean {
  const { running } = checkRecord(options ?? {}, 'options', ['running'])
  return running !== undefined && checkBoolean(running, 'running')
}

export function parseFilterOptions(options: unknown): FilterOptions {
  const { dryRun, onProgress, signal } = checkRecord(options ?? {}, 'options', [
    'dryRun',
    'onProgress',
    'signal',
  ])
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw new UsageError('OPTION_INVALID', `signal is ${describe(signal)}; give an AbortSignal.`, {
      value: signal,
    })
  if (onProgress !== undefined && typeof onProgress !== 'function')
    throw new UsageError('OPTION_INVALID', `onProgress is ${describe(onProgress)}; give a function.`, {
      value: onProgress,
    })
  return {
    ...(dryRun === undefined ? {} : { dryRun: checkBoolean(dryRun, 'dryRun') }),
    ...(onProgress === undefined ? {} : { onProgress: onProgress as (progress: FilterProgress) => void }),
    ...(signal === undefined ? {} : { signal }),
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

function filterInvalid(text: string, value: unknown): UsageError {
  return new UsageError('FILTER_INVALID', text, { value })
}

function checkBoolean(value: unknown, name: string): boolean {
  if (typeof value === 'boolean') return value
  throw new UsageError('OPTION_INVALID', `${name} is ${describe(value)}; give true or false.`, { value })
}
