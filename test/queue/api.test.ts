import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { StandardSchema } from '../../src/core/input/schema.ts'
import { Punctual } from '../../src/index.ts'
import { takeCensus } from '../../src/testing/index.ts'
import { ModelStore } from '../../simulation/world/model-store.ts'
import { makeWorld } from '../runtime/world.ts'

const START = Date.UTC(2030, 0, 1)

describe('produce', () => {
  it('makes an id, or takes the caller’s', async () => {
    const { queue: make } = makeWorld()
    const queue = make()
    expect(await queue.produce('t', 1)).toMatch(/^[-\w]{16}$/)
    expect(await queue.produce('t', 1, { id: 'order-42' })).toBe('order-42')
  })

  it('P5: the same id again keeps the first, replaces it, or fails, as the caller chooses', async () => {
    const { queue: make } = makeWorld()
    const queue = make()
    await queue.produce('t', 'first', { id: 'x', delay: '1m' })
    expect(await queue.produce('t', 'second', { id: 'x' })).toBe('x')
    expect(await queue.get('x')).toMatchObject({ payload: 'first', dueAt: START + 60_000 })
    await expect(queue.produce('t', 'third', { id: 'x', ifExists: 'fail' })).rejects.toMatchObject({
      code: 'ID_EXISTS',
    })
    expect(await queue.produce('t', 'fourth', { id: 'x', ifExists: 'replace', delay: '2m' })).toBe('x')
    expect(await queue.get('x')).toMatchObject({ payload: 'fourth', dueAt: START + 120_000 })
  })

  it('produceMany keeps the order of its ids and checks all before it stores any', async () => {
    const { memory, queue: make } = makeWorld()
    const queue = make()
    const entries = Array.from({ length: 2_500 }, (_, i) => ({ topic: 't', payload: i, id: `m${i}` }))
    expect(await queue.produceMany(entries)).toEqual(entries.map(({ id }) => id))
    const bad = [
      { topic: 't', payload: 1 },
      { topic: '', payload: 2 },
    ]
    await expect(queue.produceMany(bad)).rejects.toMatchObject({ code: 'TOPIC_INVALID' })
    expect((await takeCensus(memory)).total).toBe(2_500)
  })

  it('produceMany says which one exists, and stores the others', async () => {
    const { memory, queue: make } = makeWorld()
    const queue = make()
    await queue.produce('t', 0, { id: 'b' })
    const many = ['a', 'b', 'c'].map((id) => ({ topic: 't', payload: 1, id, ifExists: 'fail' as const }))
    await expect(queue.produceMany(many)).rejects.toMatchObject({ code: 'ID_EXISTS', value: 'b' })
    await expect(queue.produceMany(many)).rejects.toThrow(/3 of 3 refused/)
    expect((await takeCensus(memory)).total).toBe(3)
  })

  it('a topic may need no payload', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make()
    const seen: unknown[] = []
    queue.handle('tick', ({ payload }) => void seen.push(payload))
    await queue.start()
    await queue.produce('tick')
    await queue.produce('tick', undefined, { delay: 5 })
    await clock.advance(10)
    expect(seen).toEqual([undefined, undefined])
  })
})

