/** A queue that is spread over several stores: each fails alone, and all share the worker. */
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Clock } from '../../src/clock.ts'
import { homeOf } from '../../src/core/encoding/home.ts'
import { Punctual, type PunctualOptions } from '../../src/index.ts'
import type { Capabilities, Settlement } from '../../src/store/contract/store.ts'
import { MemoryStore } from '../../src/store/memory/store.ts'
import { PartitionedStore } from '../../src/store/partitioned/store.ts'
import { FaultyStore, SeededRandom, StrictStore, VirtualClock } from '../../src/testing/index.ts'
import { gate } from './world.ts'

type Partitioned = {
  readonly clock: VirtualClock
  readonly parts: readonly FaultyStore[]
  readonly store: PartitionedStore
  readonly queue: (options?: PunctualOptions) => Punctual
  /** Every settlement that reached a store. */
  readonly settled: Settlement['kind'][]
}

/** `aheadMs`: how far the clock of each is ahead of ours. */
function makePartitions(
  count: number,
  aheadMs: (partition: number) => number = () => 0,
  more: Partial<Capabilities> = {},
): Partitioned {
  const clock = new VirtualClock()
  const settled: Settlement['kind'][] = []
  const mistakes: string[] = []
  class Watched extends StrictStore {
    override settle(...args: Parameters<StrictStore['settle']>): ReturnType<StrictStore['settle']> {
      settled.push(...args[0].map(({ kind }) => kind))
      return super.settle(...args)
    }
  }
  const parts = Array.from({ length: count }, (_, i) => {
    const own = shifted(clock, aheadMs(i))
    return new FaultyStore(new MemoryStore(own), clock, { wakes: 'hint', shared: true, ...more })
  })
  const store = new PartitionedStore(
    parts.map((part) => new Watched(part, (mistake) => mistakes.push(mistake))),
  )
  return {
    clock,
    parts,
    store,
    settled,
    queue: (options) => {
      const queue = new Punctual({ store, clock, random: new SeededRandom(1), logger: false, ...options })
      onTestFinished(async () => {
        expect(mistakes, 'calls that the contract forbids').toEqual([])
        for (const part of parts) part.fate = () => undefined
        const stopping = queue.stop({ timeout: 0 })
        await clock.advance('10s')
        await stopping
      })
      return queue
    },
  }
}

function shifted(clock: VirtualClock, byMs: number): Clock {
  return {
    now: () => clock.now() + byMs,
    monotonic: () => clock.monotonic(),
    schedule: (ms, run) => clock.schedule(ms, run),
    soon: (run) => clock.soon(run),
  }
}

/** Ids that live in this partition. */
function idsIn(partition: number, partitions: number, count: number): string[] {
  const ids: string[] = []
  for (let i = 0; ids.length < count; i += 1) if (homeOf(`m${i}`, partitions) === partition) ids.push(`m${i}`)
  return ids
}

const REFUSE = () => ({ kind: 'refuse' }) as const

