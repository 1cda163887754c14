/** P14: pauses and limits hold over all workers, and cost nobody else anything. */
import { describe, expect, it } from 'vitest'
import type { Punctual } from '../../src/index.ts'
import type { Capabilities } from '../../src/store/contract/store.ts'
import type { VirtualClock } from '../../src/testing/index.ts'
import { LeadingStore } from './leading-store.ts'
import { gate, makeWorld, record } from './world.ts'

const SURE: Partial<Capabilities> = { wakes: 'sure', shared: false }
const HINT: Partial<Capabilities> = { wakes: 'hint', shared: true }

function many(topic: string, count: number): { topic: string; payload: number }[] {
  return Array.from({ length: count }, (_, payload) => ({ topic, payload }))
}

/** Notes when each handler starts, and how many run at once; each takes so long. */
function watch(clock: VirtualClock, takesMs: number) {
  const starts: number[] = []
  let [running, most] = [0, 0]
  const handler = async (): Promise<void> => {
    starts.push(clock.monotonic())
    running += 1
    most = Math.max(most, running)
    await new Promise<void>((resolve) => void clock.schedule(takesMs, resolve))
    running -= 1
  }
  return { starts, handler, most: () => most }
}

describe('P14: a pause', () => {
  it('is not asked for where the store keeps none', async () => {
    const { clock, store, queue: make } = makeWorld({ ...HINT, features: [] })
    const asked: string[] = []
    store.fate = (verb) => void asked.push(verb)
    const queue = make()
    queue.handle('t', () => undefined)
    await queue.start()
    await clock.advance('1m')
    expect([asked.includes('claim'), asked.includes('controls')]).toEqual([true, false])
  })

  it('starts nothing more, lets what runs go on, and gives back the rest uncounted', async () => {
    const { clock, memory, queue: make } = makeWorld()
    const queue = make({ concurrency: 1 })
    const { starts, handler } = watch(clock, 1)
    queue.handle('t', handler)
    await queue.start()
    await queue.produceMany(many('t', 500))
    await clock.advance(100)
    expect((await memory.count()).states.running).toBeGreaterThan(1) // Some are fetched ahead.
    const before = starts.length
    await queue.pause('t')
    await clock.advance(5)
    expect(starts.length).toBeLessThanOrEqual(before + 1)
    const { states } = await memory.count()
    expect(states).toMatchObject({ running: 0, dead: 0, ready: 500 - starts.length })
    await clock.advance('1m')
    expect(starts.length).toBeLessThanOrEqual(before + 1)
    const { items } = await memory.inspect({ state: 'ready', limit: 10 })
    expect(items.every(({ attempt }) => attempt === 0)).toBe(true)
    await queue.resume('t')
    await clock.advance('2s')
    expect(starts.length).toBe(500)
  })

  it('that is heard of before the answer of a claim: nothing of it starts', async () => {
    const { clock, store, queue: make } = makeWorld()
    const queue = make({ concurrency: 5 })
    let ran = 0
    queue.handle('t', () => void (ran += 1))
    await queue.start()
    await clock.advance(10)
    store.fate = (verb) => (verb === 'claim' ? { kind: 'delay', ms: 100 } : undefined)
    await queue.produceMany(many('t', 3))
    await clock.advance(50) // The store has handed them out, and the answer is on its way.
    store.fate = () => undefined
    await queue.pause('t')
    await clock.advance('1m')
    expect(ran).toBe(0)
    expect((await queue.stats()).counts).toMatchObject({ ready: 3, running: 0 })
    await queue.resume('t')
    await clock.advance(10)
    expect(ran).toBe(3)
  })

  it('with every wake-up lost: no start later than 250 ms after it', async () => {
    const { clock, store, queue: make } = makeWorld()
    const queue = make({ concurrency: 1 })
    const { starts, handler } = watch(clock, 1)
    queue.handle('t', handler)
    await queue.start()
    await queue.produceMany(many('t', 1_000))
    await clock.advance(100)
    store.isDeaf = true
    await queue.pause('t')
    const pausedAt = clock.monotonic()
    await clock.advance('1m')
    expect(Math.max(...starts)).toBeLessThanOrEqual(pausedAt + 250)
    expect((await queue.stats()).counts.running).toBe(0)
  })

  it('gives back what was leased ahead of its moment', async () => {
    const { clock, memory, queue: make } = makeWorld(HINT)
    const leading = new LeadingStore(memory, clock, 20)
    const queue = make({ store: leading })
    let ran = 0
    queue.handle('t', () => void (ran += 1))
    await queue.start()
    await queue.produce('t', 1, { delay: 100 })
    await clock.advance(92)
    expect((await memory.count()).states.running).toBe(1)
    await queue.pause('t')
    await clock.advance('10s')
    expect([ran, (await memory.count()).states.running]).toEqual([0, 0])
  })

  it('of the whole queue stops all topics; a topic that was paused by name stays so', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make()
    const ran: string[] = []
    for (const topic of ['a', 'b']) queue.handle(topic, ({ topic: its }) => void ran.push(its))
    await queue.start()
    await queue.pause()
    await queue.pause('b')
    await queue.produceMany([...many('a', 1), ...many('b', 1)])
    await clock.advance('1m')
    expect(ran).toEqual([])
    await queue.resume()
    await clock.advance(10)
    expect(ran).toEqual(['a'])
    await queue.resume('b')
    await clock.advance(10)
    expect(ran).toEqual(['a', 'b'])
  })

  it('ends by itself at its moment', async () => {
    for (const wakes of [SURE, HINT]) {
      const { clock, queue: make } = makeWorld(wakes)
      const queue = make({ fallback: '1h' })
      const { starts, handler } = watch(clock, 0)
      queue.handle('t', handler)
      await queue.start()
      await queue.pause('t', { until: '10m' })
      const begun = clock.monotonic()
      await queue.produce('t', 1)
      await clock.advance('1h')
      expect(starts).toEqual([begun + 600_000])
    }
  })

  it('is told to every started queue, and so is its end', async () => {
    const { clock, queue: make } = makeWorld()
    const [here, there] = [make(), make()]
    const told: unknown[] = []
    there.on('paused', (event) => told.push(['paused', event]))
    there.on('resumed', (event) => told.push(['resumed', event]))
    there.handle('t', () => undefined)
    await there.start()
    await clock.advance(10)
    await here.pause('t')
    await clock.advance(10)
    await here.resume('t')
    await clock.advance(10)
    const until = clock.now() + 60_000
    await here.pause(undefined, { until: '1m' })
    await clock.advance('2m')
    expect(told).toEqual([
      ['paused', { topic: 't' }],
      ['resumed', { topic: 't' }],
      ['paused', { until }],
      ['resumed', {}],
    ])
  })

  it('leaves other topics alone, and the store too', async () => {
    const { clock, store, queue: make } = makeWorld()
    const queue = make({ fallback: '5s' })
    let ran = 0
    queue.handle('stopped', () => undefined)
    queue.handle('t', () => void (ran += 1))
    await queue.start()
    await queue.pause('stopped')
    await queue.produceMany(many('stopped', 1_000))
    await clock.advance(10)
    const before = store.calls.length
    await clock.advance('1m')
    expect(store.calls.slice(before).filter((verb) => verb === 'claim').length).toBeLessThanOrEqual(26)
    await queue.produceMany(many('t', 100))
    await clock.advance(10)
    expect(ran).toBe(100)
  })
})

