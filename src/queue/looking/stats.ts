/** The queue in numbers. */
import { MINUTE_MS, OTHER_TOPICS } from '../../core/metrics/figures.ts'
import { STATS_TOPICS_MAX } from '../../core/input/questions.ts'
import { Largest } from '../../core/metrics/largest.ts'
import { percentilesOf, type LatenessPercentiles } from '../../core/metrics/lateness.ts'
import type {
  FiguresPage,
  MinuteFigures,
  StateCounts,
  Store,
  TopicCounts,
  TopicsPage,
} from '../../store/contract/store.ts'
import { readControls, type FoundControl } from '../changing/controls.ts'
import { Gaps } from './gaps.ts'
import { OverdueTopics, type OverdueTopic } from './overdue.ts'
import { readWorkers } from './workers.ts'

export type Stats = {
  readonly counts: StateCounts
  /** The 1,000 with most waiting, or those that were asked for. */
  readonly topics: Readonly<Record<string, TopicCounts>>
  /** There are topics besides these 1,000. */
  readonly moreTopics: boolean
  /**
   * Of all topics, or of those that were asked for: with a message that should have started 10 seconds ago or earlier;
   * longest first, at most 100.
   */
  readonly overdue: readonly OverdueTopic[]
  /** Pauses and limits that hold now: of the whole queue, and of all topics, or of those that were asked for. */
  readonly controls: readonly FoundControl[]
  /** The earliest moment among delayed and ready messages, in epoch milliseconds. */
  readonly nextDueAt?: number
  /** What ended lately in all processes. */
  readonly recent: RecentFigures
  /** Partitions that did not answer, by name: what they hold is not counted. Absent where all did. */
  readonly missing?: readonly string[]
  /**
   * Of what was started lately, to about 4 %: in all processes, or in this one while the store has no figures yet.
   * Absent when that is nothing.
   */
  readonly latenessMs?: LatenessPercentiles
}

export type EndedTotals = {
  readonly completed: number
  /** Attempts that failed. */
  readonly failed: number
  readonly dead: number
  readonly skipped: number
}

export type RecentFigures = EndedTotals & {
  /** The whole minute that they begin with, four to five minutes ago, in epoch milliseconds. */
  readonly since: number
  readonly perMinute: EndedTotals
  readonly topics: Readonly<Record<string, EndedTotals>>
  /** Of topics beyond the 200 that are kept by name. */
  readonly otherTopics?: EndedTotals
}

export type StatsQuestion = {
  readonly now: number
  /** Undefined: those with most waiting. */
  readonly topics: readonly string[] | undefined
  /** Of this process. */
  readonly latenessMs: LatenessPercentiles | undefined
}

export async function readStats(store: Store, asked: StatsQuestion): Promise<Stats> {
  const gaps = new Gaps()
  const [total, counted, ended, controls] = await Promise.all([
    store.count(),
    countTopics(store, asked, gaps),
    readRecent(store, asked, gaps),
    readControls(store),
  ])
  const { states, nextDueAt } = total
  gaps.note(total)
  const isAsked = ({ topic }: FoundControl): boolean =>
    topic === undefined || asked.topics === undefined || asked.topics.includes(topic)
  const latenessMs = ended.latenessMs ?? asked.latenessMs
  return {
    counts: states,
    topics: Object.fromEntries(counted.topics),
    moreTopics: counted.isMore,
    overdue: await counted.overdue.sorted(() => readWorkers(store, controls)),
    controls: controls.all.filter(isAsked),
    ...(nextDueAt === undefined ? {} : { nextDueAt }),
    recent: ended.recent,
    ...gaps.shown,
    ...(latenessMs === undefined ? {} : { latenessMs }),
  }
}

type Named = readonly [topic: string, counts: TopicCounts]

type CountedTopics = {
  readonly topics: readonly Named[]
  readonly isMore: boolean
  readonly overdue: OverdueTopics
}

async function countTopics(
  store: Store,
  { now, topics: wanted }: StatsQuestion,
  gaps: Gaps,
): Promise<CountedTopics> {
  const most = new Largest<Named>(STATS_TOPICS_MAX, byWaiting)
  const overdue = new OverdueTopics(now)
  for await (const page of wanted === undefined ? allTopics(store) : namedTopics(store, wanted)) {
    gaps.note(page)
    for (const [topic, counts] of Object.entries(page.topics)) {
      most.add([topic, counts])
      overdue.look(topic, counts)
    }
  }
  return { topics: most.sorted(), isMore: most.isMore, overdue }
}

