/** Looking at messages, and changing one of them. */
import { parseList } from '../../../core/input/questions.ts'
import { checkId } from '../../../core/input/names.ts'
import { DUE_ORDERS, listByDue } from '../../../queue/looking/by-due.ts'
import { listStored } from '../../../queue/looking/inspection.ts'
import { detailText, pageText, PAYLOAD_MODES } from '../wire/message-json.ts'
import { HttpRefusal } from '../wire/problem.ts'
import { defineRoute, json, type HttpCall, type HttpReply } from '../table/route.ts'
import { anything, duration, flag, list, object, oneOf, optional, text, whole } from '../schema/schema.ts'
import { momentOrLocal, workdays } from '../schema/local.ts'
import { tagged } from '../wire/tagged.ts'
import { partOfMessages } from '../access/part.ts'
import { checkTopicOf, checkTopics } from '../access/topics.ts'
import { MESSAGE_DETAIL, MESSAGE_PAGE, resultOf, SEARCH_FIELDS } from './shapes.ts'

const ONE = '/v1/queues/{queue}/messages/{id}'

export const MESSAGE_ROUTES = [
  defineRoute({
    method: 'GET',
    path: '/v1/queues/{queue}/messages',
    operation: 'listMessages',
    scope: 'read',
    summary: 'one page of messages; it may be short, even empty, while a cursor says that there is more',
    query: {
      ...SEARCH_FIELDS,
      ids: optional(list(text(), { max: 1_000 })),
      limit: optional(whole({ min: 1, max: 1_000 })),
      cursor: optional(text()),
      payload: optional(oneOf(...PAYLOAD_MODES)),
      order: optional(oneOf(...DUE_ORDERS)),
    },
    answers: { 200: MESSAGE_PAGE },
    answerHeaders: ['Link'],
    topics: 'checked',
    handle: async (call) => {
      const { query, served, server, who } = call
      const { payload = 'full', order, ...asked } = query
      const now = server.clock.now()
      if (asked.topic !== undefined) checkTopics(who, [asked.topic])
      const store = await served.open()
      const page =
        order === undefined || asked.ids !== undefined
          ? await listStored(store, parseList(asked, now))
          : await listByDue(store, asked, { order, now })
      const { scanned, cursor, missing: gap } = page
      const items = partOfMessages(who, page.items)
      const rest = {
        ...(cursor === undefined ? {} : { cursor }),
        // How many there are is not for a part.
        looked: who.topicPrefix === undefined ? scanned : items.length,
        ...(gap === undefined ? {} : { missing: gap }),
      }
      return {
        status: 200,
        text: `{"items":${pageText(items, payload)},${JSON.stringify(rest).slice(1)}`,
        ...(cursor === undefined ? {} : { headers: { link: nextLink(call, cursor) } }),
      }
    },
  }),
  defineRoute({
    method: 'GET',
    path: ONE,
    operation: 'getMessage',
    scope: 'read',
    summary: 'a message, its payload exactly as stored, and its policy',
    answers: { 200: MESSAGE_DETAIL, 304: 'nothing' },
    refusals: ['MESSAGE_MISSING'],
    topics: 'checked',
    handle: async (call) => {
      const id = idOf(call)
      const store = await call.served.open()
      const [found] = (await store.inspect({ ids: [id] })).items
      if (found === undefined) throw missing(id)
      checkTopics(call.who, [found.topic])
      return tagged(call.request, detailText(found))
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: ONE,
    operation: 'cancelMessage',
    scope: 'operate',
    summary: 'cancel a message that has not started; with running=true, also one that runs',
    query: { running: optional(flag()) },
    answers: { 200: resultOf('cancelled', 'cancelling') },
    refusals: ['MESSAGE_MISSING', 'MESSAGE_RUNNING'],
    isAudited: true,
    topics: 'checked',
    handle: async (call) => {
      const { served, query } = call
      const id = idOf(call)
      const topic = await checkTopicOf(call, id)
      const result = await served.queue.cancel(id, { running: query.running === true })
      return changed(call, { action: 'cancel', topic, result })
    },
  }),
  defineRoute({
    method: 'PATCH',
    path: ONE,
    operation: 'rescheduleMessage',
    scope: 'operate',
    summary: 'move a message that has not started to another moment',
    body: object({
      delay: optional(duration()),
      at: optional(momentOrLocal()),
      after: optional(workdays()),
      spread: optional(duration()),
    }),
    answers: { 200: resultOf('rescheduled') },
    refusals: ['MESSAGE_MISSING', 'MESSAGE_RUNNING', 'IF_MATCH'],
    isAudited: true,
    topics: 'checked',
    handle: async (call) => {
      if (call.request.header('if-match') !== undefined)
        throw new HttpRefusal(
          'IF_MATCH',
          'If-Match is not supported: checked before the change it would be a race.',
        )
      const id = idOf(call)
      const topic = await checkTopicOf(call, id)
      const when = call.body as Parameters<typeof call.served.queue.reschedule>[1]
      const result = await call.served.queue.reschedule(id, when)
      return changed(call, { action: 'reschedule', topic, result })
    },
  }),
  defineRoute({
    method: 'POST',
    path: `${ONE}/run-now`,
    operation: 'runMessageNow',
    scope: 'operate',
    summary: 'make a message that waits due now',
    body: object({}),
    answers: { 200: resultOf('rescheduled') },
    refusals: ['MESSAGE_MISSING', 'MESSAGE_RUNNING'],
    isAudited: true,
    topics: 'checked',
    handle: async (call) => {
      const id = idOf(call)
      const topic = await checkTopicOf(call, id)
      const result = await call.served.queue.reschedule(id, { delay: 0 })
      return changed(call, { action: 'run now', topic, result })
    },
  }),
  defineRoute({
    method: 'POST',
    path: `${ONE}/revive`,
    operation: 'reviveMessage',
    scope: 'operate',
    summary: 'start a dead message anew',
    body: object({}),
    answers: { 200: resultOf('revived') },
    refusals: ['MESSAGE_MISSING'],
    isAudited: true,
    topics: 'checked',
    handle: async (call) => {
      const id = idOf(call)
      const topic = await checkTopicOf(call, id)
      const result = (await call.served.queue.revive([id])) === 1 ? 'revived' : 'missing'
      return changed(call, { action: 'revive', topic, result })
    },
  }),
  defineRoute({
    method: 'GET',
    path: `${ONE}/why`,
    operation: 'explainMessage',
    scope: 'read',
    summary: 'why a message has not started, or what became of it',
    answers: { 200: anything('facts by `kind`; newer versions may know more kinds') },
    topics: 'checked',
    handle: async (call) => {
      const id = idOf(call)
      await checkTopicOf(call, id)
      return json(200, await call.served.queue.why(id))
    },
  }),
]

function idOf({ params }: HttpCall): string {
  return checkId(params.id)
}

function missing(id: string): HttpRefusal {
  return new HttpRefusal('MESSAGE_MISSING', `there is no such message: ${JSON.stringify(id)}.`)
}

/** The answer to a change of one message, and its line in the audit. */
function changed(
  { params, server, served, who }: HttpCall,
  done: { readonly action: string; readonly topic: string | undefined; readonly result: string },
): HttpReply {
  const { result } = done
  const id = params.id ?? ''
  server.audit.tell(who, { ...done, queue: served.name, about: id })
  if (result === 'missing') throw missing(id)
  if (result === 'running')
    throw new HttpRefusal('MESSAGE_RUNNING', `${JSON.stringify(id)} runs right now; it was left alone.`)
  return json(200, { result })
}

function nextLink({ request, server, served }: HttpCall, cursor: string): string {
  const query = new URLSearchParams(request.search)
  query.set('cursor', cursor)
  return `<${server.basePath}${served.path}/messages?${query.toString()}>; rel="next"`
}
