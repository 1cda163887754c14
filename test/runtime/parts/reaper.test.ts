import { describe, expect, it } from 'vitest'
import { UnavailableError } from '../../../src/core/errors.ts'
import { encodePolicy } from '../../../src/core/encoding/codec.ts'
import { Strays } from '../../../src/runtime/claiming/strays.ts'
import { Reaper } from '../../../src/runtime/leases/reaper.ts'
import type { SettleEntry, Settler } from '../../../src/runtime/leases/settler.ts'
import type { Reports } from '../../../src/runtime/telling/reports.ts'
import type {
  Capabilities,
  ClaimReply,
  ClaimRequest,
  Lease,
  OwnedPage,
  LeaseRef,
} from '../../../src/store/contract/store.ts'
import { StoreWrapper } from '../../../src/store/contract/verbs.ts'
import { MemoryStore } from '../../../src/store/memory/store.ts'
import { SeededRandom, VirtualClock } from '../../../src/testing/index.ts'
import { makeLane, makeLanes, makeRun, type RunFacts } from './runs.ts'

const LEASE_MS = 10_000
const FALLBACK_MS = 5_000
const NOTHING: ClaimReply = { leases: [], next: { state: 'NO_TASK' } }

function makeReaper(capabilities: Partial<Capabilities> = {}) {
  const clock = new VirtualClock()
  const heard: string[] = []
  const asked: { at: number; request: ClaimRequest }[] = []
  const scene: { answer: () => Promise<ClaimReply> } = { answer: async () => NOTHING }
  class Spy extends StoreWrapper {
    override claim(request: ClaimRequest): Promise<ClaimReply> {
      asked.push({ at: clock.monotonic(), request })
      heard.push('claim')
      return scene.answer()
    }
    override async owned(): Promise<OwnedPage> {
      heard.push('owned')
      return { leases: [] }
    }
  }
  const store = new Spy(new MemoryStore(clock), { shared: true, ...capabilities })
  const entries: SettleEntry[] = []
  const told: unknown[][] = []
  const held = new Set<LeaseRef>()
  const reaper = new Reaper({
    held,
    clock,
    random: new SeededRandom(1),
    store,
    owner: 'me',
    lanes: makeLanes(10, [makeLane('mine')]),
    settler: {
      flush: () => void heard.push('flush'),
      add: (entry: SettleEntry) => void entries.push(entry),
    } as Settler,
    strays: new Strays({ store, owner: 'me', held: () => [], onReleased: () => undefined }),
    reports: {
      settled: (...args: unknown[]) => void told.push(['settled', ...args]),
      cancelled: (...args: unknown[]) => void told.push(['cancelled', ...args]),
      succeeded: (...args: unknown[]) => void told.push(['succeeded', ...args]),
    } as unknown as Reports,
    leaseMs: LEASE_MS,
    fallbackMs: FALLBACK_MS,
    onOwnLapsed: () => void heard.push('own lapsed'),
    onFailure: (error) => void heard.push(`failure ${String(error)}`),
  })
  /** What lapsed leases say, once. */
  const leave = (...leases: readonly Lease[]): void => {
    scene.answer = async () => {
      scene.answer = async () => NOTHING
      return { ...NOTHING, leases }
    }
  }
  const askedAt = (): number[] => asked.map(({ at }) => at)
  return { asked, askedAt, clock, entries, heard, held, leave, reaper, scene, told }
}

/** By chance, by up to a half. */
function shortened(ms: number): unknown {
  return expect.toSatisfy((delayMs: number) => delayMs > ms / 2 && delayMs < ms)
}

function lapsed(id: string, topic: string, facts: RunFacts = {}): Lease {
  return makeRun(id, makeLane(topic), facts).lease
}

