/**
 * Figures for a monitoring system. Those of the queue are asked of its store; while that is away they are left out, and
 * those of this process are told all the same: a monitor that hears nothing knows less than one that hears half.
 */
import { endsWithin, type Clock } from '../../clock.ts'
import { isUnavailable } from '../../core/errors.ts'
import { TOPIC_LABELS_MAX } from '../../core/metrics/catalogue.ts'
import { MetricFamilies, type MetricFamily } from '../../core/metrics/families.ts'
import { addCounts, MINUTE_MS, NOTHING_ENDED, OTHER_TOPICS } from '../../core/metrics/figures.ts'
import { Largest } from '../../core/metrics/largest.ts'
import { percentilesOf } from '../../core/metrics/lateness.ts'
import { METRICS_TYPE, metricsText } from '../../core/metrics/text.ts'
import { VERSION } from '../../core/version.ts'
import type { QueueMeter } from '../../runtime/telling/meter.ts'
import type { Runtime } from '../../runtime/worker.ts'
import type { FiguresPage, MinuteFigures, Store } from '../../store/contract/store.ts'
import type { Settings } from '../settings.ts'
import { readForecast, type DueForecast } from './forecast.ts'
import { OVERDUE_AFTER_MS } from './overdue.ts'
import { readStats, type Stats } from './stats.ts'
import { mayHandle, readWorkers, type FoundWorker } from './workers.ts'

export type Metrics = {
  readonly families: readonly MetricFamily[]
  /** The same in the text format of Prometheus. */
  readonly text: string
  /** To be sent with `text`. */
  readonly contentType: string
}

/** What is told about one queue and this process. */
export type MetricsParts = {
  readonly settings: Pick<Settings, 'queue' | 'clock' | 'concurrency'>
  readonly meter: QueueMeter
  /** Epoch milliseconds. */
  readonly madeAt: number
  /** Undefined before the start. */
  readonly load: () => Runtime['load'] | undefined
  readonly open: () => Promise<Store>
}

/** A collector gives up after ten seconds by default. */
const ANSWER_MS_MAX = 3_000

export type MetricsAsked = {
  /** Adds what a door knows besides. */
  readonly addMore?: (families: MetricFamilies) => void
  /** How long the caller has been waiting. */
  readonly spentMs?: number
}

const WITHIN = [
  ['1m', MINUTE_MS],
  ['5m', 5 * MINUTE_MS],
  ['1h', 60 * MINUTE_MS],
] as const

const QUANTILES = [
  ['0.5', 'p50'],
  ['0.99', 'p99'],
  ['1', 'max'],
] as const

/** Of several queues at once. */
export async function readMetrics(
  queues: readonly MetricsParts[],
  { addMore, spentMs = 0 }: MetricsAsked = {},
): Promise<Metrics> {
  const withinMs = Math.max(0, ANSWER_MS_MAX - spentMs)
  const found = await Promise.all(
    queues.map(({ settings: { clock }, open }) =>
      askStore(clock, withinMs, async () => look(await open(), clock.now())),
    ),
  )
  const families = new MetricFamilies()
  families.add('punctual_build_info', { version: VERSION }, 1)
  for (const [i, parts] of queues.entries()) {
    addQueue(families, parts.settings.queue, found[i])
    addProcess(families, parts)
  }
  addMore?.(families)
  return { families: families.all, text: metricsText(families.all), contentType: METRICS_TYPE }
}

/** Undefined: it is away, or takes too long. */
async function askStore<T>(clock: Clock, withinMs: number, ask: () => Promise<T>): Promise<T | undefined> {
  const asking = ask()
  try {
    return (await endsWithin(clock, withinMs, asking)) ? await asking : undefined
  } catch (error) {
    if (isUnavailable(error)) return undefined
    throw error
  }
}

type FoundQueue = {
  readonly now: number
  readonly stats: Stats
  readonly workers: readonly FoundWorker[]
  readonly forecast: DueForecast
  /** Of the last whole minute. */
  readonly minute: readonly MinuteFigures[]
}

async function look(store: Store, now: number): Promise<FoundQueue> {
  const at = Math.floor(now)
  const edges = [at - OVERDUE_AFTER_MS, at, ...WITHIN.map(([, ms]) => at + ms)]
  const [stats, workers, forecast, minute] = await Promise.all([
    readStats(store, { now, topics: undefined, latenessMs: undefined }),
    readWorkers(store),
    readForecast(store, { edges }, now),
    readMinute(store, (Math.floor(now / MINUTE_MS) - 1) * MINUTE_MS),
  ])
  return { now, stats, workers, forecast, minute }
}

async function readMinute(store: Store, from: number): Promise<readonly MinuteFigures[]> {
  const rows: MinuteFigures[] = []
  let cursor: string | undefined
  do {
    const asked = { from, until: from + MINUTE_MS, ...(cursor === undefined ? {} : { cursor }) }
    const page: FiguresPage = await store.figures(asked)
    rows.push(...page.rows)
    cursor = page.cursor
  } while (cursor !== undefined)
  return rows
}

