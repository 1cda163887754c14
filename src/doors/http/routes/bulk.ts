/** Many at once: first a dry run that says how many and which, then the confirmed job. */
import { MINUTE_MS } from '../../../core/metrics/figures.ts'
import { PAGES_KEPT_MS, shareAnswer } from '../answers.ts'
import { BULK, BULK_ACTIONS, BULK_FILTER, checkBulk, fingerprintOf, type AskedBulk } from '../bulk/asked.ts'
import { readDeadGroups } from '../bulk/dead-groups.ts'
import type { Confirmed } from '../bulk/confirmations.ts'
import { countMatches, sampleMatches } from '../bulk/preview.ts'
import type { StoredMessage } from '../../../index.ts'
import type { Served } from '../served.ts'
import { mayRead, mayUseTopic, type Caller } from '../access/caller.ts'
import type { BulkJob } from '../bulk/jobs.ts'
import { pageText } from '../wire/message-json.ts'
import { HttpRefusal } from '../wire/problem.ts'
import { defineRoute, json, type HttpCall, type HttpReply } from '../table/route.ts'
import { flag, list, number, object, oneOf, optional, text, whole } from '../schema/schema.ts'
import { named } from '../schema/named.ts'
import { checkTopics } from '../access/topics.ts'
import { MESSAGE, MISSING } from './shapes.ts'

const CONFIRM_MS = 5 * MINUTE_MS
const ALL = '/v1/queues/{queue}/bulk'

const BULK_JOB = named(
  'BulkJob',
  object({
    id: text(),
    action: oneOf(...BULK_ACTIONS),
    filter: BULK_FILTER,
    who: text(),
    state: oneOf('running', 'done', 'capped', 'stopped', 'failed'),
    confirmed: whole({ min: 0 }),
    isAtLeast: flag(),
    done: whole({ min: 0 }),
    looked: whole({ min: 0 }),
    running: optional(whole({ min: 0 })),
    startedAt: number(),
    endedAt: optional(number()),
    error: optional(text()),
  }),
)

const BULK_PREVIEW = named(
  'BulkPreview',
  object({
    matches: whole({ min: 0 }),
    isAtLeast: flag(),
    sample: list(MESSAGE, { max: 5 }),
    confirm: text(),
    expiresAt: number(),
  }),
)

