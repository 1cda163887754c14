/** What a caller wants to see: the options of `list`, `stats` and `forecast`, checked and normalised. */
import { DELAY_MS_MAX, parseDuration, parseMoment, type Duration, type Moment } from './duration.ts'
import { invalidCursor } from '../encoding/cursor.ts'
import { UsageError, describe } from '../errors.ts'
import { MESSAGE_STATES, type MessageState } from '../message.ts'
import { checkKey, checkTag, checkTopic } from './names.ts'
import { checkRecord, parseInteger, parseOneOf } from './checks.ts'
import { checkIds } from './filter.ts'
import { parseSearch, type Search } from './search.ts'

export type ListOptions = {
  /** These, at most 1,000, in this order; goes with no other option. */
  ids?: readonly string[]
  /** Default: all, one after the other. */
  state?: MessageState
  topic?: string
  tag?: string
  /** Whose messages: see `produce`. */
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
  /** 1 to 1000, default 100. A page may be shorter, even empty, while `cursor` says that there is more. */
  limit?: number
  /** From the page before. */
  cursor?: string
}

export type ParsedList =
  | { readonly ids: readonly string[] }
  | {
      /** One after the other; the first goes on at the cursor. */
      readonly walks: readonly [ListWalk, ...ListWalk[]]
      readonly search: Search
      readonly limit: number
      readonly cursor: string | undefined
    }

/** By state; or over a tag, which shows all states unless one is named. */
export type ListWalk =
  | { readonly state: MessageState; readonly tag?: never }
  | { readonly tag: string; readonly state?: MessageState }

const LIST_KEYS = [
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
  'cursor',
] as const
const LIST_LIMIT_DEFAULT = 100
const LIST_LIMIT_MAX = 1_000

export function parseList(options: unknown, now: number): ParsedList {
  const { ids, ...given } = checkRecord(options ?? {}, 'options', LIST_KEYS)
  if (ids !== undefined) return { ids: parseListIds(ids, given) }
  const { state, tag, limit, cursor, ...search } = given
  const walks = parseWalks(state, tag)
  const resumed = cursor === undefined ? { walks, cursor: undefined } : resume(walks, cursor)
  return {
    ...resumed,
    search: parseSearch(search, now),
    limit:
      limit === undefined
        ? LIST_LIMIT_DEFAULT
        : parseInteger(limit, 'limit', { min: 1, max: LIST_LIMIT_MAX }),
  }
}

function parseListIds(ids: unknown, others: Readonly<Record<string, unknown>>): readonly string[] {
  if (Object.values(others).some((part) => part !== undefined)) {
    throw new UsageError('FILTER_INVALID', 'list has "ids" beside other options; give { ids } alone.', {
      value: ids,
    })
  }
  const checked = checkIds(ids)
  if (checked.length <= LIST_LIMIT_MAX) return checked
  throw new UsageError('BATCH_TOO_LARGE', `${checked.length} ids in one list; allowed: ${LIST_LIMIT_MAX}.`, {
    value: checked.length,
  })
}

function parseWalks(state: unknown, tag: unknown): readonly [ListWalk, ...ListWalk[]] {
  const named = state === undefined ? undefined : parseOneOf(state, 'state', MESSAGE_STATES)
  if (tag !== undefined) return [{ tag: checkTag(tag), ...(named === undefined ? {} : { state: named }) }]
  if (named !== undefined) return [{ state: named }]
  const [first, ...others] = MESSAGE_STATES
  return [{ state: first }, ...others.map((one) => ({ state: one }))]
}

type Walks = Extract<ParsedList, { readonly walks: unknown }>

/** A cursor says in which walk to go on, and where the engine stood there. */
function resume(walks: Walks['walks'], value: unknown): Pick<Walks, 'walks' | 'cursor'> {
  const [name, ...rest] = typeof value === 'string' ? value.split('.') : []
  const [first, ...others] = walks.slice(walks.findIndex((walk) => nameOf(walk) === name))
  if (first === undefined || nameOf(first) !== name) {
    throw new UsageError(
      'CURSOR_INVALID',
      `cursor is ${describe(value)}; give the cursor of the page before.`,
      { value },
    )
  }
  const inner = rest.join('.')
  return { walks: [first, ...others], cursor: inner === '' ? undefined : inner }
}

export function makeCursor(walk: ListWalk, cursor: string | undefined): string {
  return `${nameOf(walk)}.${cursor ?? ''}`
}

function nameOf({ state, tag }: ListWalk): string {
  return tag === undefined ? state : 'tag'
}

export type StatsOptions = {
  /** Only these topics, at most 1,000, instead of those with most waiting. An empty list leaves topics out. */
  topics?: readonly string[]
}

/** The most topics that `stats` tells by name. */
export const STATS_TOPICS_MAX = 1_000

