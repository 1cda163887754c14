/**
 * Orders that close when they are not paid: Express, and a queue in the same PostgreSQL.
 *
 *   DATABASE_URL=postgres://localhost:5432/shop npm run example web-shop
 */
import type { AddressInfo } from 'node:net'
import express from 'express'
import { serve } from 'punctual/server'
import { close, find, open, pay, place, queue } from './shop.js'

const app = express()

// The API at /punctual, the dashboard at /punctual/ui; before the body parser, so that it reads bodies itself.
const door = serve({
  queues: [queue],
  basePath: '/punctual',
  access: (request) =>
    (request as express.Request).headers['x-role'] === 'admin' ? ['read', 'operate'] : undefined,
})
app.use('/punctual', door.listener)

app.use(express.json())
app.get('/health', async (_request, response) => {
  const isUp = await queue.stats({ topics: [] }).then(
    () => true,
    () => false,
  )
  response.status(isUp ? 200 : 503).json({ status: isUp ? 'ok' : 'error' })
})
app.post('/orders', async (request, response) => {
  const { id, closesIn, isRefused } = request.body
  await place(id, closesIn, isRefused === true)
  response.status(201).json({ id })
})
app.post('/orders/:id/payment', async (request, response) => {
  await pay(Number(request.params.id))
  response.json({})
})
app.get('/orders/:id', async (request, response) => {
  const order = await find(Number(request.params.id))
  response.status(order === undefined ? 404 : 200).json(order ?? {})
})

await open()
const http = app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${(http.address() as AddressInfo).port}`)
})

/** In this order: nothing new comes in, what looks is let go, handlers finish, connections end. */
async function stop(): Promise<void> {
  const closed = new Promise((resolve) => http.close(resolve))
  await door.close()
  http.closeIdleConnections()
  await closed
  await close()
}
process.once('SIGTERM', () => void stop())
process.once('SIGINT', () => void stop())