describe('each partition fails alone', () => {
  it('messages of all of them start at their moments', async () => {
    const { clock, queue: make } = makePartitions(4)
    const queue = make()
    const started = new Map<string, number>()
    queue.handle('t', ({ id }) => void started.set(id, clock.monotonic()))
    await queue.start()
    const begun = clock.monotonic()
    const ids = await queue.produceMany(
      Array.from({ length: 40 }, (_, i) => ({ topic: 't', delay: 1_000 + i * 100 })),
    )
    await clock.advance('10s')
    expect(ids.map((id) => (started.get(id) ?? 0) - begun)).toEqual(ids.map((_, i) => 1_000 + i * 100))
  })

  it('P3: what runs longer than its lease is extended in its own partition, and lost in none', async () => {
    const { clock, queue: make } = makePartitions(3)
    const queue = make({ lease: '5s' })
    const [done, lost]: [string[], string[]] = [[], []]
    queue.on('lost', ({ id }) => lost.push(id))
    const ids = [0, 1, 2].flatMap((partition) => idsIn(partition, 3, 2))
    queue.handle('t', async ({ id }) => {
      await new Promise<void>((resolve) => void clock.schedule(30_000, resolve))
      done.push(id)
    })
    await queue.produceMany(ids.map((id) => ({ topic: 't', id })))
    await queue.start()
    await clock.advance('1m')
    expect([done.toSorted(), lost]).toEqual([ids.toSorted(), []])
  })

  it('P2: one that is away stops its own messages and no others, and goes on when it is back', async () => {
    const { clock, parts, queue: make } = makePartitions(3)
    const queue = make({ fallback: '1s' })
    const done: string[] = []
    queue.handle('t', ({ id }) => void done.push(id))
    await queue.start()
    const [lost, kept] = [idsIn(0, 3, 5), [...idsIn(1, 3, 5), ...idsIn(2, 3, 5)]]
    await queue.produceMany([...lost, ...kept].map((id) => ({ topic: 't', id, delay: '2s' })))
    for (const part of parts.slice(0, 1)) part.fate = REFUSE
    await clock.advance('3s')
    expect(done.toSorted()).toEqual(kept.toSorted())
    for (const part of parts.slice(0, 1)) part.fate = () => undefined
    await clock.advance('10s')
    expect(done.toSorted()).toEqual([...lost, ...kept].toSorted())
  })

  it('P12: one that is silent holds no slot: the others start, even with a single slot', async () => {
    const { clock, parts, queue: make } = makePartitions(3)
    const queue = make({ concurrency: 1 })
    const started: [id: string, at: number][] = []
    queue.handle('t', ({ id }) => void started.push([id, clock.monotonic()]))
    await queue.start()
    await clock.advance('1s')
    const [silent] = parts
    if (silent !== undefined)
      silent.fate = (verb) => (verb === 'claim' ? { kind: 'delay', ms: 60_000 } : undefined)
    const begun = clock.monotonic()
    const [first = '', second = ''] = [idsIn(0, 3, 1)[0], idsIn(1, 3, 1)[0]]
    await queue.produceMany([first, second].map((id) => ({ topic: 't', id, delay: '2s' })))
    await clock.advance('5s')
    expect(started.map(([id]) => id)).toEqual([second])
    expect((started[0]?.[1] ?? 0) - begun).toBeLessThanOrEqual(2_250)
  })

  it('P11: a stop ends in time while one of them is silent', async () => {
    const { clock, parts, queue: make } = makePartitions(3)
    const queue = make()
    queue.handle('t', () => undefined)
    await queue.start()
    await clock.advance('1s')
    for (const part of parts.slice(0, 1)) part.fate = () => ({ kind: 'delay', ms: 600_000 })
    await queue.produce('t', {}, { id: idsIn(1, 3, 1)[0] ?? '' })
    await clock.advance('6s')
    const stopping = queue.stop({ timeout: '1s' })
    await clock.advance('20s')
    expect((await stopping).durationMs).toBeLessThanOrEqual(11_000)
  })

  it('P1: each message starts by the clock of its own partition', async () => {
    const { clock, queue: make } = makePartitions(2, (partition) => (partition === 0 ? 0 : -3_000))
    const queue = make()
    const started = new Map<string, number>()
    queue.handle('t', ({ id }) => void started.set(id, clock.now()))
    await queue.start()
    const [early = '', late = ''] = [idsIn(0, 2, 1)[0], idsIn(1, 2, 1)[0]]
    const at = clock.now() + 5_000
    await queue.produceMany([early, late].map((id) => ({ topic: 't', id, at })))
    await clock.advance('20s')
    expect(started.get(early)).toBe(at)
    expect(started.get(late)).toBe(at + 3_000)
  })
})

