/** P13: a schedule that is changed keeps what it owes, also when no worker has looked at it in between. */
import { describe, expect, it } from 'vitest'
import type { Punctual, ScheduleSpec } from '../../src/index.ts'
import { makeWorld, type World } from './world.ts'

const START = Date.UTC(2030, 0, 1)
const MINUTE_MS = 60_000
const SECOND = MINUTE_MS / 60
const OWING = { topic: 'tick', every: '1m', catchUp: { all: '1d' } } as const satisfies ScheduleSpec

/** Starts a worker; when each occurrence was due, in minutes since the beginning. */
async function work(queue: Punctual): Promise<number[]> {
  const seen: number[] = []
  queue.handle('tick', ({ dueAt }) => void seen.push((dueAt - START) / MINUTE_MS))
  await queue.start()
  return seen
}

/** In seconds. */
function fired(seen: readonly number[]): number[] {
  return seen.map((minutes) => Math.round(minutes * 60))
}

async function afterMinutes({ clock }: World, minutes: number): Promise<void> {
  await clock.advance(minutes * MINUTE_MS)
}

describe('P13: changed before a worker has looked', () => {
  it('another payload: what it owes since it was set fires', async () => {
    const world = makeWorld()
    const queue = world.queue()
    await queue.schedules.set('beat', OWING)
    await afterMinutes(world, 3)
    await queue.schedules.set('beat', { ...OWING, payload: 1 })
    await afterMinutes(world, 2.5)
    await queue.schedules.set('beat', { ...OWING, payload: 2 })
    await afterMinutes(world, 0.5)
    const seen = await work(queue)
    await world.clock.settle()
    expect(seen).toEqual([1, 2, 3, 4, 5, 6])
    expect(await queue.schedules.get('beat')).toMatchObject({ caughtUp: 6, skipped: 0 })
  })

  it('paused and resumed: what fell into the pause is skipped and counted, what came after it fires', async () => {
    const world = makeWorld()
    const queue = world.queue()
    await queue.schedules.set('beat', OWING)
    await afterMinutes(world, 3.5)
    await queue.schedules.pause('beat')
    await afterMinutes(world, 3)
    await queue.schedules.resume('beat')
    await afterMinutes(world, 2)
    await queue.schedules.set('beat', { ...OWING, payload: 1 })
    await afterMinutes(world, 1)
    const seen = await work(queue)
    await world.clock.settle()
    expect(seen).toEqual([7, 8, 9])
    expect(await queue.schedules.get('beat')).toMatchObject({ caughtUp: 3, skipped: 6 })
  })

  it('another rhythm: what the old one owed is counted as skipped, and the new one begins there', async () => {
    const world = makeWorld()
    const queue = world.queue()
    await queue.schedules.set('beat', OWING)
    await afterMinutes(world, 3.5)
    await queue.schedules.set('beat', { ...OWING, every: '2m' })
    await afterMinutes(world, 2.5)
    await queue.schedules.set('beat', { ...OWING, every: '2m', payload: 1 })
    await afterMinutes(world, 2)
    const seen = await work(queue)
    await world.clock.settle()
    expect(seen).toEqual([5.5, 7.5])
    expect(await queue.schedules.get('beat')).toMatchObject({ caughtUp: 2, skipped: 3 })
  })
})

describe('an edit to an earlier start', () => {
  it.each([
    { minutes: 10, when: 'later than all that a look decides' },
    { minutes: 0.5, when: 'within what the last look has decided, of which nothing was placed' },
  ])('begins there: $when', async ({ minutes }) => {
    const world = makeWorld()
    const queue = world.queue()
    const seen = await work(queue)
    await queue.schedules.set('beat', { ...OWING, start: new Date(START + 100 * MINUTE_MS) })
    await world.clock.advance(1_000)
    await queue.schedules.set('beat', { ...OWING, start: new Date(START + minutes * MINUTE_MS) })
    await afterMinutes(world, minutes + 2)
    expect(seen).toEqual([minutes, minutes + 1, minutes + 2])
  })

  it('also for one that was removed and set again', async () => {
    const world = makeWorld()
    const queue = world.queue()
    const seen = await work(queue)
    await queue.schedules.set('beat', { ...OWING, start: new Date(START + 100 * MINUTE_MS) })
    await world.clock.advance(1_000)
    await queue.schedules.remove('beat')
    await queue.schedules.set('beat', { ...OWING, start: new Date(START + 10 * MINUTE_MS) })
    await afterMinutes(world, 12)
    expect(seen).toEqual([10, 11, 12])
  })
})

