import { describe, expect, it } from 'vitest'
import { LeadingStore } from './leading-store.ts'
import { makeWorld } from './world.ts'

const START = Date.UTC(2030, 0, 1)
const SURE = { wakes: 'sure', shared: false } as const

describe('delivery', () => {
  it('P1, P7: delays 5,4,3,2,1 s produced in that order arrive 1,2,3,4,5 and never early', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make()
    const arrived: { payload: unknown; at: number; latenessMs: number }[] = []
    queue.handle(
      'blog',
      ({ payload, latenessMs }) => void arrived.push({ payload, at: clock.now() - START, latenessMs }),
    )
    await queue.start()
    for (const s of [5, 4, 3, 2, 1]) await queue.produce('blog', s, { delay: `${s}s` })
    await clock.advance('10s')
    expect(arrived).toEqual([1, 2, 3, 4, 5].map((s) => ({ payload: s, at: s * 1000, latenessMs: 0 })))
  })

  it('a ride that nobody rated within 48 hours gets 5 stars, in well under a second', async () => {
    const { clock, queue: make } = makeWorld(SURE)
    const rides = new Map<string, number | undefined>([
      ['rated', undefined],
      ['forgotten', undefined],
    ])
    const queue = make()
    queue.handle('ride.rate', ({ payload }) => void rides.set((payload as { ride: string }).ride, 5))
    await queue.start()
    for (const ride of rides.keys()) await queue.produce('ride.rate', { ride }, { id: ride, delay: '48h' })
    await clock.advance('47h')
    rides.set('rated', 3)
    expect(await queue.cancel('rated')).toBe('cancelled')
    expect(rides.get('forgotten')).toBeUndefined()
    await clock.advance('1h')
    expect([...rides]).toEqual([
      ['rated', 3],
      ['forgotten', 5],
    ])
  })

  it.each(['25d', '365d', '18250d'] as const)(
    'P1: a delay of %s waits as long as it should',
    async (delay) => {
      const { clock, queue: make } = makeWorld(SURE)
      const queue = make()
      let arrivedAt = 0
      queue.handle('far', () => void (arrivedAt = clock.now()))
      await queue.start()
      await queue.produce('far', null, { delay })
      await clock.advance(delay)
      expect(arrivedAt - START).toBe(Number.parseInt(delay, 10) * 86_400_000)
    },
  )

  it('P1: a moment in the past is due now, and its lateness is counted from it', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make()
    let lateness = -1
    queue.handle('past', ({ latenessMs }) => void (lateness = latenessMs))
    await queue.start()
    await queue.produce('past', null, { at: new Date(START - 60_000) })
    await clock.settle()
    expect(lateness).toBe(60_000)
  })

  it('P1: a store that hands out ahead of time does not make a handler start early', async () => {
    const { clock, memory, queue: make } = makeWorld()
    const queue = make({ store: new LeadingStore(memory, clock, 40) })
    const started: number[] = []
    queue.handle('ahead', ({ latenessMs }) => void started.push(clock.now() - START - latenessMs))
    await queue.start()
    for (const delay of [100, 110, 150, 300]) await queue.produce('ahead', null, { delay })
    for (let i = 0; i < 400; i += 1) await clock.advance(1)
    expect(started).toEqual([100, 110, 150, 300])
  })

  it('P7: higher priorities go first when several are due', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make({ concurrency: 1 })
    const order: unknown[] = []
    queue.handle('p', ({ payload }) => void order.push(payload))
    for (const priority of ['low', 'normal', 'high'] as const) {
      await queue.produce('p', priority, { priority, delay: '1s' })
    }
    await clock.advance('2s')
    await queue.start()
    await clock.settle()
    expect(order).toEqual(['high', 'normal', 'low'])
  })

  it('a message not started within its ttl is dead as expired', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make()
    const ran: unknown[] = []
    queue.handle('otp', ({ payload }) => void ran.push(payload))
    await queue.produce('otp', 'stale', { id: 'stale', ttl: '1m' })
    await queue.produce('otp', 'fresh', { ttl: '1h' })
    await clock.advance('2m')
    await queue.start()
    await clock.settle()
    expect(ran).toEqual(['fresh'])
    expect(await queue.get('stale')).toMatchObject({ state: 'dead', reason: 'expired', ttlMs: 60_000 })
  })

  it('handlers may be added after the start, and find what was due before', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make()
    await queue.produce('later', 1)
    await queue.start()
    await clock.settle()
    let ran = 0
    queue.handle('later', () => void (ran += 1))
    await clock.settle()
    expect(ran).toBe(1)
  })

  it('a drain does not ask after lapsed leases with every claim', async () => {
    const { clock, store, queue: make } = makeWorld({ wakes: 'hint', shared: true })
    const queue = make()
    let ran = 0
    queue.handle('t', () => void (ran += 1))
    await queue.produceMany(Array.from({ length: 5_000 }, () => ({ topic: 't', payload: 1 })))
    const asked = { due: 0, lapsed: 0 }
    store.fate = (verb, request) => {
      if (verb === 'claim') asked[(request as { from: 'due' | 'lapsed' }).from] += 1
      return undefined
    }
    await queue.start()
    await clock.settle()
    expect(ran).toBe(5_000)
    expect(asked.due).toBeGreaterThan(5)
    expect(asked.lapsed).toBe(1)
  })

  it('idle, it does nothing but look at the fallback interval, and on a sure store not even that', async () => {
    for (const [capabilities, most] of [
      [{ wakes: 'hint', shared: true }, 30],
      [SURE, 2],
    ] as const) {
      const { clock, store, queue: make } = makeWorld(capabilities)
      const queue = make()
      queue.handle('t', () => {})
      await queue.produce('t', 1, { delay: '1h' })
      await queue.start()
      await clock.settle()
      const before = store.calls.length
      await clock.advance('1m')
      expect(store.calls.length - before).toBeLessThanOrEqual(most)
    }
  })

  it('reports lateness: per message, as an event, and as percentiles', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make({ lateAfter: '5s' })
    const late: number[] = []
    queue.on('late', ({ latenessMs }) => late.push(latenessMs)).handle('t', () => {})
    for (const seconds of [1, 4, 9]) await queue.produce('t', null, { delay: seconds * 1000 })
    await clock.advance('10s')
    await queue.start()
    await clock.settle()
    expect(late).toEqual([9000, 6000])
    const { latenessMs } = await queue.stats()
    expect(latenessMs?.max).toBeGreaterThanOrEqual(9000)
    expect(latenessMs?.max).toBeLessThan(9400)
    expect(latenessMs?.p50).toBeGreaterThan(5900)
    expect(latenessMs?.p50).toBeLessThan(6400)
  })

  it('a late message is reported at any rate when the objective is 0', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make({ lateAfter: 0 })
    let late = 0
    queue.on('late', () => (late += 1)).handle('t', () => {})
    await queue.produce('t', null)
    await clock.advance(1)
    await queue.start()
    await clock.settle()
    expect(late).toBe(1)
  })
})
