import { describe, expect, it } from 'vitest'
import type { ClaimReply, NewMessage } from '../../src/store/contract/store.ts'
import { forecast } from '../../src/store/memory/counting.ts'
import { Messages } from '../../src/store/memory/messages.ts'
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

function ofTopic(id: string, topic: string, delayMs: number): NewMessage {
  return { ...message(id, delayMs), topic }
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
    expect(ids(await store.claim({ ...lapsed, owner: 'another' }))).toEqual(['new', 'old'])
  })
})

function keyed(id: string, key: string): NewMessage {
  return { ...message(id, 0), key }
}

it('P16: a key whose message is given back in the same millisecond keeps its turn', async () => {
  const { store } = makeStore()
  await store.put([keyed('a-0', 'a'), keyed('a-1', 'a'), keyed('b-0', 'b')])
  const due = { from: 'due', owner: 'test', bytesMax: 2 ** 30, leaseMs: 1_000, leadMs: 0 } as const
  const take = (limit: number): Promise<ClaimReply> =>
    store.claim({ ...due, wants: [{ topic: 't', limit }], limit })
  const { leases } = await take(2)
  expect(leases.map(({ id }) => id)).toEqual(['a-0', 'b-0'])
  await store.settle(leases.slice(1).map((lease) => ({ ...lease, kind: 'release' })))
  expect(ids(await take(1))).toEqual(['a-1'])
})

describe('what is bounded', () => {
  const START = Date.UTC(2030, 0, 1)

  it('P10: topics that were used once and emptied are forgotten', async () => {
    const messages = new Messages(START)
    for (let i = 0; i < 5_000; i += 1) {
      messages.put(ofTopic('a', `topic ${i}`, i % 2), START)
      messages.waiting.advance(START + (i % 2))
      messages.remove('a', 'waiting', { now: 0 })
    }
    expect(messages.topics.size).toBeLessThanOrEqual(1_001)
    expect(messages.topics.numbers).toBeLessThanOrEqual(1_001)
    messages.put(ofTopic('a', 'topic 0', 0), START)
    expect(messages.waiting.nextDueAt()).toBe(START)
  })

  it('P10: a topic that has a message is not forgotten, however many others come and go', async () => {
    const { store } = makeStore()
    await store.put([ofTopic('kept', 'kept', 60_000)])
    for (let i = 0; i < 3_000; i += 1) {
      await store.put([ofTopic('a', `topic ${i}`, 0)])
      await store.remove(['a'], 'waiting')
    }
    const { topics } = await store.countTopics({ limit: 10 })
    expect(topics).toEqual({
      kept: { waiting: 1, running: 0, dead: 0, nextDueAt: (await store.count()).nextDueAt },
    })
  })

  it('P10: a topic that emptied and has a message again is not forgotten', async () => {
    const { store } = makeStore()
    await store.put([ofTopic('a', 'again', 0)])
    await store.remove(['a'], 'waiting')
    await store.put([ofTopic('a', 'again', 60_000)])
    for (let i = 0; i < 1_500; i += 1) {
      await store.put([ofTopic('b', `topic ${i}`, 0)])
      await store.remove(['b'], 'waiting')
    }
    expect((await store.countTopics({ topics: ['again'] })).topics).toMatchObject({ again: { waiting: 1 } })
    expect((await store.inspect({ ids: ['a'] })).items[0]?.topic).toBe('again')
  })

  it('a page of a topic is found at once among many others', async () => {
    const store = new MemoryStore(new VirtualClock())
    await store.open()
    for (let from = 0; from < 30_000; from += 1_000)
      await store.put(Array.from({ length: 1_000 }, (_, i) => message(`other ${from + i}`, 1_000)))
    await store.put([ofTopic('mine', 'mine', 1_000)])
    const { items, cursor, scanned } = await store.inspect({ state: 'delayed', topic: 'mine', limit: 10 })
    expect({ ids: items.map(({ id }) => id), cursor, scanned }).toEqual({
      ids: ['mine'],
      cursor: undefined,
      scanned: 1,
    })
  })

  it('P10: a page looks at so many messages', async () => {
    const { store } = makeStore()
    await store.put(Array.from({ length: 10_000 }, (_, i) => message(`m${i}`, 0)))
    await store.put([message('last', 0)])
    const first = await store.inspect({ state: 'ready', idPrefix: 'last', limit: 5 })
    expect(first).toMatchObject({ items: [], scanned: 10_000 })
    const cursor = first.cursor ?? ''
    const second = await store.inspect({ state: 'ready', idPrefix: 'last', limit: 5, cursor })
    expect(second).toMatchObject({ items: [{ id: 'last' }], scanned: 1 })
    expect(second.cursor).toBeUndefined()
  })

  it('a message that comes back before all that is ready is the next one due', async () => {
    const { store, set } = makeStore()
    await store.put([message('first', 0)])
    const { nextDueAt } = await store.count()
    const claim = { wants: [{ topic: 't', limit: 1 }], limit: 1, bytesMax: 9, leaseMs: 1_000, leadMs: 0 }
    const { leases } = await store.claim({ ...claim, from: 'due', owner: 'A' })
    set(300)
    await store.put([ofTopic('other', 'u', 0)])
    set(200)
    await store.put([message('second', 0)])
    expect((await store.count()).nextDueAt).toBe((nextDueAt ?? 0) + 300)
    await store.remove(['other'], 'waiting')
    expect((await store.count()).nextDueAt).toBe((nextDueAt ?? 0) + 500)
    await store.put([{ ...ofTopic('other', 'u', 0), when: { at: (nextDueAt ?? 0) + 300 } }])
    await store.settle(leases.map(({ id, token, topic }) => ({ kind: 'release', id, token, topic })))
    expect((await store.count()).nextDueAt).toBe(nextDueAt)
  })

  it('a forecast of more than it looks at is marked, and close', () => {
    const messages = new Messages(START)
    const size = 600_000
    for (let i = 0; i < size; i += 1) messages.put(message(`m${i}`, 1_000 + (i % 10) * 1_000), START)
    const edges = Array.from({ length: 11 }, (_, i) => START + 1_000 + i * 1_000)
    const { counts, isExact } = forecast(messages, { edges })
    expect(isExact).toBe(false)
    for (const bar of counts) expect(Math.abs(bar - size / 10)).toBeLessThan(size / 100)
    for (let i = 0; i < size / 4; i += 1) messages.remove(`m${i}`, 'waiting', { now: 0 })
    const sum = forecast(messages, { edges }).counts.reduce((total, bar) => total + bar, 0)
    expect(Math.abs(sum - (size * 3) / 4)).toBeLessThan(size / 100)
  })

  it('P10: a count moves only so many; it then says that it is not exact', async () => {
    const { store, set } = makeStore()
    for (let i = 0; i < 60_000; i += 10_000)
      await store.put(Array.from({ length: 10_000 }, (_, j) => message(`m${i + j}`, 1_000)))
    set(5_000)
    const first = await store.count()
    expect(first.isExact).toBe(false)
    expect(first.states.delayed + first.states.ready).toBe(60_000)
    await store.count()
    expect(await store.count()).toMatchObject({ isExact: true, states: { delayed: 0, ready: 60_000 } })
  })

  it('P10: text is looked for in so many bytes of bodies, page by page', async () => {
    const { store } = makeStore()
    const body = 'x'.repeat(10 * 1024 * 1024)
    await store.put(Array.from({ length: 8 }, (_, i) => ({ ...message(`m${i}`, 0), body: `${body}${i}` })))
    const first = await store.inspect({ state: 'ready', text: 'x7', limit: 10 })
    expect(first.items).toEqual([])
    expect(first.scanned).toBeLessThan(8)
    const found: string[] = []
    let { cursor } = first
    while (cursor !== undefined) {
      const page = await store.inspect({ state: 'ready', text: 'x7', limit: 10, cursor })
      found.push(...page.items.map(({ id }) => id))
      cursor = page.cursor
    }
    expect(found).toEqual(['m7'])
  })

  it('next: with thousands of other topics’ messages in between, a moment that is not too late', async () => {
    const { store, set } = makeStore()
    await store.put(
      Array.from({ length: 9_000 }, (_, i) => ofTopic(`m${i}`, 'others', 100_000 + (i % 1_000))),
    )
    await store.put([ofTopic('first', 't', 100_001), ofTopic('second', 't', 100_500)])
    await store.remove(['first'], 'waiting')
    const claim = () =>
      store.claim({
        from: 'due',
        owner: 'test',
        wants: [{ topic: 't', limit: 1 }],
        limit: 1,
        bytesMax: 1_000,
        leaseMs: 1_000,
        leadMs: 0,
      })
    let waitedMs = 0
    for (let asked = 0; asked < 20; asked += 1) {
      const { leases, next } = await claim()
      if (leases.length > 0) {
        expect(waitedMs).toBe(100_500)
        return
      }
      const ms = next.state === 'WAITING' ? next.ms : 0
      waitedMs += ms
      set(ms)
    }
    expect.unreachable('it is never handed out')
  })
})

