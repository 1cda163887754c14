/**
 * How many are where. Totals and topics are counted as messages move (`ledger.ts`), so that only one thing has to be
 * counted here: how many of those that wait are due by now. That walks an index, about 30 ns an entry, up to a bound.
 */
import { AFTER_CONTROL } from '../../../core/control.ts'
import { PRIORITIES } from '../../../core/message.ts'
import type {
  Counts,
  Forecast,
  ForecastQuery,
  TopicCounts,
  TopicsPage,
  TopicsQuery,
} from '../../contract/store.ts'
import { systemClock } from '../../../clock.ts'
import { TOPIC_BY_NAME, TOPIC_COLUMNS, type TopicRow } from '../database/ledger.ts'
import type { View } from './scene.ts'

/** A few milliseconds each. */
const READY_MAX = 100_000
const TOPICS_MAX = 300
/** A forecast stops here, and between two slices other calls have their turn. */
const FORECAST_MS = 200
/** A count of a range costs about as much as reading so many messages. */
const MESSAGES_PER_COUNT = 10
const SLICE_MS = 5

const TOTALS = 'SELECT waiting, running, dead FROM queue WHERE queue = ?'
const KEYED = 'SELECT topic FROM keyed_topic JOIN topic USING (topic) WHERE queue = ? AND name > ?'
const OURS = `SELECT total(waiting) AS waiting, total(running) AS running, total(dead) AS dead FROM topic
  WHERE queue = ? AND name < ?`
const NEXT_AT = 'SELECT min(next_at) AS at FROM topic WHERE queue = ? AND name > ?'
const DUE_TOPICS = 'SELECT topic FROM topic WHERE queue = ? AND name > ? AND next_at <= ? LIMIT ?'

type WaitingLine = { readonly count: string; readonly dues: string; readonly firstFrom: string }

function lineOf(index: string): WaitingLine {
  return {
    count: `SELECT count(*) AS n FROM (SELECT 1 FROM ${index}
      WHERE state = 0 AND topic = ? AND priority = ? AND due_at >= ? AND due_at < ? LIMIT ?)`,
    dues: `SELECT due_at AS at FROM ${index}
      WHERE state = 0 AND topic = ? AND priority = ? AND due_at >= ? AND due_at < ? ORDER BY due_at`,
    firstFrom: `SELECT min(due_at) AS at FROM ${index} WHERE state = 0 AND topic = ? AND priority = ? AND due_at >= ?`,
  }
}

/** What waits without a key, and what waits with one. */
const PLAIN_LINE = lineOf('message INDEXED BY message_due')
const KEYED_LINE = lineOf('place INDEXED BY place_due')

const TOPICS_PAGE = `SELECT ${TOPIC_COLUMNS} FROM topic
  WHERE queue = ? AND name > ? ORDER BY name LIMIT ?`

type Totals = { readonly waiting: number; readonly running: number; readonly dead: number }
const NOTHING: Totals = { waiting: 0, running: 0, dead: 0 }

export function count(view: View): Counts {
  const { db, queue, now } = view
  const totals = db.get<Totals>(TOTALS, queue) ?? NOTHING
  const ours = db.get<Totals>(OURS, queue, AFTER_CONTROL) ?? NOTHING
  const keyed = db.all<{ topic: number }>(KEYED, queue, AFTER_CONTROL)
  const firsts = keyed.map(({ topic }) => firstFrom(view, KEYED_LINE, topic, 0))
  const nextAt = db.get<{ at: number | null }>(NEXT_AT, queue, AFTER_CONTROL)?.at ?? Infinity
  const nextDueAt = Math.min(nextAt, ...firsts)
  const topics = db.all<{ topic: number }>(DUE_TOPICS, queue, AFTER_CONTROL, now, TOPICS_MAX + 1)
  let ready = 0
  for (const [line, some] of [
    [PLAIN_LINE, topics],
    [KEYED_LINE, keyed],
  ] as const)
    for (const { topic } of some.slice(0, TOPICS_MAX))
      for (const priority of PRIORITIES.keys())
        ready += countRange(view, line, topic, { priority, from: 0, until: now + 1, max: READY_MAX - ready })
  const isExact = Math.max(topics.length, keyed.length) <= TOPICS_MAX && ready < READY_MAX
  const [running, dead] = [totals.running - ours.running, totals.dead - ours.dead]
  const states = { delayed: totals.waiting - ours.waiting - ready, ready, running, dead }
  return nextDueAt === Infinity ? { states, isExact } : { states, isExact, nextDueAt }
}

export function countTopics(view: View, query: TopicsQuery): TopicsPage {
  const { db, queue } = view
  const countsOf = (row: TopicRow): [string, TopicCounts] => [row.name, topicCounts(view, row)]
  if ('topics' in query) {
    const found = query.topics.flatMap((name) => db.get<TopicRow>(TOPIC_BY_NAME, queue, name) ?? [])
    return { topics: Object.fromEntries(found.map(countsOf)) }
  }
  const rows = db.all<TopicRow>(TOPICS_PAGE, queue, query.cursor ?? AFTER_CONTROL, query.limit + 1)
  const page = rows.slice(0, query.limit)
  const topics = Object.fromEntries(page.map(countsOf))
  const last = rows.length > query.limit ? page.at(-1) : undefined
  return last === undefined ? { topics } : { topics, cursor: last.name }
}

