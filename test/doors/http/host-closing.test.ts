/**
 * P11: an application that has the server mounted stops its own server, ours and the queue in whatever order, while a
 * dashboard listens to events, a worker waits for messages, and a finished call has left its connection open.
 */
import { Agent, createServer, request as httpRequest, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { Punctual } from '../../../src/index.ts'
import { serve, type HttpServer } from '../../../src/doors/http/index.ts'
import { fileEngine, mysqlEngine, postgresEngine, redisEngine } from '../../cli/engines.ts'
import { makePlace } from '../../cli/punctual.ts'

const ENGINES = [fileEngine(), redisEngine(), postgresEngine(), mysqlEngine()].filter(
  ({ isMissing }) => !isMissing,
)
afterAll(() => Promise.all(ENGINES.map(({ stop }) => stop())))

/** Far above what a stop takes, far below what a waiting call or a kept connection takes that is left to itself. */
const CAP_MS = 20_000
const LEFT_ALONE_MS = 60_000

type App = {
  readonly http: Server
  readonly door: HttpServer
  readonly queue: Punctual
  readonly base: string
}

async function startApp(store: string): Promise<App> {
  const queue = new Punctual({ store, logger: false })
  await queue.handle('mine', () => undefined).start()
  const door = serve({
    queues: [queue],
    access: () => ['read', 'work'],
    basePath: '/punctual',
    logger: false,
  })
  const http = createServer((request, response) => {
    if (request.url?.startsWith('/punctual') === true) door.listener(request, response)
    else response.end('the application')
  })
  http.keepAliveTimeout = LEFT_ALONE_MS
  await new Promise<void>((ready) => http.listen(0, '127.0.0.1', ready))
  onTestFinished(async () => {
    http.closeAllConnections()
    http.close()
    await door.close()
    await queue.stop({ timeout: 0 })
  })
  return { http, door, queue, base: `http://127.0.0.1:${(http.address() as AddressInfo).port}` }
}

type Open = {
  readonly status: number | undefined
  readonly ended: Promise<{ text: string; isWhole: boolean }>
}

/** Resolves when the answer has begun, or, for a call that waits, when the server has it. */
function openCall(app: App, agent: Agent, path: string, body?: unknown): Promise<Open> {
  return new Promise((resolve, reject) => {
    const url = new URL(`/punctual/v1/queues/default${path}`, app.base)
    const method = body === undefined ? 'GET' : 'POST'
    const headers = body === undefined ? {} : { 'content-type': 'application/json' }
    const call = httpRequest(url, { method, agent, headers })
    const ended = new Promise<{ text: string; isWhole: boolean }>((end) => {
      call.on('error', (error) => {
        reject(error)
        end({ text: '', isWhole: false })
      })
      call.on('response', (response) => {
        let text = ''
        response.on('data', (chunk: Buffer) => {
          text += chunk.toString()
          resolve({ status: response.statusCode, ended })
        })
        response.on('end', () => end({ text, isWhole: response.complete }))
        response.on('error', () => end({ text, isWhole: false }))
      })
    })
    call.end(body === undefined ? undefined : JSON.stringify(body))
    if (body !== undefined) resolve({ status: undefined, ended })
  })
}

const STEPS = {
  'server.close': ({ http }: App) => new Promise<void>((closed) => http.close(() => closed())),
  'dash.close': ({ door }: App) => door.close(),
  'queue.stop': ({ queue }: App) => queue.stop().then(() => undefined),
}
type Step = keyof typeof STEPS

const ORDERS: Step[][] = [
  ['server.close', 'dash.close', 'queue.stop'],
  ['server.close', 'queue.stop', 'dash.close'],
  ['dash.close', 'server.close', 'queue.stop'],
  ['dash.close', 'queue.stop', 'server.close'],
  ['queue.stop', 'server.close', 'dash.close'],
  ['queue.stop', 'dash.close', 'server.close'],
]

/** What the application waits for: each step before it takes the next, or all at once. */
const MANNERS = {
  'one after the other': async (app: App, order: Step[], done: Step[]) => {
    for (const step of order) await STEPS[step](app).then(() => done.push(step))
  },
  'all at once': async (app: App, order: Step[], done: Step[]) => {
    await Promise.all(order.map((step) => STEPS[step](app).then(() => done.push(step))))
  },
}

describe.each(ENGINES)('P11: mounted, on $name', ({ store: storeOf }) => {
  const CASES = ORDERS.flatMap((order) =>
    (Object.keys(MANNERS) as (keyof typeof MANNERS)[]).map((manner) => ({ order, manner })),
  )
  it.each(CASES)('$order, $manner', async ({ order, manner }) => {
    const app = await startApp((await storeOf()) ?? `file:${(await makePlace()).directory}/.punctual`)
    const agent = new Agent({ keepAlive: true })
    onTestFinished(() => agent.destroy())
    const plain = await openCall(app, agent, '/stats')
    expect(plain.status).toBe(200)
    await plain.ended
    const listening = await Promise.all([openCall(app, agent, '/events'), openCall(app, agent, '/events')])
    expect(listening.map(({ status }) => status)).toEqual([200, 200])
    const parked = await openCall(app, agent, '/leases', { topics: ['theirs'], wait: LEFT_ALONE_MS })
    const waitingCalls = async (): Promise<unknown> =>
      ((await (await fetch(`${app.base}/punctual/v1/server`)).json()) as Record<string, unknown>).waitingCalls
    await expect.poll(waitingCalls, { timeout: 30_000 }).toBe(1)

    const done: Step[] = []
    const stopping = MANNERS[manner](app, order, done)
    await expect.poll(() => done.length, { timeout: CAP_MS }).toBe(3)
    await stopping
    for (const { ended } of [...listening, parked]) expect((await ended).isWhole).toBe(true)
  })
})