describe('sleepers', () => {
  it('P9: one that may sleep long is woken, although another of the same topic was told less', async () => {
    const { store } = makeStore()
    const claim = { limit: 9, bytesMax: 9, leaseMs: 1_000, leadMs: 0, from: 'due' } as const
    await store.put([message('far', 90_000), ofTopic('near', 'u', 1_000)])
    const t = { topic: 't', limit: 9 }
    await store.claim({ ...claim, owner: 'A', wants: [t] })
    await store.claim({ ...claim, owner: 'B', wants: [t, { topic: 'u', limit: 9 }] })
    let woken = 0
    store.onWake(() => (woken += 1), 'A')
    await store.put([message('between', 50_000)])
    expect(woken).toBe(1)
    await store.put([message('after', 60_000)])
    expect(woken).toBe(1)
  })

  it('what an owner released wakes all but itself', async () => {
    const { store } = makeStore()
    const woken: string[] = []
    for (const owner of ['A', 'B']) store.onWake(() => woken.push(owner), owner)
    store.onWake(() => woken.push('nameless'))
    await store.put([message('a', 0)])
    const claim = {
      from: 'due',
      wants: [{ topic: 't', limit: 9 }],
      limit: 9,
      bytesMax: 9,
      leaseMs: 1_000,
      leadMs: 0,
    }
    const { leases } = await store.claim({ ...claim, from: 'due', owner: 'A' })
    await store.claim({ ...claim, from: 'due', owner: 'A' })
    woken.length = 0
    await store.settle(leases.map(({ id, token, topic }) => ({ kind: 'release', id, token, topic })))
    expect(woken).toEqual(['B', 'nameless'])
  })
})
