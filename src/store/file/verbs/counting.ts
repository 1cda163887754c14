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
import { TOPIC_BY_NAME, type TopicRow } from '../database/ledger.ts'
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
const OURS = `SELECT total(waiting) AS waiting, total(running) AS running, total(dead) AS dead FROM topic
  WHERE queue = ? AND name < ?`
const NEXT_AT = 'SELECT min(next_at) AS at FROM topic WHERE queue = ? AND name > ?'
const DUE_TOPICS = 'SELECT topic FROM topic WHERE queue = ? AND name > ? AND next_at <= ? LIMIT ?'
const COUNT = `SELECT count(*) AS n FROM (SELECT 1 FROM message INDEXED BY message_due
  WHERE state = 0 AND topic = ? AND priority = ? AND due_at >= ? AND due_at < ? LIMIT ?)`
const DUES = `SELECT due_at AS at FROM message INDEXED BY message_due
  WHERE state = 0 AND topic = ? AND priority = ? AND due_at >= ? AND due_at < ? ORDER BY due_at`
const FIRST_FROM = `SELECT min(due_at) AS at FROM message INDEXED BY message_due
  WHERE state = 0 AND topic = ? AND priority = ? AND due_at >= ?`
const TOPICS_PAGE = `SELECT topic, queue, name, waiting, running, dead, next_at FROM topic
  WHERE queue = ? AND name > ? ORDER BY name LIMIT ?`

type Totals = { readonly waiting: number; readonly running: number; readonly dead: number }
const NOTHING: Totals = { waiting: 0, running: 0, dead: 0 }

export function count(view: View): Counts {
  const { db, queue, now } = view
  const totals = db.get<Totals>(TOTALS, queue) ?? NOTHING
  const ours = db.get<Totals>(OURS, queue, AFTER_CONTROL) ?? NOTHING
  const nextDueAt = db.get<{ at: number | null }>(NEXT_AT, queue, AFTER_CONTROL)?.at ?? undefined
  const topics = db.all<{ topic: number }>(DUE_TOPICS, queue, AFTER_CONTROL, now, TOPICS_MAX + 1)
  let ready = 0
  for (const { topic } of topics.slice(0, TOPICS_MAX)) {
    for (const priority of PRIORITIES.keys())
      ready += countRange(view, topic, priority, 0, now + 1, READY_MAX - ready)
  }
  const isExact = topics.length <= TOPICS_MAX && ready < READY_MAX
  const [running, dead] = [totals.running - ours.running, totals.dead - ours.dead]
  const states = { delayed: totals.waiting - ours.waiting - ready, ready, running, dead }
  return nextDueAt === undefined ? { states, isExact } : { states, isExact, nextDueAt }
}

export function countTopics({ db, queue }: View, query: TopicsQuery): TopicsPage {
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

function* addEach(view: View, { topic }: TopicRow, edges: readonly number[], counts: Bars): Generator<void> {
  for (const priority of PRIORITIES.keys()) {
    const rows = view.db.all<{ at: number }>(DUES, topic, priority, edges[0] ?? 0, edges.at(-1) ?? 0)
    let bar = 0
    for (const { at } of rows) {
      bar = barOf(edges, at, bar)
      counts[bar] = (counts[bar] ?? 0) + 1
    }
    yield
  }
}

function* addBars(view: View, { topic }: TopicRow, edges: readonly number[], counts: Bars): Generator<void> {
  for (const priority of PRIORITIES.keys()) {
    for (let bar = 0; ; bar += 1) {
      const at = view.db.get<{ at: number | null }>(FIRST_FROM, topic, priority, edges[bar] ?? 0)?.at
      bar = barOf(edges, at ?? Infinity, bar)
      if (bar >= counts.length) break
      const [from = 0, until = 0] = [edges[bar], edges[bar + 1]]
      counts[bar] =
        (counts[bar] ?? 0) + countRange(view, topic, priority, from, until, Number.MAX_SAFE_INTEGER)
      yield
    }
  }
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

function countRange(
  { db }: View,
  topic: number,
  priority: number,
  from: number,
  until: number,
  max: number,
): number {
  if (max <= 0) return 0
  return db.get<{ n: number }>(COUNT, topic, priority, from, until, max)?.n ?? 0
}

function countsOf({ name, waiting, running, dead, next_at }: TopicRow): [string, TopicCounts] {
  const counts = { waiting, running, dead }
  return [name, next_at === null ? counts : { ...counts, nextDueAt: next_at }]
}
