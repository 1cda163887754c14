/** What people ask of a PostgreSQL store: each is one function. */
import type { Allowance } from '../../core/controls.ts'
import { decodeCursor, encodeCursor } from '../../core/encoding/cursor.ts'
import { assertNever } from '../../core/errors.ts'
import type * as contract from '../contract/store.ts'
import { checkEdges } from '../shared/forecast.ts'
import { toKeyState, type KeyRow } from '../sql/key-states.ts'
import { toMicros, toMs } from '../sql/micros.ts'
import { toStored, type SeenRow } from '../sql/rows.ts'
import type { FunctionCalls } from './calls.ts'

const FIGURES_PAGE = 1_000
const BEFORE_ALL = '-9000000000000000000'
const AFTER_ALL = '9000000000000000000'

const NUMBER = /^-?\d{1,19}$/
const ANY = /^/
const FIGURES_CURSOR = [/^figures$/, NUMBER, ANY]
const REMEMBERED_CURSOR = [/^remembered$/, NUMBER, ANY]
const TOPICS_CURSOR = [/^topics$/, ANY]
const KEYS_CURSOR = [/^keys$/, ANY]
const PLACES: Readonly<Record<string, readonly RegExp[]>> = {
  waiting: [/^waiting$/, ANY, /^[0-3]$/, NUMBER, NUMBER],
  running: [/^running$/, NUMBER, NUMBER],
  dead: [/^dead$/, NUMBER, ANY, NUMBER],
  ids: [/^ids$/, ANY],
}

/** The last row has no message, and tells how far the page looked. */
type PageRow = SeenRow & { readonly scanned: number; readonly next_place: readonly string[] | null }
type CountRow = {
  readonly waiting: number
  readonly running: number
  readonly dead: number
  readonly ready: number
  readonly is_exact: boolean
  readonly first_at: number | null
}
type TopicCountRow = Omit<CountRow, 'ready' | 'is_exact'> & { readonly topic: string }
type FigureColumns = {
  readonly minute_at: number
  readonly topic: string
  readonly completed: number
  readonly failed: number
  readonly dead: number
  readonly skipped: number
  readonly lateness: Readonly<Record<string, number>>
}
type WorkerRow = {
  readonly now_at: number
  readonly owner: string | null
  readonly facts: string
  readonly first_seen_at: number
  readonly last_seen_at: number
  readonly gone_at: number | null
}

export type LookingOptions = {
  readonly calls: FunctionCalls
  /** The number of the queue; 0 while nothing was ever written to it. */
  readonly queue: () => Promise<number>
  /** The clock of a test, in microseconds. */
  readonly at: () => string | null
}

export class PostgresLooking {
  readonly #options: LookingOptions

  constructor(options: LookingOptions) {
    this.#options = options
  }

  async inspect(query: contract.InspectQuery): Promise<contract.Page> {
    const { calls, queue } = this.#options
    if (!('ids' in query)) return this.#page(query)
    const number = await queue()
    if (query.ids.length === 0) return { items: [], scanned: 0 }
    const [now, rows] = await Promise.all([
      this.#now(),
      calls.run<SeenRow>('inspect_ids_1', [number, this.#options.at(), query.ids]),
    ])
    return { items: rows.map((row) => toStored(row, now)), scanned: query.ids.length }
  }

  async count(): Promise<contract.Counts> {
    const row = await this.#options.calls.one<CountRow>('count_1', [
      await this.#options.queue(),
      this.#options.at(),
    ])
    const { waiting, running, dead, ready } = row
    const states = { delayed: waiting - ready, ready, running, dead }
    const counts = { states, isExact: row.is_exact }
    return row.first_at === null ? counts : { ...counts, nextDueAt: toMs(row.first_at) }
  }