/** The most starts above what the promise allows, over all windows. */
function excess(starts: readonly number[], perMs: number, burst: number): number {
  let worst = -Infinity
  for (const [i, from] of starts.entries())
    for (let j = i; j < starts.length; j += 1)
      worst = Math.max(worst, j - i + 1 - (burst + ((starts[j] ?? 0) - from) * perMs))
  return worst
}

describe('P14: a rate', () => {
  it.each([
    [1, SURE],
    [1, HINT],
    [8, HINT],
  ] as const)('holds in every window, and is used, by %i workers', async (workers, wakes) => {
    const { clock, queue: make } = makeWorld(wakes)
    const queues = Array.from({ length: workers }, () => make({ concurrency: 4 }))
    const { starts, handler } = watch(clock, 3)
    for (const queue of queues) {
      queue.handle('t', handler)
      await queue.start()
    }
    const [first] = queues as [Punctual]
    await first.limit('t', { rate: '50/1s', burst: 5 })
    await first.produceMany(many('t', 4_000))
    await clock.advance('60s')
    const most = 50 * 60 + 5
    expect(starts.length).toBeLessThanOrEqual(most + 1)
    expect(starts.length).toBeGreaterThanOrEqual(most * 0.95)
    expect(excess(starts.slice(0, 1_000), 0.05, 5)).toBeLessThanOrEqual(1)
  })

  it('is never fetched ahead: what is leased runs', async () => {
    const { clock, memory, queue: make } = makeWorld()
    const queue = make({ concurrency: 3 })
    const { handler } = watch(clock, 1)
    queue.handle('t', handler)
    await queue.start()
    await queue.produceMany(many('t', 200))
    await clock.advance(50)
    await queue.limit('t', { rate: '1000/1s' })
    await clock.advance('1s')
    await queue.produceMany(many('t', 2_000))
    for (let i = 0; i < 100; i += 1) {
      await clock.advance(1)
      expect((await memory.count()).states.running).toBeLessThanOrEqual(3)
    }
  })

  it.each([
    ['sure', SURE],
    ['hint', HINT],
  ] as const)('with slots that are all taken, goes on when one is free (%s)', async (_, wakes) => {
    const { clock, queue: make } = makeWorld(wakes)
    const queue = make({ concurrency: 6, fallback: '1h' })
    const { starts, handler } = watch(clock, 500)
    queue.handle('t', handler, { concurrency: 2 })
    queue.handle('other', () => undefined)
    await queue.limit('t', { rate: '100/1s', burst: 100 })
    await queue.start()
    await queue.produceMany(many('t', 10))
    await clock.advance('3s')
    expect(starts.length).toBe(10)
  })

  it('its starts do not wait behind an unlimited topic', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make({ concurrency: 2 })
    const limited = watch(clock, 1)
    const busy = watch(clock, 10)
    queue.handle('limited', limited.handler)
    queue.handle('busy', busy.handler)
    await queue.limit('limited', { rate: '20/1s' })
    await queue.start()
    await queue.produceMany([...many('busy', 5_000), ...many('limited', 1_000)])
    await clock.advance('10s')
    expect(limited.starts.length).toBeGreaterThanOrEqual(190)
    expect(excess(limited.starts, 0.02, 2)).toBeLessThanOrEqual(1)
    expect(busy.starts.length).toBeGreaterThan(800)
  })

  it('counts retries as starts', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make()
    const starts: number[] = []
    queue.handle(
      't',
      () => {
        starts.push(clock.monotonic())
        throw new Error('again')
      },
      { retry: { limit: 1_000, delays: [1] } },
    )
    await queue.limit('t', { rate: '10/1s', burst: 1 })
    await queue.start()
    await queue.produceMany(many('t', 50))
    await clock.advance('10s')
    expect(starts.length).toBeGreaterThanOrEqual(95)
    expect(starts.length).toBeLessThanOrEqual(102)
  })
})