/**
 * A short topic message by message, a long one bar by bar through the index of each priority, jumping over bars that are
 * empty: a count costs about as much as ten messages. Past its time it stops, and what it has seen stands for the rest.
 */
export function* forecast(view: View, { edges, topic }: ForecastQuery): Generator<void, Forecast> {
  const counts = Array.from({ length: edges.length - 1 }, () => 0)
  const begunAt = systemClock.monotonic()
  let sliceBegunAt = begunAt
  let [seen, total] = [0, 0]
  const topics = topicsOf(view, topic)
  for (const row of topics) {
    total += row.waiting
    if (systemClock.monotonic() - begunAt > FORECAST_MS) continue
    seen += row.waiting
    const isShort = row.waiting <= MESSAGES_PER_COUNT * counts.length
    for (const _ of isShort ? addEach(view, row, edges, counts) : addBars(view, row, edges, counts)) {
      if (systemClock.monotonic() - sliceBegunAt <= SLICE_MS) continue
      yield
      sliceBegunAt = systemClock.monotonic()
    }
  }
  const isExact = seen === total
  return {
    counts: isExact ? counts : counts.map((n) => Math.round((n * total) / Math.max(seen, 1))),
    isExact,
  }
}

type Bars = number[]

function linesOf({ stamp }: TopicRow): readonly WaitingLine[] {
  return stamp === null ? [PLAIN_LINE] : [PLAIN_LINE, KEYED_LINE]
}

function* addEach(view: View, row: TopicRow, edges: readonly number[], counts: Bars): Generator<void> {
  for (const { dues } of linesOf(row)) {
    for (const priority of PRIORITIES.keys()) {
      const rows = view.db.all<{ at: number }>(dues, row.topic, priority, edges[0] ?? 0, edges.at(-1) ?? 0)
      let bar = 0
      for (const { at } of rows) {
        bar = barOf(edges, at, bar)
        counts[bar] = (counts[bar] ?? 0) + 1
      }
      yield
    }
  }
}

function* addBars(view: View, row: TopicRow, edges: readonly number[], counts: Bars): Generator<void> {
  for (const line of linesOf(row)) {
    for (const priority of PRIORITIES.keys()) {
      for (let bar = 0; ; bar += 1) {
        bar = barOf(edges, firstIn(view, line, row.topic, priority, edges[bar] ?? 0), bar)
        if (bar >= counts.length) break
        const [from = 0, until = 0] = [edges[bar], edges[bar + 1]]
        const range = { priority, from, until, max: Number.MAX_SAFE_INTEGER }
        counts[bar] = (counts[bar] ?? 0) + countRange(view, line, row.topic, range)
        yield
      }
    }
  }
}

/** Of all priorities; Infinity for none. */
function firstFrom(view: View, line: WaitingLine, topic: number, from: number): number {
  return Math.min(...[...PRIORITIES.keys()].map((priority) => firstIn(view, line, topic, priority, from)))
}

function firstIn({ db }: View, line: WaitingLine, topic: number, priority: number, from: number): number {
  return db.get<{ at: number | null }>(line.firstFrom, topic, priority, from)?.at ?? Infinity
}

function topicsOf(view: View, topic: string | undefined): Iterable<TopicRow> {
  if (topic === undefined) return allTopics(view)
  const row = view.db.get<TopicRow>(TOPIC_BY_NAME, view.queue, topic)
  return row === undefined ? [] : [row]
}

function* allTopics({ db, queue }: View): Generator<TopicRow> {
  for (let name = AFTER_CONTROL; ;) {
    const rows = db.all<TopicRow>(TOPICS_PAGE, queue, name, TOPICS_MAX)
    yield* rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < TOPICS_MAX) return
    name = last.name
  }
}

/** The bar that holds this moment, at or after `from`; past the last one when none does. */
function barOf(edges: readonly number[], at: number, from: number): number {
  let bar = from
  while (bar < edges.length - 1 && at >= (edges[bar + 1] ?? Infinity)) bar += 1
  return bar
}

type CountedRange = {
  readonly priority: number
  readonly from: number
  readonly until: number
  readonly max: number
}

function countRange(
  { db }: View,
  line: WaitingLine,
  topic: number,
  { priority, from, until, max }: CountedRange,
): number {
  if (max <= 0) return 0
  return db.get<{ n: number }>(line.count, topic, priority, from, until, max)?.n ?? 0
}

function topicCounts(view: View, { topic, waiting, running, dead, next_at, stamp }: TopicRow): TopicCounts {
  const keyedAt = stamp === null ? Infinity : firstFrom(view, KEYED_LINE, topic, 0)
  const nextDueAt = Math.min(next_at ?? Infinity, keyedAt)
  const counts = { waiting, running, dead }
  return nextDueAt === Infinity ? counts : { ...counts, nextDueAt }
}
