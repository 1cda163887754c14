/** The OpenAPI document, made from the table of routes. */
import { VERSION } from '../../../core/version.ts'
import { HTTP_CODES, PROBLEM } from '../wire/problem.ts'
import type { HttpRoute } from './route.ts'
import { namedSchemas } from '../schema/named.ts'
import { text, type JsonSchema } from '../schema/schema.ts'

export type OpenApiDocument = {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>
    readonly headers: JsonSchema
    readonly securitySchemes: JsonSchema
  }
  readonly [part: string]: unknown
}

/** `groups`: the routes by what they are about. */
export function openApi(
  groups: Readonly<Record<string, readonly HttpRoute[]>>,
  basePath = '',
): OpenApiDocument {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const [tag, routes] of Object.entries(groups))
    for (const route of routes) {
      const path = route.path.replace('*}', '}')
      paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route, tag) }
    }
  return {
    openapi: '3.1.0',
    info: {
      title: 'punctual',
      version: VERSION,
      description: 'Delayed messages: produce, look, operate, work.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: basePath === '' ? '/' : basePath }],
    tags: Object.keys(groups).map((name) => ({ name })),
    paths,
    components: {
      schemas: namedSchemas(),
      headers: ANSWER_HEADERS,
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'made by "punctual token"' },
        session: { type: 'apiKey', in: 'cookie', name: 'punctual_session' },
      },
    },
  }
}

function operationOf(route: HttpRoute, tag: string): JsonSchema {
  const { operation, scope, summary, body } = route
  const scopes = scope === 'any' ? [] : [scope]
  const parameters = [...pathParameters(route), ...queryParameters(route), ...headerParameters(route)]
  return {
    operationId: operation,
    tags: [tag],
    summary,
    ...(scope === 'none' ? { security: [] } : { security: [{ token: scopes }, { session: scopes }] }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            content: {
              'application/json': { schema: body.json },
              ...(route.lines === undefined ? {} : { [LINES_TYPE]: { schema: route.lines.asked.json } }),
            },
          },
        }),
    responses: { ...answersOf(route), default: problemAnswer(route) },
  }
}

function pathParameters({ segments }: HttpRoute): readonly JsonSchema[] {
  return segments.flatMap((segment) => {
    const name = /^\{(\w+)\*?\}$/.exec(segment)?.[1]
    return name === undefined ? [] : [{ name, in: 'path', required: true, schema: { type: 'string' } }]
  })
}

function queryParameters({ query }: HttpRoute): readonly JsonSchema[] {
  return Object.entries(query).map(([name, { json, isOptional }]) => ({
    name,
    in: 'query',
    ...(isOptional === true ? {} : { required: true }),
    schema: json,
  }))
}

function headerParameters({ headers = {}, answers }: HttpRoute): readonly JsonSchema[] {
  const all = { ...(answers[304] === undefined ? {} : { 'If-None-Match': TAG_KNOWN }), ...headers }
  return Object.entries(all).map(([name, { json }]) => ({ name, in: 'header', schema: json }))
}

const TAG_KNOWN = text({ about: 'the ETag of an answer before: 304 when nothing changed' })

/** What answers tell in headers. */
const ANSWER_HEADERS = {
  'Punctual-Now': describeHeader('the time of the server, in epoch milliseconds', 'integer'),
  'Retry-After': describeHeader('with 429 and 503: when to call again, in seconds', 'integer'),
  ETag: describeHeader('for If-None-Match'),
  Location: describeHeader('where it is'),
  Link: describeHeader('rel="next": the next page'),
  'Set-Cookie': describeHeader('the session of a browser'),
  'WWW-Authenticate': describeHeader('with 401'),
} as const

function describeHeader(description: string, type = 'string'): JsonSchema {
  return { description, schema: { type } }
}

function headersNamed(names: readonly (keyof typeof ANSWER_HEADERS)[]): JsonSchema {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

const TYPES = { text: 'text/plain', events: 'text/event-stream', bytes: 'application/octet-stream' } as const

const LINES_TYPE = 'application/x-ndjson'

function answersOf({ answers, answerHeaders = [], summary, lines }: HttpRoute): JsonSchema {
  const tag = answers[304] === undefined ? [] : (['ETag'] as const)
  const headers = headersNamed(['Punctual-Now', ...tag, ...answerHeaders])
  return Object.fromEntries(
    Object.entries(answers).map(([status, shape]) => {
      if (shape === 'nothing')
        return [status, { description: status === '304' ? 'not changed' : 'done', headers }]
      const content =
        typeof shape === 'string'
          ? { [TYPES[shape]]: { schema: { type: 'string' } } }
          : {
              'application/json': { schema: shape.json },
              ...(lines === undefined ? {} : { [LINES_TYPE]: { schema: lines.answered.json } }),
            }
      return [status, { description: summary, headers, content }]
    }),
  )
}

function problemAnswer({ refusals = [] }: HttpRoute): JsonSchema {
  const own = refusals.map((code) => `${HTTP_CODES[code][0]} ${code}`)
  return {
    description: own.length === 0 ? 'a problem' : `a problem; here also ${own.join(', ')}`,
    headers: headersNamed(['Punctual-Now', 'Retry-After', 'WWW-Authenticate']),
    content: { 'application/problem+json': { schema: PROBLEM.json } },
  }
}
