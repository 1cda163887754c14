/** What people ask of a store: counts, topics, figures, the forecast. Lists are in `pages.ts`. */
import type * as contract from '../../../contract/store.ts'
import { decodeCursor, encodeCursor } from '../../../../core/encoding/cursor.ts'
import { checkEdges } from '../../../shared/forecast.ts'
import { toMs } from '../../../sql/micros.ts'
import { NOW, nowOf, readClock, type QueuePlace } from '../../sql/clock.ts'
import { joined, numberOrNull, sql, textOf, type SqlRow, type Statement } from '../../sql/statement.ts'
import type { Steps, Transactions } from '../../transactions.ts'
import { WAITING_STATES } from '../write/locked-row.ts'
import { lookAtHeads, toHeads } from '../claim/heads.ts'
import { MESSAGE_TOPICS, topicNames } from './topics.ts'

const READY_MAX = 50_000
const READY_TOPICS_MAX = 300
const EXACT_MAX = 200_000
const SAMPLES = 25
const SAMPLE_ROWS = 2_000
const FIGURES_PAGE = 1_000
const KEPT_MICROS = 172_860_000_000

const NUMBER = /^-?\d{1,19}$/
const ANY = /^/
const FIGURES_CURSOR = [/^figures$/, NUMBER, ANY]
const TOPICS_CURSOR = [/^topics$/, ANY]

export type MysqlLookingOptions = {
  readonly calls: Transactions
  /** The number of the queue is 0 while nothing was ever written to it. */
  readonly where: () => Promise<QueuePlace>
}

export class MysqlLooking {
  readonly #options: MysqlLookingOptions

  constructor(options: MysqlLookingOptions) {
    this.#options = options
  }

