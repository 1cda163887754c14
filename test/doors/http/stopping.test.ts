/**
 * P11: the real server, on real stores, is told to stop while 1,000 calls wait, 200 listen, a bulk job is under way, messages
 * come due and others are being produced. It ends by itself before its caps would cut anything off, and nothing is lost.
 */
import { request as httpRequest, Agent } from 'node:http'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { Punctual } from '../../../src/index.ts'
import { fileEngine, mysqlEngine, postgresEngine, redisEngine } from '../../cli/engines.ts'
import { makePlace } from '../../cli/punctual.ts'

const PARKED = 1_000
const LISTENERS = 200
const MANY = 10_000
const DUE = 300

type Heard = { readonly status: number; readonly text: string; readonly isWhole: boolean }

const ENGINES = [fileEngine(), redisEngine(), postgresEngine(), mysqlEngine()].filter(
  ({ isMissing }) => !isMissing,
)
afterAll(() => Promise.all(ENGINES.map(({ stop }) => stop())))

/** One call on a connection of its own. Never rejects: a call that was cut off is not whole. */
function ask(base: string, agent: Agent, method: string, path: string, body?: unknown): Promise<Heard> {
  return new Promise((resolve) => {
    const sent = body === undefined ? undefined : JSON.stringify(body)
    const url = new URL(`/v1/queues/default${path}`, base)
    const headers = sent === undefined ? {} : { 'content-type': 'application/json' }
    const call = httpRequest(url, { method, agent, headers }, (response) => {
      let text = ''
      const end = (isWhole: boolean): void => resolve({ status: response.statusCode ?? 0, text, isWhole })
      response.on('data', (chunk: Buffer) => (text += chunk.toString()))
      response.on('end', () => end(response.complete))
      response.on('error', () => end(false))
    })
    call.on('error', () => resolve({ status: 0, text: '', isWhole: false }))
    call.end(sent)
  })
}

describe.each(ENGINES)('on $name', ({ store: storeOf }) => {
  it('P11, P2: the server stops in order, whatever is under way, and loses nothing', async () => {
    const place = await makePlace(await storeOf())
    const server = place.start(['serve', '--port', '0', '--queue', 'default'])
    await expect.poll(() => server.stdout, { timeout: 60_000 }).toMatch(/http:/)
    const base = /http:\/\/[\d.]+:\d+/.exec(server.stdout)?.[0] ?? ''
    const agent = new Agent({ keepAlive: true, maxSockets: Infinity })
    onTestFinished(() => agent.destroy())
    const call = (method: string, path: string, body?: unknown): Promise<Heard> =>
      ask(base, agent, method, path, body)
    const queue = new Punctual({
      store: (await storeOf()) ?? `file:${place.directory}/.punctual`,
      logger: false,
    })
    onTestFinished(() => queue.stop({ timeout: 0 }).then(() => undefined))

    for (let from = 0; from < MANY; from += 5_000)
      await queue.produceMany(
        Array.from({ length: 5_000 }, (_, i) => ({ topic: 'many', payload: from + i, delay: '1h' as const })),
      )
    const waiting = Array.from({ length: PARKED }, () =>
      call('POST', '/leases', { topics: ['t'], wait: '60s', lease: '5m' }),
    )
    const listening = Array.from({ length: LISTENERS }, () => call('GET', '/events'))
    const counted = async (): Promise<unknown> => {
      const { waitingCalls, listeners } = (await (await fetch(`${base}/v1/server`)).json()) as Record<
        string,
        unknown
      >
      return { waitingCalls, listeners }
    }
    await expect.poll(counted, { timeout: 120_000 }).toEqual({ waitingCalls: PARKED, listeners: LISTENERS })

    // Producers go on until they are refused.
    const acknowledged: string[] = []
    const producing = Array.from({ length: 10 }, async (_, producer) => {
      for (let i = 0; ; i += 1) {
        const id = `p${producer}-${i}`
        const { status } = await call('PUT', `/messages/${id}`, { topic: 'made', payload: i, delay: '1h' })
        if (status !== 201) return status
        acknowledged.push(id)
      }
    })
    await expect.poll(() => acknowledged.length, { timeout: 60_000 }).toBeGreaterThan(50)
    const asked = { action: 'reschedule', filter: { topic: 'many' }, delay: '2h' }
    const dryRun = await call('POST', '/bulk', { ...asked, dryRun: true })
    const { confirm } = JSON.parse(dryRun.text) as { confirm: string }
    expect((await call('POST', '/bulk', { ...asked, confirm })).status).toBe(202)
    await queue.produceMany(
      Array.from({ length: DUE }, (_, i) => ({ topic: 't', payload: i, id: `due-${i}` })),
    )

    server.child.kill('SIGTERM')
    const { code, stdout } = await server.ended
    expect({ code, hasSaidSo: stdout.includes('stopped') }).toEqual({ code: 0, hasSaidSo: true })

    // Nobody was cut off: each call that waited has its answer, each listener its end.
    const answers = await Promise.all(waiting)
    expect(answers.filter(({ isWhole }) => !isWhole)).toEqual([])
    expect(answers.filter(({ status }) => status !== 200 && status !== 204)).toEqual([])
    const heard = await Promise.all(listening)
    expect(heard.filter(({ isWhole, text }) => !isWhole || !text.includes('event: stopping'))).toEqual([])
    for (const status of await Promise.all(producing)) expect([0, 503]).toContain(status)

    // Every message is in its place: those that were handed out with their workers, the others waiting.
    const leased = answers
      .filter(({ status }) => status === 200)
      .flatMap(({ text }) => (JSON.parse(text) as { leases: { id: string }[] }).leases.map(({ id }) => id))
    expect(new Set(leased).size).toBe(leased.length)
    const states = new Map<string, string>()
    for (const topic of ['t', 'made'])
      for (const state of ['delayed', 'ready', 'running'] as const) {
        let cursor: string | undefined
        do {
          const about = cursor === undefined ? {} : { cursor }
          const page = await queue.list({ state, topic, limit: 1_000, ...about })
          for (const { id } of page.items) states.set(id, state)
          cursor = page.cursor
        } while (cursor !== undefined)
      }
    const due = Array.from({ length: DUE }, (_, i) => `due-${i}`)
    expect(due.filter((id) => !states.has(id))).toEqual([])
    expect(due.filter((id) => (states.get(id) === 'running') !== leased.includes(id))).toEqual([])
    expect(acknowledged.filter((id) => states.get(id) !== 'delayed')).toEqual([])
    const { topics, counts } = await queue.stats({ topics: ['many'] })
    expect([topics.many?.waiting, counts.dead]).toEqual([MANY, 0])
  })
})
