/** Pausing, resuming and limiting: a topic, or the whole queue. */
import { checkTopic } from '../../../core/input/names.ts'
import type { LimitOptions } from '../../../index.ts'
import { defineRoute, json, type HttpCall, type HttpReply } from '../table/route.ts'
import { ahead, duration, object, optional, text, whole } from '../schema/schema.ts'
import { checkTopics } from '../access/topics.ts'
import { CONTROLS } from './shapes.ts'

const QUEUE_PAUSE = '/v1/queues/{queue}/pause'
const TOPIC_PAUSE = '/v1/queues/{queue}/topics/{topic}/pause'
const TOPIC_LIMIT = '/v1/queues/{queue}/topics/{topic}/limit'

const PAUSE = object({ until: optional(ahead()) })
const ALLOWED = {
  rate: optional(text({ about: 'so many in so much time: 100/1m' })),
  burst: optional(whole({ min: 1 })),
  concurrency: optional(whole({ min: 1 })),
}
const RESUME = { over: optional(duration()) }

export const CONTROL_ROUTES = [
  defineRoute({
    method: 'PUT',
    path: QUEUE_PAUSE,
    operation: 'pauseQueue',
    scope: 'operate',
    summary: 'no message of the queue starts, until somebody resumes it or until then',
    body: PAUSE,
    answers: { 200: CONTROLS },
    isAudited: true,
    handle: async (call) => {
      await call.served.queue.pause(undefined, call.body)
      return controls(call, 'pause', 'paused')
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: QUEUE_PAUSE,
    operation: 'resumeQueue',
    scope: 'operate',
    summary: 'end the pause of the whole queue; with over, what waits starts spread over that time',
    query: RESUME,
    answers: { 200: CONTROLS },
    isAudited: true,
    handle: async (call) => {
      await call.served.queue.resume(undefined, call.query)
      return controls(call, 'resume', 'resumed')
    },
  }),
  defineRoute({
    method: 'PUT',
    path: TOPIC_PAUSE,
    operation: 'pauseTopic',
    scope: 'operate',
    summary: 'no message of the topic starts, until somebody resumes it or until then',
    body: PAUSE,
    answers: { 200: CONTROLS },
    isAudited: true,
    topics: 'checked',
    handle: async (call) => {
      await call.served.queue.pause(topicOf(call), call.body)
      return controls(call, 'pause', 'paused')
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: TOPIC_PAUSE,
    operation: 'resumeTopic',
    scope: 'operate',
    summary: 'end the pause of a topic; with over, what waits starts spread over that time',
    query: RESUME,
    answers: { 200: CONTROLS },
    isAudited: true,
    topics: 'checked',
    handle: async (call) => {
      await call.served.queue.resume(topicOf(call), call.query)
      return controls(call, 'resume', 'resumed')
    },
  }),
  defineRoute({
    method: 'PUT',
    path: TOPIC_LIMIT,
    operation: 'limitTopic',
    scope: 'operate',
    summary: 'how fast messages of a topic may start, and how many may run, over all processes',
    body: object({ ...ALLOWED, perKey: optional(object(ALLOWED)) }),
    answers: { 200: CONTROLS },
    isAudited: true,
    topics: 'checked',
    handle: async (call) => {
      await call.served.queue.limit(topicOf(call), call.body as LimitOptions)
      return controls(call, `limit ${JSON.stringify(call.body)}`, 'limited')
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: TOPIC_LIMIT,
    operation: 'unlimitTopic',
    scope: 'operate',
    summary: 'take the limit of a topic back',
    answers: { 200: CONTROLS },
    isAudited: true,
    topics: 'checked',
    handle: async (call) => {
      await call.served.queue.limit(topicOf(call), null)
      return controls(call, 'limit', 'unlimited')
    },
  }),
]

function topicOf({ params, who }: HttpCall): string {
  const topic = checkTopic(params.topic)
  checkTopics(who, [topic])
  return topic
}

/** What holds now: of this topic and of the whole queue. */
async function controls(call: HttpCall, action: string, result: string): Promise<HttpReply> {
  const { params, served, server, who } = call
  const about = params.topic ?? 'the whole queue'
  server.audit.tell(who, { action, queue: served.name, topic: params.topic, about, result })
  const topics = params.topic === undefined ? [] : [params.topic]
  const { controls: found } = await served.queue.stats({ topics })
  return json(200, { controls: found })
}