  /** Delayed and ready are told apart in the index, in so many topics and up to so many messages. */
  async count(): Promise<contract.Counts> {
    const where = await this.#options.where()
    return this.#options.calls.look(async (steps) => {
      const { queue } = where
      const [, clock, [sums] = [], named = []] = await steps.send(
        ...readClock(where.at),
        sql`select coalesce(sum(waiting), 0) as waiting, coalesce(sum(running), 0) as running, coalesce(sum(dead), 0) as dead
          from (select waiting, running, dead from punctual_total where queue = ${queue} and topic = ''
            union all select waiting, running, dead from punctual_delta where queue = ${queue} and ${MESSAGE_TOPICS}) s`,
        topicNames(queue, '', READY_TOPICS_MAX + 1),
      )
      const now = nowOf(clock)
      const topics = named.slice(0, READY_TOPICS_MAX).map((row) => textOf(row['topic']))
      const [found = []] = await steps.send(lookAtHeads({ queue, topics, states: WAITING_STATES }))
      const heads = toHeads(found)
      const due = heads.filter(({ at }) => at <= now)
      const counted =
        due.length === 0
          ? []
          : await steps.send(...due.map(({ topic, rank }) => countReady(queue, topics[topic] ?? '', rank)))
      await steps.commit()
      const ready = Math.min(
        READY_MAX,
        counted.reduce((sum, rows) => sum + Number(rows[0]?.['n']), 0),
      )
      const { waiting, running, dead } = sums ?? {}
      const states = { delayed: Number(waiting) - ready, ready, running: Number(running), dead: Number(dead) }
      const counts = { states, isExact: ready < READY_MAX && named.length <= READY_TOPICS_MAX }
      const first = Math.min(...heads.map(({ at }) => at))
      return first === Infinity ? counts : { ...counts, nextDueAt: toMs(first) }
    })
  }

  async countTopics(query: contract.TopicsQuery): Promise<contract.TopicsPage> {
    const { calls, where } = this.#options
    const { queue } = await where()
    if ('topics' in query)
      return { topics: await calls.look((steps) => topicCounts(steps, queue, query.topics)) }
    const [, after = ''] = query.cursor === undefined ? ['', ''] : decodeCursor(query.cursor, TOPICS_CURSOR)
    return calls.look(async (steps) => {
      const [named = []] = await steps.send(topicNames(queue, after, query.limit + 1))
      const names = named.map((row) => textOf(row['topic']))
      const page = names.slice(0, query.limit)
      const topics = await topicCounts(steps, queue, page)
      const last = names.length > query.limit ? page.at(-1) : undefined
      return last === undefined ? { topics } : { topics, cursor: encodeCursor(['topics', last]) }
    })
  }

  /** Counted in the index up to 200,000; where more wait, a sample of the table is multiplied. */
  async forecast({ edges, topic }: contract.ForecastQuery): Promise<contract.Forecast> {
    checkEdges(edges)
    const { queue } = await this.#options.where()
    const bars = edges.map((edge) => Math.round(edge * 1000))
    return this.#options.calls.look(async (steps) => {
      const waits = await countWaiting(steps, queue, topic)
      const isExact = waits <= EXACT_MAX
      const [found, sampled] = isExact
        ? [await countBars(steps, queue, topic, bars), waits]
        : await sampleBars(steps, queue, topic, bars)
      await steps.commit()
      const counts = edges.slice(1).map((_, i) => {
        const n = found.get(i + 1) ?? 0
        return isExact ? n : Math.round((n * waits) / Math.max(1, sampled))
      })
      return { counts, isExact }
    })
  }

  async figures(query: contract.FiguresQuery): Promise<contract.FiguresPage> {
    const { queue, at } = await this.#options.where()
    const [, minute = '', topic = ''] =
      query.cursor === undefined ? ['', '-1', ''] : decodeCursor(query.cursor, FIGURES_CURSOR)
    const only = query.topic === undefined ? sql`` : sql` and topic = ${query.topic}`
    const [, , rows = []] = await this.#options.calls.flight(
      ...readClock(at),
      sql`select minute_at, topic, completed, failed, dead, skipped, lateness from punctual_figure
        where queue = ${queue} and minute_at >= ${Math.ceil(Math.max(query.from * 1000, Number(minute)))}
          and minute_at < ${Math.ceil(query.until * 1000)} and minute_at > ${NOW} - ${KEPT_MICROS}
          and (minute_at > ${Number(minute)} or topic > ${topic})${only} order by minute_at, topic limit ${FIGURES_PAGE}`,
    )
    const last = rows.length < FIGURES_PAGE ? undefined : rows.at(-1)
    const page = { rows: rows.map(toFigures) }
    return last === undefined
      ? page
      : { ...page, cursor: encodeCursor(['figures', String(last['minute_at']), textOf(last['topic'])]) }
  }
}

function countReady(queue: number, topic: string, rank: number): Statement {
  const counts = WAITING_STATES.map(
    (state) => sql`(select count(*) from (select 1 from punctual_message force index (punctual_message_due)
      where queue = ${queue} and state = ${state} and topic = ${topic} and priority = ${rank} and due_at <= ${NOW}
      limit ${READY_MAX}) x)`,
  )
  return sql`select ${joined(counts, ' + ')} as n`
}

async function topicCounts(
  steps: Steps,
  queue: number,
  topics: readonly string[],
): Promise<Record<string, contract.TopicCounts>> {
  const [sums = [], found = []] = await steps.commit(
    sql`select topic, sum(waiting) as waiting, sum(running) as running, sum(dead) as dead from (
        select topic, waiting, running, dead from punctual_total where queue = ${queue} and topic in (${topics})
        union all
        select topic, waiting, running, dead from punctual_delta where queue = ${queue} and topic in (${topics})) s
      group by topic order by topic`,
    lookAtHeads({ queue, topics, states: WAITING_STATES }),
  )
  const firsts = new Map<string, number>()
  for (const { topic, at } of toHeads(found)) {
    const name = topics[topic] ?? ''
    firsts.set(name, Math.min(firsts.get(name) ?? Infinity, at))
  }
  return Object.fromEntries(
    sums.map((row) => {
      const topic = textOf(row['topic'])
      const first = firsts.get(topic)
      const counts = {
        waiting: Number(row['waiting']),
        running: Number(row['running']),
        dead: Number(row['dead']),
      }
      return [topic, first === undefined ? counts : { ...counts, nextDueAt: toMs(first) }]
    }),
  )
}