describe('all share the worker', () => {
  it('P12: with one slot, no more than one message is handed out at a time, and none is given back', async () => {
    const { clock, queue: make, settled } = makePartitions(8)
    const queue = make({ concurrency: 1 })
    const done: string[] = []
    queue.handle('t', async ({ id }) => {
      await new Promise<void>((resolve) => void clock.schedule(400, resolve))
      done.push(id)
    })
    await queue.produceMany(Array.from({ length: 40 }, () => ({ topic: 't' })))
    await queue.start()
    await clock.advance('17s')
    expect(done).toHaveLength(40)
    expect(settled.filter((kind) => kind === 'release')).toEqual([])
  })

  it('a partition with much to do does not keep another from its turn', async () => {
    const { clock, queue: make } = makePartitions(2)
    const queue = make({ concurrency: 1 })
    const done: number[] = []
    queue.handle('t', async ({ id }) => {
      done.push(homeOf(id, 2))
      await new Promise<void>((resolve) => void clock.schedule(400, resolve))
    })
    const [many, few] = [idsIn(0, 2, 100), idsIn(1, 2, 5)]
    await queue.produceMany([...many, ...few].map((id) => ({ topic: 't', id })))
    await queue.start()
    await clock.advance('12s')
    expect(done.filter((partition) => partition === 1)).toHaveLength(5)
  })

  it('P14: a pause holds in all of them, is told once, and names those that did not hear it', async () => {
    const { clock, parts, queue: make } = makePartitions(3)
    const queue = make({ fallback: '1s' })
    const told: unknown[] = []
    queue.on('paused', (event) => told.push(event))
    const done: string[] = []
    queue.handle('t', ({ id }) => void done.push(id))
    await queue.start()
    await clock.advance('1s')
    for (const part of parts.slice(1, 2)) part.fate = REFUSE
    await expect(queue.pause('t')).rejects.toMatchObject({
      code: 'STORE_PARTIAL',
      value: ['partition 2 of 3'],
    })
    for (const part of parts) part.fate = () => undefined
    await queue.pause('t')
    await clock.advance('1s')
    await queue.produceMany(Array.from({ length: 30 }, () => ({ topic: 't' })))
    await clock.advance('10s')
    expect([done, told]).toEqual([[], [{ topic: 't' }]])
    await queue.resume('t')
    await clock.advance('10s')
    expect(done).toHaveLength(30)
  })

  it('a limit is refused: it would hold in each of them, and not over all', async () => {
    const { queue: make } = makePartitions(2)
    await expect(make().limit('t', { concurrency: 1 })).rejects.toMatchObject({ code: 'UNSUPPORTED' })
  })
})

describe('producing', () => {
  it('produceMany that fails in part names the ids, and the others are stored', async () => {
    const { parts, queue: make } = makePartitions(3)
    const queue = make()
    const [lost, kept] = [idsIn(0, 3, 4), [...idsIn(1, 3, 4), ...idsIn(2, 3, 4)]]
    for (const part of parts.slice(0, 1))
      part.fate = (verb) => (verb === 'put' ? { kind: 'refuse' } : undefined)
    const entries = [...lost, ...kept].map((id) => ({ topic: 't', id, delay: '1h' as const }))
    await expect(queue.produceMany(entries)).rejects.toMatchObject({ code: 'STORE_PARTIAL', value: lost })
    expect((await queue.stats()).counts.delayed).toBe(8)
    for (const part of parts) part.fate = () => undefined
    expect(await queue.produceMany(entries)).toEqual([...lost, ...kept])
    expect((await queue.stats()).counts.delayed).toBe(12)
  })

  it('ids come back in the order of the entries', async () => {
    const { queue: make } = makePartitions(3)
    const ids = Array.from({ length: 50 }, (_, i) => `id-${i}`)
    expect(await make().produceMany(ids.map((id) => ({ topic: 't', id, delay: '1h' })))).toEqual(ids)
  })

  it('ids come back in the order of the entries, where each partition gets several batches', async () => {
    const { queue: make } = makePartitions(2, () => 0, { batchMax: 10 })
    const ids = Array.from({ length: 97 }, (_, i) => `id-${i}`)
    expect(await make().produceMany(ids.map((id) => ({ topic: 't', id, delay: '1h' })))).toEqual(ids)
  })

  it('of many that failed, the error names five, and has all', async () => {
    const { parts, queue: make } = makePartitions(2)
    const [lost, kept] = [idsIn(0, 2, 7), idsIn(1, 2, 1)]
    for (const part of parts.slice(0, 1))
      part.fate = (verb) => (verb === 'put' ? { kind: 'refuse' } : undefined)
    const entries = [...lost, ...kept].map((id) => ({ topic: 't', id, delay: '1h' as const }))
    const named = lost.slice(0, 5).map((id) => `"${id}"`)
    await expect(make().produceMany(entries)).rejects.toMatchObject({
      value: lost,
      message: expect.stringContaining(
        `for 7 of 8 messages the store did not answer (${named.join(', ')} and others), the other 1 are stored`,
      ),
    })
  })

  it('P7: messages of one orderBy start in order, one after the other', async () => {
    const { clock, queue: make } = makePartitions(8)
    const queue = make({ concurrency: 1 })
    const done: unknown[] = []
    queue.handle('t', ({ payload }) => void done.push(payload))
    for (let i = 0; i < 20; i += 1) await queue.produce('t', i, { orderBy: 'customer-7' })
    await queue.start()
    await clock.advance('5s')
    expect(done).toEqual(Array.from({ length: 20 }, (_, i) => i))
  })

  it('P15: a follow-up without an id lives with its message; with an id of another home it is refused', async () => {
    const { clock, queue: make } = makePartitions(4)
    const queue = make()
    const [parent = '', elsewhere = ''] = [idsIn(0, 4, 1)[0], idsIn(1, 4, 1)[0]]
    const heard: unknown[] = []
    queue.handle('t', async (message) => {
      const id = await message.followUp('next', {}, { delay: '1h' })
      heard.push(homeOf(id, 4))
      await message.followUp('next', {}, { id: elsewhere }).catch((error: unknown) => {
        heard.push((error as { code: string }).code)
      })
    })
    queue.on('failed', () => heard.push('failed'))
    await queue.produce('t', {}, { id: parent, retry: { limit: 1 } })
    await queue.start()
    await clock.advance('5s')
    expect(heard).toEqual([0, 'ID_INVALID', 'failed'])
  })

  it('P13: a schedule fires over partitions', async () => {
    const { clock, queue: make } = makePartitions(4)
    const queue = make()
    const done: string[] = []
    queue.handle('t', ({ id }) => void done.push(id))
    await queue.start()
    for (const name of ['a', 'b', 'c', 'd', 'e'])
      await queue.schedules.set(name, { topic: 't', payload: {}, every: '1m' })
    await clock.advance('10m')
    for (const name of ['a', 'b', 'c', 'd', 'e'])
      expect(done.filter((id) => id.startsWith(`{${name}}@`)).length).toBeGreaterThanOrEqual(9)
    expect(new Set(done).size).toBe(done.length)
    expect((await queue.schedules.list()).items.map(({ name }) => name).toSorted()).toEqual([
      'a',
      'b',
      'c',
      'd',
      'e',
    ])
  })
})

