/** Workers in any language: lease, extend, settle. */
import { sleep } from '../../../clock.ts'
import { parseDuration } from '../../../core/input/duration.ts'
import type { ExtendResult } from '../../../index.ts'
import type { RemoteAnswer, RemoteTask } from '../../../queue/remote.ts'
import { CallError } from '../../shared/failure.ts'
import { tokenGone } from '../access/access.ts'
import { mayUseTopic } from '../access/caller.ts'
import type { LeaseAsk } from '../leases/desk.ts'
import { endingOf, SETTLED_LEASE, type SettledLease } from '../leases/endings.ts'
import { makeHandle, readHandle } from '../leases/handles.ts'
import { WORKER_CONTROLS, type WorkerControl } from '../leases/remote-workers.ts'
import { HttpRefusal } from '../wire/problem.ts'
import { defineRoute, json, NO_CONTENT, type HttpCall, type HttpReply } from '../table/route.ts'
import {
  anything,
  duration,
  either,
  list,
  number,
  object,
  oneOf,
  optional,
  text,
  whole,
  type Checked,
} from '../schema/schema.ts'
import { named } from '../schema/named.ts'
import { checkTopics } from '../access/topics.ts'

const LEASE_MAX = 100
const WAIT_MS_MAX = 60_000
const LEASE_MS = { min: 1_000, max: 3_600_000 }
const AT_ONCE_MAX = 1_000

const LEASE_ASK = named(
  'LeaseAsk',
  object({
    worker: optional(text({ max: 100, about: 'a name for this worker, for people' })),
    topics: list(either(text(), object({ topic: text(), limit: whole({ min: 1, max: LEASE_MAX }) })), {
      max: 100,
    }),
    limit: optional(whole({ min: 1, max: LEASE_MAX })),
    lease: optional(duration()),
    wait: optional(duration()),
  }),
)
type LeaseBody = Checked<typeof LEASE_ASK>

const CONTROL_WORD = oneOf(...WORKER_CONTROLS)

const LEASE_SHOWN = named(
  'Lease',
  object({
    lease: text({ about: 'the handle: give it back to extend and to settle' }),
    id: text(),
    topic: text(),
    dueAt: number(),
    attempt: whole({ min: 1 }),
    latenessMs: number(),
    leaseEndsInMs: number(),
    traceparent: optional(text({ about: 'where it was produced: link to it, do not continue it' })),
    tracestate: optional(text()),
    payload: optional(anything()),
  }),
)

const REMOTE_WORKER = object({ name: text(), control: CONTROL_WORD, lastSeenAt: number() })