describe('P14: concurrency', () => {
  it.each([
    ['sure', SURE],
    ['hint', HINT],
  ] as const)('is never exceeded by several workers, and used (%s)', async (_, wakes) => {
    const { clock, queue: make } = makeWorld(wakes)
    const { starts, handler, most } = watch(clock, 10)
    const queues = [make(), make(), make()]
    for (const queue of queues) {
      queue.handle('t', handler)
      await queue.start()
    }
    const [first] = queues as [Punctual]
    await first.limit('t', { concurrency: 4 })
    await first.produceMany(many('t', 400))
    await clock.advance('2s')
    expect(starts.length).toBe(400)
    expect(most()).toBe(4)
  })

  it('lowered while above it starts nothing until enough have ended', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make({ concurrency: 20 })
    const ends: (() => void)[] = []
    let running = 0
    queue.handle('t', async () => {
      running += 1
      await new Promise<void>((resolve) => ends.push(resolve))
      running -= 1
    })
    await queue.limit('t', { concurrency: 8 })
    await queue.start()
    await queue.produceMany(many('t', 30))
    await clock.advance(100)
    expect(running).toBe(8)
    await queue.limit('t', { concurrency: 3 })
    for (let i = 0; i < 5; i += 1) {
      ends.shift()?.()
      await clock.advance(20)
      expect(running).toBe(8 - i - 1)
    }
    ends.shift()?.()
    await clock.advance(20)
    expect(running).toBe(3)
    await queue.limit('t', null)
    await clock.advance(20)
    expect(running).toBe(20)
    for (let i = 0; i < 30; i += 1) {
      for (const end of ends.splice(0)) end()
      await clock.advance(20)
    }
  })

  it('the places of a worker that died come back with its leases', async () => {
    const { clock, memory, queue: make } = makeWorld()
    const queue = make({ lease: '10s' })
    const { starts, handler } = watch(clock, 1)
    queue.handle('t', handler)
    await queue.limit('t', { concurrency: 3 })
    await queue.produceMany(many('t', 6))
    const wants = [{ topic: 't', limit: 3 }]
    const died = await memory.claim({
      from: 'due',
      owner: 'dead',
      wants,
      limit: 3,
      bytesMax: 1e9,
      leaseMs: 10_000,
      leadMs: 0,
    })
    expect(died.leases.length).toBe(3)
    await queue.start()
    await clock.advance('9s')
    expect(starts.length).toBe(0)
    await clock.advance('20s')
    expect(starts.length).toBe(6)
  })
})

