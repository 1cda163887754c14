/** The server as a part of other people's applications. */
import { createServer, type RequestListener } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Punctual } from '../../../src/index.ts'
import { serve, type HttpServer, type NodeListener } from '../../../src/doors/http/index.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
/** The peers of the benchmark are there; users never download them. */
const load = createRequire(join(ROOT, 'bench/package.json'))

type Mounted = { readonly queue: Punctual; readonly server: HttpServer }

function makeMounted(): Mounted {
  const queue = new Punctual({ store: 'memory:', logger: false })
  const server = serve({
    queues: [queue],
    access: () => ['read', 'produce'],
    basePath: '/punctual',
    logger: false,
  })
  onTestFinished(async () => {
    await server.close()
    await queue.stop()
  })
  return { queue, server }
}

async function listen(listener: RequestListener): Promise<string> {
  const http = createServer(listener)
  await new Promise<void>((ready) => http.listen(0, '127.0.0.1', ready))
  onTestFinished(() => void http.close())
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`
}

/** The same calls through every host: produce, look, and be refused. */
async function prove(
  call: (path: string, init?: RequestInit) => Promise<Response>,
  { queue }: Mounted,
): Promise<void> {
  const body = JSON.stringify({ topic: 't', payload: { n: 1 }, delay: '1h' })
  const headers = { 'content-type': 'application/json' }
  const stored = await call('/punctual/v1/queues/default/messages/a%2Fb', { method: 'PUT', headers, body })
  expect({ status: stored.status, where: stored.headers.get('location') }).toEqual({
    status: 201,
    where: '/punctual/v1/queues/default/messages/a%2Fb',
  })
  expect(await queue.get('a/b')).toMatchObject({ payload: { n: 1 } })
  const listed = await call('/punctual/v1/queues/default/messages?topic=t')
  expect(await listed.json()).toMatchObject({ items: [{ id: 'a/b' }] })
  const refused = await call('/punctual/v1/queues/default/messages/a%2Fb', { method: 'DELETE' })
  expect(refused.status).toBe(403)
  const events = await call('/punctual/v1/queues/default/events')
  const reader = events.body?.getReader()
  expect(Buffer.from((await reader?.read())?.value ?? '').toString()).toContain('retry: ')
  await reader?.cancel()
}

const through =
  (base: string) =>
  (path: string, init?: RequestInit): Promise<Response> =>
    fetch(base + path, init)

type App = RequestListener & { use: (...parts: unknown[]) => void }

describe('mounted into', () => {
  it('node:http', async () => {
    const mounted = makeMounted()
    await prove(through(await listen(mounted.server.listener)), mounted)
  })

  it('Express 5', async () => {
    const mounted = makeMounted()
    const app = (load('express') as () => App)()
    app.use('/punctual', mounted.server.listener)
    await prove(through(await listen(app)), mounted)
  })

  it('Express 5 behind express.json(), which has read the body', async () => {
    const mounted = makeMounted()
    const express = load('express') as (() => App) & { json: () => unknown }
    const app = express()
    app.use(express.json())
    app.use('/punctual', mounted.server.listener)
    await prove(through(await listen(app)), mounted)
  })

  it('Fastify 5', async () => {
    const mounted = makeMounted()
    type Fastify = {
      removeAllContentTypeParsers: () => void
      addContentTypeParser: (
        type: string,
        parse: (request: unknown, payload: unknown, done: (error: null) => void) => void,
      ) => void
      all: (
        path: string,
        handler: (
          request: { raw: Parameters<NodeListener>[0] },
          reply: { raw: Parameters<NodeListener>[1]; hijack: () => void },
        ) => void,
      ) => void
      listen: (options: { port: number; host: string }) => Promise<string>
      close: () => Promise<void>
    }
    const app = (load('fastify') as () => Fastify)()
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', (_request, _payload, done) => done(null))
    app.all('/punctual/*', (request, reply) => {
      reply.hijack()
      mounted.server.listener(request.raw, reply.raw)
    })
    const base = await app.listen({ port: 0, host: '127.0.0.1' })
    onTestFinished(() => app.close())
    await prove(through(base), mounted)
  })

  it('Hono', async () => {
    const mounted = makeMounted()
    const { Hono } = load('hono') as {
      Hono: new () => {
        mount: (path: string, handler: HttpServer['fetch']) => void
        request: (path: string, init?: RequestInit) => Promise<Response>
      }
    }
    const app = new Hono()
    app.mount('/punctual', mounted.server.fetch)
    await prove((path, init) => app.request(`http://localhost${path}`, init), mounted)
  })

  it('a route of Next, which exports one function for each method', async () => {
    const mounted = makeMounted()
    const { fetch: GET } = mounted.server
    const route: Readonly<Record<string, HttpServer['fetch']>> = { GET, PUT: GET, DELETE: GET }
    await prove((path, init) => {
      const handler = route[init?.method ?? 'GET']
      if (handler === undefined) throw new Error('no such method')
      return handler(new Request(`http://localhost${path}`, init))
    }, mounted)
  })
})
