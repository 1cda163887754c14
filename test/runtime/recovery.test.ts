/** What a healthy worker does with its own work, and with what others left behind. */
import { describe, expect, it } from 'vitest'
import type { ClaimRequest, Settlement } from '../../src/store/contract/store.ts'
import { takeCensus } from '../../src/testing/index.ts'
import { SHARED, gate, makeWorld, record, type World } from './world.ts'

/** A worker that is handed these and is never heard of again. */
async function die({ memory }: World, limit: number, leaseMs = 15_000): Promise<readonly string[]> {
  const wants = [{ topic: 't', limit }]
  const { leases } = await memory.claim({
    from: 'due',
    owner: 'dead',
    bytesMax: 2 ** 30,
    wants,
    limit,
    leaseMs,
    leadMs: 0,
  })
  return leases.map(({ id }) => id)
}

describe('P6: a crash', () => {
  it('is taken over within 20 s with default settings, in order, as late as it is, and counted', async () => {
    const world = makeWorld()
    const { clock, queue: make } = world
    const queue = make()
    const started: unknown[] = []
    queue.handle(
      't',
      ({ payload, attempt, latenessMs }) => void started.push([payload, attempt, latenessMs > 14_000]),
      {
        concurrency: 1,
      },
    )
    for (let i = 0; i < 3; i += 1) await queue.produce('t', i)
    expect(await die(world, 2)).toHaveLength(2)
    await queue.start()
    await clock.advance('1s')
    expect(started).toEqual([[2, 1, false]])
    await clock.advance('19s')
    expect(started.slice(1)).toEqual([
      [0, 2, true],
      [1, 2, true],
    ])
  })

  it('a second one in a row waits by the retry policy, and an ordinary failure in between begins anew', async () => {
    const world = makeWorld()
    const { clock, memory, queue: make } = world
    const queue = make({ retry: { limit: 9, delays: ['10m'] } })
    queue.handle('other', () => undefined)
    const handled = make({ retry: { limit: 9, delays: ['10m'] } })
    await queue.produce('t', null, { id: 'x' })
    const start = clock.now()
    await die(world, 1)
    handled.handle('t', () => new Promise(() => undefined), { concurrency: 1 })
    const reaperOnly = make({ retry: { limit: 9, delays: ['10m'] } })
    reaperOnly.handle('t', () => Promise.reject(new Error('no')), {
      concurrency: 1,
      retry: { limit: 9, delays: ['1s'] },
    })
    await queue.start() // Knows no policy of it: back in its place.
    await clock.advance('20s')
    expect((await memory.inspect({ ids: ['x'] })).items[0]).toMatchObject({
      state: 'ready',
      attempt: 1,
      lapses: 1,
      dueAt: start,
    })
    await die(world, 1)
    const stopping = queue.stop()
    await clock.advance('1s')
    await stopping
    await handled.start()
    await clock.advance('20s')
    const [again] = (await memory.inspect({ ids: ['x'] })).items
    expect(again).toMatchObject({ state: 'delayed', attempt: 2, lapses: 2 })
    expect((again?.dueAt ?? 0) - clock.now()).toBeGreaterThan(9 * 60_000)
  })
})

