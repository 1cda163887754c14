/**
 * What a token with a topic prefix sees of a queue: its topics, and totals of those alone. Made of answers about the whole
 * queue or about single topics, because no engine knows prefixes.
 */
import type {
  DueForecast,
  EndedTotals,
  ForecastOptions,
  FoundWorker,
  Stats,
  StoredMessage,
} from '../../../index.ts'
import { Gaps } from '../../../queue/looking/gaps.ts'
import type { Served } from '../served.ts'
import { HttpRefusal } from '../wire/problem.ts'
import { mayUseTopic, type Caller } from './caller.ts'

/** A question that is put topic by topic is put for so many. */
const TOPICS_MAX = 100

/** `topics`: only these. The whole queue's pause holds for its topics too. */
export async function partOfStats(
  who: Caller,
  { queue, open }: Pick<Served, 'queue' | 'open'>,
  { now, topics }: { readonly now: number; readonly topics?: readonly string[] | undefined },
): Promise<Stats> {
  const asked = topics?.filter((topic) => mayUseTopic(who, topic))
  const {
    latenessMs: _lateness,
    nextDueAt: _next,
    ...all
  } = await queue.stats(asked === undefined ? undefined : { topics: asked })
  const own = ofOwn(who, all.topics)
  const found = Object.entries(own)
  const sum = (of: 'waiting' | 'running' | 'dead'): number =>
    found.reduce((total, [, counts]) => total + counts[of], 0)
  const nextDueAt = Math.min(...found.map(([, counts]) => counts.nextDueAt ?? Infinity))
  const overdue = found.filter(([, counts]) => (counts.nextDueAt ?? Infinity) <= now).map(([topic]) => topic)
  const ready = await countReady(await open(), overdue, now)
  const recentTopics = ofOwn(who, all.recent.topics)
  const minutes = Math.max(1, (now - all.recent.since) / 60_000)
  const ended = totalOf(Object.values(recentTopics), 1)
  const { otherTopics: _others, ...recent } = all.recent
  return {
    ...all,
    counts: { delayed: sum('waiting') - ready, ready, running: sum('running'), dead: sum('dead') },
    topics: own,
    overdue: all.overdue.filter(({ topic }) => mayUseTopic(who, topic)),
    controls: all.controls.filter(({ topic }) => topic === undefined || mayUseTopic(who, topic)),
    recent: { ...recent, ...ended, perMinute: totalOf([ended], minutes), topics: recentTopics },
    ...(nextDueAt === Infinity ? {} : { nextDueAt }),
  }
}

function ofOwn<T>(who: Caller, byTopic: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(byTopic).filter(([topic]) => mayUseTopic(who, topic)))
}

function totalOf(all: readonly EndedTotals[], minutes: number): EndedTotals {
  const sum = (of: keyof EndedTotals): number => all.reduce((total, one) => total + one[of], 0) / minutes
  return { completed: sum('completed'), failed: sum('failed'), dead: sum('dead'), skipped: sum('skipped') }
}

/** Of topics beyond TOPICS_MAX those that are due count as delayed. */
async function countReady(
  store: Awaited<ReturnType<Served['open']>>,
  topics: readonly string[],
  now: number,
): Promise<number> {
  const counts = await Promise.all(
    topics
      .slice(0, TOPICS_MAX)
      .map(async (topic) => (await store.forecast({ edges: [0, now + 1], topic })).counts[0] ?? 0),
  )
  return counts.reduce((total, count) => total + count, 0)
}

export async function partOfForecast(
  who: Caller,
  { queue }: Served,
  options: ForecastOptions,
): Promise<DueForecast> {
  const stats = await queue.stats()
  const topics = Object.keys(ofOwn(who, stats.topics)).filter((topic) => stats.topics[topic]?.waiting !== 0)
  if (topics.length > TOPICS_MAX)
    throw new HttpRefusal('FORBIDDEN', `this token is for ${topics.length} topics; name one of them.`)
  // One that no message can have, where there is none: its bars are empty, and cut as they were asked for.
  const all = await Promise.all(
    (topics.length === 0 ? [who.topicPrefix ?? ''] : topics).map((topic) =>
      queue.forecast({ ...options, topic }),
    ),
  )
  return all.reduce(addForecasts)
}

function addForecasts(one: DueForecast, other: DueForecast): DueForecast {
  const gaps = new Gaps()
  gaps.note(one)
  gaps.note(other)
  return {
    bars: one.bars.map((bar, i) => {
      const { count = 0, scheduled = 0 } = other.bars[i] ?? {}
      const ofSchedules = (bar.scheduled ?? 0) + scheduled
      return { ...bar, count: bar.count + count, ...(ofSchedules === 0 ? {} : { scheduled: ofSchedules }) }
    }),
    before: one.before + other.before,
    after: one.after + other.after,
    isExact: one.isExact && other.isExact,
    ...gaps.shown,
  }
}

/** Those that handle topics of its own, as if they handled no others. */
export function partOfWorkers(who: Caller, workers: readonly FoundWorker[]): FoundWorker[] {
  if (who.topicPrefix === undefined) return [...workers]
  return workers.flatMap(({ pausedTopics, facts, ...worker }) => {
    const topics = facts?.topics.filter((topic) => mayUseTopic(who, topic)) ?? []
    if (facts === undefined || topics.length === 0) return []
    const paused = pausedTopics?.filter((topic) => mayUseTopic(who, topic)) ?? []
    return [
      {
        ...worker,
        facts: { ...facts, topics, topicCount: topics.length },
        ...(paused.length === 0 ? {} : { pausedTopics: paused }),
      },
    ]
  })
}

export function partOfMessages(who: Caller, items: readonly StoredMessage[]): readonly StoredMessage[] {
  return who.topicPrefix === undefined ? items : items.filter(({ topic }) => mayUseTopic(who, topic))
}
