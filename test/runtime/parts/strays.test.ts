import { describe, expect, it } from 'vitest'
import { UnavailableError, UsageError } from '../../../src/core/errors.ts'
import { Strays } from '../../../src/runtime/claiming/strays.ts'
import { MemoryStore } from '../../../src/store/memory/store.ts'
import type { Capabilities, ClaimDue, ClaimReply, LeaseRef } from '../../../src/store/contract/store.ts'
import { FaultyStore, VirtualClock, type Fault } from '../../../src/testing/index.ts'

const CLAIM: ClaimDue = {
  from: 'due',
  owner: 'me',
  wants: [{ topic: 't', limit: 10 }],
  limit: 2,
  bytesMax: 2 ** 30,
  leaseMs: 10_000,
  leadMs: 0,
}

async function makeStrays(capabilities: Partial<Capabilities> = {}) {
  const clock = new VirtualClock()
  const memory = new MemoryStore(clock)
  const store = new FaultyStore(memory, clock, capabilities)
  for (const id of ['a', 'b', 'c'])
    await memory.put([
      { id, topic: 't', body: '', meta: '', priority: 1, when: { delayMs: 0 }, ifExists: 'keep' },
    ])
  const held: LeaseRef[] = []
  let released = 0
  const strays = new Strays({ store, owner: 'me', held: () => held, onReleased: () => (released += 1) })
  const take = ({ leases }: ClaimReply): void => void held.push(...leases)
  const claim = (): Promise<ClaimReply> => strays.claim(CLAIM, take)
  const failOnce = (fault: Fault): void => {
    store.fate = (verb) => {
      if (verb !== 'claim') return undefined
      store.fate = () => undefined
      return fault
    }
  }
  return { claim, clock, failOnce, held, memory, released: () => released, store, strays, take }
}