describe('looking and moving', () => {
  it('get, cancel, reschedule', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make()
    const id = await queue.produce(
      't',
      { n: 1 },
      { delay: '1h', priority: 'high', ttl: '5m', retry: { delays: ['1s', '1m'] } },
    )
    expect(await queue.get(id)).toMatchObject({
      id,
      topic: 't',
      payload: { n: 1 },
      state: 'delayed',
      priority: 'high',
      dueAt: START + 3_600_000,
      firstDueAt: START + 3_600_000,
      attempt: 0,
      lapses: 0,
      ttlMs: 300_000,
      retry: { limit: 2, delays: [1_000, 60_000] },
    })
    expect(await queue.reschedule(id, { at: START + 5_000 })).toBe('rescheduled')
    expect((await queue.get(id))?.dueAt).toBe(START + 5_000)
    await clock.advance('6s')
    expect((await queue.get(id))?.state).toBe('ready')
    expect(await queue.reschedule(id, { delay: '1m' })).toBe('rescheduled')
    expect(await queue.cancel(id)).toBe('cancelled')
    expect(await queue.cancel(id)).toBe('missing')
    expect(await queue.reschedule(id, { delay: 0 })).toBe('missing')
    expect(await queue.get(id)).toBeUndefined()
  })

  it('what runs can be neither cancelled nor moved', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make()
    queue.handle('t', () => new Promise<void>((resolve) => clock.schedule(1000, resolve)))
    await queue.start()
    const id = await queue.produce('t', 1)
    await clock.settle()
    expect(await queue.get(id)).toMatchObject({ state: 'running', attempt: 1, leaseEndsAt: START + 15_000 })
    expect(await queue.cancel(id)).toBe('running')
    expect(await queue.reschedule(id, { delay: 0 })).toBe('running')
  })

  it('P10: list asks a store for no more than it takes at once; the page is shorter then', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make({ store: new ModelStore(() => clock.now(), { batchMax: 5, leadMs: 0 }) })
    for (let i = 0; i < 12; i += 1) await queue.produce('t', i, { delay: '1m' })
    const seen: unknown[] = []
    let cursor: string | undefined
    do {
      const page = await queue.list(cursor === undefined ? {} : { cursor })
      expect(page.items.length).toBeLessThanOrEqual(5)
      seen.push(...page.items.map(({ payload }) => payload))
      cursor = page.cursor
    } while (cursor !== undefined)
    expect(seen).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
  })

  it('list pages through all states with one cursor', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make({ retry: { limit: 0 } })
    queue.handle('bad', () => {
      throw new Error('no')
    })
    for (let i = 0; i < 5; i += 1) await queue.produce('bad', i, { id: `dead${i}` })
    await queue.start()
    await clock.settle()
    for (let i = 0; i < 7; i += 1) await queue.produce('t', i, { id: `delayed${i}`, delay: '1h' })
    for (let i = 0; i < 6; i += 1) await queue.produce('t', i, { id: `ready${i}` })
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await queue.list({ limit: 4, ...(cursor === undefined ? {} : { cursor }) })
      expect(page.items.length).toBeLessThanOrEqual(4)
      seen.push(...page.items.map(({ id }) => id))
      cursor = page.cursor
    } while (cursor !== undefined)
    expect(new Set(seen).size).toBe(18)
    expect(seen).toHaveLength(18)
    const dead = await queue.list({ state: 'dead', topic: 'bad' })
    expect(dead.items).toHaveLength(5)
    expect(dead.items[0]).toMatchObject({ reason: 'failed', diedAt: START })
    expect((await queue.list({ state: 'dead', topic: 't' })).items).toEqual([])
  })

  it('purge and revive, by ids and by filter', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make({ retry: { limit: 0 } })
    let isBroken = true
    queue.handle('bad', () => {
      if (isBroken) throw new Error('no')
    })
    await queue.start()
    await queue.produceMany(
      Array.from({ length: 1_200 }, (_, i) => ({ topic: 'bad', payload: i, id: `d${i}` })),
    )
    await queue.produceMany(
      Array.from({ length: 700 }, (_, i) => ({ topic: 't', payload: i, delay: '1h' as const })),
    )
    await clock.advance('1s')
    expect((await queue.stats()).counts).toEqual({ delayed: 700, ready: 0, running: 0, dead: 1_200 })
    expect(await queue.purge({ state: 'delayed', topic: 't' })).toBe(700)
    expect(await queue.purge({ ids: ['d0', 'd1', 'nobody'] })).toBe(2)
    isBroken = false
    expect(await queue.revive(['d2', 'd3'])).toBe(2)
    expect(await queue.revive({ state: 'dead', topic: 'bad' })).toBe(1_196)
    await clock.advance('1s')
    expect((await queue.stats()).counts).toEqual({ delayed: 0, ready: 0, running: 0, dead: 0 })
  })

  it('stats count per state and topic, and know what is next', async () => {
    const { queue: make } = makeWorld()
    const queue = make()
    await queue.produce('a', 1, { delay: '1m' })
    await queue.produce('a', 1)
    await queue.produce('b', 1, { delay: '5m' })
    expect(await queue.stats()).toMatchObject({
      counts: { delayed: 2, ready: 1, running: 0, dead: 0 },
      topics: { a: { waiting: 2, running: 0, dead: 0 }, b: { waiting: 1, running: 0, dead: 0 } },
      nextDueAt: START,
    })
  })

  it('the doctor says what to know about the memory engine', async () => {
    const queue = new Punctual('memory:')
    expect(await queue.doctor()).toMatchObject([{ level: 'warning' }])
    await queue.stop()
  })
})

