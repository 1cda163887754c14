/** What people see of schedules ahead of time, and what a pause of their topic does (P13, P14). */
import { describe, expect, it } from 'vitest'
import { SCHEDULES_TOPIC } from '../../src/core/control.ts'
import type { Lease } from '../../src/store/contract/store.ts'
import { StoreWrapper, type StoreVerb } from '../../src/store/contract/verbs.ts'
import { MemoryStore } from '../../src/store/memory/store.ts'
import { claimDue, release } from '../../src/testing/conformance/stand.ts'
import { makeWorld } from './world.ts'

const START = Date.UTC(2030, 0, 1)
const HOUR_MS = 3_600_000

describe('a forecast', () => {
  it('adds what schedules will bring beyond what they have placed, and says which is which', async () => {
    const world = makeWorld()
    const queue = world.queue()
    await queue.schedules.set('beat', { topic: 'tick', every: '10m' })
    await queue.schedules.set('noon', { topic: 'noon', cron: '0 12 * * *', zone: 'UTC' })
    await queue.produce('tick', null, { delay: '90m' })
    await queue.start()
    await world.clock.advance('1m')
    const edges = Array.from({ length: 14 }, (_, hour) => START + hour * HOUR_MS + 1)
    const { bars, isExact } = await queue.forecast({ edges })
    expect(isExact).toBe(true)
    expect(bars.map(({ count, scheduled = 0 }) => [count, scheduled])).toEqual([
      [0, 6],
      [1, 6],
      ...Array.from({ length: 9 }, () => [0, 6]),
      [0, 7],
      [0, 6],
    ])
    const noon = await queue.forecast({ edges, topic: 'noon' })
    expect(noon.bars.map(({ scheduled = 0 }) => scheduled)).toEqual([
      ...Array.from({ length: 11 }, () => 0),
      1,
      0,
    ])
  })

  it('knows what a schedule will bring before any worker has seen it', async () => {
    const world = makeWorld()
    const queue = world.queue()
    await queue.schedules.set('beat', { topic: 'tick', every: '1h' })
    await queue.schedules.set('few', { topic: 'few', every: '1h', times: 3 })
    await queue.schedules.set('late', { topic: 'late', every: '1h', start: new Date(START + 20 * HOUR_MS) })
    await queue.schedules.set('noon', { topic: 'noon', cron: '0 12 * * *', zone: 'UTC' })
    await queue.schedules.set('paused', { topic: 'paused', every: '1h' })
    await queue.schedules.pause('paused')
    await queue.schedules.set('changed', { topic: 'changed', every: '1h' })
    await queue.schedules.set('changed', { topic: 'changed', every: '2h' })
    const ahead = async (topic: string): Promise<number> => {
      const { bars } = await queue.forecast({ topic, edges: [START, START + 24 * HOUR_MS + 1] })
      return bars[0]?.scheduled ?? 0
    }
    const topics = ['tick', 'few', 'late', 'noon', 'paused', 'changed']
    expect(await Promise.all(topics.map(ahead))).toEqual([24, 3, 5, 1, 0, 12])
    await queue.schedules.resume('paused')
    expect(await ahead('paused')).toBe(24)
  })

  it('counts a schedule once, whatever state it goes to while it is read', async () => {
    // What happens after which read, before the next one.
    let after: Partial<Record<string, () => Promise<unknown>>> = {}
    class Moving extends StoreWrapper {
      override async around<R>(
        verb: StoreVerb,
        [argument]: readonly unknown[],
        call: () => Promise<R>,
      ): Promise<R> {
        const reply = await call()
        const { state = '' } = verb === 'inspect' ? (argument as { state?: string }) : {}
        const move = after[state]
        delete after[state]
        await move?.()
        return reply
      }
    }
    const world = makeWorld(undefined, (clock) => new Moving(new MemoryStore(clock)))
    const queue = world.queue()
    await queue.schedules.set('beat', { topic: 'tick', every: '1s' })
    const ahead = async (): Promise<unknown> => {
      const { bars } = await queue.forecast({ from: START, until: '1m', bars: 1 })
      expect(after).toEqual({})
      return bars[0]?.scheduled
    }
    const still = await ahead()
    expect(still).toBeGreaterThanOrEqual(59)
    let leases: readonly Lease[] = []
    const take = async (): Promise<void> => {
      leases = await claimDue(world.memory, 1, [SCHEDULES_TOPIC])
      expect(leases).toHaveLength(1)
    }
    const giveBack = async (): Promise<void> => {
      await world.memory.settle(leases.map((lease) => release(lease)))
    }
    after = { ready: take } // Met as ready, and as running.
    expect(await ahead()).toBe(still)
    after = { ready: giveBack } // Passed over: ready no more when it was not running any more.
    expect(await ahead()).toBe(still)
  })

  it('counts each occurrence once: it is stored, or computed', async () => {
    const world = makeWorld()
    const queue = world.queue()
    await queue.schedules.set('beat', { topic: 'tick', every: '10s' })
    await queue.start()
    await world.clock.advance('95s')
    const from = world.clock.now()
    const { bars } = await queue.forecast({ edges: [from, from + 10 * 60_000] })
    const [{ count, scheduled } = { count: 0, scheduled: 0 }] = bars
    expect(count).toBeGreaterThan(0)
    expect(count + (scheduled ?? 0)).toBe(60)
  })

  it('a schedule that is paused, over or removed brings nothing', async () => {
    const world = makeWorld()
    const queue = world.queue()
    await queue.schedules.set('paused', { topic: 'a', every: '1m' })
    await queue.schedules.set('over', { topic: 'b', every: '1m', times: 2 })
    await queue.schedules.set('removed', { topic: 'c', every: '1m' })
    await queue.start()
    await queue.schedules.pause('paused')
    await queue.schedules.remove('removed')
    await world.clock.advance('5m')
    const { bars } = await queue.forecast({ edges: [world.clock.now(), world.clock.now() + 24 * HOUR_MS] })
    expect(bars[0]?.scheduled ?? 0).toBe(0)
  })
})

describe('P13, P14: the topic of a schedule is paused', () => {
  it('its occurrences are placed in time, wait, and all start after the resume', async () => {
    const world = makeWorld()
    const queue = world.queue()
    const seen: string[] = []
    queue.handle('tick', ({ id }) => void seen.push(id))
    await queue.start()
    await queue.schedules.set('beat', { topic: 'tick', every: '1m' })
    await world.clock.advance('2m')
    await queue.pause('tick')
    await world.clock.advance('5m')
    expect(seen).toHaveLength(2)
    expect((await queue.stats()).counts.ready).toBe(5)
    expect(await queue.schedules.get('beat')).toMatchObject({ state: 'active', skipped: 0 })
    await queue.resume('tick')
    await world.clock.advance('1s')
    expect(seen).toEqual(
      [1, 2, 3, 4, 5, 6, 7].map((minute) => `{beat}@${new Date(START + minute * 60_000).toISOString()}`),
    )
  })

  it('with a ttl that skips, only those that are still of use start', async () => {
    const world = makeWorld()
    const queue = world.queue()
    const seen: string[] = []
    queue.handle('tick', ({ id }) => void seen.push(id))
    await queue.start()
    await queue.schedules.set('beat', { topic: 'tick', every: '1m', ttl: '90s', ifExpired: 'skip' })
    await queue.pause('tick')
    await world.clock.advance('5m')
    await queue.resume('tick')
    await world.clock.advance('1s')
    expect(seen).toEqual([4, 5].map((minute) => `{beat}@${new Date(START + minute * 60_000).toISOString()}`))
  })
})
