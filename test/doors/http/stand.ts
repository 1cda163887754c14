/** A server on a free port, and a client that checks every answer against the committed OpenAPI document. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { Punctual, type Logger, type PunctualOptions } from '../../../src/index.ts'
import { hashToken, type TokenRecord } from '../../../src/doors/http/access/tokens.ts'
import { Router } from '../../../src/doors/http/table/router.ts'
import { HttpServer } from '../../../src/doors/http/server.ts'
import type { ServeOptions } from '../../../src/doors/http/options.ts'
import type { Scope } from '../../../src/doors/http/access/caller.ts'
import { ROUTES } from '../../../src/doors/http/table/table.ts'
import { mismatches } from './validate.ts'

type Response = {
  readonly content?: Record<string, { schema: Record<string, unknown> }>
  readonly headers?: Readonly<Record<string, unknown>>
}
type Operation = {
  readonly parameters?: readonly { readonly in: string; readonly name: string }[]
  readonly responses: Readonly<Record<string, Response>>
}
type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Record<string, unknown>>>
    readonly headers: Readonly<Record<string, unknown>>
  }
}

export const DOCUMENT = JSON.parse(
  readFileSync(resolve(import.meta.dirname, '../../../docs/openapi.json'), 'utf8'),
) as Document

const router = new Router(ROUTES)

/** Whatever came: a test looks at what it expects there. */
export interface Json {
  readonly [part: string]: Json
}

export type Answered = {
  readonly status: number
  readonly json: Json
  readonly text: string
  readonly headers: Headers
}

export type Asking = {
  readonly token?: string
  readonly headers?: Record<string, string>
  /** Sent as it is. */
  readonly raw?: string
  readonly signal?: AbortSignal
}

export type Stand = {
  readonly base: string
  readonly server: HttpServer
  readonly queue: Punctual
  readonly log: string[]
  /** Lease calls that wait. */
  readonly parked: () => Promise<number>
  readonly call: (method: string, path: string, body?: unknown, asking?: Asking) => Promise<Answered>
}

export const QUEUE = '/v1/queues/default'

export async function makeStand(
  options: Partial<ServeOptions> = {},
  queueOptions: PunctualOptions = { store: 'memory:' },
): Promise<Stand> {
  const queue = new Punctual({ logger: false, ...queueOptions })
  const log: string[] = []
  const write = (message: string): void => void log.push(message)
  const logger: Logger = { info: write, warn: write, error: write }
  const server = new HttpServer({ queues: [queue], logger, ...options })
  const { port } = await server.listen({ port: 0 })
  onTestFinished(async () => {
    await server.close()
    await queue.stop({ timeout: 0 })
  })
  const base = `http://127.0.0.1:${port}${options.basePath ?? ''}`
  const call: Stand['call'] = (...asked) => callAndCheck(base, ...asked)
  const parked = async (): Promise<number> => Number((await call('GET', '/v1/server')).json.waitingCalls)
  return { base, server, queue, log, call, parked }
}

async function callAndCheck(
  base: string,
  method: string,
  path: string,
  body?: unknown,
  { token, headers = {}, raw, signal }: Asking = {},
): Promise<Answered> {
  const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body))
  const response = await fetch(base + path, {
    method,
    headers: {
      ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    ...(sent === undefined ? {} : { body: sent }),
    ...(signal === undefined ? {} : { signal }),
  })
  const text = await response.text()
  const answered = { status: response.status, text, json: parse(text) as Json, headers: response.headers }
  checkAgainstDocument(method, path.split('?')[0] ?? '', answered, Object.keys(headers))
  return answered
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Headers that need no word: they mean what they mean everywhere, or belong to every answer. */
const OF_HTTP =
  /^(?:connection|keep-alive|date|transfer-encoding|content-.*|cache-control|vary|allow|x-content-type-options|access-control-.*)$/
/** What a message or a condition is told in. */
const HEEDED = /^(?:punctual-.*|idempotency-key|if-none-match)$/

function checkAgainstDocument(
  method: string,
  path: string,
  { status, json, headers }: Answered,
  sent: readonly string[],
): void {
  let shown: string
  try {
    shown = router.find(method === 'HEAD' ? 'GET' : method, path).route.path.replace('*}', '}')
  } catch {
    expect(mismatches({ $ref: '#/components/schemas/Problem' }, json, DOCUMENT.components.schemas)).toEqual(
      [],
    )
    return
  }
  const { responses = {}, parameters = [] } = DOCUMENT.paths[shown]?.[method.toLowerCase()] ?? {}
  const type = headers.get('content-type')?.split(';')[0] ?? ''
  const isProblem = type === 'application/problem+json'
  const { content, headers: told = {} } = (isProblem ? responses.default : responses[status]) ?? {}
  const where = `${method} ${shown} answered ${status} ${type}`
  if (isProblem) expect(status, where).toBeGreaterThanOrEqual(400)
  else expect(Object.keys(responses), where).toContain(String(status))
  const named = Object.keys(told).map((name) => name.toLowerCase())
  const untold = [...headers.keys()].filter((name) => !OF_HTTP.test(name) && !named.includes(name))
  expect(untold, `headers of ${where}`).toEqual([])
  if (!isProblem) {
    const heeded = parameters.flatMap((one) => (one.in === 'header' ? [one.name.toLowerCase()] : []))
    expect(
      sent.filter((name) => HEEDED.test(name.toLowerCase()) && !heeded.includes(name.toLowerCase())),
      `headers sent to ${where}`,
    ).toEqual([])
  }
  if (content === undefined || method === 'HEAD') return
  const schema = content[type]?.schema
  expect(schema, `${where}, which the document does not have`).toBeDefined()
  if (schema !== undefined && json !== undefined)
    expect(mismatches(schema, json, DOCUMENT.components.schemas), where).toEqual([])
}

/** A token that is its own name, for tests. */
export function tokenFor(
  name: string,
  scopes: readonly Scope[],
  more: Partial<TokenRecord> = {},
): TokenRecord {
  return { name, hash: hashToken(name), scopes, ...more }
}