describe('P6: a worker never takes over from itself', () => {
  const RETRY = { limit: 0 } as const

  it('not after the wall clock was set forward by an hour while a handler runs', async () => {
    const { clock, memory, queue: make } = makeWorld()
    const queue = make({ retry: RETRY })
    const seen = record(queue)
    const end = gate()
    queue.handle('t', ({ signal }) => end.opened.then(() => signal.throwIfAborted()), { timeout: '3h' })
    await queue.start()
    await queue.produce('t', null)
    await clock.settle()
    clock.jump(3_600_000)
    await clock.advance('1m')
    end.open()
    await clock.settle()
    expect(seen.map(({ name }) => name)).toEqual(['completed'])
    expect((await takeCensus(memory)).total).toBe(0)
  })

  it.each([
    ['refuses', { kind: 'refuse' }],
    ['is silent', { kind: 'delay', ms: 40_000 }],
  ] as const)('not after an outage longer than the lease, in which the store %s', async (_, fault) => {
    const { clock, memory, store, queue: make } = makeWorld()
    const queue = make({ lease: '2s', retry: RETRY, timeout: '1h', stopTimeout: 0 })
    const seen = record(queue)
    const end = gate()
    const attempts: number[] = []
    queue.handle('t', async ({ attempt, signal }) => {
      attempts.push(attempt)
      void signal // It looks at its signal, but goes on.
      await end.opened
    })
    await queue.start()
    const id = await queue.produce('t', null)
    await clock.settle()
    store.fate = () => fault
    await clock.advance('10s')
    store.fate = () => undefined
    await clock.advance('1m')
    expect((await memory.inspect({ ids: [id] })).items[0]).toMatchObject({ state: 'running', attempt: 1 })
    end.open()
    await clock.advance('1s')
    // Told to end, and had looked: given back, uncounted; then it runs again.
    expect(attempts).toEqual([1, 1])
    expect(seen.map(({ name }) => name)).not.toContain('dead')
    expect((await takeCensus(memory)).total).toBe(0)
  })

  it('not when a settlement could not be told for longer than the lease', async () => {
    const { clock, memory, store, queue: make } = makeWorld()
    const queue = make({ lease: '2s', retry: RETRY })
    const seen = record(queue)
    let ran = 0
    queue.handle('t', () => void (ran += 1))
    await queue.start()
    store.fate = (verb) => (verb === 'settle' || verb === 'extend' ? { kind: 'refuse' } : undefined)
    await queue.produce('t', null)
    await clock.advance('1m')
    store.fate = () => undefined
    await clock.advance('5s')
    expect(ran).toBe(1)
    expect(seen.map(({ name }) => name).filter((name) => name !== 'error')).toEqual(['completed'])
    expect((await takeCensus(memory)).total).toBe(0)
  })

  it('what was taken over from others and could not be settled is not given back uncounted', async () => {
    const world = makeWorld()
    const { clock, memory, store, queue: make } = world
    const queue = make({ lease: '2s', fallback: '1s', retry: RETRY })
    queue.handle('t', () => undefined)
    await queue.produce('t', null, { id: 'x' })
    await die(world, 1, 1_000)
    store.fate = (verb) => (verb === 'settle' ? { kind: 'refuse' } : undefined)
    await queue.start()
    await clock.advance('30s')
    store.fate = () => undefined
    await clock.advance('10s')
    expect((await memory.inspect({ ids: ['x'] })).items[0]).toMatchObject({
      state: 'dead',
      reason: 'lapsed',
      attempt: 1,
    })
  })
})