describe('every so often with a start, said again without one', () => {
  it('P13: keeps its moments, as the program that takes over an imported schedule expects', async () => {
    const world = makeWorld()
    const queue = world.queue()
    const seen = await work(queue)
    const start = new Date(START + 10 * SECOND)
    await queue.schedules.set('beat', { topic: 'tick', every: '1m', start, retry: { limit: 0 } })
    await world.clock.advance(1 * SECOND)
    expect(await queue.schedules.set('beat', { topic: 'tick', every: '1m' })).toBe('changed')
    await world.clock.advance(40 * SECOND)
    expect(await queue.schedules.set('beat', { topic: 'tick', every: '1m' })).toBe('unchanged')
    await world.clock.advance(100 * SECOND)
    expect(fired(seen)).toEqual([10, 70, 130])
    expect(await queue.schedules.get('beat')).toMatchObject({ skipped: 0 })
  })

  it('begins now where its start was further away than that', async () => {
    const world = makeWorld()
    const queue = world.queue()
    const seen = await work(queue)
    const start = new Date(START + 3_600 * SECOND)
    await queue.schedules.set('beat', { topic: 'tick', every: '1m', start })
    await queue.schedules.set('beat', { topic: 'tick', every: '1m' })
    await world.clock.advance(130 * SECOND)
    expect(fired(seen)).toEqual([60, 120])
  })
})

describe('another rhythm, while occurrences of the old one are placed', () => {
  it('P13: withdraws them, so that it fires in the new rhythm alone; what was withdrawn is counted as skipped', async () => {
    const world = makeWorld()
    const queue = world.queue()
    const seen = await work(queue)
    await queue.schedules.set('beat', { topic: 'tick', every: '20s' })
    await world.clock.advance(25 * SECOND)
    expect(fired(seen)).toEqual([20])
    await queue.schedules.set('beat', { topic: 'tick', every: '30s' })
    await world.clock.advance(70 * SECOND)
    expect(fired(seen)).toEqual([20, 55, 85])
    const { fired: count, skipped } = (await queue.schedules.get('beat')) ?? {}
    // Of the new one 55, 85, 115, 145 and 175 are placed; of the old one 40, 60 and 80 were.
    expect([count, skipped]).toEqual([1 + 5, 3])
  })

  it('set back and forth by two versions of a program, it fires once for each moment of the last', async () => {
    const world = makeWorld()
    const queue = world.queue()
    const seen = await work(queue)
    for (let i = 0; i < 20; i += 1) {
      await queue.schedules.set('beat', { topic: 'tick', every: i % 2 === 0 ? '60s' : '61s' })
      await world.clock.advance(100)
    }
    expect((await queue.list({ topic: 'tick' })).items).toHaveLength(1)
    await world.clock.advance(130 * SECOND)
    expect(seen).toHaveLength(2)
    await queue.schedules.remove('beat')
    expect((await queue.list({ topic: 'tick' })).items).toEqual([])
  })

  it('a moment that both have fires once, and is neither skipped nor counted twice', async () => {
    const world = makeWorld()
    const queue = world.queue()
    const seen = await work(queue)
    const start = new Date(START)
    await queue.schedules.set('beat', { topic: 'tick', every: '20s', start, times: 6 })
    await world.clock.advance(1 * SECOND)
    await queue.schedules.set('beat', { topic: 'tick', every: '40s', start, times: 6 })
    await world.clock.advance(300 * SECOND)
    expect(fired(seen)).toEqual([0, 40, 80, 120, 160, 200])
    expect(await queue.schedules.get('beat')).toMatchObject({ fired: 6 })
  })

  it('one that runs already goes on, and counts as fired', async () => {
    const world = makeWorld()
    const queue = world.queue()
    const seen: string[] = []
    queue.handle('tick', async ({ id }) => {
      seen.push(id)
      await new Promise<void>((resolve) => world.clock.schedule(10 * SECOND, resolve))
    })
    await queue.start()
    await queue.schedules.set('beat', { topic: 'tick', every: '20s' })
    await world.clock.advance(25 * SECOND)
    await queue.schedules.set('beat', { topic: 'tick', every: '1h' })
    await world.clock.advance(100 * SECOND)
    expect(seen).toHaveLength(1)
    expect(await queue.schedules.get('beat')).toMatchObject({ fired: 1, skipped: 3 })
  })
})