describe('a resume over some time', () => {
  it('spreads what is due, and ends by itself', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make({ concurrency: 50 })
    const { starts, handler } = watch(clock, 1)
    queue.handle('t', handler)
    await queue.start()
    await queue.pause('t')
    await queue.produceMany(many('t', 600))
    await clock.advance('1m')
    await queue.resume('t', { over: '10m' })
    const from = clock.monotonic()
    for (let minute = 1; minute <= 9; minute += 1) {
      await clock.advance('1m')
      expect(Math.abs(starts.length - minute * 60)).toBeLessThanOrEqual(3)
    }
    await clock.advance('1m')
    await clock.advance('1s')
    expect(starts.length).toBe(600)
    expect(excess(starts, 600 / 600_000, 1)).toBeLessThanOrEqual(1)
    expect((await queue.stats()).controls).toEqual([])
    expect(clock.monotonic() - from).toBe(601_000)
  })

  it('of nothing is a plain resume', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make()
    await queue.pause('t')
    await queue.resume('t', { over: '10m' })
    expect((await queue.stats()).controls).toEqual([])
    await clock.advance(1)
  })
})

describe('an engine that lacks controls', () => {
  it('is never asked for them', async () => {
    const { clock, store, queue: make } = makeWorld({ ...HINT, features: [] })
    store.fate = () => undefined
    const queue = make()
    const seen = record(queue)
    const done = gate()
    queue.handle('t', () => done.open())
    await queue.start()
    await queue.produce('t', 1)
    await clock.advance(10)
    await done.opened
    expect(store.calls).not.toContain('controls')
    expect(seen.filter(({ name }) => name === 'error')).toEqual([])
  })
})
