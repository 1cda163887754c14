/** The server under people who mean it no good, and at its end. */
import { connect, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { makeStand, QUEUE, type Stand } from './stand.ts'

function openSockets({ base }: Stand, count: number): Promise<Socket[]> {
  const { hostname, port } = new URL(base)
  const sockets = Array.from({ length: count }, () => {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => undefined)
    socket.resume()
    return socket
  })
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
  })
  return Promise.all(
    sockets.map((socket) => new Promise<Socket>((resolve) => socket.once('connect', () => resolve(socket)))),
  )
}

it('1,000 connections that send their headers letter by letter keep nobody else waiting', async () => {
  const stand = await makeStand()
  const sockets = await openSockets(stand, 1_000)
  const closed = sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve)))
  for (const socket of sockets) socket.write('GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nx-')
  const times: number[] = []
  for (let i = 0; i < 50; i += 1) {
    for (const socket of sockets.slice(0, 100)) socket.write('a')
    const begun = performance.now()
    expect((await stand.call('GET', '/healthz')).status).toBe(200)
    times.push(performance.now() - begun)
  }
  // A median, so that a busy machine does not decide; a server that waits for them takes seconds.
  expect(times.toSorted((a, b) => a - b)[25]).toBeLessThan(50)
  // Nobody keeps a connection by being slow: the headers must be there within ten seconds.
  await Promise.all(closed)
  expect((await stand.call('GET', '/healthz')).status).toBe(200)
})

function swallow(promise: Promise<unknown>): void {
  promise.catch(() => undefined)
}

it('P11: a stop with 200 calls that wait, 200 listeners, a bulk job and a lease out ends within five seconds', async () => {
  const stand = await makeStand()
  const { queue, call } = stand
  for (let from = 0; from < 20_000; from += 5_000)
    await queue.produceMany(
      Array.from({ length: 5_000 }, (_, i) => ({ topic: 'many', payload: from + i, delay: '1h' as const })),
    )
  await queue.produce('t', 1, { id: 'leased' })
  const leased = await call('POST', `${QUEUE}/leases`, { topics: ['t'], wait: '10s' })
  expect(leased.status).toBe(200)
  const answers = Array.from({ length: 200 }, () =>
    call('POST', `${QUEUE}/leases`, { topics: ['t'], wait: '60s' }),
  )
  for (const answer of answers) swallow(answer)
  const listeners = await Promise.all(
    Array.from({ length: 200 }, () => fetch(`${stand.base}${QUEUE}/events`)),
  )
  await expect.poll(() => stand.parked(), { timeout: 20_000 }).toBe(200)
  const asked = { action: 'reschedule', filter: { topic: 'many' }, delay: '2h' }
  const { json } = await call('POST', `${QUEUE}/bulk`, { ...asked, dryRun: true })
  expect((await call('POST', `${QUEUE}/bulk`, { ...asked, confirm: json.confirm })).status).toBe(202)
  const begun = performance.now()
  await stand.server.close()
  expect(performance.now() - begun).toBeLessThan(5_000)
  expect(new Set((await Promise.all(answers)).map(({ status }) => status))).toEqual(new Set([204]))
  for (const listener of listeners) swallow(listener.text())
  // Nothing is lost: what was leased is still with its worker, and every message is in its place.
  const { counts } = await queue.stats()
  expect(counts).toEqual({ delayed: 20_000, ready: 0, running: 1, dead: 0 })
})
