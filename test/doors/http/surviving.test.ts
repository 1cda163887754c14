/**
 * What was leased over HTTP belongs to its worker, whatever becomes of the server that handed it out: told to stop or killed,
 * with another server beside it or a new one in its place, on every engine that outlives a process. A second lease, of a
 * second, shows that the server left does take over what has ended: until then the first was left alone.
 */
import { afterAll, describe, it } from 'vitest'
import { fileEngine, mysqlEngine, postgresEngine, redisEngine } from '../../cli/engines.ts'
import { makePlace, type Place, type Running } from '../../cli/punctual.ts'

const ENGINES = [fileEngine(), redisEngine(), postgresEngine(), mysqlEngine()].filter(
  ({ isMissing }) => !isMissing,
)
afterAll(() => Promise.all(ENGINES.map(({ stop }) => stop())))

const KEY = 'the same for every server of the store'
const PATIENCE_MS = 120_000

type Leased = { readonly id: string; readonly lease: string; readonly attempt: number }
type Answer = {
  readonly leases?: readonly Leased[]
  readonly results?: readonly string[]
  readonly [rest: string]: unknown
}

/** A server of the real binary, and how to call it about its queue. */
class Serving {
  readonly running: Running
  readonly #queue: string
  #base: string | undefined

  constructor(place: Place, queue: string) {
    this.#queue = queue
    const env = { PUNCTUAL_SERVER_KEY: KEY }
    this.running = place.start(['serve', '--port', '0', '--queue', queue], { env })
  }

  async call(method: string, path: string, body?: unknown): Promise<Answer> {
    if (this.#base === undefined) {
      await this.running.says('http:')
      this.#base = /http:\/\/[\d.]+:\d+/.exec(this.running.stdout)?.[0] ?? ''
    }
    const response = await fetch(`${this.#base}/v1/queues/${this.#queue}${path}`, {
      method,
      ...(body === undefined
        ? {}
        : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return (text === '' ? {} : JSON.parse(text)) as Answer
  }

  /** Leases that came in time. */
  async lease(topics: readonly string[], lease: string): Promise<readonly Leased[]> {
    return (await this.call('POST', '/leases', { topics, lease, limit: 1, wait: '5s' })).leases ?? []
  }
}

// Each waits for leases to end: all of them side by side.
describe.concurrent.each(ENGINES)('on $name', ({ store: storeOf }) => {
  it.for([
    ['SIGTERM', 'one server'],
    ['SIGKILL', 'one server'],
    ['SIGTERM', 'two servers'],
    ['SIGKILL', 'two servers'],
  ] as const)(
    'P3, P6: after %s, with %s, its worker still has the lease, and no attempt is burnt',
    { timeout: 300_000 },
    async ([signal, servers], { expect, onTestFinished }) => {
      const place = await makePlace(await storeOf(), onTestFinished)
      const queue = `${signal}-${servers.replace(' ', '-')}`
      const first = new Serving(place, queue)
      await first.call('PUT', '/messages/long', { topic: 'long', retry: { limit: 3 } })
      await first.call('PUT', '/messages/short', { topic: 'short', retry: { limit: 3, delays: [0] } })
      const beside = servers === 'two servers' ? new Serving(place, queue) : undefined
      await beside?.call('GET', '/stats')
      const [long] = await first.lease(['long'], '10m')
      const [short] = await first.lease(['short'], '1s')
      expect([long?.attempt, short?.attempt]).toEqual([1, 1])

      first.running.signal(signal)
      await first.running.ended
      const second = beside ?? new Serving(place, queue)
      const taken: Leased[] = []
      // The lease of a second, and what the store kept for it, end; the lease of ten minutes does not.
      await expect
        .poll(
          async () => {
            taken.push(...(await second.lease(['short', 'long'], '10m')))
            return taken.length > 0
          },
          { timeout: PATIENCE_MS },
        )
        .toBe(true)
      expect(taken).toMatchObject([{ id: 'short', attempt: 2 }])
      expect(await second.call('GET', '/messages/long')).toMatchObject({
        state: 'running',
        attempt: 1,
        lapses: 0,
      })
      const { results } = await second.call('POST', '/leases:settle', {
        settlements: [{ lease: long?.lease, outcome: 'completed' }],
      })
      expect(results).toEqual(['settled'])
      expect(await second.call('GET', '/messages/long')).toMatchObject({ state: 'completed', attempt: 1 })
    },
  )
})