describe('schemas', () => {
  const topics = {
    'order.close': z.object({ orderId: z.number().int(), note: z.string().default('none') }),
    'mail.send': z.object({ on: z.coerce.date() }),
    strict: z.object({ on: z.date() }),
  }

  it('a payload that does not fit is refused with nothing stored', async () => {
    const { clock, memory } = makeWorld()
    const queue = new Punctual({ store: memory, clock, topics })
    const wrong = queue.produce('order.close', { orderId: 'x' } as never)
    await expect(wrong).rejects.toMatchObject({ code: 'PAYLOAD_MISMATCH', name: 'UsageError' })
    await expect(wrong).rejects.toThrow(/orderId/)
    await expect(queue.produce('nope' as never, {} as never)).rejects.toMatchObject({ code: 'TOPIC_UNKNOWN' })
    expect(() => queue.handle('nope' as never, () => {})).toThrow(
      expect.objectContaining({ code: 'TOPIC_UNKNOWN' }),
    )
    const many = [
      { topic: 'order.close' as const, payload: { orderId: 1 } },
      { topic: 'order.close' as const, payload: {} as never },
    ]
    await expect(queue.produceMany(many)).rejects.toMatchObject({ code: 'PAYLOAD_MISMATCH' })
    expect((await takeCensus(memory)).total).toBe(0)
    await queue.stop()
  })

  it('the handler gets what the schema makes of it', async () => {
    const { clock, memory } = makeWorld()
    const queue = new Punctual({ store: memory, clock, topics })
    const seen: unknown[] = []
    queue.handle('order.close', ({ payload }) => void seen.push(payload))
    queue.handle('mail.send', ({ payload }) => void seen.push(payload.on.getFullYear()))
    await queue.start()
    await queue.produce('order.close', { orderId: 7 })
    await queue.produce('mail.send', { on: new Date('2031-05-05') })
    await clock.settle()
    expect(seen).toEqual([{ orderId: 7, note: 'none' }, 2031])
    await queue.stop()
  })

  it('what would not survive JSON is refused at produce, not years later', async () => {
    const { clock, memory } = makeWorld()
    const queue = new Punctual({ store: memory, clock, topics })
    const refused = queue.produce('strict', { on: new Date() })
    await expect(refused).rejects.toMatchObject({ code: 'PAYLOAD_MISMATCH' })
    await queue.stop()
  })

  it('a message stored under an older schema goes to the dead letters, readable', async () => {
    const { clock, memory } = makeWorld()
    const old = new Punctual({ store: memory, clock })
    await old.produce('order.close', { order: 'old form' }, { id: 'x' })
    const queue = new Punctual({ store: memory, clock, topics })
    queue.handle('order.close', () => {})
    await queue.start()
    await clock.settle()
    expect(await queue.get('x')).toMatchObject({
      state: 'dead',
      reason: 'schema',
      payload: { order: 'old form' },
    })
    await Promise.all([queue.stop(), old.stop()])
  })

  it('P11: a handler whose schema outlasted its timeout or its worker is not started', async () => {
    const { clock, memory } = makeWorld()
    const slow: StandardSchema = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value) => new Promise((resolve) => void clock.schedule(10_000, () => resolve({ value }))),
      },
    }
    const old = new Punctual({ store: memory, clock })
    await old.produce('t', 1, { id: 'x' })
    const settings = { store: memory, clock, topics: { t: slow }, retry: { limit: 0 } } as const
    const late = new Punctual({ ...settings, timeout: '1s' })
    const started: string[] = []
    late.handle('t', () => void started.push('late'))
    await late.start()
    await clock.advance('20s')
    expect(await old.get('x')).toMatchObject({ state: 'dead', reason: 'timeout' })
    await late.stop()

    await old.revive(['x'])
    const leaving = new Punctual({ ...settings, stopTimeout: '1s' })
    leaving.handle('t', () => void started.push('leaving'))
    await leaving.start()
    await clock.settle()
    const stopping = leaving.stop()
    await clock.advance('20s')
    expect((await stopping).abandoned).toBe(1)
    expect(await old.get('x')).toMatchObject({ state: 'ready', attempt: 0 })
    expect(started).toEqual([])
    await old.stop()
  })
})
