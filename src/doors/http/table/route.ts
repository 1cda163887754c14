/**
 * What a route is: data for the router, the scope check, the OpenAPI document and the tests, and a plain function that
 * answers. Authority is checked by the table, never by a handler: a handler that forgets cannot open a door.
 */
import type { Caller, Scope } from '../access/caller.ts'
import { fromPercent, type HttpRequest } from '../wire/request.ts'
import type { HttpCode } from '../wire/problem.ts'
import { checkQuery, type Checked, type ShapeFields, type ObjectOf, type Shape } from '../schema/schema.ts'
import type { ServerParts } from '../parts.ts'
import type { Served } from '../served.ts'

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** `none`: everybody. `any`: every caller with a token, whatever its scopes. */
export type Admission = Scope | 'none' | 'any'

export type HttpReply = {
  readonly status: number
  readonly json?: unknown
  /** Finished text instead of `json`; its type is in the headers, else it is JSON. */
  readonly text?: string
  readonly bytes?: Uint8Array
  /** Goes on until it ends it, or the client has gone. */
  readonly stream?: (out: ReplyStream) => void
  readonly headers?: Readonly<Record<string, string>>
  /** Called once: whether the whole answer was handed to the client's connection. */
  readonly onSent?: (isSent: boolean) => void
}

export type ReplyStream = {
  /** False: the client reads slower than we write. */
  readonly write: (text: string) => boolean
  readonly end: () => void
  /** Aborts when the client has gone, or when the host application closes its server. */
  readonly closed: AbortSignal
}

export type HttpCall<Query = unknown, Body = unknown> = {
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  readonly body: Body
  readonly request: HttpRequest
  readonly who: Caller
  readonly server: ServerParts
  /** The queue that the path names; only for paths that name one. */
  readonly served: Served
}

/** How the body is read before the handler is called. `raw`: the handler reads it by itself. */
export type BodyKind = 'json' | 'raw' | 'none'

/** With what each tells: see `table/openapi`. */
export type AnswerHeader = 'Location' | 'Link' | 'Set-Cookie'

type AnswerShapes = Readonly<Record<number, Shape | 'nothing' | 'text' | 'events' | 'bytes'>>

export type RouteSpec<Q extends ShapeFields, B extends Shape> = {
  readonly method: HttpMethod
  /** Below the base path: `/v1/queues/{queue}/messages/{id}`; a last `{rest*}` takes all that follows. */
  readonly path: string
  /** Its name in the OpenAPI document, which generated clients take over. */
  readonly operation: string
  readonly scope: Admission
  readonly summary: string
  /** Headers that it heeds, beside those of every call. */
  readonly headers?: Readonly<Record<string, Shape>>
  /** Headers of its answers, beside those of every answer. */
  readonly answerHeaders?: readonly AnswerHeader[]
  readonly query?: Q
  readonly body?: B
  readonly bodyKind?: BodyKind
  readonly answers: AnswerShapes
  /** It also takes JSON lines, and answers with lines: what one of each looks like. */
  readonly lines?: { readonly asked: Shape; readonly answered: Shape }
  /** Codes of its own, beside those that every route may answer. */
  readonly refusals?: readonly HttpCode[]
  /** Its query is for somebody else: any is taken, none is read. */
  readonly hasFreeQuery?: true
  /** It changes something as an operator: told to the audit by the handler. */
  readonly isAudited?: true
  /**
   * How a token that is bound to a topic prefix may use it: `checked`, the handler asks `who` about each topic; absent: not
   * at all.
   */
  readonly topics?: 'checked'
  readonly handle: (call: HttpCall<ObjectOf<Q>, Checked<B>>) => HttpReply | Promise<HttpReply>
}

/** With the types of its query and body forgotten. */
export type HttpRoute = Omit<RouteSpec<ShapeFields, Shape>, 'handle' | 'query' | 'bodyKind'> & {
  readonly query: ShapeFields
  readonly bodyKind: BodyKind
  readonly handle: (call: HttpCall) => HttpReply | Promise<HttpReply>
  readonly segments: readonly string[]
}

const NO_FIELDS = {} as const satisfies ShapeFields

export function defineRoute<Q extends ShapeFields = typeof NO_FIELDS, B extends Shape = Shape<undefined>>(
  spec: RouteSpec<Q, B>,
): HttpRoute {
  const { handle, query, bodyKind, ...rest } = spec
  return {
    ...rest,
    query: query ?? NO_FIELDS,
    bodyKind: bodyKind ?? (rest.body === undefined ? 'none' : 'json'),
    segments: rest.path.split('/').slice(1),
    handle: handle as unknown as HttpRoute['handle'],
  }
}

const NO_QUERY = {}

export function readQuery({ query, hasFreeQuery }: HttpRoute, search: string): Record<string, unknown> {
  if (hasFreeQuery === true) return NO_QUERY
  if (search === '' && Object.keys(query).length === 0) return NO_QUERY
  // URLSearchParams would make U+FFFD of bytes that are not UTF-8.
  if (search.includes('%')) fromPercent(search, 'the query')
  return checkQuery(query, new URLSearchParams(search))
}

export function json(status: number, value: unknown, headers?: Readonly<Record<string, string>>): HttpReply {
  return headers === undefined ? { status, json: value } : { status, json: value, headers }
}

export const NO_CONTENT: HttpReply = { status: 204 }
