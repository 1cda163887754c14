import { describe, expect, it } from 'vitest'
import type { ClaimRequest } from '../../src/store/contract/store.ts'
import { FaultyStore, takeCensus, type StoreVerb } from '../../src/testing/index.ts'
import { SHARED, gate, makeWorld, record } from './world.ts'

const SOON = { retry: { delays: ['1s'], limit: 20 } } as const

describe('a bad line to the store', () => {
  it('P9: with every wake-up lost, a message is late by at most the fallback interval', async () => {
    const { clock, store, queue: make } = makeWorld(SHARED)
    const queue = make({ fallback: '2s' })
    const lateness: number[] = []
    queue.handle('t', ({ latenessMs }) => void lateness.push(latenessMs))
    await queue.start()
    await clock.settle()
    store.isDeaf = true
    for (let i = 0; i < 20; i += 1) {
      await queue.produce('t', i, { delay: i * 37 })
      await clock.advance(313)
    }
    await clock.advance('5s')
    expect(lateness).toHaveLength(20)
    expect(Math.max(...lateness)).toBeLessThanOrEqual(2_000)
  })

  it('P9: a wake-up that comes while a claim is under way is not forgotten', async () => {
    const { clock, store, queue: make } = makeWorld()
    const queue = make({ fallback: '1h' })
    const lateness: number[] = []
    queue.handle('t', ({ latenessMs }) => void lateness.push(latenessMs))
    // Every claim's answer is on its way for a second: whatever is produced meanwhile, it does not contain.
    store.fate = (verb) => (verb === 'claim' ? { kind: 'delay', ms: 1_000 } : undefined)
    await queue.start()
    for (let i = 0; i < 10; i += 1) {
      await queue.produce('t', i)
      await clock.advance(450)
    }
    await clock.advance('10s')
    expect(lateness).toHaveLength(10)
    expect(Math.max(...lateness)).toBeLessThanOrEqual(2_000)
  })

  it('P2: a settlement whose reply was lost is not taken for a failure of the handler', async () => {
    const { clock, memory, store, queue: make } = makeWorld()
    const queue = make()
    const seen = record(queue)
    let ran = 0
    queue.handle('t', () => void (ran += 1))
    let isLost = false
    store.fate = (verb) => {
      if (verb !== 'settle' || isLost) return undefined
      isLost = true
      return { kind: 'lose' }
    }
    await queue.start()
    await queue.produce('t', null)
    await clock.advance('1h')
    expect(ran).toBe(1)
    expect(seen.map(({ name }) => name)).toEqual(['error', 'lost'])
    expect(seen[1]?.event).toMatchObject({ maybeSettled: true })
    expect((await takeCensus(memory)).total).toBe(0)
  })

  it('P2: a settlement that was refused is tried again until it arrives', async () => {
    const { clock, memory, store, queue: make } = makeWorld()
    const queue = make()
    let ran = 0
    let refusals = 5
    queue.handle('t', () => void (ran += 1))
    store.fate = (verb) => (verb === 'settle' && refusals-- > 0 ? { kind: 'refuse' } : undefined)
    await queue.start()
    await queue.produce('t', null)
    await clock.advance('1m')
    expect(ran).toBe(1)
    expect((await takeCensus(memory)).total).toBe(0)
  })

  it('many settlements that fail at the same time cause no warning', async () => {
    const { clock, store, queue: make } = makeWorld()
    const queue = make()
    const warnings: Error[] = []
    const hear = (warning: Error): void => void warnings.push(warning)
    process.on('warning', hear)
    queue.handle('t', ({ payload }) => new Promise<void>((end) => clock.schedule(Number(payload), end)))
    await queue.start()
    // Each ends in a turn of its own, so that each settlement is a call of its own.
    for (let ms = 1; ms <= 20; ms += 1) await queue.produce('t', ms)
    store.fate = (verb) => (verb === 'settle' ? { kind: 'refuse' } : undefined)
    await clock.advance('1s')
    process.off('warning', hear)
    expect(warnings).toEqual([])
  })

  it('P2: the store is away for a minute: nothing is lost, nothing spins, and all goes on by itself', async () => {
    const { clock, memory, store, queue: make } = makeWorld()
    const queue = make()
    const done = new Set<unknown>()
    queue.handle('t', ({ payload }) => void done.add(payload), SOON)
    await queue.start()
    for (let i = 0; i < 50; i += 1) await queue.produce('t', i, { delay: i * 2_000 })
    await clock.advance('10s')
    store.fate = () => ({ kind: 'refuse' })
    const before = store.calls.length
    await clock.advance('60s')
    // Claims, lapsed claims, settlements and extensions, each with growing pauses up to some seconds.
    expect(store.calls.length - before).toBeLessThan(150)
    expect(done.size).toBe(6)
    store.fate = () => undefined
    await clock.advance('60s')
    expect(done.size).toBe(50)
    expect((await takeCensus(memory)).total).toBe(0)
  })

  it.each([0, 20])('P6: a claim whose reply was lost costs the message nothing (limit %i)', async (limit) => {
    const { clock, memory, store, queue: make } = makeWorld()
    const queue = make({ lease: '10s', retry: { limit } })
    const attempts: number[] = []
    const lateness: number[] = []
    let isLost = false
    store.fate = (verb, argument) => {
      if (verb !== 'claim' || isLost || (argument as { from: string }).from !== 'due') return undefined
      isLost = true
      return { kind: 'lose' }
    }
    queue.handle('t', ({ attempt, latenessMs }) => {
      attempts.push(attempt)
      lateness.push(latenessMs)
    })
    for (let i = 0; i < 3; i += 1) await queue.produce('t', i)
    await queue.start()
    await clock.settle()
    expect((await memory.count()).states.running).toBe(3)
    await clock.advance('1s')
    expect(attempts).toEqual([1, 1, 1])
    expect(Math.max(...lateness)).toBeLessThan(100)
    expect((await takeCensus(memory)).total).toBe(0)
  })

  it('P6: a lost claim that took effect only later is given back when its leases lapse', async () => {
    const { clock, memory, store, queue: make } = makeWorld(SHARED)
    const queue = make({ lease: '10s', fallback: '1s', retry: { limit: 0 } })
    let owner = ''
    store.fate = (verb, request) => {
      if (verb === 'claim') ({ owner } = request as ClaimRequest)
      return undefined
    }
    queue.handle('t', () => undefined)
    await queue.start()
    await clock.settle()
    // What the worker never heard of: as if an old call of its had been under way all the time.
    await memory.put([
      { id: 'x', topic: 'other', body: '', meta: '', priority: 1, when: { delayMs: 0 }, ifExists: 'keep' },
    ])
    const wants = [{ topic: 'other', limit: 1 }]
    await memory.claim({ from: 'due', owner, bytesMax: 2 ** 30, wants, limit: 1, leaseMs: 10_000, leadMs: 0 })
    await clock.advance('9s')
    expect((await memory.inspect({ ids: ['x'] })).items[0]).toMatchObject({ state: 'running', attempt: 1 })
    await clock.advance('3s')
    expect((await memory.inspect({ ids: ['x'] })).items[0]).toMatchObject({ state: 'ready', attempt: 0 })
  })

  it('P5: a produce whose call was doubled on the way stores one message', async () => {
    const { clock, memory, store, queue: make } = makeWorld()
    const queue = make()
    store.fate = (verb) => (verb === 'put' ? { kind: 'duplicate' } : undefined)
    const ids = [
      await queue.produce('t', 1),
      await queue.produce('t', 2),
      await queue.produce('t', 3, { id: 'mine' }),
    ]
    await clock.settle()
    expect(new Set(ids).size).toBe(3)
    expect((await takeCensus(memory)).total).toBe(3)
  })

  it('produce fails with a typed error when the store is away, and the next one works', async () => {
    const { store, queue: make } = makeWorld()
    const queue = make()
    store.fate = () => ({ kind: 'refuse' })
    await expect(queue.produce('t', 1)).rejects.toMatchObject({
      name: 'UnavailableError',
      code: 'STORE_UNAVAILABLE',
    })
    store.fate = () => undefined
    await expect(queue.produce('t', 1)).resolves.toMatch(/.+/)
  })

  it.each(['claim', 'settle', 'extend'] as StoreVerb[])(
    'random trouble with %s loses nothing and repeats nothing for ever',
    async (verb) => {
      const { clock, memory, store, queue: make } = makeWorld()
      const queue = make({ lease: '5s' })
      let step = 0
      const kinds = [
        { kind: 'refuse' },
        { kind: 'lose' },
        { kind: 'delay', ms: 700 },
        { kind: 'duplicate' },
      ] as const
      store.fate = (called) => {
        step += 1
        return called === verb && step % 3 !== 0 ? kinds[step % kinds.length] : undefined
      }
      const done = new Map<unknown, number>()
      queue.handle(
        't',
        async ({ payload }) => {
          await new Promise<void>((resolve) => clock.schedule(300, resolve))
          done.set(payload, (done.get(payload) ?? 0) + 1)
        },
        SOON,
      )
      await queue.start()
      for (let i = 0; i < 30; i += 1) await queue.produce('t', i, { delay: i * 100 })
      await clock.advance('2m')
      store.fate = () => undefined
      await clock.advance('2m')
      expect(done.size).toBe(30)
      expect((await takeCensus(memory)).total).toBe(0)
    },
  )
})

