/** The server itself: is it well, who am I, what does it serve, who did what. */
import { VERSION } from '../../../core/version.ts'
import { defineRoute, json, NO_CONTENT, type HttpCall, type HttpReply } from '../table/route.ts'
import { flag, list, literal, number, object, optional, text, whole } from '../schema/schema.ts'
import { mayUseQueue, type Caller } from '../access/caller.ts'
import { AUDIT_ENTRY, SESSION } from './shapes.ts'

const READY_KEPT_MS = 1_000
const AUDIT_DEFAULT = 100

export const BASIC_ROUTES = [
  defineRoute({
    method: 'GET',
    path: '/healthz',
    operation: 'getHealth',
    scope: 'none',
    summary: 'whether the process lives',
    answers: { 200: object({ status: literal('alive') }) },
    handle: () => json(200, { status: 'alive' }),
  }),
  defineRoute({
    method: 'GET',
    path: '/readyz',
    operation: 'getReadiness',
    scope: 'none',
    summary: 'whether the store answers; 503 while it does not',
    answers: { 200: object({ status: literal('ready') }) },
    handle: async ({ server }) => {
      for (const served of server.queues.all)
        await served.answers.get('ready', READY_KEPT_MS, async () => (await served.open()).count())
      return json(200, { status: 'ready' })
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/session',
    operation: 'getSession',
    scope: 'any',
    summary: 'who I am, and what I may do',
    answers: { 200: SESSION },
    handle: (call) => json(200, sessionOf(call)),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/session',
    operation: 'beginSession',
    scope: 'any',
    summary: 'make a cookie of a token, for a browser; good for 12 hours',
    body: object({}),
    answerHeaders: ['Set-Cookie'],
    answers: { 200: SESSION },
    handle: (call) => {
      const cookie = call.server.access.beginSession(call.request)
      return json(200, sessionOf(call), cookie === undefined ? undefined : { 'set-cookie': cookie })
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: '/v1/session',
    operation: 'endSession',
    scope: 'none',
    summary: 'end the session of a browser, wherever its cookie was copied to',
    answerHeaders: ['Set-Cookie'],
    answers: { 204: 'nothing' },
    handle: ({ request, server }): HttpReply => ({
      ...NO_CONTENT,
      headers: { 'set-cookie': server.access.endSession(request) },
    }),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/server',
    operation: 'getServer',
    scope: 'read',
    summary: 'what this server is',
    answers: {
      200: object({
        version: text(),
        startedAt: number(),
        now: number(),
        storeName: text(),
        basePath: text(),
        queues: list(text()),
        hasDashboard: flag(),
        zone: text(),
        waitingCalls: whole({ min: 0 }),
        listeners: whole({ min: 0 }),
      }),
    },
    handle: async ({ server, who }) => {
      const { names } = await server.queues.names()
      return json(200, {
        version: VERSION,
        startedAt: server.startedAt,
        now: Math.floor(server.clock.now()),
        storeName: server.storeName,
        basePath: server.basePath,
        queues: own(who, names),
        hasDashboard: server.hasDashboard,
        zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
        waitingCalls: server.parked.taken,
        listeners: server.listeners.taken,
      })
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/queues',
    operation: 'listQueues',
    scope: 'read',
    summary: 'the queues that this server serves',
    answers: { 200: object({ queues: list(object({ name: text() })), isComplete: flag() }) },
    handle: async ({ server, who }) => {
      const { names, isComplete } = await server.queues.names()
      return json(200, { queues: own(who, names).map((name) => ({ name })), isComplete })
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/audit',
    operation: 'listAudit',
    scope: 'read',
    summary: 'who did what, newest first',
    query: { limit: optional(whole({ min: 1, max: 1_000 })) },
    answers: { 200: object({ items: list(AUDIT_ENTRY) }) },
    handle: ({ query, server, who }) =>
      json(200, { items: server.audit.last(who, query.limit ?? AUDIT_DEFAULT) }),
  }),
]

function own(who: Caller, names: readonly string[]): readonly string[] {
  return names.filter((name) => mayUseQueue(who, name))
}

function sessionOf({ server, who }: HttpCall): unknown {
  return { ...who, isOpen: server.access.isOpen }
}
