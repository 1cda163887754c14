/** The OpenAPI document, made from the table of routes. */
import { VERSION } from '../../../core/version.ts'
import { HTTP_CODES, PROBLEM } from '../wire/problem.ts'
import type { HttpRoute } from './route.ts'
import { namedSchemas } from '../schema/named.ts'
import type { JsonSchema } from '../schema/schema.ts'

export type OpenApiDocument = {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>
    readonly securitySchemes: JsonSchema
  }
  readonly [part: string]: unknown
}

export function openApi(routes: readonly HttpRoute[], basePath = ''): OpenApiDocument {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of routes) {
    const path = route.path.replace('*}', '}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) }
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
    paths,
    components: {
      schemas: namedSchemas(),
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'made by "punctual token"' },
        session: { type: 'apiKey', in: 'cookie', name: 'punctual_session' },
      },
    },
  }
}

function operationOf(route: HttpRoute): JsonSchema {
  const { scope, summary, body } = route
  const scopes = scope === 'any' ? [] : [scope]
  const parameters = [...pathParameters(route), ...queryParameters(route)]
  return {
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

const TYPES = { text: 'text/plain', events: 'text/event-stream', bytes: 'application/octet-stream' } as const

const LINES_TYPE = 'application/x-ndjson'

function answersOf({ answers, summary, lines }: HttpRoute): JsonSchema {
  return Object.fromEntries(
    Object.entries(answers).map(([status, shape]) => {
      if (shape === 'nothing') return [status, { description: status === '304' ? 'not changed' : 'done' }]
      const content =
        typeof shape === 'string'
          ? { [TYPES[shape]]: { schema: { type: 'string' } } }
          : {
              'application/json': { schema: shape.json },
              ...(lines === undefined ? {} : { [LINES_TYPE]: { schema: lines.answered.json } }),
            }
      return [status, { description: summary, content }]
    }),
  )
}

function problemAnswer({ refusals = [] }: HttpRoute): JsonSchema {
  const own = refusals.map((code) => `${HTTP_CODES[code][0]} ${code}`)
  return {
    description: own.length === 0 ? 'a problem' : `a problem; here also ${own.join(', ')}`,
    content: { 'application/problem+json': { schema: PROBLEM.json } },
  }
}
