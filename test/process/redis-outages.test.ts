/** A worker and a real Redis that fails as servers and networks do: due messages flow again by themselves. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { Punctual, type PunctualOptions } from '../../src/index.ts'
import { systemClock, type Clock } from '../../src/clock.ts'
import { Proxy } from '../store/redis/proxy.ts'
import { RedisServer } from '../store/redis/server.ts'
import { until } from '../store/redis/until.ts'
import { Child } from './child.ts'

async function startServer(config: readonly string[] = []): Promise<RedisServer> {
  const server = await RedisServer.start({ config })
  onTestFinished(() => server.stop())
  return server
}

function startQueue(options: PunctualOptions): { queue: Punctual; ran: Map<string, number> } {
  const queue = new Punctual({ logger: false, fallback: '1s', ...options })
  const ran = new Map<string, number>()
  queue.handle('t', ({ id }) => void ran.set(id, (ran.get(id) ?? 0) + 1))
  onTestFinished(async () => void (await queue.stop({ timeout: 0 })))
  return { queue, ran }
}

/** Keeps producing through whatever happens; the same id again until it is accepted. */
async function produceSurely(queue: Punctual, id: string, delay: number): Promise<void> {
  await until(`${id} is accepted`, async () => {
    await queue.produce('t', id, { id, delay })
    return true
  })
}

async function commandsOf(server: RedisServer): Promise<number> {
  const info = String(await server.admin(['INFO', 'commandstats']))
  return [...info.matchAll(/cmdstat_(?:evalsha|eval|subscribe|hello|auth)[^:]*:calls=(\d+)/g)].reduce(
    (sum, [, calls]) => sum + Number(calls),
    0,
  )
}