/** Undefined: those with most waiting. */
export function parseStats(options: unknown): readonly string[] | undefined {
  const { topics } = checkRecord(options ?? {}, 'options', ['topics'])
  if (topics === undefined) return undefined
  if (!Array.isArray(topics)) {
    throw new UsageError('OPTION_INVALID', `topics is ${describe(topics)}; give an array of topics.`, {
      value: topics,
    })
  }
  if (topics.length > STATS_TOPICS_MAX) {
    throw new UsageError(
      'BATCH_TOO_LARGE',
      `${topics.length} topics in one call; allowed: ${STATS_TOPICS_MAX}.`,
      { value: topics.length },
    )
  }
  return [...new Set(topics.map(checkTopic))]
}

/** A moment, or a time from now as text: '24h'. */
export type Ahead = Moment | Exclude<Duration, number>

export type ForecastOptions =
  | {
      /** Default: now. */
      from?: Ahead
      until: Ahead
      /** How many bars of equal length between the two, 1 to 1,000. Default 24. */
      bars?: number
      topic?: string
    }
  | {
      /** Bars of your own, as a calendar cuts them: 2 to 1,001 moments, each later than the one before. */
      edges: readonly Moment[]
      topic?: string
    }

export type ParsedForecast = { readonly edges: readonly number[]; readonly topic?: string }

const BARS_DEFAULT = 24
const BARS_MAX = 1_000

export function parseForecast(options: unknown, now: number): ParsedForecast {
  const { from, until, bars, edges, topic } = checkRecord(options, 'options', [
    'from',
    'until',
    'bars',
    'edges',
    'topic',
  ])
  const about = topic === undefined ? {} : { topic: checkTopic(topic) }
  if (edges === undefined) return { edges: evenEdges(from, until, bars, now), ...about }
  if (from === undefined && until === undefined && bars === undefined) {
    return { edges: parseEdges(edges, now), ...about }
  }
  throw new UsageError(
    'OPTION_INVALID',
    'forecast has "edges" beside "from", "until" or "bars"; give one kind.',
    {
      value: options,
    },
  )
}

function evenEdges(from: unknown, until: unknown, bars: unknown, now: number): readonly number[] {
  const start = from === undefined ? Math.floor(now) : parseAhead(from, 'from', now)
  const end = parseAhead(until, 'until', now)
  const count =
    bars === undefined
      ? Math.min(BARS_DEFAULT, Math.max(1, end - start))
      : parseInteger(bars, 'bars', { min: 1, max: BARS_MAX })
  if (end - start < count) {
    throw new UsageError(
      'OPTION_INVALID',
      `until is ${describe(until)}, ${end - start} ms after from; give at least a millisecond for each of ${count} bars.`,
      { value: until },
    )
  }
  return Array.from({ length: count + 1 }, (_, i) => Math.floor(start + ((end - start) * i) / count))
}

function parseAhead(value: unknown, name: string, now: number): number {
  if (typeof value !== 'string') return parseMoment(value, name, now)
  return Math.floor(now) + parseDuration(value, name, { min: 0, max: DELAY_MS_MAX - 1 })
}

function parseEdges(value: unknown, now: number): readonly number[] {
  if (!Array.isArray(value) || value.length < 2 || value.length > BARS_MAX + 1) {
    throw new UsageError(
      'OPTION_INVALID',
      `edges is ${describe(value)}; give 2 to ${BARS_MAX + 1} moments.`,
      { value },
    )
  }
  const edges = value.map((edge, i) => parseMoment(edge, `edges[${i}]`, now))
  const late = edges.findIndex((edge, i) => edge <= (edges[i - 1] ?? -1))
  if (late === -1) return edges
  throw new UsageError('OPTION_INVALID', `edges[${late}] is not later than the one before it.`, {
    value: edges[late],
  })
}

export type KeysOptions = {
  /** These keys, whether they have anything or not. At most 1,000. */
  keys?: readonly string[]
  /** Keys on a page: 1 to 1,000. Default: 100. */
  limit?: number
  cursor?: string
}

export type ParsedKeys =
  { readonly keys: readonly string[] } | { readonly limit: number; readonly cursor?: string }

const KEYS_MAX = 1_000

export function parseKeys(options: unknown): ParsedKeys {
  const { keys, limit, cursor } = checkRecord(options ?? {}, 'options', ['keys', 'limit', 'cursor'])
  if (keys !== undefined) return { keys: parseKeyNames(keys) }
  const size = limit === undefined ? 100 : parseInteger(limit, 'limit', { min: 1, max: KEYS_MAX })
  if (cursor === undefined) return { limit: size }
  if (typeof cursor !== 'string') throw invalidCursor(cursor)
  return { limit: size, cursor }
}

function parseKeyNames(value: unknown): readonly string[] {
  if (Array.isArray(value) && value.length <= KEYS_MAX) return value.map(checkKey)
  throw new UsageError(
    'OPTION_INVALID',
    `keys is ${describe(value)}; give an array of at most ${KEYS_MAX} keys.`,
    { value },
  )
}