describe('leases', () => {
  it('P3: a slow handler keeps its message as long as it works', async () => {
    const { clock, memory, queue: make } = makeWorld()
    const [first, second] = [make({ lease: '10s' }), make({ lease: '10s' })]
    const finished = gate()
    let started = 0
    for (const queue of [first, second]) {
      queue.handle(
        'slow',
        async () => {
          started += 1
          await finished.opened
        },
        { timeout: '1h' },
      )
      await queue.start()
    }
    await first.produce('slow', null)
    await clock.advance('5m')
    expect(started).toBe(1)
    finished.open()
    await clock.settle()
    expect((await takeCensus(memory)).total).toBe(0)
  })

  it('P4: a lease lost while the handler runs aborts it, and its end writes nothing', async () => {
    const { clock, memory, queue: make } = makeWorld()
    const queue = make({ lease: '10s' })
    const seen = record(queue)
    const end = gate()
    const aborted: string[] = []
    queue.handle('t', async ({ signal }) => {
      signal.addEventListener('abort', () => aborted.push((signal.reason as Error).message))
      await end.opened
    })
    await queue.start()
    const id = await queue.produce('t', null)
    await clock.settle()
    // Somebody else takes it over, as a reaper does after a pause of this process.
    const [held] = (await memory.inspect({ ids: [id] })).items
    clock.jump(11_000)
    const [stolen] = (await memory.claim({ from: 'lapsed', owner: 'reaper', limit: 1, leaseMs: 60_000 }))
      .leases
    expect([held?.id, stolen?.id]).toEqual([id, id])
    await clock.advance('4s')
    expect(aborted[0]).toMatch('its lease was lost')
    end.open()
    await clock.settle()
    expect(seen.map(({ name }) => name)).toEqual(['lost'])
    expect((await memory.inspect({ ids: [id] })).items[0]).toMatchObject({ state: 'running', attempt: 1 })
  })

  it.each([
    ['returns', 'gone', () => Promise.resolve()],
    ['throws', 'ready', () => Promise.reject(new Error('cut off'))],
  ] as const)(
    'P6: an outage longer than the lease makes the handler stop; one that then %s leaves its message %s',
    async (how, place, leave) => {
      const { clock, memory, store, queue: make } = makeWorld()
      const queue = make({ lease: '10s' })
      const seen = record(queue)
      const end = gate()
      let isAborted = false
      queue.handle('t', async (message) => {
        if (how === 'throws') message.signal.addEventListener('abort', () => (isAborted = true))
        await end.opened
        return leave()
      })
      await queue.start()
      await queue.produce('t', null, { id: 'x' })
      await clock.settle()
      store.fate = () => ({ kind: 'refuse' })
      await clock.advance('9s')
      expect(isAborted).toBe(false)
      await clock.advance('3s')
      expect(isAborted).toBe(how === 'throws')
      expect(seen.filter(({ name }) => name === 'lost')).toHaveLength(1)
      end.open()
      await clock.settle()
      store.fate = (verb) => (verb === 'claim' ? { kind: 'refuse' } : undefined)
      await clock.advance('3s')
      const { places, messages } = await takeCensus(memory)
      expect(places.get('x') ?? 'gone').toBe(place)
      expect(messages.map(({ attempt }) => attempt)).toEqual(place === 'ready' ? [0] : [])
      expect(seen.map(({ name }) => name)).not.toContain('failed')
    },
  )

  it('P6, P8: a worker that dies is noticed, its attempt counted, and its message run by another', async () => {
    const { clock, memory, queue: make } = makeWorld()
    const queue = make({ lease: '10s' })
    const seen = record(queue)
    const attempts: number[] = []
    // The dead worker: claimed, and never heard of again.
    await queue.produce('t', null, { retry: { delays: ['1s'] } })
    const wants = [{ topic: 't', limit: 1 }]
    await memory.claim({
      from: 'due',
      owner: 'test',
      bytesMax: 2 ** 30,
      wants,
      limit: 1,
      leaseMs: 10_000,
      leadMs: 0,
    })
    queue.handle('t', ({ attempt }) => void attempts.push(attempt))
    await queue.start()
    await clock.advance('20s')
    expect(attempts).toEqual([2])
    // Back in its place, due as before: it is as late as the lease was long.
    expect(seen.map(({ name }) => name)).toEqual(['retrying', 'late', 'completed'])
    expect(seen[1]?.event).toMatchObject({ latenessMs: 10_000 })
  })

  it('P6: a message that kills every worker ends among the dead letters', async () => {
    const { clock, memory, queue: make } = makeWorld(SHARED)
    const queue = make({ lease: '1s', retry: { delays: ['1s', '1s', '1s'] } })
    const id = await queue.produce('killer', null)
    // This process handles another topic: it reaps what others leave, but leaves the policy to those who know it.
    const bystander = make({ lease: '1s' })
    bystander.handle('other', () => {})
    await bystander.start()
    const claim = async (): Promise<number> => {
      const wants = [{ topic: 'killer', limit: 1 }]
      return (
        await memory.claim({
          from: 'due',
          owner: 'test',
          bytesMax: 2 ** 30,
          wants,
          limit: 1,
          leaseMs: 1_000,
          leadMs: 0,
        })
      ).leases.length
    }
    for (let i = 0; i < 4; i += 1) {
      expect(await claim()).toBe(1)
      await clock.advance('10s')
    }
    let ran = 0
    queue.handle('killer', () => void (ran += 1))
    await queue.start()
    await clock.advance('1m')
    expect(ran).toBe(0)
    expect(await queue.get(id)).toMatchObject({ state: 'dead', reason: 'lapsed' })
  })

  it('P3: after the whole process slept through its lease, nothing waiting is started on the old promise', async () => {
    const { clock, memory, store, queue: make } = makeWorld()
    const queue = make({ lease: '10s', concurrency: 1 })
    const hold = gate()
    const started: unknown[] = []
    queue.handle('t', async ({ payload }) => {
      started.push(payload)
      if (payload === 'slow') await hold.opened
    })
    await queue.start()
    // Shows that it is fast, so that more is fetched ahead.
    await queue.produce('t', 'quick')
    await clock.settle()
    for (const payload of ['slow', 'a', 'b']) await queue.produce('t', payload, { id: payload })
    await clock.settle()
    expect((await takeCensus(memory)).places.get('a')).toBe('running')
    store.fate = (verb) => (verb === 'extend' ? { kind: 'refuse' } : undefined)
    await clock.advance('12s')
    hold.open()
    await clock.settle()
    store.fate = () => undefined
    await clock.advance('1m')
    // (`slow` itself was aborted and comes again: that is what leases are for.)
    expect(started.filter((payload) => payload !== 'slow')).toEqual(['quick', 'a', 'b'])
    expect((await takeCensus(memory)).total).toBe(0)
  })

  it.each([
    ['fails', { kind: 'refuse' }],
    ['takes longer than the lease', { kind: 'delay', ms: 60_000 }],
  ] as const)('P3: a batch of extensions that %s does not cost the others their leases', async (_, fault) => {
    const { clock, memory, store, queue: make } = makeWorld({ wakes: 'hint', shared: true, batchMax: 2 })
    const queue = make({ lease: '10s', timeout: '10m', stopTimeout: 0 })
    const aborted: string[] = []
    queue.handle('t', ({ id, signal }) => {
      signal.addEventListener('abort', () => aborted.push(id))
      return new Promise(() => undefined)
    })
    for (const id of ['a', 'b', 'c', 'd', 'e']) await queue.produce('t', 1, { id })
    await queue.start()
    await clock.settle()
    store.fate = (verb, leases) => {
      const isFirst = (leases as readonly { id: string }[])[0]?.id === 'a'
      return verb === 'extend' && isFirst ? fault : undefined
    }
    await clock.advance('50s')
    const { items } = await memory.inspect({ state: 'running', limit: 9 })
    const alive = items.filter(({ until }) => until > clock.now()).map(({ id }) => id)
    expect(alive).toEqual(expect.arrayContaining(['c', 'd', 'e']))
    expect(aborted).not.toEqual(expect.arrayContaining(['c']))
  })

  it('P3: batches of extensions that fail one after the other do not put off the next try', async () => {
    const { clock, store, queue: make } = makeWorld({ wakes: 'hint', shared: true, batchMax: 1 })
    const slow = new FaultyStore(store, clock)
    const queue = make({ store: slow, lease: '10s', timeout: '10m', stopTimeout: 0 })
    queue.handle('t', () => new Promise(() => undefined))
    for (let i = 0; i < 20; i += 1) await queue.produce('t', 1, { id: `${i}` })
    await queue.start()
    await clock.settle()
    let tries = 0
    store.fate = (verb, leases) =>
      verb === 'extend' ? { kind: 'delay', ms: firstNumber(leases) * 900 } : undefined
    slow.fate = (verb, leases) => {
      if (verb !== 'extend') return undefined
      if (firstNumber(leases) === 0) tries += 1
      return { kind: 'lose' }
    }
    await clock.advance('9s')
    expect(tries).toBeGreaterThanOrEqual(4)
    slow.fate = () => undefined
  })
})

function firstNumber(leases: unknown): number {
  return Number((leases as readonly { id: string }[])[0]?.id)
}