  async countTopics(query: contract.TopicsQuery): Promise<contract.TopicsPage> {
    const { calls, queue } = this.#options
    const number = await queue()
    if ('topics' in query) {
      const rows = await calls.run<TopicCountRow>('count_topics_1', [number, query.topics, '', 0])
      return { topics: Object.fromEntries(rows.map(topicCounts)) }
    }
    const [, after] = query.cursor === undefined ? ['', ''] : decodeCursor(query.cursor, TOPICS_CURSOR)
    const rows = await calls.run<TopicCountRow>('count_topics_1', [number, null, after, query.limit + 1])
    const page = rows.slice(0, query.limit)
    const topics = Object.fromEntries(page.map(topicCounts))
    const last = rows.length > query.limit ? page.at(-1) : undefined
    return last === undefined ? { topics } : { topics, cursor: encodeCursor(['topics', last.topic]) }
  }

  /** `perKey`: what each key of the topic is allowed. */
  async keys(query: contract.KeysQuery, perKey: Allowance | undefined): Promise<contract.KeysPage> {
    const { calls, queue, at } = this.#options
    const named = 'keys' in query ? query.keys : null
    const [limit, cursor] = 'keys' in query ? [0, undefined] : [query.limit, query.cursor]
    const [, after] = cursor === undefined ? ['', ''] : decodeCursor(cursor, KEYS_CURSOR)
    const values = [await queue(), at(), query.topic, named, after, limit + 1]
    const rows = named?.length === 0 ? [] : await calls.run<KeyRow>('key_states_1', values)
    const now = rows[0]?.now_at ?? (await this.#now())
    const page = named === null ? rows.slice(0, limit) : rows
    const keys = page.map((row) => toKeyState(row, perKey))
    const last = rows.length > page.length ? page.at(-1) : undefined
    return {
      now: toMs(now),
      keys,
      ...(last === undefined ? {} : { cursor: encodeCursor(['keys', last.key]) }),
    }
  }

  async forecast({ edges, topic }: contract.ForecastQuery): Promise<contract.Forecast> {
    checkEdges(edges)
    const row = await this.#options.calls.one<{ counts: number[]; is_exact: boolean }>('forecast_1', [
      await this.#options.queue(),
      edges.map(toMicros),
      topic ?? null,
    ])
    return { counts: row.counts, isExact: row.is_exact }
  }

  async figures(query: contract.FiguresQuery): Promise<contract.FiguresPage> {
    const { calls, queue, at } = this.#options
    const [, minute, topic] =
      query.cursor === undefined ? ['', BEFORE_ALL, ''] : decodeCursor(query.cursor, FIGURES_CURSOR)
    const rows = await calls.run<FigureColumns>('figures_1', [
      await queue(),
      at(),
      toMicros(query.from),
      toMicros(query.until),
      query.topic ?? null,
      minute,
      topic,
      FIGURES_PAGE,
    ])
    const last = rows.length < FIGURES_PAGE ? undefined : rows.at(-1)
    const page = { rows: rows.map(minuteFigures) }
    return last === undefined
      ? page
      : { ...page, cursor: encodeCursor(['figures', String(last.minute_at), last.topic]) }
  }

  async workers(): Promise<contract.WorkersReply> {
    const { calls, queue, at } = this.#options
    const rows = await calls.run<WorkerRow>('workers_1', [await queue(), at()])
    const workers = rows.flatMap(
      ({ owner, facts, first_seen_at, last_seen_at, gone_at }): contract.WorkerRecord[] => {
        if (owner === null) return []
        const seen = { owner, facts, firstSeenAt: toMs(first_seen_at), lastSeenAt: toMs(last_seen_at) }
        return [gone_at === null ? seen : { ...seen, goneAt: toMs(gone_at) }]
      },
    )
    return { now: toMs(rows[0]?.now_at ?? 0), workers }
  }

  async remembered({ limit, cursor }: contract.RememberedQuery): Promise<contract.Page> {
    const { calls, queue, at } = this.#options
    const [, ...place] = cursor === undefined ? [] : decodeCursor(cursor, REMEMBERED_CURSOR)
    const rows = await calls.run<SeenRow>('inspect_remembered_1', [
      await queue(),
      at(),
      limit,
      cursor === undefined ? null : place,
    ])
    const page = { items: rows.map((row) => toStored(row, 0)), scanned: rows.length }
    const last = rows.at(-1)
    // A page may also end where it has enough bytes: only one without any is the end.
    if (last === undefined) return page
    return { ...page, cursor: encodeCursor(['remembered', String(last.until), last.id]) }
  }

  async #page(query: contract.ListQuery | contract.TagQuery): Promise<contract.Page> {
    const { calls, queue } = this.#options
    const [number, now] = await Promise.all([queue(), this.#now()])
    const { kind, name, values, key } = listCall(query, now)
    const [, ...place] = query.cursor === undefined ? [] : decodeCursor(query.cursor, PLACES[kind] ?? [])
    const rows = await calls.run<PageRow>(
      name,
      [number, ...values, query.limit, query.cursor === undefined ? null : place, key],
      '(message).*, scanned, next_place',
    )
    const end = rows.at(-1)
    const items = rows.slice(0, -1).map((row) => toStored(row, now))
    const page = { items, scanned: end?.scanned ?? 0 }
    const next = end?.next_place ?? undefined
    return next === undefined ? page : { ...page, cursor: encodeCursor([kind, ...next]) }
  }

  async #now(): Promise<number> {
    const row = await this.#options.calls.one<{ now_1: number }>('now_1', [this.#options.at()])
    return row.now_1
  }
}

