/** P12: what a process was handed and cannot start goes back, and a slow topic delays no other. */
import { describe, expect, it } from 'vitest'
import { takeCensus } from '../../src/testing/index.ts'
import type { ClaimRequest, Settlement } from '../../src/store/contract/store.ts'
import { gate, makeWorld, record } from './world.ts'

function many(topic: string, count: number): { topic: string; payload: number }[] {
  return Array.from({ length: count }, (_, payload) => ({ topic, payload }))
}

describe('P12: no hostages', () => {
  it('two topics whose handlers hang do not stop a third', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make()
    const hang = gate()
    let ran = 0
    for (const topic of ['a', 'b'])
      queue.handle(topic, ({ payload }) => (payload === 3_000 ? hang.opened : undefined), {
        concurrency: 1,
        timeout: '1h',
      })
    queue.handle('c', () => void (ran += 1))
    await queue.start()
    await queue.produceMany([...many('a', 4_000), ...many('b', 4_000)])
    await clock.advance(10)
    await queue.produce('c', null)
    await clock.advance(10)
    expect(ran).toBe(1)
    hang.open()
    await clock.advance('10s')
    expect((await queue.stats()).counts).toEqual({ delayed: 0, ready: 0, running: 0, dead: 0 })
  })

  it('what one hung handler keeps from starting goes back, uncounted, and another worker has it', async () => {
    const { clock, memory, queue: make } = makeWorld()
    const hang = gate()
    const [first, second] = [make({ concurrency: 1 }), make()]
    const ran: unknown[] = []
    first.handle('t', ({ payload }) => (payload === 600 ? hang.opened : undefined), { timeout: '1h' })
    second.handle('t', ({ payload, attempt }) => {
      expect(attempt).toBe(1)
      ran.push(payload)
    })
    await first.start()
    await first.produceMany(many('t', 1_500))
    await clock.advance(200)
    expect((await memory.count()).states.running).toBeGreaterThan(400)
    await clock.advance(50)
    expect((await memory.count()).states).toMatchObject({ running: 1, ready: 899 })
    await second.start()
    await clock.advance(10)
    expect(ran).toEqual(Array.from({ length: 899 }, (_, i) => 601 + i)) // In their place.
    hang.open()
  })

  it('a hung lane leaves the store alone', async () => {
    const { clock, memory, store, queue: make } = makeWorld()
    const queue = make({ concurrency: 1, lease: '30s' })
    const hang = gate()
    queue.handle('t', ({ payload }) => (payload === 9 ? hang.opened : undefined), { timeout: '1h' })
    await queue.start()
    await queue.produceMany(many('t', 500))
    await clock.advance('1s')
    expect((await memory.count()).states).toMatchObject({ running: 1, ready: 490 })
    const before = store.calls.length
    await clock.advance('1m')
    // Three extensions per lease, and at the fallback interval looks for lapsed leases and for schedules: no releases.
    const calls = store.calls.slice(before)
    expect(calls.filter((verb) => verb === 'settle')).toEqual([])
    expect(calls.filter((verb) => verb === 'claim').length).toBeLessThanOrEqual(26)
    expect(calls.length).toBeLessThanOrEqual(43)
    hang.open()
    await clock.advance('1s')
    expect((await memory.count()).states).toEqual({ delayed: 0, ready: 0, running: 0, dead: 0 })
  })

  it('a lane that gave back fetches only what can start, until one of its handlers ends', async () => {
    const { clock, memory, store, queue: make } = makeWorld()
    const queue = make({ concurrency: 2 })
    const [one, two] = [gate(), gate()]
    queue.handle(
      't',
      ({ payload }) => (payload === 9 ? one.opened : payload === 11 ? two.opened : undefined),
      {
        timeout: '1h',
      },
    )
    const limits: number[] = []
    store.fate = (verb, request) => {
      const claim = request as ClaimRequest
      if (verb === 'claim' && claim.from === 'due')
        limits.push(...claim.wants.map(({ limit }) => limit).filter((limit) => limit > 0))
      return undefined
    }
    await queue.start()
    await queue.produceMany(many('t', 300))
    await clock.advance('1s')
    expect((await memory.count()).states).toMatchObject({ running: 2, ready: 288 })
    limits.length = 0
    one.open()
    await clock.advance('1s')
    expect((await memory.count()).states).toMatchObject({ running: 1, ready: 0 })
    expect(Math.max(...limits)).toBeGreaterThan(1)
    two.open()
  })

  it('P7: a message of higher priority starts before fetched ones of lower priority', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make({ concurrency: 1 })
    const order: unknown[] = []
    let isSlow = false
    queue.handle('t', async ({ payload }) => {
      order.push(payload)
      if (isSlow) await new Promise<void>((resolve) => clock.schedule(300, resolve))
    })
    await queue.start()
    await queue.produceMany(many('t', 1_000)) // Shows that it is fast.
    await clock.advance(10)
    isSlow = true
    order.length = 0
    await queue.produceMany(many('t', 1_000))
    await clock.advance('1s')
    const before = order.length
    await queue.produce('t', 'high', { priority: 'high' })
    await clock.advance('1s')
    // The one that runs ends first, and perhaps one more was on its way.
    expect(order.indexOf('high') - before).toBeLessThanOrEqual(1)
    expect(order).toContain('high')
  })

  it('P7: a higher priority that is fetched later overtakes in the line', async () => {
    const { clock, memory, queue: make } = makeWorld()
    const queue = make({ concurrency: 1 })
    const hold = gate()
    const order: unknown[] = []
    queue.handle('t', async ({ payload }) => {
      order.push(payload)
      if (payload === 'slow') await hold.opened
    })
    await queue.start()
    await queue.produce('t', 'quick')
    await clock.settle()
    for (const payload of ['slow', 'low']) await queue.produce('t', payload, { priority: 'low' })
    await clock.settle()
    await queue.produce('t', 'high', { priority: 'high' })
    await clock.settle()
    expect((await memory.count()).states.running).toBe(3)
    hold.open()
    await clock.settle()
    expect(order).toEqual(['quick', 'slow', 'high', 'low'])
  })

  it('a line that goes back is one call, and no attempt is counted', async () => {
    const { clock, memory, store, queue: make } = makeWorld()
    const queue = make({ concurrency: 1 })
    const seen = record(queue)
    const hang = gate()
    queue.handle('t', ({ payload }) => (payload === 5 ? hang.opened : undefined), { timeout: '1h' })
    const given: number[] = []
    store.fate = (verb, settlements) => {
      const releases = Array.isArray(settlements)
        ? (settlements as readonly Settlement[]).filter(({ kind }) => kind === 'release')
        : []
      if (verb === 'settle' && releases.length > 0) given.push(releases.length)
      return undefined
    }
    await queue.start()
    await queue.produceMany(many('t', 100))
    await clock.advance('1s')
    expect(given).toEqual([94])
    const { messages } = await takeCensus(memory)
    expect(messages.filter(({ state }) => state === 'ready').map(({ attempt }) => attempt)).toEqual(
      Array.from({ length: 94 }, () => 0),
    )
    expect(seen.map(({ name }) => name).filter((name) => name !== 'completed')).toEqual([])
    hang.open()
  })

  it.each([1, 2, 3])('more topics than one claim takes (%i): all of them are asked for', async (wantsMax) => {
    const { clock, store, queue: make } = makeWorld({ wakes: 'hint', shared: true, wantsMax })
    const queue = make()
    const ran: string[] = []
    let most = 0
    store.fate = (verb, request) => {
      const claim = request as ClaimRequest
      if (verb === 'claim' && claim.from === 'due') most = Math.max(most, claim.wants.length)
      return undefined
    }
    const topics = Array.from({ length: 7 }, (_, i) => `topic ${i}`)
    for (const topic of topics) queue.handle(topic, () => void ran.push(topic))
    await queue.start()
    await clock.settle()
    for (const topic of topics) await queue.produce(topic, null, { delay: 500 })
    await clock.advance('1s')
    expect(ran.toSorted()).toEqual(topics)
    expect(most).toBe(wantsMax)
  })

  it('large messages are fetched ahead by their bytes, not their number', async () => {
    const { clock, memory, queue: make } = makeWorld()
    const queue = make({ concurrency: 1 })
    const hang = gate()
    const body = 'x'.repeat(1024 * 1024 - 100)
    queue.handle('t', ({ payload }) => (payload === 'hang' ? hang.opened : undefined), { timeout: '1h' })
    await queue.start()
    await queue.produceMany(Array.from({ length: 40 }, () => ({ topic: 't', payload: body })))
    await clock.advance(10)
    await queue.produceMany(
      ['hang', ...Array.from({ length: 80 }, () => body)].map((payload) => ({ topic: 't', payload })),
    )
    await clock.advance(10)
    expect((await memory.count()).states.running).toBeLessThanOrEqual(40)
    hang.open()
  })
})