const TROUBLES: [string, (server: RedisServer) => Promise<unknown>][] = [
  ['CLIENT KILL TYPE pubsub', (server) => server.admin(['CLIENT', 'KILL', 'TYPE', 'pubsub'])],
  [
    'CLIENT KILL TYPE normal',
    (server) => server.admin(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes']),
  ],
  ['SCRIPT FLUSH', (server) => server.admin(['SCRIPT', 'FLUSH'])],
  ['CLIENT PAUSE 1500 ALL', (server) => server.admin(['CLIENT', 'PAUSE', '1500', 'ALL'])],
  ['DEBUG SLEEP 1.5', (server) => server.admin(['DEBUG', 'SLEEP', '1.5'])],
  [
    'SIGSTOP for a while',
    async (server) => {
      server.signal('SIGSTOP')
      await new Promise((resolve) => setTimeout(resolve, 1_500))
      server.signal('SIGCONT')
    },
  ],
  [
    'a restart that loses everything but the files',
    async (server) => {
      await server.kill()
      await server.resume()
    },
  ],
]

function skewed(byMs: number): Clock {
  return { ...systemClock, now: () => systemClock.now() + byMs }
}

describe('Redis in trouble', () => {
  it.each(TROUBLES)(
    'P2, P9: %s: messages flow again by themselves, and nothing spins',
    async (_name, trouble) => {
      const config = ['--appendonly', 'yes', '--appendfsync', 'always', '--enable-debug-command', 'yes']
      const server = await startServer(config)
      const { queue, ran } = startQueue({ store: server.url })
      await queue.start()
      for (let i = 0; i < 10; i += 1) await produceSurely(queue, `before${i}`, i * 50)
      await until('messages flow', () => ran.size >= 5)
      await queue.produce('t', 'during', { id: 'during', delay: 1_000 })
      const before = await commandsOf(server)
      const isFresh = _name.startsWith('a restart')
      await trouble(server)
      for (let i = 0; i < 10; i += 1) await produceSurely(queue, `after${i}`, i * 20)
      await until('everything was handled', () => ran.size === 21)
      // A handful of calls per message and second, not thousands.
      expect((await commandsOf(server)) - (isFresh ? 0 : before)).toBeLessThan(1_500)
      await until('nothing is left', async () =>
        Object.values((await queue.stats()).counts).every((count) => count === 0),
      )
      const keys = (await server.admin(['KEYS', '*'])) as string[]
      expect(keys.filter((key) => !/:(?:order|workers|facts|watch|looks:.+|figures:\d+)$/.test(key))).toEqual(
        [],
      )
    },
  )

  it.each(['cut', 'half-open'] as const)(
    'P9: sockets %s through a proxy: due messages flow again by themselves',
    async (how) => {
      const server = await startServer()
      const proxy = await Proxy.before(server.port)
      onTestFinished(() => proxy.close())
      const { queue, ran } = startQueue({ store: proxy.url })
      const other = new Punctual({ store: server.url, logger: false })
      onTestFinished(async () => void (await other.stop()))
      await queue.start()
      for (let round = 0; round < 3; round += 1) {
        await other.produceMany(
          Array.from({ length: 20 }, (_, i) => ({
            topic: 't',
            payload: i,
            id: `${round}.${i}`,
            delay: i * 100,
          })),
        )
        await until('this round has begun', () => ran.size > round * 20)
        if (how === 'cut') proxy.cut()
        else {
          proxy.fallSilent()
          await new Promise((resolve) => setTimeout(resolve, 300))
          proxy.speakAgain()
        }
        await until('this round is done', () => ran.size === (round + 1) * 20)
      }
    },
    180_000,
  )

  it('P2: kill -9 of Redis with appendfsync always: what was accepted is there, and only what ran is repeated', async () => {
    const server = await startServer(['--appendonly', 'yes', '--appendfsync', 'always'])
    const options = { lease: '1s', fallback: '500ms', retry: { delays: ['100ms'], limit: 10 } }
    const worker = new Child('work.mjs', {
      store: server.url,
      queue: 'q',
      slowMs: 5,
      options: { ...options, concurrency: 5 },
    })
    await worker.said('ready')
    const producer = new Punctual({ store: server.url, queue: 'q', logger: false })
    onTestFinished(async () => void (await producer.stop()))
    const accepted: string[] = []
    for (let round = 0; round < 4; round += 1) {
      for (let i = 0; i < 100; i += 1) {
        await produceSurely(producer, `${round}.${i}`, 0)
        accepted.push(`${round}.${i}`)
      }
      await server.kill()
      await server.resume()
    }
    const starts = (): string[] =>
      worker.lines.filter((line) => 'start' in line).map((line) => String(line['start']))
    await until('every accepted message was run', () => new Set(starts()).size === accepted.length)
    await until('nothing is left', async () =>
      Object.values((await producer.stats()).counts).every((count) => count === 0),
    )
    // Repeated is only what ran when the server died: nothing starts again once its end was acknowledged.
    const ended = new Set<unknown>()
    for (const line of worker.lines) {
      if ('start' in line) expect(ended.has(line['start'])).toBe(false)
      if ('completed' in line) ended.add(line['completed'])
    }
  }, 180_000)

  it('clocks: workers an hour ahead or behind change nothing', async () => {
    const server = await startServer()
    const ahead = startQueue({ store: server.url, clock: skewed(3_600_000) })
    const behind = startQueue({ store: server.url, clock: skewed(-3_600_000) })
    const started: number[] = []
    for (const { queue } of [ahead, behind]) {
      queue.handle('exact', ({ dueAt, latenessMs }) => void started.push(Date.now() - dueAt, latenessMs))
      await queue.start()
    }
    for (const { queue } of [ahead, behind]) {
      for (let i = 0; i < 20; i += 1) await queue.produce('exact', i, { delay: 100 + i * 20 })
    }
    await until('all were run', () => started.length === 80)
    expect(Math.min(...started)).toBeGreaterThanOrEqual(-0.5)
    // Minutes would mean that somebody's clock was believed.
    expect(Math.max(...started)).toBeLessThan(30_000)
  })

  it('a client that the user has already is used for its settings, and left alone', async () => {
    const { createClient } = await import('redis')
    const server = await startServer()
    const client = createClient({ url: server.url })
    await client.connect()
    onTestFinished(() => client.destroy())
    const { queue, ran } = startQueue({ store: client })
    await queue.start()
    await queue.produce('t', 1)
    await until('it ran', () => ran.size === 1)
    await queue.stop()
    expect(await client.ping()).toBe('PONG')
  })
})
