/** What a healthy process once did to its own messages, on real stores: each recipe showed the harm, and shows none now. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { Punctual, type PunctualOptions } from '../../src/index.ts'
import { RedisServer } from '../store/redis/server.ts'
import { until } from '../store/redis/until.ts'
import { gate, record } from '../runtime/world.ts'
import { SHARED_ENGINES } from './engines.ts'

const ENGINES = [{ name: 'memory', open: async () => 'memory:' }, ...SHARED_ENGINES] as const

function open(store: string, options: PunctualOptions = {}): Punctual {
  const queue = new Punctual({ store, logger: false, ...options })
  onTestFinished(async () => void (await queue.stop({ timeout: 0 })))
  return queue
}

function many(topic: string, count: number): { topic: string; payload: number }[] {
  return Array.from({ length: count }, (_, payload) => ({ topic, payload }))
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => systemClock.schedule(ms, resolve))
}

describe.each(ENGINES)('on $name', ({ open: openStore }) => {
  it('P12: two topics whose handlers hang do not stop a third', async () => {
    const queue = open(await openStore())
    const hang = gate()
    onTestFinished(() => hang.open())
    const hung = new Set<string>()
    let ran = 0
    for (const topic of ['a', 'b'])
      queue.handle(
        topic,
        ({ payload }) => {
          if (payload !== 1_500) return undefined
          hung.add(topic)
          return hang.opened
        },
        { concurrency: 1, timeout: '1h' },
      )
    queue.handle('c', () => void (ran += 1))
    await queue.produceMany([...many('a', 2_000), ...many('b', 2_000)])
    await queue.start()
    await until('both hang', () => hung.size === 2)
    await queue.produce('c', null)
    await until('the third runs', () => ran === 1)
    expect(hung.size).toBe(2)
  })
})

describe.each(SHARED_ENGINES)('on $name', ({ open: openStore }) => {
  it('P12: what a hung handler keeps from starting, another worker has', async () => {
    const store = await openStore()
    const [first, second] = [open(store, { concurrency: 1 }), open(store)]
    const hang = gate()
    onTestFinished(() => hang.open())
    let isHung = false
    const others = new Set<unknown>()
    const attempts = new Set<number>()
    first.handle(
      't',
      ({ payload }) => {
        if (payload !== 600) return undefined
        isHung = true
        return hang.opened
      },
      { timeout: '1h' },
    )
    second.handle('t', ({ payload, attempt }) => {
      others.add(payload)
      attempts.add(attempt)
    })
    await first.produceMany(many('t', 1_500))
    await first.start()
    await until('the first hangs', () => isHung)
    await second.start()
    await until('all others are done', async () => {
      const { ready, running } = (await second.stats()).counts
      return ready === 0 && running === 1
    })
    expect(others.has(1_499)).toBe(true)
    expect([...attempts]).toEqual([1])
  })

  it('P7: a message of higher priority does not wait behind what was fetched before it', async () => {
    const queue = open(await openStore(), { concurrency: 1 })
    const order: unknown[] = []
    let isSlow = false
    queue.handle('t', async ({ payload }) => {
      order.push(payload)
      if (isSlow) await pause(300)
    })
    await queue.start()
    await queue.produceMany(many('t', 1_000))
    await until('it has shown that it is fast', () => order.length === 1_000)
    isSlow = true
    await queue.produceMany(many('t', 1_000))
    await until('it has become slow', () => order.length >= 1_003)
    await queue.produce('t', 'high', { priority: 'high' })
    const before = order.length
    await until('it has started', () => order.includes('high'))
    // The one that runs, and at most two that were on their way.
    expect(order.indexOf('high') - before).toBeLessThanOrEqual(3)
  })
})

describe('Redis away', () => {
  it('P6: for longer than the lease, the only worker: nothing is counted, nothing is dead', async () => {
    const server = await RedisServer.start()
    onTestFinished(() => server.stop())
    const queue = open(`${server.url}?callTimeout=1s`, { lease: '2s', retry: { limit: 0 }, timeout: '1h' })
    const seen = record(queue)
    const attempts: number[] = []
    let isAway = true
    queue.handle('t', async ({ attempt, signal }) => {
      attempts.push(attempt)
      while (isAway) {
        await pause(50)
        signal.throwIfAborted()
      }
    })
    await queue.start()
    await queue.produce('t', null)
    await until('it has started', () => attempts.length === 1)
    server.signal('SIGSTOP')
    await until('it was told to end', () => seen.some(({ name }) => name === 'lost'))
    isAway = false
    server.signal('SIGCONT')
    await until('it has completed', () => seen.some(({ name }) => name === 'completed' || name === 'dead'))
    expect(new Set(attempts)).toEqual(new Set([1]))
    expect(seen.map(({ name }) => name)).not.toContain('dead')
  })

  it('P6: while a claim is under way: the message comes as its first attempt, as late as it is', async () => {
    const server = await RedisServer.start()
    onTestFinished(() => server.stop())
    const queue = open(`${server.url}?callTimeout=1s`, { retry: { limit: 0 } })
    const started: { attempt: number; latenessMs: number }[] = []
    queue.handle('t', ({ attempt, latenessMs }) => void started.push({ attempt, latenessMs }))
    await queue.start()
    await queue.produce('t', null, { delay: '300ms' })
    // The claim for it goes out, and its answer does not come in time.
    server.signal('SIGSTOP')
    await pause(2_500)
    server.signal('SIGCONT')
    await until('it has started', () => started.length === 1)
    expect(started[0]?.attempt).toBe(1)
    expect(started[0]?.latenessMs).toBeGreaterThan(1_000)
    await until('it is gone', async () => (await queue.stats()).counts.running === 0)
    expect((await queue.stats()).counts.dead).toBe(0)
  })
})
