/** P15: what a handler attaches is stored if and only if its attempt completes. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Snooze, type Message } from '../../src/index.ts'
import type { Settlement } from '../../src/store/contract/store.ts'
import { gate, makeWorld, record } from './world.ts'

const START = Date.UTC(2030, 0, 1)

describe('P15: follow-ups', () => {
  it('a chain: each message is produced by the one before, at its own moment', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make()
    const seen: [string, unknown, number][] = []
    const note = ({ topic, payload }: Message) => seen.push([topic, payload, clock.now() - START])
    queue.handle('ride.end', async (message) => {
      note(message)
      const id = await message.followUp(
        'rating.ask',
        { ride: 7 },
        { delay: '2d', id: 'ask-7', priority: 'low' },
      )
      expect(id).toBe('ask-7')
    })
    queue.handle('rating.ask', (message) => {
      note(message)
      void message.followUp('rating.default', { ride: 7, stars: 5 }, { delay: '1h' })
    })
    queue.handle('rating.default', note)
    await queue.start()
    await queue.produce('ride.end', { ride: 7 }, { delay: '5m' })
    await clock.advance('10m')
    expect((await queue.get('ask-7'))?.priority).toBe('low')
    await clock.advance('3d')
    const askedAt = 300_000 + 2 * 86_400_000
    expect(seen).toEqual([
      ['ride.end', { ride: 7 }, 300_000],
      ['rating.ask', { ride: 7 }, askedAt],
      ['rating.default', { ride: 7, stars: 5 }, askedAt + 3_600_000],
    ])
  })

  it.each([
    ['throws', () => Promise.reject(new Error('no'))],
    ['snoozes', () => Promise.reject(new Snooze('1h'))],
  ])('nothing is stored when the handler %s after it attached', async (_, end) => {
    const { clock, queue: make } = makeWorld()
    const queue = make({ retry: { limit: 0 } })
    queue.handle('parent', async ({ followUp }) => {
      await followUp('child', 1)
      await end()
    })
    await queue.start()
    await queue.produce('parent')
    await clock.advance('5s')
    expect((await queue.list({ topic: 'child' })).items).toEqual([])
  })

  it('a lost lease stores nothing: the one who took over does', async () => {
    const { clock, memory, store, queue: make } = makeWorld()
    const queue = make({ timeout: '1h' })
    const { opened, open } = gate()
    queue.handle('parent', async ({ followUp }) => {
      await followUp('child', 1, { id: 'child' })
      await opened
    })
    await queue.start()
    await queue.produce('parent', null, { id: 'parent' })
    await clock.advance('1s')
    store.fate = (verb) => (verb === 'extend' ? { kind: 'refuse' } : undefined)
    await clock.advance('1m')
    await memory.claim({ from: 'lapsed', owner: 'another', limit: 10, leaseMs: 60_000 })
    open()
    await clock.advance('1s')
    expect(await queue.get('child')).toBeUndefined()
    expect((await queue.get('parent'))?.state).toBe('running')
  })

  it('after complete() they are stored, however the handler ends', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make({ logger: false })
    queue.handle('parent', async ({ followUp, complete }) => {
      await followUp('child', 1, { id: 'child' })
      complete()
      throw new Error('too late to matter')
    })
    await queue.start()
    await queue.produce('parent', null, { id: 'parent' })
    await clock.advance('1s')
    expect(await queue.get('parent')).toBeUndefined()
    expect((await queue.get('child'))?.payload).toBe(1)
  })

  it('each is checked when it is attached, a schema may take its time, and a refused one fails the attempt', async () => {
    const { clock, queue: make } = makeWorld()
    const slow = z
      .object({ n: z.number() })
      .refine(() => new Promise<boolean>((resolve) => setImmediate(() => resolve(true))))
    const queue = make({ topics: { parent: z.string(), child: slow }, retry: { delays: ['1m'] } })
    const seen = record(queue)
    const refusals: unknown[] = []
    queue.handle('parent', ({ followUp, payload, attempt }) => {
      if (payload === 'good' || attempt > 1) void followUp('child', { n: 1 }, { id: `of ${String(payload)}` })
      else if (payload === 'awaited') return followUp('child', { n: 'one' })
      else followUp('child', { n: 'one' }).catch((error: unknown) => refusals.push(error))
      return undefined
    })
    await queue.start()
    for (const payload of ['good', 'awaited', 'caught'])
      await queue.produce('parent', payload, { id: payload })
    await clock.advance('1s')
    expect((await queue.list({ topic: 'child' })).items.map(({ id }) => id)).toEqual(['of good'])
    const failed = seen.filter(({ name }) => name === 'failed')
    expect(failed).toMatchObject([
      { event: { id: 'awaited', error: { code: 'PAYLOAD_MISMATCH' } } },
      { event: { id: 'caught', error: { code: 'PAYLOAD_MISMATCH' } } },
    ])
    expect(refusals).toMatchObject([{ code: 'PAYLOAD_MISMATCH' }])
    await clock.advance('2m')
    const { items } = await queue.list({ topic: 'child' })
    expect(items.map(({ id }) => id).toSorted()).toEqual(['of awaited', 'of caught', 'of good'])
  })

  it('P10: at most 100, and only as many bytes as the store takes at once', async () => {
    const { clock, queue: make } = makeWorld({ wakes: 'hint', shared: true, batchBytesMax: 10_000 })
    const queue = make({ retry: { limit: 0 } })
    const seen = record(queue)
    queue.handle('many', async ({ followUp, payload }) => {
      for (let i = 0; i < (payload as number); i += 1) await followUp('child', i)
    })
    queue.handle('large', async ({ followUp, payload }) => {
      for (let i = 0; i < (payload as number); i += 1) await followUp('child', 'x'.repeat(6_000))
    })
    await queue.start()
    await queue.produce('many', 100, { id: 'hundred' })
    await queue.produce('many', 101, { id: 'more' })
    await queue.produce('large', 1, { id: 'one' })
    await queue.produce('large', 2, { id: 'two' })
    await clock.advance('1s')
    const ended = seen.flatMap(({ name, event }) =>
      'id' in event && name !== 'failed' ? [`${name} ${event.id}`] : [],
    )
    expect(ended.toSorted()).toEqual(['completed hundred', 'completed one', 'dead more', 'dead two'])
    expect((await queue.get('more'))?.error).toMatch(/more than 100 follow-ups/)
    expect((await queue.list({ topic: 'child', limit: 1_000 })).items).toHaveLength(101)
  })

  it('one attached after the handler ended is refused with ATTEMPT_OVER', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make()
    let kept: Message['followUp'] | undefined
    queue.handle('parent', ({ followUp }) => void (kept = followUp))
    await queue.start()
    await queue.produce('parent')
    await clock.advance('1s')
    await expect(kept?.('child', 1)).rejects.toMatchObject({ code: 'ATTEMPT_OVER' })
  })

  it('ifExists "fail" is refused, and so is a topic that is not declared', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make({ topics: { parent: z.any() }, retry: { limit: 0 } })
    const codes: unknown[] = []
    const keep = (error: { code: string }) => void codes.push(error.code)
    queue.handle('parent', async ({ followUp }) => {
      await followUp('parent', 1, { ifExists: 'fail' as 'keep' }).catch(keep)
      await followUp('child', 1).catch(keep)
    })
    await queue.start()
    await queue.produce('parent')
    await clock.advance('1s')
    expect(codes).toEqual(['OPTION_INVALID', 'TOPIC_UNKNOWN'])
    expect((await queue.stats()).counts.dead).toBe(1)
  })

  it('a store without room refuses this attempt only, and it is tried again', async () => {
    const { clock, store, queue: make } = makeWorld()
    let isFull = true
    const settle = store.settle.bind(store)
    const isKept = (one: Settlement) => !isFull || !('followUps' in one)
    store.settle = async (settlements: readonly Settlement[]) => {
      const answers = (await settle(settlements.filter(isKept))).values()
      return settlements.map((one) => (isKept(one) ? (answers.next().value ?? 'lost') : 'refused'))
    }
    const queue = make({ retry: { delays: ['1m'] } })
    const seen = record(queue)
    queue.handle('parent', ({ followUp, payload }) => {
      if (payload === true) void followUp('child', 1)
    })
    await queue.start()
    await queue.produce('parent', true, { id: 'follows' })
    await queue.produce('parent', false, { id: 'plain' })
    await clock.advance('1s')
    const names = seen.map(({ name, event }) => ('id' in event ? `${name} ${event.id}` : name))
    expect(names.toSorted()).toEqual(['completed plain', 'failed follows', 'retrying follows'])
    isFull = false
    await clock.advance('2m')
    expect((await queue.list({ topic: 'child' })).items).toHaveLength(1)
    expect(await queue.get('follows')).toBeUndefined()
  })
})
