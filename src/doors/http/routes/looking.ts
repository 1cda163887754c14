/** The queue in numbers: now, ahead, and lately. Each question is put to the store once in its time, however many ask. */
import { FIGURES_KEPT_MS, MINUTE_MS } from '../../../core/metrics/figures.ts'
import { parseDuration } from '../../../core/input/duration.ts'
import type { ForecastOptions } from '../../../index.ts'
import { CallError } from '../../shared/failure.ts'
import { PAGES_KEPT_MS, shareAnswer } from '../answers.ts'
import { LATENESS_EDGES_MS } from '../figures.ts'
import { defineRoute, type HttpCall } from '../table/route.ts'
import {
  ahead,
  duration,
  flag,
  list,
  moment,
  number,
  object,
  oneOf,
  optional,
  text,
  whole,
} from '../schema/schema.ts'
import { named } from '../schema/named.ts'
import { partOfForecast, partOfStats, partOfWorkers } from '../access/part.ts'
import { checkTopics } from '../access/topics.ts'
import { CONTROL, ENDED_TOTALS, LATENESS, MISSING, OVERDUE, STATS, WORKER } from './shapes.ts'

const KEPT_MS = 1_000
/** The last step of the past grows, the others stay as they are: the wider it is, the less a second changes it. */
const STEP_SHARE = 240
const FIGURES_KEPT_MAX_MS = 15_000
/** It looks at a lot, and what it finds stays for long. */
const DOCTOR_KEPT_MS = 30_000
const FIGURES_SPAN_MS = 24 * 60 * MINUTE_MS

