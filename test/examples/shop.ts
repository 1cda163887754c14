/** What the examples `nestjs` and `web-shop` must do: the same shop. */
import { expect, onTestFinished } from 'vitest'
import { Punctual } from '../../src/index.ts'
import type { Application } from './application.ts'

const ADMIN = { headers: { 'x-role': 'admin' } }

export async function proveShop(app: Application, database: string, endsBy: unknown): Promise<void> {
  expect((await app.ask('/health')).body).toMatchObject({ status: 'ok' })

  // Refused half-way: neither the order nor its message.
  expect((await app.ask('/orders', { body: { id: 1, closesIn: 60_000, isRefused: true } })).status).toBe(500)
  expect((await app.ask('/orders/1')).status).toBe(404)
  expect(await isWaiting(app, 1)).toBe(false)

  // Placed, and closed by the handler in a transaction that also completes the message.
  expect((await app.ask('/orders', { body: { id: 2, closesIn: 100 } })).status).toBe(201)
  await expect.poll(async () => (await app.ask('/orders/2')).body).toEqual({ id: 2, status: 'closed' })

  // Paid in time: the message is gone.
  await app.ask('/orders', { body: { id: 3, closesIn: 60_000 } })
  expect(await isWaiting(app, 3)).toBe(true)
  await app.ask('/orders/3/payment', { body: {} })
  expect(await isWaiting(app, 3)).toBe(false)
  expect((await app.ask('/orders/3')).body).toEqual({ id: 3, status: 'paid' })

  // The door is in the same application: for admins, and for them alone; so is the dashboard.
  expect((await app.ask('/punctual/v1/queues/default/stats')).status).toBe(401)
  expect((await app.ask('/punctual/ui', ADMIN)).body).toContain('<script type="module"')
  const produced = await app.ask('/punctual/v1/queues/default/messages', {
    ...ADMIN,
    body: { topic: 'order.close', payload: { orderId: 2 } },
  })
  expect(produced).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } })

  // It ends by itself, and the worker has said goodbye.
  expect(await app.stop()).toBe(endsBy)
  const queue = new Punctual(database)
  onTestFinished(async () => void (await queue.stop()))
  expect((await queue.workers()).map(({ state }) => state)).toEqual(['gone'])
}

async function isWaiting(app: Application, orderId: number): Promise<boolean> {
  const { status } = await app.ask(`/punctual/v1/queues/default/messages/close-${orderId}`, ADMIN)
  return status === 200
}