describe('extend()', () => {
  it('P3: is true while the lease lives, whatever the store says, and leaves the trying to the keeper', async () => {
    const { clock, memory, store, queue: make } = makeWorld()
    const queue = make({ lease: '30s', retry: { limit: 0 } })
    const answers: boolean[] = []
    queue.handle('t', async ({ extend }) => {
      for (let i = 0; i < 8; i += 1) {
        await new Promise<void>((resolve) => clock.schedule(1_000, resolve))
        answers.push(await extend())
      }
    })
    await queue.start()
    await queue.produce('t', null)
    await clock.advance('3s')
    store.fate = (verb) => (verb === 'extend' ? { kind: 'delay', ms: 2_000 } : undefined)
    await clock.advance('2s')
    store.fate = (verb) => (verb === 'extend' ? { kind: 'refuse' } : undefined)
    await clock.advance('2s')
    store.fate = () => undefined
    await clock.advance('5s')
    expect(answers).toEqual(Array.from({ length: 8 }, () => true))
    expect((await takeCensus(memory)).total).toBe(0)
  })

  it('extends the lease at once', async () => {
    const { clock, memory, queue: make } = makeWorld()
    const queue = make({ lease: '30s' })
    queue.handle('t', async ({ extend }) => {
      await new Promise<void>((resolve) => clock.schedule(4_000, resolve))
      await extend()
      await new Promise<void>((resolve) => clock.schedule(60_000, resolve))
    })
    await queue.start()
    const id = await queue.produce('t', null)
    await clock.advance('5s')
    const [found] = (await memory.inspect({ ids: [id] })).items
    expect((found?.until ?? 0) - clock.now()).toBe(29_000)
  })

  it('is false once the lease is lost', async () => {
    const { clock, memory, queue: make } = makeWorld()
    const queue = make({ lease: '10s' })
    const answers: boolean[] = []
    queue.handle('t', async ({ extend }) => {
      for (let i = 0; i < 2; i += 1) {
        await new Promise<void>((resolve) => clock.schedule(5_000, resolve))
        answers.push(await extend())
      }
    })
    await queue.start()
    await queue.produce('t', null)
    await clock.settle()
    clock.jump(11_000)
    await memory.claim({ from: 'lapsed', owner: 'another', limit: 1, leaseMs: 60_000 })
    await clock.advance('20s')
    expect(answers.at(-1)).toBe(false)
  })
})

describe('what a claim says of its worker', () => {
  it('its owner always; its facts with the first claim, when topics changed, and every half a minute', async () => {
    const { clock, memory, store, queue: make } = makeWorld(SHARED)
    const queue = make({ concurrency: 7 })
    const claims: ClaimRequest[] = []
    store.fate = (verb, request) => {
      if (verb === 'claim') claims.push(request as ClaimRequest)
      return undefined
    }
    const withFacts = (): number => claims.filter((claim) => 'facts' in claim).length
    queue.handle('a', () => undefined)
    await queue.start()
    await clock.advance('10s')
    expect(withFacts()).toBe(1)
    queue.handle('b', () => undefined)
    await clock.advance('10s')
    expect(withFacts()).toBe(2)
    await clock.advance('1m')
    expect(withFacts()).toBe(4)
    expect(new Set(claims.map(({ owner }) => owner)).size).toBe(1)
    const [worker] = (await memory.workers()).workers
    expect(worker?.owner).toBe(claims[0]?.owner)
    expect(JSON.parse(worker?.facts ?? '')).toMatchObject({
      topics: ['a', 'b'],
      topicCount: 2,
      slots: 7,
      running: 0,
    })
    expect(worker?.goneAt).toBeUndefined()
    await queue.stop()
    expect((await memory.workers()).workers[0]?.goneAt).toBe(clock.now())
  })
})

describe('a settlement that cannot be stored', () => {
  it('P10: poisons only itself: the others of its batch are settled, and the worker goes on', async () => {
    const { clock, memory, store, queue: make } = makeWorld()
    const queue = make({ lease: '2s', concurrency: 10 })
    const seen = record(queue)
    const start = gate()
    queue.handle('t', () => start.opened)
    await queue.start()
    for (let i = 0; i < 5; i += 1) await queue.produce('t', i, { id: `${i}` })
    await clock.settle()
    const broken = new Error('a damaged record')
    const settle = memory.settle.bind(memory)
    memory.settle = (settlements: readonly Settlement[]) =>
      settlements.some(({ id }) => id === '3') ? Promise.reject(broken) : settle(settlements)
    start.open()
    await clock.advance('1s')
    const done = seen
      .filter(({ name }) => name === 'completed')
      .map(({ event }) => ('id' in event ? event.id : ''))
    expect(new Set(done)).toEqual(new Set(['0', '1', '2', '4']))
    let ran = 0
    queue.handle('next', () => void (ran += 1))
    await queue.produce('next', null)
    await clock.settle()
    expect(ran).toBe(1)
    memory.settle = settle
    expect(store.calls).toContain('settle')
  })
})
