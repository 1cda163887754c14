/**
 * One request, from its first look to its answer. Every check that protects the server is here, in this order, so that no
 * handler can forget one: host, route, caller, rate, queue, origin, query, body.
 *
 * Most requests wait for nothing before their body: a step returns a promise only where it has to wait, because at tens of
 * thousands of requests a second each promise is felt.
 */
import type { CallRates } from './access/rates.ts'
import type { HostCheck } from './access/hosts.ts'
import { mayUseQueue, type Caller } from './access/caller.ts'
import type { ServerParts } from './parts.ts'
import { HttpRefusal, problemOf, refuse } from './wire/problem.ts'
import { isJsonType, parseJson, type HttpRequest } from './wire/request.ts'
import { readQuery, type HttpReply, type HttpRoute } from './table/route.ts'
import type { RouteMatch, Router } from './table/router.ts'
import type { Served } from './served.ts'

export type Performing = {
  readonly server: ServerParts
  readonly router: Router
  readonly hosts: HostCheck
  readonly rates: CallRates
  /** Origins whose pages may call. */
  readonly cors: ReadonlySet<string>
  /** Headers that they may send: those that routes declare. */
  readonly corsHeaders: string
}

/** Calls `respond` exactly once, perhaps before it returns. */
export function perform(parts: Performing, request: HttpRequest, respond: (reply: HttpReply) => void): void {
  const succeed = (reply: HttpReply): void => respond(withCors(parts, request, reply))
  const fail = (error: unknown): void => {
    const reply = refuse(error)
    if (reply.status === 500) logUnexpected(parts.server, request, error)
    succeed(reply)
  }
  let reply: HttpReply | Promise<HttpReply>
  try {
    reply = answer(parts, request)
  } catch (error) {
    return fail(error)
  }
  if (reply instanceof Promise) reply.then(succeed, fail)
  else succeed(reply)
}

function withCors(parts: Performing, request: HttpRequest, reply: HttpReply): HttpReply {
  const origin = allowedOrigin(parts, request)
  if (origin === undefined) return reply
  return { ...reply, headers: { ...reply.headers, ...CORS, 'access-control-allow-origin': origin } }
}

const CORS = {
  vary: 'origin',
  'access-control-expose-headers': 'punctual-now, etag, link, location, retry-after',
}

function answer(parts: Performing, request: HttpRequest): HttpReply | Promise<HttpReply> {
  const { server, router, hosts } = parts
  if (!hosts.accepts(request.header('host')))
    throw new HttpRefusal('HOST_REFUSED', 'this server does not answer to that Host; see --allowed-host.')
  if (request.method === 'OPTIONS') return preflight(parts, request)
  const method = request.method === 'HEAD' ? 'GET' : request.method
  const match = router.find(method, withoutBase(request.path, server.basePath))
  const who = server.access.admit(request, match.route.scope)
  return who instanceof Promise
    ? who.then((admitted) => answerCaller(parts, request, match, admitted))
    : answerCaller(parts, request, match, who)
}

function answerCaller(
  parts: Performing,
  request: HttpRequest,
  match: RouteMatch,
  who: Caller,
): HttpReply | Promise<HttpReply> {
  checkRate(parts.rates, who, match.route)
  const { queue } = match.params
  const served = queue === undefined ? undefined : findQueue(parts.server, who, queue)
  return served instanceof Promise
    ? served.then((found) => callRoute(parts, request, match, who, found))
    : callRoute(parts, request, match, who, served)
}

// oxlint-disable-next-line max-params -- what the steps before have found, one by one
function callRoute(
  parts: Performing,
  request: HttpRequest,
  { route, params }: RouteMatch,
  who: Caller,
  served: Served | undefined,
): HttpReply | Promise<HttpReply> {
  const { server } = parts
  if (who.topicPrefix !== undefined && route.topics !== 'checked' && params.queue !== undefined)
    throw new HttpRefusal('FORBIDDEN', `this token is for topics that begin with "${who.topicPrefix}".`)
  if (route.method !== 'GET') checkOrigin(parts, request)
  const query = readQuery(route, request.search)
  // Only routes whose path names a queue look at it.
  const call = { params, query, body: undefined, request, who, server, served: served as Served }
  if (route.bodyKind !== 'json') return route.handle(call)
  return readBody(route, request, server, served).then((body) => route.handle({ ...call, body }))
}

/** A host application may have taken the base path away already. */
function withoutBase(path: string, basePath: string): string {
  if (basePath === '') return path
  if (path.startsWith(`${basePath}/`)) return path.slice(basePath.length)
  return path === basePath ? '/' : path
}

function checkRate(rates: CallRates, who: Caller, { scope }: HttpRoute): void {
  if (scope === 'none') return
  const waitMs = rates.take(who.name)
  if (waitMs === 0) return
  throw new HttpRefusal('RATE_LIMITED', 'too many calls with this token; slow down.', {
    'retry-after': String(Math.ceil(waitMs / 1_000)),
  })
}

function findQueue(server: ServerParts, who: Caller, name: string): Served | Promise<Served> {
  if (mayUseQueue(who, name)) return server.queues.find(name)
  throw new HttpRefusal('FORBIDDEN', 'this token is not for that queue.')
}

/** A browser says from where a page calls: only pages of this server, or of an origin that was allowed, may change anything. */
function checkOrigin(parts: Performing, request: HttpRequest): void {
  const site = request.header('sec-fetch-site')
  if (site === undefined || site === 'same-origin' || site === 'none') return
  if (allowedOrigin(parts, request) !== undefined) return
  throw new HttpRefusal('ORIGIN_REFUSED', 'pages of other sites may not call this.')
}

function allowedOrigin({ cors }: Performing, request: HttpRequest): string | undefined {
  if (cors.size === 0) return undefined
  const origin = request.header('origin')
  return origin !== undefined && cors.has(origin) ? origin : undefined
}

function preflight(parts: Performing, request: HttpRequest): HttpReply {
  if (allowedOrigin(parts, request) === undefined) return { status: 204, headers: { allow: 'GET, POST' } }
  return {
    status: 204,
    headers: {
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers': parts.corsHeaders,
      'access-control-max-age': '600',
    },
  }
}

async function readBody(
  { body }: HttpRoute,
  request: HttpRequest,
  { limits }: ServerParts,
  served: Served | undefined,
): Promise<unknown> {
  // A form or a script of another site can send other types without asking first.
  if (!isJsonType(request.header('content-type')))
    throw new HttpRefusal('MEDIA_TYPE', 'send the body as content-type: application/json.')
  const text = await request.readBody((served?.payloadLimit ?? 0) + limits.envelopeBytes)
  const value = parseJson(text === '' ? '{}' : text)
  return body === undefined ? value : body.check(value, '')
}

/** No payload and no token: the path, the code, and the error with its stack. */
function logUnexpected({ logger }: ServerParts, { method, path }: HttpRequest, error: unknown): void {
  const { code } = problemOf(error)
  const what = error instanceof Error ? (error.stack ?? error.message) : String(error)
  logger.error(`${method} ${path} failed with ${code}: ${what}`)
}