export const LOOKING_ROUTES = [
  defineRoute({
    method: 'GET',
    path: '/v1/queues/{queue}/stats',
    operation: 'getStats',
    scope: 'read',
    summary: 'counts, topics, what is overdue, what ended lately',
    query: { topics: optional(list(text(), { max: 1_000 })) },
    answers: { 200: STATS, 304: 'nothing' },
    topics: 'checked',
    handle: (call) => {
      const { query, served, who } = call
      const { topics } = query
      const now = nowOf(call)
      return shareAnswer(call, KEPT_MS, async () => ({
        now,
        ...(who.topicPrefix === undefined
          ? await served.queue.stats(topics === undefined ? undefined : { topics })
          : await partOfStats(who, served, { now, topics })),
      }))
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/queues/{queue}/topics/{topic}',
    operation: 'getTopic',
    scope: 'read',
    summary: 'one topic in numbers',
    answers: {
      200: object({
        topic: text(),
        waiting: number(),
        running: number(),
        dead: number(),
        nextDueAt: optional(number()),
        control: optional(CONTROL),
        recent: optional(ENDED_TOTALS),
        overdue: optional(OVERDUE),
        missing: MISSING,
      }),
      304: 'nothing',
    },
    topics: 'checked',
    handle: (call) => {
      const { topic = '' } = call.params
      checkTopics(call.who, [topic])
      return shareAnswer(call, KEPT_MS, async () => {
        const stats = await call.served.queue.stats({ topics: [topic] })
        const control = stats.controls.find((one) => one.topic === topic)
        const recent = stats.recent.topics[topic]
        const [overdue] = stats.overdue
        return {
          topic,
          ...stats.topics[topic],
          ...(control === undefined ? {} : { control }),
          ...(recent === undefined ? {} : { recent }),
          ...(overdue === undefined ? {} : { overdue }),
          ...(stats.missing === undefined ? {} : { missing: stats.missing }),
        }
      })
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/queues/{queue}/forecast',
    operation: 'getForecast',
    scope: 'read',
    summary: 'how many messages come due when',
    query: {
      from: optional(ahead()),
      until: optional(ahead()),
      bars: optional(whole({ min: 1, max: 1_000 })),
      edges: optional(text({ about: '2 to 1,001 moments in epoch milliseconds, with commas between' })),
      topic: optional(text()),
    },
    answers: {
      200: named(
        'Forecast',
        object({
          now: number(),
          bars: list(
            object({ from: number(), until: number(), count: number(), scheduled: optional(number()) }),
          ),
          before: number(),
          after: number(),
          isExact: flag(),
          missing: MISSING,
        }),
      ),
      304: 'nothing',
    },
    topics: 'checked',
    handle: (call) => {
      const { query, served, who } = call
      if (query.topic !== undefined) checkTopics(who, [query.topic])
      const { edges, until, ...asked } = query
      const options = {
        ...asked,
        ...(edges === undefined ? { until: until ?? '24h' } : { edges: parseEdges(edges) }),
        ...(edges !== undefined && until !== undefined ? { until } : {}),
      } as ForecastOptions
      return shareAnswer(call, PAGES_KEPT_MS, async () => ({
        now: nowOf(call),
        ...(who.topicPrefix === undefined || query.topic !== undefined
          ? await served.queue.forecast(options)
          : await partOfForecast(who, served, options)),
      }))
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/queues/{queue}/figures',
    operation: 'getFigures',
    scope: 'read',
    summary: 'what ended when, and how late it had started; the last 48 hours',
    query: {
      from: optional(moment()),
      until: optional(moment()),
      step: optional(duration()),
      topic: optional(text()),
    },
    answers: {
      200: named(
        'Figures',
        object({
          from: number(),
          until: number(),
          stepMs: number(),
          latenessEdgesMs: list(number()),
          rows: list(
            object({
              at: number(),
              completed: number(),
              failed: number(),
              dead: number(),
              skipped: number(),
              lateness: list(number()),
              latenessMs: optional(LATENESS),
            }),
          ),
          missing: MISSING,
        }),
      ),
      304: 'nothing',
    },
    topics: 'checked',
    handle: (call) => {
      const { query, served, who } = call
      if (query.topic !== undefined) checkTopics(who, [query.topic])
      const until = query.until ?? nowOf(call)
      const from = query.from ?? until - FIGURES_SPAN_MS
      const stepMs = parseDuration(query.step ?? '1h', 'step', { min: MINUTE_MS, max: FIGURES_KEPT_MS })
      if (stepMs % MINUTE_MS !== 0) throw new CallError('step is no number of whole minutes.')
      const topic = query.topic === undefined ? {} : { topic: query.topic }
      const prefix = who.topicPrefix === undefined ? {} : { topicPrefix: who.topicPrefix }
      const keptMs = Math.max(KEPT_MS, Math.min(FIGURES_KEPT_MAX_MS, stepMs / STEP_SHARE))
      return shareAnswer(call, keptMs, async () => ({
        from,
        until,
        stepMs,
        latenessEdgesMs: LATENESS_EDGES_MS,
        ...(await served.past.read(
          await served.open(),
          { from, until, stepMs, ...topic, ...prefix },
          nowOf(call),
        )),
      }))
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/queues/{queue}/workers',
    operation: 'listWorkers',
    scope: 'read',
    summary: 'who works on this queue',
    answers: { 200: object({ workers: list(WORKER), missing: MISSING }), 304: 'nothing' },
    topics: 'checked',
    handle: (call) =>
      shareAnswer(call, KEPT_MS, async () => {
        const workers = await call.served.queue.workers()
        return {
          workers: partOfWorkers(call.who, workers),
          ...(workers.missing === undefined ? {} : { missing: workers.missing }),
        }
      }),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/queues/{queue}/doctor',
    operation: 'examineQueue',
    scope: 'read',
    summary: 'what an operator should know, worst first',
    answers: {
      200: object({
        findings: list(
          object({
            level: oneOf('problem', 'warning', 'fine'),
            what: text(),
            remedy: optional(text()),
          }),
        ),
      }),
      304: 'nothing',
    },
    handle: (call) =>
      shareAnswer(call, DOCTOR_KEPT_MS, async () => ({ findings: await call.served.queue.doctor() })),
  }),
]

function nowOf({ server }: HttpCall): number {
  return Math.floor(server.clock.now())
}

function parseEdges(edges: string): readonly number[] {
  return edges.split(',').map(Number)
}
