import { describe, expect, it } from 'vitest'
import type { ClaimReply, NewMessage } from '../../src/store/contract/store.ts'
import { MemoryStore } from '../../src/store/memory/store.ts'
import { conformance } from '../../src/testing/conformance/index.ts'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'

conformance(
  'memory',
  async () => {
    const clock = new VirtualClock()
    const store = new MemoryStore(clock)
    await store.open()
    return { store, advance: (ms) => clock.advance(ms), close: () => store.close() }
  },
  { describe, it },
)

function noTimers(): never {
  throw new Error('the memory engine sets no timers')
}

function message(id: string, delayMs: number): NewMessage {
  return { id, topic: 't', body: '', meta: '', priority: 1, when: { delayMs }, ifExists: 'keep' }
}

function ids({ leases }: ClaimReply): string[] {
  return leases.map(({ id }) => id)
}

/** A clock whose wall and whose monotonic side are set apart. */
function makeStore(): { store: MemoryStore; set: (now: number) => void } {
  let now = Date.UTC(2030, 0, 1)
  const clock = { now: () => now, monotonic: () => 0, schedule: noTimers, soon: noTimers }
  return { store: new MemoryStore(clock), set: (byMs) => void (now += byMs) }
}

describe('the wall clock is set back', () => {
  const HOUR_MS = 3_600_000
  const due = {
    from: 'due',
    owner: 'test',
    bytesMax: 2 ** 30,
    wants: [{ topic: 't', limit: 9 }],
    limit: 9,
    leaseMs: 1_000,
    leadMs: 0,
  } as const

  it('P1: what was due and is to come again is not handed out; new messages keep their delay', async () => {
    const { store, set } = makeStore()
    await store.put([message('old', 0), message('later', 5_000)])
    expect((await store.count()).states).toMatchObject({ ready: 1, delayed: 1 })
    set(-HOUR_MS)
    expect(await store.claim(due)).toEqual({ leases: [], next: { state: 'WAITING', ms: HOUR_MS } })
    expect((await store.count()).states).toMatchObject({ ready: 0, delayed: 2 })
    await store.put([message('new', 1_000)])
    set(1_000)
    expect(ids(await store.claim(due))).toEqual(['new'])
    set(HOUR_MS + 5_000)
    expect(ids(await store.claim(due))).toEqual(['old', 'later'])
  })

  it('P8: leases of before last longer, and those of after end in time', async () => {
    const { store, set } = makeStore()
    await store.put([message('old', 0)])
    expect(ids(await store.claim(due))).toEqual(['old'])
    set(2_000)
    set(-HOUR_MS)
    await store.put([message('new', 0)])
    expect(ids(await store.claim(due))).toEqual(['new'])
    set(1_000)
    const lapsed = { from: 'lapsed', owner: 'reaper', limit: 9, leaseMs: 1_000 } as const
    expect(ids(await store.claim(lapsed))).toEqual(['new'])
    set(HOUR_MS)
    expect(ids(await store.claim(lapsed))).toEqual(['new', 'old'])
  })
})