function addQueue(families: MetricFamilies, queue: string, found: FoundQueue | undefined): void {
  families.add('punctual_queue_up', { queue }, found === undefined ? 0 : 1)
  if (found === undefined) return
  const { now, stats, workers, forecast } = found
  const { counts, overdue, controls, nextDueAt, missing = [] } = stats
  for (const [state, count] of Object.entries(counts))
    families.add('punctual_queue_messages', { queue, state }, count)
  addTopics(families, queue, stats)
  if (nextDueAt !== undefined)
    families.add('punctual_queue_next_due_timestamp_seconds', { queue }, nextDueAt / 1_000)
  addForecast(families, queue, forecast)
  const overdueMs = Math.max(0, ...overdue.map(({ oldestDueAt }) => now - oldestDueAt))
  families.add('punctual_queue_overdue_topics', { queue }, overdue.length)
  families.add('punctual_queue_overdue_seconds', { queue }, overdueMs / 1_000)
  addMinute(families, queue, found.minute)
  for (const state of ['alive', 'silent', 'gone'] as const) {
    const count = workers.filter((worker) => worker.state === state && mayHandle(worker)).length
    families.add('punctual_queue_workers', { queue, state }, count)
  }
  const isPaused = controls.some(({ topic, paused }) => topic === undefined && paused !== undefined)
  const ofTopics = controls.filter(({ topic }) => topic !== undefined)
  const paused = ofTopics.filter((control) => control.paused !== undefined)
  const limited = ofTopics.filter(({ limit, over }) => limit !== undefined || over !== undefined)
  families.add('punctual_queue_paused', { queue }, isPaused ? 1 : 0)
  families.add('punctual_queue_paused_topics', { queue }, paused.length)
  families.add('punctual_queue_limited_topics', { queue }, limited.length)
  families.add('punctual_queue_missing_partitions', { queue }, missing.length)
}

/** What no label shows is in the totals: the rest is what is left of them. */
function addTopics(families: MetricFamilies, queue: string, { counts, topics }: Stats): void {
  const shown = Object.entries(topics).slice(0, TOPIC_LABELS_MAX)
  const rest = { waiting: counts.delayed + counts.ready, running: counts.running, dead: counts.dead }
  for (const [topic, its] of shown) {
    for (const state of ['waiting', 'running', 'dead'] as const) {
      families.add('punctual_queue_topic_messages', { queue, topic, state }, its[state])
      rest[state] -= its[state]
    }
  }
  if (Object.keys(topics).length <= TOPIC_LABELS_MAX) return
  for (const [state, count] of Object.entries(rest))
    // Counted a moment apart, they may differ by what moved meanwhile.
    families.add('punctual_queue_topic_messages', { queue, state }, Math.max(0, count))
}

function addForecast(families: MetricFamilies, queue: string, { before, bars }: DueForecast): void {
  const [, ...ahead] = bars // The first holds what is due, and not overdue yet.
  families.add('punctual_queue_overdue_messages', { queue }, before)
  let due = 0
  for (const [i, [within]] of WITHIN.entries()) {
    due += (ahead[i]?.count ?? 0) + (ahead[i]?.scheduled ?? 0)
    families.add('punctual_queue_due_messages', { queue, within }, due)
  }
}

function addMinute(families: MetricFamilies, queue: string, rows: readonly MinuteFigures[]): void {
  const byTopic = new Map<string, typeof NOTHING_ENDED>()
  for (const row of rows) byTopic.set(row.topic, addCounts(byTopic.get(row.topic) ?? NOTHING_ENDED, row))
  const most = new Largest<readonly [string, number]>(TOPIC_LABELS_MAX, ([, a], [, b]) => b - a)
  for (const [topic, { completed, failed, dead, skipped }] of byTopic)
    if (topic !== OTHER_TOPICS) most.add([topic, completed + failed + dead + skipped])
  const shown = new Set(most.sorted().map(([topic]) => topic))
  const labelled = new Map<string, typeof NOTHING_ENDED>([[OTHER_TOPICS, NOTHING_ENDED]])
  for (const [topic, ended] of byTopic) {
    const label = shown.has(topic) ? topic : OTHER_TOPICS
    labelled.set(label, addCounts(labelled.get(label) ?? NOTHING_ENDED, ended))
  }
  for (const [topic, ended] of labelled)
    for (const outcome of ['completed', 'failed', 'dead', 'skipped'] as const)
      families.add('punctual_queue_minute_ended_messages', { queue, topic, outcome }, ended[outcome])
  const lateness = percentilesOf(rows.reduce(addCounts, NOTHING_ENDED).lateness)
  if (lateness === undefined) return
  for (const [quantile, field] of QUANTILES)
    families.add('punctual_queue_minute_lateness_seconds', { queue, quantile }, lateness[field] / 1_000)
}

function addProcess(families: MetricFamilies, { settings, meter, madeAt, load }: MetricsParts): void {
  const { queue, concurrency } = settings
  families.add('punctual_process_start_time_seconds', { queue }, madeAt / 1_000)
  for (const [topic, { produced, ended, lateness, duration }] of meter.topics) {
    const about = { queue, topic }
    families.add('punctual_process_produced_messages_total', about, produced)
    for (const [outcome, count] of Object.entries(ended))
      families.add('punctual_process_ended_messages_total', { ...about, outcome }, count)
    families.addHistogram('punctual_process_start_lateness_seconds', about, lateness)
    families.addHistogram('punctual_process_handler_duration_seconds', about, duration)
  }
  for (const [event, count] of Object.entries(meter.events))
    families.add('punctual_process_events_total', { queue, event }, count)
  const { running, leased } = load() ?? { running: 0, leased: 0 }
  families.add('punctual_process_running_handlers', { queue }, running)
  families.add('punctual_process_handler_slots', { queue }, concurrency)
  families.add('punctual_process_leased_messages', { queue }, leased)
  for (const [verb, calls] of meter.storeCalls)
    families.addHistogram('punctual_process_store_call_duration_seconds', { queue, verb }, calls)
  for (const [verb, codes] of meter.storeErrors)
    for (const [code, count] of codes)
      families.add('punctual_process_store_errors_total', { queue, verb, code }, count)
}
