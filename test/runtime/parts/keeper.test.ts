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

function makeKeeper({ batchMax = 100, isStarted = true } = {}) {
  const clock = new VirtualClock()
  const calls: { at: number; ids: string[] }[] = []
  const terms: number[] = []
  const scene = { answer: EXTEND, isOwn: (run: Run): boolean => run.lease.topic === 't' }
  class Spy extends StoreWrapper {
    override extend(refs: readonly LeaseRef[], termMs: number): Promise<ExtendResult[]> {
      terms.push(termMs)
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
    isOwn: (run) => scene.isOwn(run),
    onLost: (run) => {
      heard.push(`lost ${run.lease.id}`)
      run.step({ kind: 'lost' })
    },
    onCancelling: (run) => void heard.push(`cancelling ${run.lease.id}`),
    onDoubt: (run) => void heard.push(`doubt ${run.lease.id}`),
    onFailure: () => void heard.push('failure'),
  })
  if (isStarted) keeper.start()
  const hold = (id: string, token = id): Run => {
    const run = makeRun(id, lane, { token, leaseEndsAt: clock.monotonic() + LEASE_MS - 1 })
    run.step({ kind: 'start' })
    runs.add(run)
    keeper.watch()
    return run
  }
  return { calls, clock, heard, hold, keeper, runs, scene, terms }
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

  it('what was promised to somebody elsewhere for longer is extended to that moment, and left alone until it is near', async () => {
    const { calls, clock, hold, keeper, terms } = makeKeeper()
    const long = hold('long')
    long.promisedUntil = clock.monotonic() + 61_000
    hold('usual')
    await keeper.renew(long)
    expect({ calls, terms }).toEqual({ calls: [{ at: 0, ids: ['long'] }], terms: [65_000] })
    expect(long.leaseEndsAt).toBeGreaterThanOrEqual(long.promisedUntil)
    await clock.advance(54_000)
    expect(calls.slice(1).every(({ ids }) => ids.join() === 'usual')).toBe(true)
    await clock.advance(9_000)
    expect(new Set(terms)).toEqual(new Set([65_000, LEASE_MS]))
    expect(calls.at(-1)?.ids).toEqual(['long', 'usual'])
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

  it('extends at each third what has less than three quarters of its lease left, and nothing else', async () => {
    const { calls, clock, hold } = makeKeeper()
    hold('a')
    await clock.advance(751)
    hold('b') // At the first tick it has exactly so much left.
    await clock.advance(2_249)
    expect(calls).toEqual([{ at: 3_000, ids: ['a'] }])
    await clock.advance(3_000)
    expect(calls.slice(1)).toEqual([{ at: 6_000, ids: ['a', 'b'] }])
  })

  it('P3: a late answer has used up much of what it grants: more is asked for at once', async () => {
    const { calls, clock, hold, scene } = makeKeeper()
    hold('a')
    scene.answer = async (refs) => {
      scene.answer = EXTEND
      await new Promise<void>((resolve) => void clock.schedule(5_000, resolve))
      return EXTEND(refs)
    }
    await clock.advance(8_000)
    expect(calls.map(({ at }) => at)).toEqual([3_000, 8_000])
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
    const { calls, clock, hold } = makeKeeper({ batchMax: 3 })
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
    expect(calls.map(({ at }) => at)).toEqual([3_000, 3_900, 4_800, 5_700, 6_600, 7_500, 8_400])
    expect(new Set(heard)).toEqual(new Set(['failure']))
    await clock.advance(1_000)
    expect(heard).toContain('doubt a')
    scene.answer = EXTEND
    heard.length = 0
    await clock.advance(LEASE_MS * 2)
    expect(heard).toEqual([])
  })

  it('P3: a failure casts doubt from the moment on at which the lease is over', async () => {
    const { clock, heard, hold, keeper, scene } = makeKeeper({ isStarted: false })
    const run = hold('a')
    scene.answer = FAIL
    await clock.advance(run.leaseEndsAt - 1)
    keeper.renewAll()
    await clock.advance(1)
    expect(heard).toEqual(['failure'])
    keeper.renewAll()
    await clock.settle()
    expect(heard).toEqual(['failure', 'failure', 'doubt a'])
  })

  it('P3: an answer that does not come casts doubt when the lease is over', async () => {
    const { calls, clock, heard, hold, scene } = makeKeeper()
    hold('a')
    scene.answer = () => new Promise(() => undefined)
    await clock.advance(LEASE_MS - 2)
    expect(heard).toEqual([])
    await clock.advance(LEASE_MS / 3)
    expect(heard).toContain('doubt a')
    expect(calls).toHaveLength(1) // It is not asked again while the answer may come.
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
    await clock.advance(run.leaseEndsAt)
    expect(runs.size).toBe(1)
    scene.answer = answer
    expect(await keeper.renew(run)).toBe(isOurs)
  })

  it('renew of one whose handler has ended is false', async () => {
    const { hold, keeper } = makeKeeper()
    const run = hold('a')
    run.step({ kind: 'ended', ending: { kind: 'returned' }, hasSeenSignal: false })
    expect(await keeper.renew(run)).toBe(false)
  })

  it('one that is to be cancelled is extended all the same', async () => {
    const { clock, heard, hold, scene } = makeKeeper()
    const run = hold('a')
    scene.answer = async () => ['cancelling']
    await clock.advance(LEASE_MS / 3)
    expect([heard, run.leaseEndsAt]).toEqual([['cancelling a'], 3_000 + LEASE_MS - 1])
  })

  it('what ended while the answer was on its way is neither lost nor cancelled', async () => {
    for (const result of ['lost', 'cancelling'] as const) {
      const { clock, heard, hold, scene } = makeKeeper()
      const run = hold('a')
      scene.answer = async () => {
        run.step({ kind: 'lost' })
        return [result]
      }
      await clock.advance(LEASE_MS / 3)
      expect(heard).toEqual([])
    }
  })

  it('renewAll: everything that is held, whatever our clock says', async () => {
    const { calls, clock, hold, keeper } = makeKeeper()
    for (const id of ['a', 'b']) hold(id)
    keeper.renewAll()
    hold('c')
    keeper.renewAll() // Of the first two the answer is on its way.
    await clock.settle()
    expect(calls).toEqual([
      { at: 0, ids: ['a', 'b'] },
      { at: 0, ids: ['c'] },
    ])
  })

  it('renewAll where nothing is held is no call', async () => {
    const { calls, clock, keeper } = makeKeeper()
    keeper.renewAll()
    await clock.settle()
    expect(calls).toEqual([])
  })

  it('leases of other partitions are left to their keepers', async () => {
    const { calls, clock, hold, scene } = makeKeeper()
    scene.isOwn = ({ lease }) => lease.id !== 'theirs'
    hold('theirs', 'token')
    hold('ours', 'token')
    await clock.advance(LEASE_MS / 3)
    expect(calls.map(({ ids }) => ids)).toEqual([['ours']])
  })

  it('before its start it watches over nothing', () => {
    const { clock, hold } = makeKeeper({ isStarted: false })
    hold('a')
    expect(clock.pendingTimers).toBe(0)
  })

  it('P11: stopped, no timer is left', async () => {
    const { calls, clock, hold, keeper } = makeKeeper()
    hold('a')
    keeper.stop()
    keeper.stop()
    hold('b')
    expect(clock.pendingTimers).toBe(0)
    await clock.advance(LEASE_MS * 2)
    expect(calls).toEqual([])
  })
})