async function countWaiting(steps: Steps, queue: number, topic: string | undefined): Promise<number> {
  const [total, delta] =
    topic === undefined ? [sql`topic = ''`, MESSAGE_TOPICS] : [sql`topic = ${topic}`, sql`topic = ${topic}`]
  const [rows = []] = await steps.send(
    sql`select coalesce(sum(waiting), 0) as n from (
      select waiting from punctual_total where queue = ${queue} and ${total}
      union all select waiting from punctual_delta where queue = ${queue} and ${delta}) s`,
  )
  return Number(rows[0]?.['n'])
}

type BarCounts = ReadonlyMap<number, number>

async function countBars(
  steps: Steps,
  queue: number,
  topic: string | undefined,
  edges: readonly number[],
): Promise<BarCounts> {
  const names =
    topic === undefined
      ? sql`select topic from (${topicNames(queue, '', EXACT_MAX)}) t`
      : sql`select cast(${topic} as binary) as topic`
  const [rows = []] = await steps.send(
    sql`select interval(m.due_at, ${edges}) as bar, count(*) as n
      from (${names}) w cross join (select 0 as p union all select 1 union all select 2) r
        cross join (select 0 as state union all select 4) s
        straight_join punctual_message m force index (punctual_message_due)
          on m.queue = ${queue} and m.state = s.state and m.topic = w.topic and m.priority = r.p
            and m.due_at >= ${edges[0] ?? 0} and m.due_at < ${edges.at(-1) ?? 0} group by bar`,
  )
  return toBars(rows)
}

/** Pieces of the table at even distances, as it was filled. */
async function sampleBars(
  steps: Steps,
  queue: number,
  topic: string | undefined,
  edges: readonly number[],
): Promise<readonly [BarCounts, number]> {
  const [[ends] = []] = await steps.send(
    sql`select min(seq) as first, max(seq) as last from punctual_message`,
  )
  const [first, last] = [Number(ends?.['first']), Number(ends?.['last'])]
  const only = topic === undefined ? MESSAGE_TOPICS : sql`topic = ${topic}`
  const pieces = Array.from({ length: SAMPLES }, (_, i) => {
    const from = first + Math.floor(((last - first) * i) / SAMPLES)
    return sql`(select queue, state, topic, due_at from punctual_message force index (primary)
      where seq >= ${from} order by seq limit ${SAMPLE_ROWS})`
  })
  const [rows = []] = await steps.send(
    sql`select interval(s.due_at, ${edges}) as bar, count(*) as n from (${joined(pieces, ' union all ')}) s
      where queue = ${queue} and state in (${WAITING_STATES}) and ${only} group by bar`,
  )
  return [toBars(rows), rows.reduce((sum, row) => sum + Number(row['n']), 0)]
}

function toBars(rows: readonly SqlRow[]): BarCounts {
  return new Map(rows.map((row) => [Number(row['bar']), Number(row['n'])]))
}

function toFigures(row: SqlRow): contract.MinuteFigures {
  const count = (name: string): number => numberOrNull(row[name]) ?? 0
  const buckets = Object.entries(JSON.parse(textOf(row['lateness'])) as Record<string, number>)
  return {
    minuteAt: toMs(Number(row['minute_at'])),
    topic: textOf(row['topic']),
    completed: count('completed'),
    failed: count('failed'),
    dead: count('dead'),
    skipped: count('skipped'),
    lateness: buckets
      .map(([bucket, n]): [number, number] => [Number(bucket), n])
      .toSorted(([a], [b]) => a - b),
  }
}
