/** What recurs: schedules by name. */
import type { FoundSchedule, ScheduleSpec } from '../../../index.ts'
import { segmentOf } from '../../../core/encoding/segment.ts'
import { MESSAGE_STATES } from '../../../core/message.ts'
import { occurrenceId, type StoredSchedule } from '../../../core/recurrence/spec.ts'
import { fireNow, lastCome, readStored, specOf } from '../../../queue/schedules/stored-plan.ts'
import { mayUseTopic } from '../access/caller.ts'
import { checkTopics } from '../access/topics.ts'
import { HttpRefusal } from '../wire/problem.ts'
import { defineRoute, json, type HttpCall, type HttpReply } from '../table/route.ts'
import {
  anything,
  duration,
  either,
  list,
  moment,
  number,
  object,
  oneOf,
  optional,
  text,
  whole,
  type Checked,
} from '../schema/schema.ts'
import { WINDOW } from '../schema/local.ts'
import { named } from '../schema/named.ts'
import { MESSAGE_FIELDS, MISSING, resultOf } from './shapes.ts'

const ALL = '/v1/queues/{queue}/schedules'
const ONE = `${ALL}/{name}`

const { key, priority, spread, ttl, ifExpired, remember, retry, timeout, within } = MESSAGE_FIELDS

const SPEC = named(
  'ScheduleSpec',
  object({
    topic: text(),
    payload: optional(anything()),
    cron: optional(text()),
    zone: optional(text()),
    days: optional(text()),
    except: optional(either(text(), list(text(), { max: 400 }))),
    every: optional(duration()),
    start: optional(moment()),
    end: optional(moment()),
    times: optional(whole({ min: 1 })),
    catchUp: optional(
      either(oneOf('none', 'one'), object({ all: duration(), max: optional(whole({ min: 1 })) })),
    ),
    overlap: optional(oneOf('allow', 'skip')),
    key,
    priority,
    spread,
    ttl,
    ifExpired,
    remember,
    retry,
    timeout,
    within,
  }),
)

const SCHEDULE_SHOWN = {
  name: text(),
  topic: text(),
  payload: optional(anything()),
  state: oneOf('active', 'paused', 'ended'),
  cron: optional(text()),
  zone: optional(text()),
  days: optional(text()),
  except: optional(list(text())),
  everyMs: optional(number()),
  startAt: optional(number()),
  endAt: optional(number()),
  times: optional(number()),
  catchUp: either(oneOf('none', 'one'), object({ allMs: number(), max: number() })),
  overlap: oneOf('allow', 'skip'),
  spreadMs: number(),
  ttlMs: optional(number()),
  within: optional(list(WINDOW)),
  retry,
  priority: oneOf('high', 'normal', 'low'),
  key: optional(text()),
  lastAt: optional(number()),
  nextAt: optional(number()),
  fired: number(),
  skipped: number(),
  caughtUp: number(),
}

const LAST = object({
  at: number(),
  id: text(),
  state: oneOf(...MESSAGE_STATES, 'completed', 'gone'),
  error: optional(text()),
})
type LastOccurrence = Checked<typeof LAST>

const SCHEDULE = named('Schedule', object(SCHEDULE_SHOWN))
const NEXT_MAX = 1_000
const NEXT_DEFAULT = 10

