/** `GET /metrics`: one text for all queues that the token is for, with what the server itself counts. */
import { expect, it, onTestFinished } from 'vitest'
import { Punctual } from '../../../src/index.ts'
import { HttpServer } from '../../../src/doors/http/server.ts'
import { PostgresServer } from '../../store/postgres/server.ts'
import { RedisServer } from '../../store/redis/server.ts'
import { keyOf, readExposition } from '../../metrics/exposition.ts'
import { makeStand, QUEUE, tokenFor } from './stand.ts'

it('tells of every queue, of this process and of this server', async () => {
  const second = new Punctual({ store: 'memory:', queue: 'second', logger: false })
  const first = new Punctual({ store: 'memory:', queue: 'first', logger: false })
  onTestFinished(async () => {
    for (const queue of [first, second]) await queue.stop({ timeout: 0 })
  })
  const { call } = await makeStand({ queues: [first, second] })
  const queued = { topic: 't', payload: 1, delay: '1h' }
  expect((await call('POST', '/v1/queues/first/messages', queued)).status).toBe(201)
  expect((await call('GET', '/v1/queues/none/stats')).status).toBe(404)
  await second.produceMany([{ topic: 'u', delay: '1m' }, { topic: 'u' }])
  const { status, text, headers } = await call('GET', '/metrics')
  expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
  const { values } = readExposition(text)
  const of = (name: string, labels: Record<string, string>): unknown => values.get(keyOf(name, labels))
  expect(of('punctual_queue_up', { queue: 'first' })).toBe(1)
  expect(of('punctual_queue_messages', { queue: 'first', state: 'delayed' })).toBe(1)
  expect(of('punctual_queue_messages', { queue: 'second', state: 'ready' })).toBe(1)
  expect(of('punctual_process_produced_messages_total', { queue: 'first', topic: 't' })).toBe(1)
  expect(of('punctual_http_requests_total', { status: '2xx' })).toBe(1)
  expect(of('punctual_http_requests_total', { status: '4xx' })).toBe(1)
  expect(of('punctual_http_waiting_calls', {})).toBe(0)
})

it('what a worker over HTTP takes and ends is counted here', async () => {
  const { call, queue } = await makeStand()
  await queue.produce('t', 1)
  const { json } = await call('POST', `${QUEUE}/leases`, { topics: ['t'], wait: '10s' })
  const leases = json.leases as unknown as { lease: string }[]
  const settlements = leases.map(({ lease }) => ({ lease, outcome: 'completed' }))
  expect((await call('POST', `${QUEUE}/leases:settle`, { settlements })).status).toBe(200)
  const { values } = readExposition((await call('GET', '/metrics')).text)
  const about = { queue: 'default', topic: 't' }
  expect(values.get(keyOf('punctual_process_ended_messages_total', { ...about, outcome: 'completed' }))).toBe(
    1,
  )
  expect(values.get(keyOf('punctual_process_start_lateness_seconds_count', about))).toBe(1)
})

it('a token sees the queues that it is for, and one for some topics sees nothing', async () => {
  const [first, second] = ['first', 'second'].map(
    (queue) => new Punctual({ store: 'memory:', queue, logger: false }),
  ) as [Punctual, Punctual]
  onTestFinished(async () => {
    for (const queue of [first, second]) await queue.stop({ timeout: 0 })
  })
  const { call } = await makeStand({
    queues: [first, second],
    tokens: [
      tokenFor('all', ['read']),
      tokenFor('one', ['read'], { queues: ['second'] }),
      tokenFor('some', ['read'], { topicPrefix: 'a.' }),
      tokenFor('shop', ['produce']),
    ],
  })
  const queues = async (token: string): Promise<unknown> => {
    const { text } = await call('GET', '/metrics', undefined, { token })
    return [...new Set(readExposition(text).samples.flatMap(({ labels }) => labels.queue ?? []))]
  }
  expect(await queues('all')).toEqual(['first', 'second'])
  expect(await queues('one')).toEqual(['second'])
  for (const token of ['some', 'shop'])
    expect((await call('GET', '/metrics', undefined, { token })).status).toBe(403)
  expect((await call('GET', '/metrics')).status).toBe(401)
})

it('a store that dies is told, and what the process knows still is', async () => {
  const server = await RedisServer.start()
  onTestFinished(() => server.stop())
  const { call, queue } = await makeStand({}, { store: server.url })
  await queue.produce('t', 1, { delay: '1h' })
  const up = async (): Promise<unknown> => {
    const { values } = readExposition((await call('GET', '/metrics')).text)
    expect(
      values.get(keyOf('punctual_process_produced_messages_total', { queue: 'default', topic: 't' })),
    ).toBe(1)
    return values.get(keyOf('punctual_queue_up', { queue: 'default' }))
  }
  expect(await up()).toBe(1)
  await server.kill()
  expect(await up()).toBe(0)
  await server.resume()
  await expect.poll(up, { timeout: 60_000 }).toBe(1)
})

it('serving all queues of a store that does not answer, it tells those that it knows, in three seconds', async () => {
  const store = await PostgresServer.start({ settings: ['fsync = off'] })
  const opened: Punctual[] = []
  const open = (queue: string): Punctual => {
    const made = new Punctual({ store: store.url, queue, logger: false })
    opened.push(made)
    return made
  }
  const source = { names: () => Punctual.queues(store.url), open }
  const server = new HttpServer({ queues: [open('default')], logger: false }, { source })
  onTestFinished(async () => {
    await server.close()
    for (const queue of opened) await queue.stop({ timeout: 0 })
    await store.stop()
  })
  await open('other').produce('t', 1, { delay: '1h' })
  const { port } = await server.listen({ port: 0 })
  const up = async (): Promise<unknown> => {
    const { values } = readExposition(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text())
    return ['default', 'other'].map((queue) => values.get(keyOf('punctual_queue_up', { queue })))
  }
  await expect.poll(up, { timeout: 60_000 }).toEqual([1, 1])
  await store.end('SIGKILL')
  // The list is asked for again when the one before is two seconds old: all answers of that time are quick.
  const tookMs: number[] = []
  for (let times = 0; times < 4; times += 1) {
    const askedAt = performance.now()
    expect(await up()).toEqual([0, 0])
    tookMs.push(performance.now() - askedAt)
  }
  // With some time for a loaded machine.
  expect(Math.max(...tookMs)).toBeLessThan(4_500)
})
