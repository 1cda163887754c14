import { describe, expect, it } from 'vitest'
import { Keeper } from '../../../src/runtime/leases/keeper.ts'
import type { Run } from '../../../src/runtime/runs/run.ts'
import { StoreWrapper } from '../../../src/store/contract/verbs.ts'
import { MemoryStore } from '../../../src/store/memory/store.ts'
import type { ExtendResult, LeaseRef } from '../../../src/store/contract/store.ts'
import { VirtualClock } from '../../../src/testing/index.ts'
import { makeLane, makeRun } from './runs.ts'

const LEASE_MS = 9_000
type Answer = (refs: readonly LeaseRef[]) => Promise<ExtendResult[]>

const EXTEND: Answer = async (refs) => refs.map(() => 'extended')
const LOSE: Answer = async (refs) => refs.map(() => 'lost')
const FAIL: Answer = () => Promise.reject(new Error('away'))

function makeKeeper(batchMax = 100) {
  const clock = new VirtualClock()
  const calls: { at: number; ids: string[] }[] = []
  const scene = { answer: EXTEND }
  class Spy extends StoreWrapper {
    override extend(refs: readonly LeaseRef[]): Promise<ExtendResult[]> {
      calls.push({ at: clock.monotonic(), ids: refs.map(({ id }) => id) })
      return scene.answer(refs)
    }
  }
  const lane = makeLane('t')
  const runs = new Set<Run>()
  const heard: string[] = []
  const keeper = new Keeper({
    clock,
    store: new Spy(new MemoryStore(clock), { batchMax }),
    leaseMs: LEASE_MS,
    runs: () => runs,
    isOwn: () => true,
    onLost: (run) => {
      heard.push(`lost ${run.lease.id}`)
      run.step({ kind: 'lost' })
    },
    onCancelling: (run) => void heard.push(`cancelling ${run.lease.id}`),
    onDoubt: (run) => void heard.push(`doubt ${run.lease.id}`),
    onFailure: () => void heard.push('failure'),
  })
  keeper.start()
  const hold = (id: string, token = id): Run => {
    const run = makeRun(id, lane, { token, leaseEndsAt: clock.monotonic() + LEASE_MS - 1 })
    run.step({ kind: 'start' })
    runs.add(run)
    keeper.watch()
    return run
  }
  return { calls, clock, heard, hold, keeper, runs, scene }
}