export const SCHEDULE_ROUTES = [
  defineRoute({
    method: 'GET',
    path: ALL,
    operation: 'listSchedules',
    scope: 'read',
    summary: 'one page of schedules',
    query: { limit: optional(whole({ min: 1, max: 1_000 })), cursor: optional(text()) },
    answers: { 200: object({ items: list(SCHEDULE), cursor: optional(text()), missing: MISSING }) },
    topics: 'checked',
    handle: async ({ query, served, who }) => {
      const page = await served.queue.schedules.list(query)
      return json(200, { ...page, items: page.items.filter(({ topic }) => mayUseTopic(who, topic)) })
    },
  }),
  defineRoute({
    method: 'GET',
    path: ONE,
    operation: 'getSchedule',
    scope: 'read',
    summary: 'a schedule and its next occurrences',
    query: { next: optional(whole({ min: 1, max: NEXT_MAX })) },
    answers: { 200: object({ ...SCHEDULE_SHOWN, next: list(number()), spec: SPEC, last: optional(LAST) }) },
    refusals: ['SCHEDULE_MISSING'],
    topics: 'checked',
    handle: async (call) => {
      const { schedules } = call.served.queue
      const name = nameOf(call)
      const stored = await storedOf(call)
      const found: FoundSchedule | undefined = await schedules.get(name)
      if (found === undefined) throw missing(name)
      return json(200, {
        ...found,
        next: await schedules.nextOccurrences(name, call.query.next ?? NEXT_DEFAULT),
        spec: specOf(stored.plan),
        ...(await lastOf(call, stored)),
      })
    },
  }),
  defineRoute({
    method: 'PUT',
    path: ONE,
    operation: 'setSchedule',
    scope: 'operate',
    summary: 'make a schedule, or change it; the same again has no effect',
    body: SPEC,
    answers: { 200: resultOf('changed', 'unchanged'), 201: resultOf('created') },
    isAudited: true,
    topics: 'checked',
    handle: async (call) => {
      checkTopics(call.who, [call.body.topic])
      await checkSchedule(call)
      const result = await call.served.queue.schedules.set(nameOf(call), call.body as ScheduleSpec)
      return told(call, 'set schedule', result, result === 'created' ? 201 : 200)
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: ONE,
    operation: 'removeSchedule',
    scope: 'operate',
    summary: 'end a schedule; occurrences that wait are withdrawn',
    answers: { 200: resultOf('removed') },
    refusals: ['SCHEDULE_MISSING'],
    isAudited: true,
    topics: 'checked',
    handle: async (call) => {
      await checkSchedule(call)
      return told(call, 'remove schedule', await call.served.queue.schedules.remove(nameOf(call)))
    },
  }),
  defineRoute({
    method: 'PUT',
    path: `${ONE}/pause`,
    operation: 'pauseSchedule',
    scope: 'operate',
    summary: 'skip the occurrences of a schedule until it is resumed',
    body: object({}),
    answers: { 200: resultOf('paused') },
    refusals: ['SCHEDULE_MISSING'],
    isAudited: true,
    topics: 'checked',
    handle: async (call) => {
      await checkSchedule(call)
      return told(call, 'pause schedule', await call.served.queue.schedules.pause(nameOf(call)))
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: `${ONE}/pause`,
    operation: 'resumeSchedule',
    scope: 'operate',
    summary: 'let a schedule fire again',
    answers: { 200: resultOf('resumed') },
    refusals: ['SCHEDULE_MISSING'],
    isAudited: true,
    topics: 'checked',
    handle: async (call) => {
      await checkSchedule(call)
      return told(call, 'resume schedule', await call.served.queue.schedules.resume(nameOf(call)))
    },
  }),
  defineRoute({
    method: 'POST',
    path: `${ONE}/fire`,
    operation: 'fireSchedule',
    scope: 'operate',
    summary:
      'one message as the schedule makes them, due now; it is none of its occurrences, and is not counted',
    body: object({}),
    answers: { 201: object({ id: text() }) },
    answerHeaders: ['Location'],
    refusals: ['SCHEDULE_MISSING'],
    isAudited: true,
    topics: 'checked',
    handle: async (call) => {
      const { served, server } = call
      const fired = await fireNow(served.queue, (await storedOf(call)).plan)
      told(call, 'fire schedule', fired.id)
      const location = `${server.basePath}${served.path}/messages/${segmentOf(fired.id)}`
      return json(201, fired, { location })
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/queues/{queue}/schedules:next',
    operation: 'previewSchedule',
    scope: 'read',
    summary: 'when a schedule would fire, whether it exists or not',
    body: object({ spec: SPEC, count: optional(whole({ min: 1, max: NEXT_MAX })) }),
    answers: { 200: object({ next: list(number()) }) },
    topics: 'checked',
    handle: async ({ body, served }) => {
      const spec = body.spec as ScheduleSpec
      return json(200, {
        next: await served.queue.schedules.nextOccurrences(spec, body.count ?? NEXT_DEFAULT),
      })
    },
  }),
]

function nameOf({ params }: HttpCall): string {
  return params.name ?? ''
}

/** What it was told; refused where its topic is none of the caller's. */
async function storedOf({ params, served, who }: HttpCall): Promise<StoredSchedule> {
  const { name = '' } = params
  const stored = await readStored(await served.open(), name)
  if (stored === undefined) throw missing(name)
  checkTopics(who, [stored.plan.topic])
  return stored
}

/** Before a change: one that is there must be the caller's. */
async function checkSchedule({ params, served, who }: HttpCall): Promise<void> {
  if (who.topicPrefix === undefined) return
  const stored = await readStored(await served.open(), params.name ?? '')
  if (stored !== undefined) checkTopics(who, [stored.plan.topic])
}

/** What became of the occurrence that came last. */
async function lastOf(
  { params, served, server }: HttpCall,
  stored: StoredSchedule,
): Promise<{ readonly last?: LastOccurrence }> {
  const at = lastCome(stored, server.clock.now())
  if (at === undefined) return {}
  const id = occurrenceId(params.name ?? '', at)
  const [found] = (await (await served.open()).inspect({ ids: [id] })).items
  const error = found === undefined || found.error === '' ? {} : { error: found.error }
  return { last: { at, id, state: found?.state ?? 'gone', ...error } }
}

function missing(name: string): HttpRefusal {
  return new HttpRefusal('SCHEDULE_MISSING', `there is no schedule ${JSON.stringify(name)}.`)
}

function told(call: HttpCall, action: string, result: string, status = 200): HttpReply {
  const { served, server, who } = call
  const name = nameOf(call)
  server.audit.tell(who, { action, queue: served.name, topic: undefined, about: name, result })
  if (result === 'missing') throw missing(name)
  return json(status, { result })
}