export const LEASE_ROUTES = [
  defineRoute({
    method: 'POST',
    path: '/v1/queues/{queue}/leases',
    operation: 'leaseMessages',
    scope: 'work',
    summary: 'wait for messages that are due, and lease them; 204 when none came in time',
    body: LEASE_ASK,
    answers: { 200: object({ leases: list(LEASE_SHOWN), control: CONTROL_WORD }), 204: 'nothing' },
    refusals: ['PARKED_TOO_MANY'],
    topics: 'checked',
    handle: lease,
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/queues/{queue}/leases:extend',
    operation: 'extendLeases',
    scope: 'work',
    summary: 'more time for leases; "cancelling" and "lost" say to stop working on it',
    body: object({
      worker: optional(text({ max: 100 })),
      leases: list(text(), { max: AT_ONCE_MAX }),
      by: optional(duration()),
    }),
    answers: {
      200: object({
        results: list(oneOf('extended', 'cancelling', 'lost', 'invalid')),
        control: CONTROL_WORD,
      }),
    },
    topics: 'checked',
    handle: async (call) => {
      const byMs = parseDuration(call.body.by ?? '30s', 'by', LEASE_MS)
      const results = await Promise.all(call.body.leases.map((handle) => extend(call, handle, byMs)))
      return json(200, { results, control: controlOf(call, call.body.worker) })
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/queues/{queue}/leases:settle',
    operation: 'settleLeases',
    scope: 'work',
    summary: 'how attempts ended; each is answered for itself, and "lost" is an answer, not an error',
    body: object({
      worker: optional(text({ max: 100 })),
      settlements: list(SETTLED_LEASE, { max: AT_ONCE_MAX }),
    }),
    answers: {
      200: object({
        results: list(oneOf('settled', 'cancelled', 'lost', 'unknown', 'invalid')),
        control: CONTROL_WORD,
      }),
    },
    topics: 'checked',
    handle: async (call) => {
      const { settlements, worker } = call.body
      const endings = settlements.map((told) => ({ told, ending: endingOf(told) }))
      const results = await Promise.all(endings.map(({ told, ending }) => settle(call, told, ending)))
      return json(200, { results, control: controlOf(call, worker) })
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/queues/{queue}/remote-workers',
    operation: 'listRemoteWorkers',
    scope: 'read',
    summary: 'workers that lease over HTTP from this server, last seen first',
    answers: { 200: object({ items: list(REMOTE_WORKER) }) },
    handle: ({ served }) => json(200, { items: served.remoteWorkers.all }),
  }),
  defineRoute({
    method: 'PUT',
    path: '/v1/queues/{queue}/remote-workers/{name}/control',
    operation: 'controlRemoteWorker',
    scope: 'operate',
    summary: 'tell a worker to take no more (quiet), to end (stop), or to go on',
    body: object({ control: CONTROL_WORD }),
    answers: { 200: REMOTE_WORKER },
    isAudited: true,
    handle: ({ body, params, served, server, who }) => {
      const name = params.name ?? ''
      const worker = served.remoteWorkers.tell(name, body.control)
      server.audit.tell(who, {
        action: 'worker',
        queue: served.name,
        topic: undefined,
        about: name,
        result: body.control,
      })
      return json(200, worker)
    },
  }),
]

async function lease(call: HttpCall<unknown, LeaseBody>): Promise<HttpReply> {
  const { body, request, served, server, who } = call
  const limit = body.limit ?? 1
  const topics = topicsOf(body, limit)
  checkTopics(who, [...topics.keys()])
  const waitMs = parseDuration(body.wait ?? '20s', 'wait', { min: 0, max: WAIT_MS_MAX })
  const leaseMs = parseDuration(body.lease ?? '30s', 'lease', LEASE_MS)
  const giveBackPlace = server.parked.take(who.name)
  if (giveBackPlace === undefined)
    throw new HttpRefusal(
      'PARKED_TOO_MANY',
      `${server.parked.taken} calls wait already; ask for more at once.`,
    )
  const token = server.access.openCall(request, who)
  const stopLooking: (() => void)[] = []
  const whenGone = (tell: () => void): void => {
    request.whenGone(tell)
    stopLooking.push(token.whenOver(tell))
  }
  try {
    const control = controlOf(call, body.worker)
    if (control === 'quiet') await refrain(call, waitMs, whenGone)
    const tasks =
      control === 'go' ? await served.desk.lease({ topics, limit, leaseMs, waitMs, whenGone }) : []
    if (!token.isOver()) return leaseReply(call, tasks, leaseMs)
    served.desk.giveBack(tasks)
    throw tokenGone()
  } finally {
    for (const stop of stopLooking) stop()
    giveBackPlace()
  }
}

function topicsOf({ topics }: LeaseBody, limit: number): ReadonlyMap<string, number> {
  if (topics.length === 0) throw new CallError('topics is empty; name those that this worker handles.')
  return new Map(topics.map((one) => (typeof one === 'string' ? [one, limit] : [one.topic, one.limit])))
}

/** A worker that is told to be quiet is told so after its wait: it would ask again at once. */
async function refrain({ server }: HttpCall, waitMs: number, whenGone: LeaseAsk['whenGone']): Promise<void> {
  const gone = new AbortController()
  whenGone(() => gone.abort())
  await sleep(server.clock, waitMs, AbortSignal.any([gone.signal, server.stopping]))
}

function leaseReply(call: HttpCall, tasks: readonly RemoteTask[], leaseMs: number): HttpReply {
  const { served, server, body } = call
  const control = controlOf(call, (body as LeaseBody).worker)
  if (tasks.length === 0) return control === 'go' ? NO_CONTENT : json(200, { leases: [], control })
  const leases = tasks.map((task) => leaseText(call, task, leaseMs))
  return {
    status: 200,
    text: `{"leases":[${leases.join(',')}],"control":"${control}"}`,
    onSent: (isSent) => {
      if (isSent) return
      served.desk.giveBack(tasks)
      server.logger.info?.(`${tasks.length} leased messages given back: the client had gone`)
    },
  }
}

function leaseText({ server, served }: HttpCall, task: RemoteTask, leaseMs: number): string {
  const { lease: held, latenessMs } = task
  const { id, topic, dueAt, attempt, body } = held
  const { trace } = task.run.policy
  const about = {
    lease: makeHandle(server.signer, served.name, held),
    id,
    topic,
    dueAt,
    attempt,
    latenessMs: Math.round(latenessMs * 1_000) / 1_000,
    leaseEndsInMs: leaseMs,
    ...(trace === undefined ? {} : { traceparent: trace.parent }),
    ...(trace?.state === undefined ? {} : { tracestate: trace.state }),
  }
  return body === '' ? JSON.stringify(about) : `${JSON.stringify(about).slice(0, -1)},"payload":${body}}`
}

async function extend(call: HttpCall, handle: string, byMs: number): Promise<ExtendResult | 'invalid'> {
  const held = handleOf(call, handle)
  if (held === undefined) return 'invalid'
  const work = await call.served.desk.begin()
  const task = work.find(held)
  if (task === undefined) return work.extendElsewhere(held, byMs)
  const { standing } = task
  if (standing !== 'lost') work.setDeadline(task, byMs)
  return standing
}

async function settle(
  call: HttpCall,
  { lease: handle }: SettledLease,
  ending: ReturnType<typeof endingOf>,
): Promise<RemoteAnswer | 'invalid'> {
  const held = handleOf(call, handle)
  if (held === undefined) return 'invalid'
  const work = await call.served.desk.begin()
  const task = work.find(held)
  return task === undefined ? work.settleElsewhere(held, ending) : task.end(ending)
}

function handleOf({ server, served, who }: HttpCall, handle: string): ReturnType<typeof readHandle> {
  const held = readHandle(server.signer, served.name, handle)
  return held !== undefined && mayUseTopic(who, held.topic) ? held : undefined
}

function controlOf({ served }: HttpCall, worker: string | undefined): WorkerControl {
  return worker === undefined ? 'go' : served.remoteWorkers.seen(worker)
}