function byWaiting([a, { waiting: inA }]: Named, [b, { waiting: inB }]: Named): number {
  return inB - inA || (a < b ? -1 : 1)
}

/** Page by page: there may be hundreds of thousands. */
export async function* allTopics(store: Store): AsyncGenerator<TopicsPage> {
  const limit = Math.min(STATS_TOPICS_MAX, store.capabilities.batchMax)
  let cursor: string | undefined
  do {
    const page: TopicsPage = await store.countTopics({ limit, ...(cursor === undefined ? {} : { cursor }) })
    yield page
    cursor = page.cursor
  } while (cursor !== undefined)
}

const NOTHING_THERE: TopicCounts = { waiting: 0, running: 0, dead: 0 }

async function* namedTopics(store: Store, names: readonly string[]): AsyncGenerator<TopicsPage> {
  const size = Math.min(STATS_TOPICS_MAX, store.capabilities.batchMax)
  for (let from = 0; from < names.length; from += size) {
    const wanted = names.slice(from, from + size)
    const page = await store.countTopics({ topics: wanted })
    const found = new Map(Object.entries(page.topics))
    const topics = Object.fromEntries(wanted.map((topic) => [topic, found.get(topic) ?? NOTHING_THERE]))
    yield { ...page, topics }
  }
}

/** The running minute, and so many before it. */
const MINUTES_BEFORE = 4

type Recent = { readonly recent: RecentFigures; readonly latenessMs: LatenessPercentiles | undefined }

async function readRecent(store: Store, { now, topics }: StatsQuestion, gaps: Gaps): Promise<Recent> {
  const since = (Math.floor(now / MINUTE_MS) - MINUTES_BEFORE) * MINUTE_MS
  const wanted = topics === undefined ? undefined : new Set(topics)
  const byTopic = new Map<string, EndedTotals>()
  const lateness = new Map<number, number>()
  let all = NOTHING_ENDED
  for await (const row of figuresBetween(store, since, now, gaps)) {
    all = plus(all, row)
    for (const [bucket, count] of row.lateness) lateness.set(bucket, (lateness.get(bucket) ?? 0) + count)
    if (wanted === undefined || wanted.has(row.topic)) {
      byTopic.set(row.topic, plus(byTopic.get(row.topic) ?? NOTHING_ENDED, row))
    }
  }
  return { recent: present(all, byTopic, since, now), latenessMs: percentilesOf([...lateness]) }
}

async function* figuresBetween(
  store: Store,
  from: number,
  now: number,
  gaps: Gaps,
): AsyncGenerator<MinuteFigures> {
  // A minute more: the store's clock, which decides in which minute it counts, may be ahead of ours.
  const range = { from, until: now + MINUTE_MS }
  let cursor: string | undefined
  do {
    const page: FiguresPage = await store.figures({ ...range, ...(cursor === undefined ? {} : { cursor }) })
    gaps.note(page)
    yield* page.rows
    cursor = page.cursor
  } while (cursor !== undefined)
}

function present(
  all: EndedTotals,
  byTopic: ReadonlyMap<string, EndedTotals>,
  since: number,
  now: number,
): RecentFigures {
  const minutes = (now - since) / MINUTE_MS
  const { [OTHER_TOPICS]: otherTopics, ...topics } = Object.fromEntries(byTopic)
  return {
    ...all,
    since,
    perMinute: {
      completed: all.completed / minutes,
      failed: all.failed / minutes,
      dead: all.dead / minutes,
      skipped: all.skipped / minutes,
    },
    topics,
    ...(otherTopics === undefined ? {} : { otherTopics }),
  }
}

const NOTHING_ENDED: EndedTotals = { completed: 0, failed: 0, dead: 0, skipped: 0 }

function plus(a: EndedTotals, b: EndedTotals): EndedTotals {
  return {
    completed: a.completed + b.completed,
    failed: a.failed + b.failed,
    dead: a.dead + b.dead,
    skipped: a.skipped + b.skipped,
  }
}
