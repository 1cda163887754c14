/** The example `web-shop` is a whole application on PostgreSQL, with Express and with Fastify: it compiles, and does what it says. */
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { Punctual } from '../../src/index.ts'
import { serve } from '../../src/doors/http/index.ts'
import { PostgresDatabase } from '../store/postgres/server.ts'
import { Application, project } from './application.ts'
import { proveShop } from './shop.ts'

it.each([
  ['Express', 'main.js'],
  ['Fastify', 'fastify.js'],
])('web-shop with %s', async (_name, file) => {
  const directory = await project('web-shop')
  const { url } = await PostgresDatabase.make()
  await proveShop(await Application.start(directory, { DATABASE_URL: url }, file), url, 0)
})

type Hono = {
  all(path: string, answer: (context: { req: { raw: Request } }) => Promise<Response>): void
  request(path: string, init?: object): Promise<Response>
}

it('the line for Hono in docs/guides/web-frameworks.md mounts the door', async () => {
  const load = createRequire(resolve(import.meta.dirname, '../packages/web/package.json'))
  const { Hono } = load('hono') as { Hono: new () => Hono }
  const queue = new Punctual({ store: 'memory:', logger: false })
  const server = serve({ queues: [queue], basePath: '/punctual', access: () => ['read', 'produce'] })
  onTestFinished(async () => {
    await server.close()
    await queue.stop()
  })
  const app = new Hono()
  app.all('/punctual/*', (c) => server.fetch(c.req.raw))
  const body = JSON.stringify({ topic: 't', payload: 1, id: 'x' })
  const headers = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' }
  const path = '/punctual/v1/queues/default/messages'
  expect((await app.request(path, { method: 'POST', body, headers })).status).toBe(201)
  expect(await queue.get('x')).toMatchObject({ topic: 't' })
  expect((await app.request('/punctual/healthz')).status).toBe(200)
})