export const BULK_ROUTES = [
  defineRoute({
    method: 'POST',
    path: ALL,
    operation: 'changeMany',
    scope: 'operate',
    summary: 'change all that fit a filter: a dry run, then the same call with its confirmation',
    body: BULK,
    answers: { 200: BULK_PREVIEW, 202: BULK_JOB },
    answerHeaders: ['Location'],
    refusals: ['CONFIRM_INVALID', 'JOBS_TOO_MANY'],
    isAudited: true,
    topics: 'checked',
    handle: async (call) => {
      const { body, who } = call
      checkBulk(body, call.server.clock.now())
      if (body.filter.text !== undefined && !mayRead(who))
        throw new HttpRefusal('FORBIDDEN', 'text asks about payloads, which needs the scope "read".')
      checkTopics(who, [body.filter.ids === undefined ? body.filter.topic : undefined])
      return body.dryRun === true ? preview(call, body) : begin(call, body)
    },
  }),
  defineRoute({
    method: 'GET',
    path: ALL,
    operation: 'listBulkJobs',
    scope: 'read',
    summary: 'the last bulk jobs of this server, newest first',
    answers: { 200: object({ items: list(BULK_JOB) }) },
    topics: 'checked',
    handle: ({ served, who }) => json(200, { items: served.jobs.all.filter((job) => isTheirs(who, job)) }),
  }),
  defineRoute({
    method: 'GET',
    path: `${ALL}/{id}`,
    operation: 'getBulkJob',
    scope: 'read',
    summary: 'how far a bulk job is',
    answers: { 200: BULK_JOB },
    refusals: ['JOB_MISSING'],
    topics: 'checked',
    handle: (call) => json(200, jobOf(call)),
  }),
  defineRoute({
    method: 'DELETE',
    path: `${ALL}/{id}`,
    operation: 'stopBulkJob',
    scope: 'operate',
    summary: 'stop a bulk job after the step that is under way; what is done stays done',
    answers: { 200: BULK_JOB },
    refusals: ['JOB_MISSING'],
    isAudited: true,
    topics: 'checked',
    handle: (call) => {
      const { served, server, who } = call
      const job = served.jobs.stop(jobOf(call).id)
      server.audit.tell(who, {
        action: 'stop bulk',
        queue: served.name,
        topic: job.filter.topic,
        about: job.id,
        result: 'stopping',
      })
      return json(200, job)
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/queues/{queue}/dead',
    operation: 'listDeadGroups',
    scope: 'read',
    summary: 'dead messages by topic, reason and error; at most 20,000 are looked at, the cursor goes on',
    query: { topic: optional(text()), cursor: optional(text()) },
    answers: {
      200: object({
        groups: list(
          object({
            key: text(),
            topic: text(),
            reason: text(),
            error: text(),
            count: whole({ min: 1 }),
            firstDiedAt: number(),
            lastDiedAt: number(),
            sample: list(text(), { max: 5 }),
          }),
        ),
        looked: whole({ min: 0 }),
        isComplete: flag(),
        cursor: optional(text()),
        missing: MISSING,
      }),
      304: 'nothing',
    },
    topics: 'checked',
    handle: (call) => {
      const { query, served, server, who } = call
      if (query.topic !== undefined) checkTopics(who, [query.topic])
      const isOwn = (topic: string): boolean => mayUseTopic(who, topic)
      return shareAnswer(call, PAGES_KEPT_MS, async () =>
        readDeadGroups(await served.open(), { ...query, isOwn, now: server.clock.now() }),
      )
    },
  }),
]

/** Of a token with a prefix: those about a topic of its own. */
function isTheirs(who: Caller, { filter: { topic } }: BulkJob): boolean {
  return who.topicPrefix === undefined || (topic !== undefined && mayUseTopic(who, topic))
}

function jobOf({ params, served, who }: HttpCall): BulkJob {
  const job = served.jobs.get(params.id ?? '')
  if (isTheirs(who, job)) return job
  throw new HttpRefusal('JOB_MISSING', 'there is no such job on this server.')
}

async function preview(call: HttpCall, asked: AskedBulk): Promise<HttpReply> {
  const { served, server, who } = call
  const [count, sample] = await Promise.all([
    countMatches(server, served, asked),
    sampleMatches(server, served, asked),
  ])
  const expiresAt = Math.floor(server.clock.now()) + CONFIRM_MS
  const confirm = server.confirmations.make(who, aboutOf(served, asked), { ...count, expiresAt })
  const rest = JSON.stringify({ confirm, expiresAt }).slice(1)
  const { matches, isAtLeast } = count
  const about = JSON.stringify({ matches, isAtLeast }).slice(0, -1)
  const items = mayRead(who) ? pageText(sample, 'preview') : pageText(sample.map(withoutContents), 'none')
  return { status: 200, text: `${about},"sample":${items},${rest}` }
}

/** What it is, without what was said in it, about it, or by its handler. */
function withoutContents({ successor: _successor, result: _result, ...about }: StoredMessage): StoredMessage {
  return { ...about, error: '' }
}

function begin(call: HttpCall, asked: AskedBulk): HttpReply {
  const { served, server, who } = call
  const confirmed = readConfirm(call, asked)
  const job = served.jobs.begin(server, who, asked, confirmed)
  server.confirmations.use(asked.confirm ?? '', confirmed)
  const path = `${server.basePath}${served.path}/bulk/${job.id}`
  return json(202, job, { location: path })
}

function aboutOf({ name }: Served, asked: AskedBulk): string {
  return `${name} ${fingerprintOf(asked)}`
}

function readConfirm({ served, server, who }: HttpCall, asked: AskedBulk): Confirmed {
  const confirmed = server.confirmations.read(who, aboutOf(served, asked), asked.confirm ?? '')
  if (confirmed !== undefined) return confirmed
  throw new HttpRefusal(
    'CONFIRM_INVALID',
    'this needs the confirmation of a dry run of the same call by the same caller, not used yet and not older than five minutes: send it with "dryRun": true first.',
  )
}
