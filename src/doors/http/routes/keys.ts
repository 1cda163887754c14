/** The keys of a topic, and the limit of one of them. */
import { checkTopic } from '../../../core/input/names.ts'
import type { KeyLimitOptions } from '../../../index.ts'
import { checkTopics } from '../access/topics.ts'
import { object, optional, text, whole } from '../schema/schema.ts'
import { defineRoute, json, type HttpCall, type HttpReply } from '../table/route.ts'
import { KEY_PAGE } from './shapes.ts'

const KEYS = '/v1/queues/{queue}/topics/{topic}/keys'
const KEY_LIMIT = '/v1/queues/{queue}/topics/{topic}/keys/{key}/limit'

export const KEY_ROUTES = [
  defineRoute({
    method: 'GET',
    path: KEYS,
    operation: 'listKeys',
    scope: 'read',
    summary: 'the keys of a topic: how much of each waits and runs, and what holds it back',
    query: { limit: optional(whole({ min: 1, max: 1_000 })), cursor: optional(text()) },
    answers: { 200: KEY_PAGE },
    topics: 'checked',
    handle: async (call) => json(200, await call.served.queue.keys(topicOf(call), call.query)),
  }),
  defineRoute({
    method: 'PUT',
    path: KEY_LIMIT,
    operation: 'limitKey',
    scope: 'operate',
    summary: 'how fast messages of one key may start, how many may run, and its weight beside other keys',
    body: object({
      rate: optional(text({ about: 'so many in so much time: 100/1m' })),
      burst: optional(whole({ min: 1 })),
      concurrency: optional(whole({ min: 1 })),
      weight: optional(whole({ min: 1, max: 1_000 })),
    }),
    answers: { 200: KEY_PAGE },
    isAudited: true,
    topics: 'checked',
    handle: (call) => limitKey(call, call.body as KeyLimitOptions, 'limited'),
  }),
  defineRoute({
    method: 'DELETE',
    path: KEY_LIMIT,
    operation: 'unlimitKey',
    scope: 'operate',
    summary: 'take the limit of a key back',
    answers: { 200: KEY_PAGE },
    isAudited: true,
    topics: 'checked',
    handle: (call) => limitKey(call, null, 'unlimited'),
  }),
]

/** Answers with that key. */
async function limitKey(call: HttpCall, to: KeyLimitOptions | null, result: string): Promise<HttpReply> {
  const { params, served, server, who } = call
  const topic = topicOf(call)
  const key = params.key ?? ''
  await served.queue.limit(topic, to, { key })
  const action = to === null ? 'limit of a key' : `limit of a key ${JSON.stringify(to)}`
  server.audit.tell(who, { action, queue: served.name, topic, about: `${topic}, key ${key}`, result })
  return json(200, await served.queue.keys(topic, { keys: [key] }))
}

function topicOf({ params, who }: HttpCall): string {
  const topic = checkTopic(params.topic)
  checkTopics(who, [topic])
  return topic
}