type PageCall = {
  readonly kind: string
  readonly name: string
  readonly values: readonly unknown[]
  readonly key: string | null
}

/** Which function walks this list, with its filters. */
function listCall(query: contract.ListQuery | contract.TagQuery, now: number): PageCall {
  const {
    state,
    topic = null,
    key = null,
    dueFrom,
    dueUntil,
    idPrefix = '',
    text = null,
    olderThanMs,
  } = query
  const [from, until] = [micros(dueFrom), micros(dueUntil)]
  const oldAt = olderThanMs === undefined ? null : toMicros(toMs(now) - olderThanMs)
  const range = [
    state === 'delayed' ? larger(String(now + 1), from) : from,
    state === 'ready' ? smaller(String(now + 1), until) : until,
  ]
  const rank = state === undefined ? null : RANKS[state]
  if (query.tag !== undefined) {
    const values = [query.tag, rank, ...range, topic, idPrefix, oldAt, text]
    return { kind: 'ids', name: 'inspect_tag_1', values, key }
  }
  if (idPrefix !== '') {
    const values = [rank, ...range, topic, idPrefix, oldAt, text]
    return { kind: 'ids', name: 'inspect_prefix_1', values, key }
  }
  const { state: listed } = query
  switch (listed) {
    case 'delayed':
    case 'ready': {
      const [first = null, last = null] = range
      const values = [first ?? BEFORE_ALL, last ?? AFTER_ALL, topic, oldAt, text]
      return { kind: 'waiting', name: 'inspect_waiting_1', values, key }
    }
    case 'running':
      return { kind: 'running', name: 'inspect_running_1', values: [topic, from, until, oldAt, text], key }
    case 'dead':
      return { kind: 'dead', name: 'inspect_dead_1', values: [topic, from, until, oldAt, text], key }
    default:
      return assertNever(listed)
  }
}

const RANKS = { delayed: 0, ready: 0, running: 1, dead: 2 } as const

function micros(ms: number | undefined): string | null {
  return ms === undefined ? null : toMicros(ms)
}

function larger(a: string, b: string | null): string {
  return b !== null && BigInt(b) > BigInt(a) ? b : a
}

function smaller(a: string, b: string | null): string {
  return b !== null && BigInt(b) < BigInt(a) ? b : a
}

function topicCounts({
  topic,
  waiting,
  running,
  dead,
  first_at,
}: TopicCountRow): [string, contract.TopicCounts] {
  const counts = { waiting, running, dead }
  return [topic, first_at === null ? counts : { ...counts, nextDueAt: toMs(first_at) }]
}

function minuteFigures({ minute_at, topic, lateness, ...counts }: FigureColumns): contract.MinuteFigures {
  const buckets = Object.entries(lateness).map(([bucket, count]): [number, number] => [Number(bucket), count])
  const { completed, failed, dead, skipped } = counts
  return {
    minuteAt: toMs(minute_at),
    topic,
    completed,
    failed,
    dead,
    skipped,
    lateness: buckets.toSorted(([a], [b]) => a - b),
  }
}