describe('keeper', () => {
  it('P3: extends three times per lease, from the moment of the call on', async () => {
    const { calls, clock, hold } = makeKeeper()
    const run = hold('a')
    await clock.advance(LEASE_MS * 3)
    expect(calls.map(({ at }) => at)).toEqual([
      3_000, 6_000, 9_000, 12_000, 15_000, 18_000, 21_000, 24_000, 27_000,
    ])
    expect(run.leaseEndsAt).toBe(27_000 + LEASE_MS - 1)
  })

  it('sleeps while there is nothing to watch over', async () => {
    const { calls, clock, hold, runs } = makeKeeper()
    hold('a')
    runs.clear()
    await clock.advance(LEASE_MS)
    expect([calls.length, clock.pendingTimers]).toEqual([0, 0])
    hold('b')
    await clock.advance(LEASE_MS / 3)
    expect(calls).toHaveLength(1)
  })

  it('names all that are held under each token, and nothing that is not', async () => {
    const { calls, clock, hold, keeper, runs } = makeKeeper()
    const first = hold('a1', 'a')
    hold('a2', 'a')
    const lost = hold('a3', 'a')
    hold('b1', 'b')
    lost.step({ kind: 'lost' })
    await keeper.renew(first)
    expect(calls.map(({ ids }) => ids)).toEqual([['a1', 'a2']])
    const over = hold('a4', 'a')
    runs.delete(over)
    await clock.advance(LEASE_MS / 3)
    expect(calls.slice(1).map(({ ids }) => ids)).toEqual([['a1', 'a2', 'b1']])
  })

  it('P10: more than one call takes go in several, and a token stays in one', async () => {
    const { calls, clock, hold } = makeKeeper(3)
    for (const [id, token] of [
      ['a1', 'a'],
      ['a2', 'a'],
      ['b1', 'b'],
      ['b2', 'b'],
      ['c1', 'c'],
    ] as const)
      hold(id, token)
    await clock.advance(LEASE_MS / 3)
    expect(calls.map(({ ids }) => ids)).toEqual([
      ['a1', 'a2'],
      ['b1', 'b2', 'c1'],
    ])
  })

  it('P4: tells of every lease that is lost, once', async () => {
    const { clock, heard, hold, scene } = makeKeeper()
    hold('a')
    scene.answer = LOSE
    await clock.advance(LEASE_MS * 2)
    expect(heard).toEqual(['lost a'])
  })

  it('one that is being settled is not reported as lost', async () => {
    const { clock, heard, hold, scene } = makeKeeper()
    hold('a').step({ kind: 'ended', ending: { kind: 'returned' }, hasSeenSignal: false })
    scene.answer = LOSE
    await clock.advance(LEASE_MS)
    expect(heard).toEqual([])
  })

  it('P3: after a failure it tries sooner, and doubts only what is over by our clock', async () => {
    const { calls, clock, heard, hold, scene } = makeKeeper()
    hold('a')
    scene.answer = FAIL
    await clock.advance(LEASE_MS - 2)
    expect(calls.length).toBeGreaterThanOrEqual(6)
    expect(new Set(heard)).toEqual(new Set(['failure']))
    await clock.advance(1_000)
    expect(heard).toContain('doubt a')
    scene.answer = EXTEND
    heard.length = 0
    await clock.advance(LEASE_MS * 2)
    expect(heard).toEqual([])
  })

  it('P3: an answer that does not come casts doubt when the lease is over', async () => {
    const { clock, heard, hold, scene } = makeKeeper()
    hold('a')
    scene.answer = () => new Promise(() => undefined)
    await clock.advance(LEASE_MS - 2)
    expect(heard).toEqual([])
    await clock.advance(LEASE_MS / 3)
    expect(heard).toContain('doubt a')
  })

  it.each([['no answer', () => new Promise<never>(() => undefined)] as const, ['a failure', FAIL] as const])(
    'P15: what was completed in a transaction is not doubted: %s',
    async (_, answer) => {
      const { clock, heard, hold, scene } = makeKeeper()
      hold('a').isJoined = true
      scene.answer = answer
      await clock.advance(LEASE_MS * 2)
      expect(new Set(heard)).toEqual(new Set(answer === FAIL ? ['failure'] : []))
    },
  )

  it('renew: true at once while the lease lives; asks once at a time', async () => {
    const { calls, hold, keeper, scene } = makeKeeper()
    const run = hold('a')
    scene.answer = () => new Promise(() => undefined)
    expect(await Promise.all([keeper.renew(run), keeper.renew(run), keeper.renew(run)])).toEqual([
      true,
      true,
      true,
    ])
    expect(calls).toHaveLength(1)
  })

  it.each([
    ['extends it', EXTEND, true],
    ['says that it is lost', LOSE, false],
    ['fails', FAIL, false],
  ] as const)('renew of a lease that is over by our clock: the store %s', async (_, answer, isOurs) => {
    const { clock, hold, keeper, runs, scene } = makeKeeper()
    const run = hold('a')
    keeper.stop()
    await clock.advance(LEASE_MS)
    expect(runs.size).toBe(1)
    scene.answer = answer
    expect(await keeper.renew(run)).toBe(isOurs)
  })

  it('renewAll: everything that is held, whatever our clock says', async () => {
    const { calls, clock, hold, keeper } = makeKeeper()
    for (const id of ['a', 'b']) hold(id)
    keeper.renewAll()
    await clock.settle()
    expect(calls).toEqual([{ at: 0, ids: ['a', 'b'] }])
  })

  it('P11: stopped, no timer is left', async () => {
    const { calls, clock, hold, keeper } = makeKeeper()
    hold('a')
    keeper.stop()
    expect(clock.pendingTimers).toBe(0)
    await clock.advance(LEASE_MS * 2)
    expect(calls).toEqual([])
  })
})
