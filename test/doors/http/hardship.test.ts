/** The server under people who mean it no good. */
import { connect, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { makeStand, type Stand } from './stand.ts'

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