describe('looking', () => {
  it('answers with what there is, and names what is missing', async () => {
    const { parts, queue: make } = makePartitions(3)
    const queue = make()
    const ids = Array.from({ length: 60 }, (_, i) => `id-${i}`)
    await queue.produceMany(ids.map((id) => ({ topic: 't', id, delay: '1h', tag: 'x' })))
    const stats = await queue.stats()
    expect([stats.counts.delayed, stats.topics['t']?.waiting, stats.missing]).toEqual([60, 60, undefined])
    const listed: string[] = []
    let cursor: string | undefined
    do {
      const page = await queue.list({ tag: 'x', limit: 7, ...(cursor === undefined ? {} : { cursor }) })
      listed.push(...page.items.map(({ id }) => id))
      cursor = page.cursor
    } while (cursor !== undefined)
    expect(listed.toSorted()).toEqual(ids.toSorted())

    for (const part of parts.slice(2)) part.fate = REFUSE
    const missing = ['partition 3 of 3']
    const there = ids.filter((id) => homeOf(id, 3) !== 2)
    expect(await queue.stats()).toMatchObject({ counts: { delayed: there.length }, missing })
    const found = await queue.list({ tag: 'x', limit: 100 })
    expect([found.items.length, found.missing]).toEqual([there.length, missing])
    const forecast = await queue.forecast({ until: '2h', bars: 2 })
    expect(forecast.missing).toEqual(missing)
    await expect(queue.get(idsIn(2, 3, 1)[0] ?? '')).rejects.toMatchObject({ name: 'UnavailableError' })
    await expect(queue.cancel({ tag: 'x' })).rejects.toMatchObject({ code: 'STORE_PARTIAL', value: missing })
    for (const part of parts) part.fate = () => undefined
    expect((await queue.stats()).counts.delayed).toBe(60 - there.length)
    expect(await queue.cancel({ tag: 'x' })).toEqual({ cancelled: 60 - there.length, running: 0 })
  })

  it('a worker is one, however many partitions know it', async () => {
    const { clock, queue: make } = makePartitions(3, (partition) => partition * 1_000)
    const queue = make()
    queue.handle('t', () => undefined)
    await queue.start()
    await clock.advance('2s')
    expect(await queue.workers()).toMatchObject([{ state: 'alive', facts: { topics: ['t'] } }])
  })

  it('what ended is counted over all of them', async () => {
    const { clock, queue: make } = makePartitions(3)
    const queue = make()
    const { opened, open } = gate()
    queue.handle('t', () => opened)
    await queue.produceMany(Array.from({ length: 30 }, () => ({ topic: 't' })))
    await queue.start()
    await clock.advance('2s')
    open()
    await clock.advance('5s')
    const { recent } = await queue.stats()
    expect([recent.completed, recent.topics['t']?.completed]).toEqual([30, 30])
  })
})