describe('when the reaper asks', () => {
  it.each([
    [1_000, 100],
    [30, 30],
  ])('for no more than one call takes: %i, and no more than a hundred', async (batchMax, limit) => {
    const { asked, clock, heard, reaper } = makeReaper({ batchMax })
    reaper.start()
    await clock.settle()
    expect(asked).toEqual([{ at: 0, request: { from: 'lapsed', owner: 'me', limit, leaseMs: LEASE_MS } }])
    expect(heard).toEqual(['flush', 'claim']) // What has ended is told before.
  })

  it('of a shared store at each fallback; of its own, when a lease may have ended here', async () => {
    for (const shared of [true, false]) {
      const { askedAt, clock, reaper } = makeReaper({ shared })
      reaper.start()
      await clock.advance(1_000)
      reaper.watch()
      await clock.advance(2_000)
      reaper.watch() // The first look is soon enough for both.
      await clock.advance(17_000)
      expect(askedAt()).toEqual(shared ? [0, 5_000, 10_000, 11_000, 16_000] : [0, 11_000])
      reaper.watch()
      await clock.advance(10_000)
      expect(askedAt().at(-1)).toBe(30_000)
    }
  })

  it('at the moment that the store names, and again at once where there is more', async () => {
    const { askedAt, clock, reaper, scene } = makeReaper()
    const replies: ClaimReply['next'][] = [{ state: 'WAITING', ms: 700 }, { state: 'EXPIRED' }]
    scene.answer = async () => ({ leases: [], next: replies.shift() ?? { state: 'NO_TASK' } })
    reaper.start()
    await clock.advance(4_000)
    expect(askedAt()).toEqual([0, 700, 700])
  })

  it('P9: where claims say when: then, or when no claim brought word for a fallback', async () => {
    const { askedAt, clock, reaper, scene } = makeReaper()
    reaper.start()
    await clock.advance(1_000)
    reaper.told(3_000, 60_000)
    await clock.advance(4_000)
    expect(askedAt()).toEqual([0, 4_000])
    // What a claim says counts, and not what this answer names.
    scene.answer = async () => ({ leases: [], next: { state: 'WAITING', ms: 10 } })
    reaper.told(1_000, 20_000)
    await clock.advance(25_000)
    expect(askedAt()).toEqual([0, 4_000, 6_000, 30_000])
  })

  it('P9: told that no lease ends, it looks when the next word is overdue; then on its own', async () => {
    const { askedAt, clock, reaper } = makeReaper()
    reaper.start()
    await clock.settle()
    reaper.told(Infinity, 20_000)
    await clock.advance(35_000)
    expect(askedAt()).toEqual([0, 25_000, 30_000, 35_000])
  })

  it('told or not, where more is there it asks at once', async () => {
    const { askedAt, clock, reaper, scene } = makeReaper()
    reaper.start()
    await clock.settle()
    reaper.told(1_000, 20_000)
    const nexts: ClaimReply['next'][] = [{ state: 'EXPIRED' }]
    scene.answer = async () => ({
      leases: [lapsed('x', 'mine')],
      next: nexts.shift() ?? { state: 'NO_TASK' },
    })
    await clock.advance(2_000)
    expect(askedAt()).toEqual([0, 1_000, 1_000])
  })

  it('a failure is reported, and tried again', async () => {
    const { askedAt, clock, heard, reaper, scene } = makeReaper()
    scene.answer = () => {
      scene.answer = async () => NOTHING
      return Promise.reject(new UnavailableError('STORE_UNAVAILABLE', 'away'))
    }
    reaper.start()
    await clock.advance(1_000)
    expect(heard).toContain('failure UnavailableError: away')
    expect(askedAt()).toHaveLength(2)
  })

  it('P11: stopped, never, and no timer is left', async () => {
    for (const isWatching of [true, false]) {
      const { askedAt, clock, reaper } = makeReaper()
      reaper.start()
      await clock.settle()
      if (isWatching) reaper.watch()
      await reaper.stop()
      reaper.watch()
      expect(clock.pendingTimers).toBe(0)
      await clock.advance('1m')
      expect(askedAt()).toEqual([0])
    }
  })
})