describe('strays', () => {
  it('P6: what a lost answer carried is given back, uncounted, before the next claim', async () => {
    const { claim, failOnce, held, released, store } = await makeStrays()
    failOnce({ kind: 'lose' })
    await expect(claim()).rejects.toMatchObject({ name: 'UnavailableError' })
    expect(held).toEqual([])
    const { leases } = await claim()
    expect(leases.map(({ id, attempt }) => [id, attempt])).toEqual([
      ['a', 1],
      ['b', 1],
    ])
    expect(released()).toBe(1)
    await claim() // Nothing is left to doubt.
    expect(store.calls).toEqual(['claim', 'owned', 'settle', 'claim', 'claim'])
  })

  it('P6: what a lost answer took over from a dead worker goes back counted, as the lapse that it is', async () => {
    const { clock, failOnce, memory, strays, take } = await makeStrays()
    await memory.claim({ ...CLAIM, owner: 'dead', limit: 1 })
    await clock.advance(10_000)
    failOnce({ kind: 'lose' })
    await expect(
      strays.claim({ from: 'lapsed', owner: 'me', limit: 10, leaseMs: 10_000 }, take),
    ).rejects.toMatchObject({ name: 'UnavailableError' })
    await strays.sweep()
    const [found] = (await memory.inspect({ ids: ['a'] })).items
    expect(found).toMatchObject({ state: 'ready', attempt: 1, lapses: 1 })
  })

  it('asks nothing as long as claims are answered, nor after one that the store refused', async () => {
    const { claim, memory, store } = await makeStrays()
    await claim()
    const good = memory.claim.bind(memory)
    memory.claim = () => Promise.reject(new UsageError('BATCH_TOO_LARGE', 'too much'))
    await expect(claim()).rejects.toMatchObject({ code: 'BATCH_TOO_LARGE' })
    memory.claim = good
    await claim()
    expect(store.calls).toEqual(['claim', 'claim', 'claim'])
  })

  it('gives back nothing that is held', async () => {
    const { claim, failOnce, held, memory } = await makeStrays()
    await claim()
    failOnce({ kind: 'refuse' })
    await expect(claim()).rejects.toBeInstanceOf(UnavailableError)
    await claim()
    expect(held.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
    expect((await memory.count()).states.running).toBe(3)
  })

  it('what is held stays, what was lost beside it goes back', async () => {
    const { claim, failOnce, held, memory, released } = await makeStrays()
    await claim()
    failOnce({ kind: 'lose' })
    await expect(claim()).rejects.toBeInstanceOf(UnavailableError)
    expect((await memory.count()).states.running).toBe(3)
    await claim()
    expect(held.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
    expect(released()).toBe(1)
  })

  it('a sweep that finds nothing tells nobody', async () => {
    const { claim, released, strays } = await makeStrays()
    await claim()
    await strays.sweep()
    expect(released()).toBe(0)
  })

  it('P10: gives back no more in a call than one takes, and goes through all pages', async () => {
    const { memory, released, strays } = await makeStrays({ batchMax: 2 })
    const { leases } = await memory.claim({ ...CLAIM, limit: 3 })
    const owned = leases.map(({ id, token, topic }) => ({ id, token, topic, isTakenOver: false }))
    const cursors: (string | undefined)[] = []
    memory.owned = async (_, cursor) => {
      cursors.push(cursor)
      return cursor === undefined ? { leases: owned, cursor: 'next' } : { leases: [] }
    }
    const settled: string[][] = []
    memory.settle = async (settlements) => {
      settled.push(settlements.map(({ id }) => id))
      return settlements.map(() => 'settled')
    }
    await strays.sweep()
    expect([settled, cursors, released()]).toEqual([[['a', 'b'], ['c']], [undefined, 'next'], 1])
  })

  it('a sweep that fails is tried again before the next claim', async () => {
    const { claim, failOnce, memory, store } = await makeStrays()
    failOnce({ kind: 'lose' })
    await expect(claim()).rejects.toThrow()
    store.fate = (verb) => (verb === 'owned' ? { kind: 'refuse' } : undefined)
    await expect(claim()).rejects.toThrow('owned')
    expect((await memory.count()).states.running).toBe(2)
    store.fate = () => undefined
    expect((await claim()).leases).toHaveLength(2)
  })

  it('P6: waits for a claim under way: what that is about to hand us is no stray', async () => {
    const { claim, clock, held, memory, store, strays } = await makeStrays()
    store.fate = (verb) => (verb === 'claim' ? { kind: 'delay', ms: 1_000 } : undefined)
    const claiming = claim()
    await clock.settle()
    const sweeping = strays.sweep()
    await clock.advance(999)
    expect(store.calls).toEqual(['claim'])
    await clock.advance(1)
    await Promise.all([claiming, sweeping])
    expect(held).toHaveLength(2)
    expect((await memory.count()).states.running).toBe(2)
  })

  it('P6: waits for the last of several claims', async () => {
    const { claim, clock, held, store, strays } = await makeStrays()
    const delays = [1_000, 2_000]
    store.fate = (verb) => (verb === 'claim' ? { kind: 'delay', ms: delays.shift() ?? 0 } : undefined)
    const claiming = [claim(), claim()]
    await clock.settle()
    const sweeping = strays.sweep()
    await clock.advance(1_999)
    expect(store.calls).toEqual(['claim', 'claim'])
    await clock.advance(1)
    await Promise.all([...claiming, sweeping])
    expect([store.calls, held.length]).toEqual([['claim', 'claim', 'owned'], 3])
  })

  it('P6: claims wait for a sweep under way, and those who ask for one share it', async () => {
    const { claim, clock, store, strays } = await makeStrays()
    store.fate = (verb) => (verb === 'owned' ? { kind: 'delay', ms: 1_000 } : undefined)
    const sweeping = [strays.sweep(), strays.sweep()]
    const claiming = claim()
    await clock.advance(999)
    expect(store.calls).toEqual(['owned'])
    await clock.advance(1)
    await Promise.all([...sweeping, claiming])
    expect(store.calls).toEqual(['owned', 'claim'])
  })

  it('P11: stopped, neither claims nor sweeps, not even those that wait', async () => {
    const { claim, clock, store, strays } = await makeStrays()
    store.fate = (verb) => (verb === 'owned' ? { kind: 'delay', ms: 1_000 } : undefined)
    const sweeping = strays.sweep()
    const claiming = claim()
    strays.stop()
    await clock.advance(1_000)
    await sweeping
    expect((await claiming).leases).toEqual([])
    await strays.sweep()
    expect(store.calls).toEqual(['owned'])
  })
})
