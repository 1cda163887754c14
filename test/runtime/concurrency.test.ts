import { describe, expect, it } from 'vitest'
import { takeCensus } from '../../src/testing/index.ts'
import type { Settlement } from '../../src/store/contract/store.ts'
import { LeadingStore } from './leading-store.ts'
import { makeWorld } from './world.ts'

describe('concurrency', () => {
  it('never runs more than allowed, in all and per topic', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make({ concurrency: 10 })
    const running = { a: 0, b: 0 }
    const most = { a: 0, b: 0, all: 0 }
    const handler = (topic: 'a' | 'b') => async (): Promise<void> => {
      running[topic] += 1
      most[topic] = Math.max(most[topic], running[topic])
      most.all = Math.max(most.all, running.a + running.b)
      await new Promise<void>((resolve) => clock.schedule(50, resolve))
      running[topic] -= 1
    }
    queue.handle('a', handler('a'), { concurrency: 3 }).handle('b', handler('b'))
    await queue.start()
    for (let i = 0; i < 60; i += 1) await queue.produce(i % 2 === 0 ? 'a' : 'b', i)
    await clock.advance('5s')
    expect(most.a).toBe(3)
    expect(most.b).toBeGreaterThanOrEqual(7)
    expect(most.all).toBe(10)
    expect((await queue.stats()).counts).toEqual({ delayed: 0, ready: 0, running: 0, dead: 0 })
  })

  it('a slow topic never starves another, even if it could fill every slot', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make({ concurrency: 5 })
    let quick = 0
    queue.handle('slow', () => new Promise<void>((resolve) => clock.schedule(3_600_000, resolve)), {
      timeout: '2h',
    })
    queue.handle('slower', () => new Promise<void>((resolve) => clock.schedule(3_600_000, resolve)), {
      timeout: '2h',
    })
    queue.handle('quick', () => void (quick += 1))
    await queue.start()
    for (let i = 0; i < 20; i += 1) {
      await queue.produce('slow', i)
      await queue.produce('slower', i)
    }
    await clock.advance('1s')
    for (let i = 0; i < 20; i += 1) await queue.produce('quick', i)
    await clock.advance('1s')
    expect(quick).toBe(20)
  })

  it('more topics than slots: they take turns', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make({ concurrency: 1 })
    const done: Record<string, number> = { a: 0, b: 0, c: 0 }
    for (const topic of Object.keys(done)) {
      queue.handle(topic, async () => {
        await new Promise<void>((resolve) => clock.schedule(1_000, resolve))
        done[topic] = (done[topic] ?? 0) + 1
      })
    }
    for (let i = 0; i < 10; i += 1) for (const topic of Object.keys(done)) await queue.produce(topic, i)
    await queue.start()
    await clock.advance('15s')
    for (const count of Object.values(done)) expect(count).toBeGreaterThan(1)
    await clock.advance('60s')
    expect(done).toEqual({ a: 10, b: 10, c: 10 })
  })

  it('never claims more than it can run soon: slow handlers leave the rest to others', async () => {
    const { clock, memory, queue: make } = makeWorld()
    const queue = make({ concurrency: 4 })
    queue.handle('t', () => new Promise<void>((resolve) => clock.schedule(10_000, resolve)))
    await queue.start()
    for (let i = 0; i < 100; i += 1) await queue.produce('t', i)
    await clock.advance('25s')
    expect((await memory.count()).states.running).toBe(4)
  })

  it('several processes share the work, each message to exactly one', async () => {
    const { clock, memory, queue: make } = makeWorld()
    const ran: unknown[] = []
    const queues = Array.from({ length: 4 }, () => make({ concurrency: 7 }))
    for (const queue of queues) {
      queue.handle('t', async ({ payload }) => {
        ran.push(payload)
        await new Promise<void>((resolve) => clock.schedule(20, resolve))
      })
      await queue.start()
    }
    const many = Array.from({ length: 500 }, (_, i) => ({ topic: 't', payload: i, delay: i % 50 }))
    await queues[0]?.produceMany(many)
    await clock.advance('10s')
    expect(ran.toSorted((a, b) => Number(a) - Number(b))).toEqual(many.map(({ payload }) => payload))
    expect((await takeCensus(memory)).total).toBe(0)
  })

  it('produces of one turn share one call, and so do settlements', async () => {
    const { clock, store, queue: make } = makeWorld()
    const queue = make({ concurrency: 100 })
    queue.handle('t', () => {})
    await queue.stats()
    await Promise.all(Array.from({ length: 40 }, (_, i) => queue.produce('t', i)))
    expect(store.calls.filter((verb) => verb === 'put')).toHaveLength(1)
    await queue.start()
    await clock.settle()
    expect(store.calls.filter((verb) => verb === 'settle').length).toBeLessThanOrEqual(2)
    expect((await queue.stats()).counts.running).toBe(0)
  })

  it('P9: room comes back when a message that was leased ahead cannot start at its moment', async () => {
    const { clock, memory, queue: make } = makeWorld()
    const store = new LeadingStore(memory, clock, 5_000)
    const queue = make({ store, concurrency: 1, lease: '1s', retry: { limit: 9, delays: ['10s'] } })
    const done: unknown[] = []
    queue.handle('ahead', ({ payload }) => void done.push(payload))
    await queue.start()
    await queue.produce('ahead', 'held', { delay: '5s' })
    // Its lease ends while it waits for its moment, so that it is given back instead of started.
    let releases = 0
    store.fate = (verb, argument) => {
      if (verb === 'settle')
        releases += (argument as readonly Settlement[]).filter(({ kind }) => kind === 'release').length
      return verb === 'extend' ? { kind: 'refuse' } : undefined
    }
    await clock.advance('6s')
    expect(releases).toBeGreaterThan(0)
    store.fate = () => undefined
    await queue.produce('ahead', 'next', { delay: '1s' })
    await clock.advance('1m')
    expect(new Set(done)).toEqual(new Set(['held', 'next']))
  })
})