describe('P6: what the reaper takes over', () => {
  it.each([
    ['first lapse: back in its place', lapsed('x', 'mine'), { kind: 'lapse' }],
    [
      'lapsed before: waits by the policy of its topic',
      lapsed('x', 'mine', { attempt: 2, lapses: 1 }),
      { kind: 'retry', delayMs: shortened(300_000), isLapse: true },
    ],
    [
      'waits by its own policy',
      lapsed('x', 'mine', { lapses: 1, meta: encodePolicy({ retry: { limit: 9, waits: [77] } }) }),
      { kind: 'retry', delayMs: shortened(77) },
    ],
    [
      'its own policy is unreadable: that of its topic counts',
      lapsed('x', 'mine', { lapses: 1, meta: 'damaged' }),
      { kind: 'retry', delayMs: shortened(60_000) },
    ],
    ['no attempt is left', lapsed('x', 'mine', { attempt: 4 }), { kind: 'dead', reason: 'lapsed' }],
    [
      'a topic that is not ours: others decide',
      lapsed('x', 'theirs', { attempt: 4, lapses: 3 }),
      { kind: 'lapse' },
    ],
  ])('%s', async (_, lease, settlement) => {
    const { clock, entries, leave, reaper } = makeReaper()
    await clock.advance(123)
    leave(lease)
    reaper.start()
    await clock.settle()
    const { id, token, topic } = lease
    expect(entries).toMatchObject([{ settlement: { ...settlement, id, token, topic }, tries: 0 }])
    // By then another worker has taken it over from us.
    expect(entries[0]?.givesUpAt()).toBe(123 + 2 * LEASE_MS)
  })

  it.each([
    ['a list of waits', [60_000]],
    ['waits that grow', { baseMs: 1_000, factor: 2, capMs: 60_000, jitter: 1 }],
  ])('the pauses of many are spread by chance: %s', async (_, waits) => {
    const { clock, entries, leave, reaper } = makeReaper()
    const meta = encodePolicy({ retry: { limit: 9, waits } })
    leave(...['x', 'y'].map((id) => lapsed(id, 'mine', { lapses: 1, meta })))
    reaper.start()
    await clock.settle()
    const [x, y] = entries.map(({ settlement }) => settlement.kind === 'retry' && settlement.delayMs)
    expect(x).not.toBe(y)
  })

  it('is known as held until the store has answered', async () => {
    const { clock, entries, held, leave, reaper } = makeReaper()
    leave(lapsed('x', 'mine'), lapsed('y', 'mine'))
    reaper.start()
    await clock.settle()
    const ids = (): string[] => [...held].map(({ id }) => id)
    expect(ids()).toEqual(['x', 'y'])
    void entries[0]?.answered('lost')
    expect(ids()).toEqual(['y'])
  })

  it.each([
    ['settled', ['settled', { kind: 'lapse' }, { id: 'x', topic: 'mine', attempt: 1 }, undefined]],
    ['cancelled', ['cancelled', { id: 'x' }]],
    ['succeeded', ['succeeded', { kind: 'lapse', id: 'x' }, { id: 'x' }, undefined]],
    ['lost', undefined],
    ['maybe', undefined],
    ['gave up', undefined],
  ] as const)('the store answers %s: what is told of it', async (answer, expected) => {
    const { clock, entries, leave, reaper, told } = makeReaper()
    leave(lapsed('x', 'mine'))
    reaper.start()
    await clock.settle()
    void entries[0]?.answered(answer)
    expect(told).toMatchObject(expected === undefined ? [] : [expected])
  })

  it('leases of our own are not taken over: what we hold is extended, and the rest given back', async () => {
    const { clock, heard, reaper, scene } = makeReaper()
    scene.answer = async () => ({ ...NOTHING, isOwnLapsed: true })
    reaper.start()
    await clock.settle()
    expect(heard).toEqual(['flush', 'claim', 'own lapsed', 'owned'])
    scene.answer = async () => ({ ...NOTHING, isOwnLapsed: false })
    await clock.advance(FALLBACK_MS)
    expect(heard.slice(4)).toEqual(['flush', 'claim'])
  })
})
