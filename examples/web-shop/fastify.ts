/**
 * Orders that close when they are not paid: Fastify, and a queue in the same PostgreSQL.
 *
 * The same as main.ts.
 */
import type { IncomingMessage } from 'node:http'
import { fastify } from 'fastify'
import { serve } from 'punctual/server'
import { close, find, open, pay, place, queue } from './shop.js'

const app = fastify({ forceCloseConnections: 'idle' })

// The API at /punctual, the dashboard at /punctual/ui.
const door = serve({
  queues: [queue],
  basePath: '/punctual',
  access: (request) =>
    (request as IncomingMessage).headers['x-role'] === 'admin' ? ['read', 'operate'] : undefined,
})
await app.register(async (scope) => {
  // The door reads bodies itself.
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
  scope.all('/punctual/*', (request, reply) => {
    reply.hijack()
    door.listener(request.raw, reply.raw)
  })
})

type Placing = { id: number; closesIn: number; isRefused?: boolean }

app.get('/health', async (_request, reply) => {
  const isUp = await queue.stats({ topics: [] }).then(
    () => true,
    () => false,
  )
  return reply.code(isUp ? 200 : 503).send({ status: isUp ? 'ok' : 'error' })
})
app.post<{ Body: Placing }>('/orders', async ({ body }, reply) => {
  await place(body.id, body.closesIn, body.isRefused === true)
  return reply.code(201).send({ id: body.id })
})
app.post<{ Params: { id: string } }>('/orders/:id/payment', async ({ params }) => {
  await pay(Number(params.id))
  return {}
})
app.get<{ Params: { id: string } }>('/orders/:id', async ({ params }, reply) => {
  const order = await find(Number(params.id))
  return reply.code(order === undefined ? 404 : 200).send(order ?? {})
})

// In this order: what looks is let go, nothing new comes in, handlers finish, connections end.
app.addHook('preClose', () => door.close())
app.addHook('onClose', close)

await open()
console.log(
  `listening on ${await app.listen({ port: Number(process.env['PORT'] ?? 3000), host: '127.0.0.1' })}`,
)
process.once('SIGTERM', () => void app.close())
process.once('SIGINT', () => void app.close())
