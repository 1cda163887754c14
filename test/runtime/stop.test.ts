import { describe, expect, it } from 'vitest'
import type { Message, StopReport } from '../../src/index.ts'
import { takeCensus } from '../../src/testing/index.ts'
import { gate, makeWorld, record } from './world.ts'

/** Stops, and lets virtual time pass until it is done; fails if that takes longer than the cap. */
async function stopWithin(
  world: ReturnType<typeof makeWorld>,
  queue: ReturnType<ReturnType<typeof makeWorld>['queue']>,
  options?: { timeout?: `${number}s` },
): Promise<StopReport> {
  const reports: StopReport[] = []
  void queue.stop(options).then((report) => reports.push(report))
  const capMs = (Number.parseInt(options?.timeout ?? '30s', 10) + 5) * 1000
  for (let waited = 0; reports.length === 0 && waited < capMs; waited += 250) await world.clock.advance(250)
  const [report] = reports
  if (report === undefined) throw new Error('stop did not end within its cap')
  return report
}

describe('stop', () => {
  it('P11: an idle worker stops at once, leaves no timer, and stays stopped', async () => {
    const world = makeWorld()
    const queue = world.queue()
    queue.handle('t', () => {})
    await queue.start()
    await world.clock.settle()
    const report = await queue.stop()
    expect(report).toMatchObject({ finished: 0, released: 0, abandoned: 0, errors: [], durationMs: 0 })
    expect(world.clock.pendingTimers).toBe(0)
    const calls = world.store.calls.length
    await world.clock.advance('1h')
    expect(world.store.calls.length).toBe(calls)
  })

  it('P11: before start, twice, and at the same time', async () => {
    const world = makeWorld()
    const queue = world.queue()
    const [first, second] = [queue.stop(), queue.stop()]
    expect(second).toBe(first)
    expect(await first).toMatchObject({ errors: [] })
    await expect(queue.start()).rejects.toMatchObject({ code: 'QUEUE_STOPPED' })
  })

  it('a producer that never started stops too, with what it was handed stored', async () => {
    const world = makeWorld()
    const queue = world.queue()
    await queue.stats()
    const produced = queue.produce('t', 1)
    await queue.stop()
    await produced
    expect((await takeCensus(world.memory)).total).toBe(1)
  })

  it('P11: a look at a schedule is no handler: the report counts none', async () => {
    const world = makeWorld()
    const queue = world.queue()
    queue.handle('tick', () => {})
    await queue.start()
    // OwnLooks at the occurrence before: in a call that we can hold up.
    await queue.schedules.set('beat', { topic: 'tick', every: '1m', overlap: 'skip' })
    await world.clock.advance('90s')
    world.store.fate = (verb) => (verb === 'inspect' ? { kind: 'delay', ms: 2_000 } : undefined)
    const looks = (): number => world.store.calls.filter((verb) => verb === 'inspect').length
    const before = looks()
    await world.clock.advance('30s')
    expect(looks()).toBe(before + 1)
    const report = await stopWithin(world, queue)
    expect(report).toMatchObject({ finished: 0, released: 0, abandoned: 0, errors: [] })
  })

  it('running handlers may end; the report adds up', async () => {
    const world = makeWorld()
    const queue = world.queue({ concurrency: 3 })
    const ended: unknown[] = []
    queue.handle('t', async ({ payload }) => {
      await new Promise<void>((resolve) => world.clock.schedule(Number(payload) * 1000, resolve))
      ended.push(payload)
    })
    await queue.start()
    for (const seconds of [1, 5, 9]) await queue.produce('t', seconds)
    await world.clock.settle()
    const report = await stopWithin(world, queue)
    expect(ended).toEqual([1, 5, 9])
    expect(report).toMatchObject({ finished: 3, released: 0, abandoned: 0, errors: [] })
    expect(report.durationMs).toBeGreaterThanOrEqual(9_000)
    expect((await takeCensus(world.memory)).total).toBe(0)
  })

  it('P6: what was fetched but not started goes back at once, with its moment and attempt as before', async () => {
    const world = makeWorld()
    const queue = world.queue({ concurrency: 1 })
    const hold = gate()
    queue.handle('t', async ({ payload }) => {
      if (payload === 'slow') await hold.opened
    })
    await queue.start()
    await queue.produce('t', 'quick') // Shows that it is fast, so that more is fetched ahead.
    await world.clock.settle()
    for (const id of ['slow', 'a', 'b', 'c']) await queue.produce('t', id, { id })
    await world.clock.settle()
    const before = await world.memory.inspect({ ids: ['a', 'b', 'c'] })
    expect(before.items.map(({ state }) => state)).toEqual(['running', 'running', 'running'])
    const stopping = queue.stop()
    await world.clock.settle()
    const after = await world.memory.inspect({ ids: ['a', 'b', 'c'] })
    expect(after.items).toMatchObject(
      before.items.map(({ dueAt }) => ({ state: 'ready', attempt: 0, dueAt })),
    )
    hold.open()
    expect(await stopping).toMatchObject({ finished: 1, released: 3, abandoned: 0 })
  })

  it('P11: a stop that waits for nothing gives back what the last claim brings, before it closes', async () => {
    const world = makeWorld()
    const queue = world.queue()
    queue.handle('t', () => {})
    await world.memory.open()
    const { queue: make } = world
    await make().produce('t', null, { id: 'x' })
    world.store.fate = (verb) => (verb === 'claim' ? { kind: 'delay', ms: 500 } : undefined)
    await queue.start()
    await world.clock.settle()
    expect((await world.memory.inspect({ ids: ['x'] })).items[0]?.state).toBe('running')
    const report = await stopWithin(world, queue, { timeout: '0s' })
    expect(report).toMatchObject({
      finished: 0,
      released: 1,
      abandoned: 0,
      errors: ['quiet: not done within 0ms'],
    })
    expect((await world.memory.inspect({ ids: ['x'] })).items[0]).toMatchObject({
      state: 'ready',
      attempt: 0,
    })
  })

  it('P11: outcomes are settled although the last claim never ends', async () => {
    const world = makeWorld()
    const queue = world.queue({ concurrency: 2 })
    const hold = gate()
    queue.handle('t', () => hold.opened)
    await queue.start()
    await queue.produce('t', null, { id: 'x' })
    await world.clock.settle()
    world.store.fate = (verb) => (verb === 'claim' ? { kind: 'delay', ms: 3_600_000 } : undefined)
    await queue.produce('t', null, { id: 'y', delay: '1h' })
    await world.clock.advance('31s') // A look is under way.
    const stopping = stopWithin(world, queue, { timeout: '10s' })
    hold.open()
    const report = await stopping
    expect(report).toMatchObject({ finished: 1, abandoned: 0 })
    expect(report.errors).toEqual(['quiet: not done within 5s', 'settle: not done within 2s'])
    expect((await world.memory.inspect({ ids: ['x'] })).items).toEqual([])
  })

  it('P11: a handler that listens to its signal is aborted after the timeout; its message is not failed', async () => {
    const world = makeWorld()
    const queue = world.queue()
    const seen = record(queue)
    queue.handle(
      't',
      ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    )
    await queue.start()
    await queue.produce('t', null, { id: 'x' })
    await world.clock.settle()
    const report = await stopWithin(world, queue, { timeout: '2s' })
    expect(report).toMatchObject({ finished: 1, abandoned: 0, errors: [] })
    expect(report.durationMs).toBeGreaterThanOrEqual(2_000)
    expect(seen).toEqual([])
    expect((await world.memory.inspect({ ids: ['x'] })).items[0]).toMatchObject({
      state: 'ready',
      attempt: 0,
    })
  })

  it('P11: a handler that ignores its signal is left behind; its message is given back, not failed', async () => {
    const world = makeWorld()
    const queue = world.queue()
    const end = gate()
    queue.handle('t', () => end.opened, { timeout: '1h' })
    await queue.start()
    await queue.produce('t', null, { id: 'stuck' })
    await world.clock.settle()
    const report = await stopWithin(world, queue, { timeout: '2s' })
    expect(report).toMatchObject({ finished: 0, released: 0, abandoned: 1, errors: [] })
    expect((await world.memory.inspect({ ids: ['stuck'] })).items[0]).toMatchObject({
      state: 'ready',
      attempt: 0,
    })
    end.open()
    await world.clock.settle()
    expect((await world.memory.inspect({ ids: ['stuck'] })).items[0]).toMatchObject({
      state: 'ready',
      attempt: 0,
    })
    expect(world.clock.pendingTimers).toBe(0)
  })

  it('P11: a handler that ends after it was left behind is counted once', async () => {
    const world = makeWorld()
    const queue = world.queue()
    queue.handle('t', () => new Promise<void>((resolve) => world.clock.schedule(2_500, resolve)))
    await queue.start()
    await queue.produce('t', null)
    await world.clock.settle()
    // Left behind after 2 s; while its message is given back, it ends after all.
    world.store.fate = (verb) => (verb === 'settle' ? { kind: 'delay', ms: 1_000 } : undefined)
    const report = await stopWithin(world, queue, { timeout: '1s' })
    expect(report).toMatchObject({ finished: 0, released: 0, abandoned: 1 })
  })

  it.each([
    [
      'had asked for its signal',
      'ready',
      (message: Message, end: Promise<void>) => (void message.signal, end),
    ],
    ['never looked at its signal', 'gone', (_: Message, end: Promise<void>) => end],
    [
      'said complete()',
      'gone',
      (message: Message, end: Promise<void>) => (void message.signal, message.complete(), end),
    ],
  ] as const)(
    'P6: cut off by a stop, a return of a handler that %s leaves its message %s',
    async (_, place, work) => {
      const world = makeWorld()
      const queue = world.queue()
      queue.handle('t', (message) => work(message, new Promise((end) => world.clock.schedule(1_500, end))))
      await queue.start()
      await queue.produce('t', null, { id: 'x' })
      await world.clock.settle()
      expect(await stopWithin(world, queue, { timeout: '1s' })).toMatchObject({ finished: 1, abandoned: 0 })
      const { places, messages } = await takeCensus(world.memory)
      expect(places.get('x') ?? 'gone').toBe(place)
      expect(messages.map(({ attempt }) => attempt)).toEqual(place === 'ready' ? [0] : [])
    },
  )

  it('timeout 0 aborts at once', async () => {
    const world = makeWorld()
    const queue = world.queue()
    queue.handle(
      't',
      ({ signal }) => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve())),
    )
    await queue.start()
    await queue.produce('t', null)
    await world.clock.settle()
    expect(await stopWithin(world, queue, { timeout: '0s' })).toMatchObject({
      finished: 1,
      abandoned: 0,
      durationMs: 0,
    })
    expect((await world.memory.count()).states).toMatchObject({ ready: 1, running: 0 })
  })

  it.each(['claim', 'settle', 'extend', 'everything'] as const)(
    'P11: ends within its cap while %s hangs',
    async (what) => {
      const world = makeWorld()
      const queue = world.queue({ lease: '3s' })
      queue.handle('t', async () => new Promise<void>((resolve) => world.clock.schedule(700, resolve)))
      await queue.start()
      for (let i = 0; i < 20; i += 1) await queue.produce('t', i, { delay: i * 300 })
      await world.clock.advance('2s')
      world.store.fate = (verb) =>
        what === 'everything' || verb === what ? { kind: 'delay', ms: 2 ** 31 - 1 } : undefined
      await world.clock.advance('1s')
      const report = await stopWithin(world, queue, { timeout: '6s' })
      expect(report.durationMs).toBeLessThanOrEqual(11_000)
      expect(report.errors.length).toBeGreaterThanOrEqual(what === 'extend' ? 0 : 1)
    },
  )

  it('P11: ends within its cap while the store refuses everything', async () => {
    const world = makeWorld()
    const queue = world.queue()
    queue.handle('t', async () => new Promise<void>((resolve) => world.clock.schedule(700, resolve)))
    await queue.start()
    await queue.produce('t', 1)
    await world.clock.settle()
    world.store.fate = () => ({ kind: 'refuse' })
    const report = await stopWithin(world, queue, { timeout: '3s' })
    expect(report).toMatchObject({ finished: 1, abandoned: 0 })
    expect(report.errors).toEqual(['settle: not done within 2s'])
  })

  it('P2, P11: stopped at any moment, every message is done once or still there', async () => {
    for (let moment = 0; moment <= 3_000; moment += 130) {
      const world = makeWorld()
      const queue = world.queue({ concurrency: 3 })
      const done = new Set<string>()
      queue.handle('t', async ({ id, signal }) => {
        await new Promise<void>((resolve) => world.clock.schedule(400, resolve))
        if (!signal.aborted) done.add(id)
      })
      const starting = queue.start()
      const ids: string[] = []
      for (let i = 0; i < 12; i += 1) ids.push(await queue.produce('t', i, { delay: i * 150 }))
      await starting
      await world.clock.advance(moment)
      const inFlight = (await world.memory.count()).states.running
      const report = await stopWithin(world, queue, { timeout: '5s' })
      const { places } = await takeCensus(world.memory)
      expect(report.finished + report.released + report.abandoned).toBe(inFlight)
      for (const id of ids) expect(done.has(id)).toBe(places.get(id) === undefined)
      expect([...places.values()]).not.toContain('running')
      expect(world.clock.pendingTimers).toBe(0)
    }
  })

  it('stop while the store is still opening', async () => {
    const world = makeWorld()
    const opened = gate()
    const slow = Object.assign(world.store, { open: () => opened.opened })
    const queue = world.queue({ store: slow })
    queue.handle('t', () => {})
    const starting = queue.start()
    const stopping = queue.stop()
    opened.open()
    await expect(starting).rejects.toMatchObject({ code: 'QUEUE_STOPPED' })
    expect(await stopping).toMatchObject({ finished: 0, abandoned: 0 })
  })

  it('P11: a handler that is still allowed to finish may use its queue while it stops', async () => {
    const world = makeWorld()
    const queue = world.queue({ retry: { limit: 0 } })
    const done: unknown[] = []
    queue.handle('t', async ({ id }) => {
      await new Promise<void>((resolve) => world.clock.schedule(2_000, resolve))
      const next = await queue.produce('next', { after: id }, { delay: '1h' })
      await queue.produceMany([{ topic: 'next', payload: 2, delay: '1h' }])
      done.push(
        await queue.get(next),
        await queue.reschedule(next, { delay: '2h' }),
        await queue.cancel('nobody'),
      )
      done.push((await queue.list({ state: 'delayed' })).items.length, (await queue.stats()).counts.delayed)
    })
    await queue.start()
    await queue.produce('t', null, { id: 'x' })
    await world.clock.settle()
    const stopping = stopWithin(world, queue)
    expect(() => queue.handle('late', () => {})).toThrow(expect.objectContaining({ code: 'QUEUE_STOPPED' }))
    await expect(queue.start()).rejects.toMatchObject({ code: 'QUEUE_STOPPED' })
    expect(await stopping).toMatchObject({ finished: 1, abandoned: 0, errors: [] })
    expect(done).toMatchObject([{ state: 'delayed' }, 'rescheduled', 'missing', 2, 2])
    expect((await takeCensus(world.memory)).total).toBe(2)
    await expect(queue.produce('t', 1)).rejects.toMatchObject({ code: 'QUEUE_STOPPED' })
  })

  it('after a stop, everything is refused with a code', async () => {
    const world = makeWorld()
    const queue = world.queue()
    await queue.stop()
    const refused = { code: 'QUEUE_STOPPED', name: 'UsageError' }
    await expect(queue.produce('t', 1)).rejects.toMatchObject(refused)
    await expect(queue.produceMany([{ topic: 't', payload: 1 }])).rejects.toMatchObject(refused)
    await expect(queue.get('x')).rejects.toMatchObject(refused)
    await expect(queue.cancel('x')).rejects.toMatchObject(refused)
    expect(() => queue.handle('t', () => {})).toThrow(expect.objectContaining(refused))
    expect((await takeCensus(world.memory)).total).toBe(0)
  })

  it('await using stops', async () => {
    const world = makeWorld()
    {
      await using queue = world.queue()
      queue.handle('t', () => {})
      await queue.start()
    }
    expect(world.clock.pendingTimers).toBe(0)
  })

  it('a store that the user brought stays open', async () => {
    const world = makeWorld()
    const queue = world.queue()
    await queue.produce('t', 1)
    await queue.stop()
    expect((await world.memory.count()).states.ready).toBe(1)
  })
})
