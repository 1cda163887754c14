import { describe, expect, it } from 'vitest'
import { LatenessGauge } from '../../../src/core/metrics/lateness.ts'
import { encodePolicy } from '../../../src/core/encoding/codec.ts'
import { WindowBook } from '../../../src/core/windows/windows.ts'
import { Consumers } from '../../../src/runtime/consumers.ts'
import type { Handler, Message } from '../../../src/runtime/handler.ts'
import type { SettleEntry, Settler } from '../../../src/runtime/leases/settler.ts'
import { Lane } from '../../../src/runtime/runs/lane.ts'
import type { RunSource } from '../../../src/runtime/runs/run.ts'
import { StoreClock } from '../../../src/runtime/runs/store-clock.ts'
import { Events } from '../../../src/runtime/telling/events.ts'
import { QueueMeter } from '../../../src/runtime/telling/meter.ts'
import type { Reports } from '../../../src/runtime/telling/reports.ts'
import type { Lease } from '../../../src/store/contract/store.ts'
import { SeededRandom, VirtualClock } from '../../../src/testing/index.ts'
import { gate } from '../world.ts'
import { makeLane, makeLanes, makeOwn, makeRun } from './runs.ts'

const LEASE_MS = 10_000
const LATE_AFTER_MS = 100
const NEVER = (): Promise<void> => new Promise(() => undefined)

/** One lane "t" with this handler, of two slots; what its messages come to is written down, and never answered. */
function makeConsumers(handler: Handler = () => undefined, own: Lane = makeOwn('ours')) {
  const clock = new VirtualClock()
  const lane = new Lane('t', handler, makeLane('t', 2).settings)
  const lanes = makeLanes(2, [lane, own])
  const heard: unknown[] = []
  const settled: string[] = []
  const entries: SettleEntry[] = []
  let rooms = 0
  const events = new Events({ warn: () => undefined, error: () => undefined }, new QueueMeter())
  for (const name of ['failed', 'lost', 'error'] as const)
    events.on(name, (event) => heard.push([name, event]))
  const gauge = new LatenessGauge(0)
  const consumers = new Consumers({
    clock,
    random: new SeededRandom(1),
    events,
    lanes,
    reports: {
      late: ({ id }: Lease, ms: number) => void heard.push(['late', id, ms]),
      settled: () => undefined,
    } as unknown as Reports,
    gauge,
    leaseMs: LEASE_MS,
    lateAfterMs: LATE_AFTER_MS,
    windows: new WindowBook(),
    onRoom: () => (rooms += 1),
    makeFollowUp: () => {
      throw new Error('none')
    },
    tracing: undefined,
    join: () => Promise.reject(new Error('none')),
    find: async () => undefined,
    followUpBytesMax: 1_000,
  })
  const makeSource = (): RunSource => ({
    settler: {
      add: (entry: SettleEntry) => {
        entries.push(entry)
        settled.push(`${entry.settlement.kind} ${entry.settlement.id}`)
      },
    } as Settler,
    clock: new StoreClock(),
    isHome: () => true,
    renew: async () => true,
    returned: () => undefined,
  })
  const source = makeSource()
  const take = (...leases: readonly Lease[]): void => {
    const now = clock.monotonic()
    consumers.take(source, leases, now, now)
  }
  /** The store has answered all. */
  const answer = (): void => {
    for (const entry of entries.splice(0)) void entry.answered('settled')
  }
  return {
    answer,
    clock,
    consumers,
    gauge,
    heard,
    lane,
    lanes,
    makeSource,
    rooms: () => rooms,
    settled,
    source,
    take,
  }
}

function lease(id: string, facts: Partial<Lease> = {}): Lease {
  return makeRun(id, makeLane('t'), { body: '1', ...facts }).lease
}

describe('what was leased', () => {
  it('runs, is settled, and is forgotten when the store has answered', () => {
    const { answer, consumers, rooms, settled, take } = makeConsumers()
    take(lease('a'), lease('b'))
    expect([consumers.runs.size, rooms()]).toEqual([2, 0])
    consumers.startDue()
    expect([settled, consumers.runs.size, consumers.counts.ended, consumers.running]).toEqual([
      ['ack a', 'ack b'],
      2,
      2,
      0,
    ])
    expect(rooms()).toBeGreaterThan(0)
    answer()
    expect(consumers.runs.size).toBe(0)
  })

  it('and nobody has looked for a slot since: it is started, and not given back, when its time here is over', async () => {
    const { clock, consumers, settled, take } = makeConsumers(NEVER)
    take(lease('a'))
    await clock.advance(250)
    const [run] = consumers.runs
    expect([run?.state.name, consumers.running, settled]).toEqual(['running', 1, []])
  })

  it('of a topic that nobody handles here is left alone', () => {
    const { consumers, settled, take } = makeConsumers()
    take()
    take(lease('a', { topic: 'gone' }), lease('b'))
    consumers.startDue()
    expect(settled).toEqual(['ack b'])
  })

  it('P6: lapsed before: one of its like starts, when the others are known to be back at the store', () => {
    const { answer, consumers, lane, lanes, settled, take } = makeConsumers(NEVER)
    take(lease('a', { lapses: 2 }), lease('b', { lapses: 2 }), lease('c', { lapses: 1 }))
    consumers.startDue()
    expect([settled, consumers.running]).toEqual([['release b', 'release c'], 0])
    answer()
    expect([settled.length, consumers.running, lanes.roomFor(lane, lanes.survey())]).toEqual([2, 1, 0])
  })

  it('with a policy that cannot be read is dead, and not run', () => {
    const { consumers, settled, take } = makeConsumers()
    take(lease('a', { meta: 'damaged' }))
    consumers.startDue()
    expect([settled, consumers.counts.ended]).toEqual([['dead a'], 0])
  })

  it('P3: is not started on a lease that is over, counted from when it was asked for', async () => {
    for (const [afterMs, kind] of [
      [LEASE_MS - 2, 'ack'],
      [LEASE_MS - 1, 'release'],
    ] as const) {
      const { clock, consumers, settled, source } = makeConsumers()
      await clock.advance(afterMs)
      consumers.take(source, [lease('a')], 0, afterMs)
      consumers.startDue()
      expect(settled).toEqual([`${kind} a`])
    }
  })

  it('P12: goes back with all behind it when it could not start for 250 ms; its lane fetches nothing ahead', async () => {
    const { clock, consumers, lane, lanes, rooms, settled, take } = makeConsumers(NEVER)
    lane.ended(1)
    take(lease('a'), lease('b'), lease('c'))
    consumers.startDue()
    await clock.advance(100)
    take(lease('d'))
    const before = rooms()
    await clock.advance(149)
    expect(settled).toEqual([])
    await clock.advance(1)
    expect([settled, lane.queued]).toEqual([['release c', 'release d'], 0])
    expect(lanes.roomFor(lane, lanes.survey())).toBe(0)
    expect(rooms()).toBeGreaterThan(before)
  })

  it('P1: ahead of its moment is held until then', async () => {
    const { clock, consumers, gauge, lane, settled, take } = makeConsumers()
    take(lease('a', { latenessMs: -50, dueAt: 50 }))
    consumers.startDue()
    expect([lane.held, settled]).toEqual([1, []])
    await clock.advance(49)
    expect(settled).toEqual([])
    await clock.advance(2)
    expect([lane.held, settled]).toEqual([0, ['ack a']])
    expect(gauge.percentiles(clock.monotonic())?.max).toBeLessThan(2)
  })

  it('P1: ahead of its moment, in a slow answer: what an earlier one told of the clock of the store counts', async () => {
    const { clock, consumers, settled, source, take } = makeConsumers()
    take(lease('first'))
    consumers.startDue()
    await clock.advance(40)
    consumers.take(source, [lease('a', { latenessMs: -50, dueAt: 60 })], 0, 40)
    await clock.advance(19)
    expect(settled).toEqual(['ack first'])
    await clock.advance(2)
    expect(settled).toEqual(['ack first', 'ack a'])
  })

  it('P3: is not handed to its handler when its schema took longer than the lease', async () => {
    for (const [tookMs, kind] of [
      [500, 'ack'],
      [501, 'release'],
    ] as const) {
      const { clock, consumers, lanes, settled, source } = makeConsumers()
      const validate = (value: unknown): Promise<{ value: unknown }> =>
        new Promise((resolve) => void clock.schedule(tookMs, () => resolve({ value })))
      const schema = { '~standard': { version: 1, vendor: 'test', validate } } as const
      lanes.add(new Lane('s', () => undefined, makeLane('s').settings, { schema }))
      await clock.advance(LEASE_MS - 502)
      consumers.take(source, [lease('a', { topic: 's' })], 0, LEASE_MS - 502)
      consumers.startDue()
      await clock.advance(tookMs)
      expect(settled).toEqual([`${kind} a`])
    }
  })

  it('is late beyond what is allowed, and not at that', async () => {
    const { clock, consumers, heard, take } = makeConsumers()
    take(lease('a', { latenessMs: LATE_AFTER_MS }), lease('b', { latenessMs: LATE_AFTER_MS + 1 }))
    consumers.startDue()
    await clock.settle()
    expect(heard).toEqual([['late', 'b', LATE_AFTER_MS + 1]])
  })

  it('of our own that fails is tried again', async () => {
    const own = new Lane('ours', () => undefined, makeLane('ours').settings, {
      own: () => Promise.reject(new Error('away')),
    })
    const { clock, consumers, settled, take } = makeConsumers(NEVER, own)
    take(lease('a', { topic: 'ours' }))
    consumers.startDue()
    await clock.settle()
    expect(settled).toEqual(['retry a'])
  })

  it('of our own is not counted among handlers, nor in how late they start', async () => {
    const { clock, consumers, gauge, settled, take } = makeConsumers()
    take(lease('a', { topic: 'ours', latenessMs: 5_000 }))
    consumers.startDue()
    await clock.settle()
    expect([settled, consumers.counts.ended, gauge.percentiles(0)]).toEqual([['ack a'], 0, undefined])
  })

  it('is expired by the time since its first moment, retries included', () => {
    const { consumers, settled, take } = makeConsumers()
    const meta = encodePolicy({ ttlMs: 1_000 })
    take(
      lease('a', { meta, dueAt: 1_900, firstDueAt: 1_000, latenessMs: 100 }),
      lease('b', { meta, dueAt: 1_900, firstDueAt: 1_000, latenessMs: 101 }),
    )
    consumers.startDue()
    expect(settled.toSorted()).toEqual(['ack a', 'dead b'])
  })
})

describe('P14: a pause', () => {
  it('gives back what is not started of this lane and partition, and what was asked for before', async () => {
    const { clock, consumers, lane, makeSource, rooms, settled, source, take } = makeConsumers(NEVER)
    take(lease('a'), lease('b'))
    consumers.startDue()
    take(lease('c'), lease('behind it', { latenessMs: 6 }), lease('ours', { topic: 'ours' }))
    consumers.take(makeSource(), [lease('other')], 0, 0)
    await clock.advance(10)
    const before = rooms()
    consumers.pause(lane, source, 5)
    expect([settled, rooms()]).toEqual([['release c'], before + 1])
    consumers.take(source, [lease('early'), lease('overtook', { latenessMs: 6 })], 9, 10)
    consumers.take(source, [lease('later')], 10, 10)
    expect(settled).toEqual(['release c', 'release early'])
  })
})

describe('P11: at the end', () => {
  it('what is not started goes back, counted without our own; so does what comes later', () => {
    const { consumers, settled, take } = makeConsumers(NEVER)
    take(lease('a'), lease('b'))
    consumers.startDue()
    take(lease('c'), lease('d', { latenessMs: -50, dueAt: 50 }), lease('e', { topic: 'ours' }))
    consumers.close()
    expect([settled, consumers.counts.returned]).toEqual([['release c', 'release d', 'release e'], 2])
    take(lease('f'))
    consumers.startDue()
    expect([settled.at(-1), consumers.counts.returned, consumers.running]).toEqual(['release f', 3, 2])
  })

  it('idle, when the last handler has ended', async () => {
    const doors = [gate(), gate()]
    let started = 0
    const { consumers, take } = makeConsumers(() => doors[started++]?.opened)
    await consumers.whenIdle()
    take(lease('a'), lease('b'))
    consumers.startDue()
    let isIdle = false
    const idle = consumers.whenIdle().then(() => (isIdle = true))
    doors[0]?.open()
    await new Promise((resolve) => setImmediate(resolve))
    expect([isIdle, consumers.running]).toEqual([false, 1])
    doors[1]?.open()
    await idle
    expect(consumers.counts.ended).toBe(2)
  })

  it('handlers hear it; those that do not end are left behind, given back, and no timer is left', async () => {
    const messages: Message[] = []
    const { clock, consumers, settled, take } = makeConsumers((message) => {
      messages.push(message)
      return NEVER()
    })
    take(lease('a'))
    consumers.startDue()
    consumers.abortAll()
    expect(messages[0]?.signal.reason).toMatchObject({ message: 't a: its worker stops' })
    await clock.advance(5_000) // A stop has its own grace, and the timeout is no matter any more.
    expect([settled, consumers.running]).toEqual([[], 1])
    expect([consumers.abandonAll(), settled, consumers.running, consumers.counts.ended]).toEqual([
      1,
      ['release a'],
      0,
      0,
    ])
    expect(clock.pendingTimers).toBe(0)
  })

  it('how long a handler took that was left behind is no measure', async () => {
    const { opened, open } = gate()
    const { clock, consumers, lane, take } = makeConsumers(() => opened)
    take(lease('a'))
    consumers.startDue()
    consumers.abandonAll()
    open()
    await clock.settle()
    expect(lane.soon(1)).toBe(0)
  })
})

describe('a handler that takes too long', () => {
  it('is told at its timeout, and a second later its slot is free and it has failed', async () => {
    const { clock, consumers, heard, rooms, settled, take } = makeConsumers(NEVER)
    await clock.advance(500)
    take(lease('a'))
    consumers.startDue()
    await clock.advance(1_999)
    expect([settled, consumers.running]).toEqual([[], 1])
    const before = rooms()
    await clock.advance(1)
    expect([settled, consumers.running, consumers.counts.ended]).toEqual([['retry a'], 0, 1])
    expect(heard).toMatchObject([['failed', { id: 'a', topic: 't', attempt: 1 }]])
    expect(rooms()).toBeGreaterThan(before)
  })

  it('gets more time by extend: as much as it says, or its timeout anew; not once it was told to end', async () => {
    const messages: Message[] = []
    const { clock, consumers, take } = makeConsumers((message) => {
      messages.push(message)
      return NEVER()
    })
    take(lease('a'), lease('b'))
    consumers.startDue()
    const [a, b] = messages as [Message, Message]
    await clock.advance(900)
    await expect(b.extend(0)).rejects.toMatchObject({ name: 'UsageError' })
    expect([await a.extend(), await b.extend('3s')]).toEqual([true, true])
    await clock.advance(999)
    expect([a.signal.aborted, b.signal.aborted]).toEqual([false, false])
    await clock.advance(1)
    expect([a.signal.aborted, b.signal.aborted]).toEqual([true, false])
    expect(await a.extend()).toBe(false)
    await clock.advance(1_999)
    expect(b.signal.aborted).toBe(false)
    await clock.advance(1)
    expect(b.signal.reason).toMatchObject({ message: 't b: it did not end within its timeout of 3s' })
  })

  it('its own timeout counts before that of its topic', async () => {
    const { clock, consumers, settled, take } = makeConsumers(NEVER)
    take(lease('a', { meta: encodePolicy({ timeoutMs: 200 }) }))
    consumers.startDue()
    await clock.advance(1_200)
    expect(settled).toEqual(['retry a'])
  })

  it('in doubt about its lease it may still end well: its timeout goes on', async () => {
    const { clock, consumers, heard, settled, take } = makeConsumers(NEVER)
    take(lease('a'))
    consumers.startDue()
    await clock.advance(500)
    for (const run of consumers.runs) consumers.tell(run, 'doubt')
    await clock.advance(1_499)
    expect(settled).toEqual([])
    await clock.advance(1)
    expect(settled).toEqual(['retry a'])
    expect(heard).toMatchObject([
      ['lost', { id: 'a', maybeSettled: false }],
      ['failed', {}],
    ])
  })

  it('P4: whose lease is lost has a second; nothing is written for it', async () => {
    const { clock, consumers, settled, take } = makeConsumers(NEVER)
    take(lease('a'))
    consumers.startDue()
    for (const run of consumers.runs) consumers.tell(run, 'lost')
    await clock.advance(999)
    expect(consumers.running).toBe(1)
    await clock.advance(1)
    expect([consumers.running, consumers.runs.size, settled]).toEqual([0, 0, []])
  })
})

it('a handler that throws after complete() is reported, and has completed', () => {
  const { consumers, heard, settled, take } = makeConsumers((message) => {
    message.complete()
    throw new Error('too late')
  })
  take(lease('a'))
  consumers.startDue()
  expect(settled).toEqual(['ack a'])
  expect(heard).toMatchObject([['error', { message: 'too late' }]])
})

it('one that returns after complete() is nothing to report', () => {
  const { consumers, heard, settled, take } = makeConsumers((message) => message.complete())
  take(lease('a'))
  consumers.startDue()
  expect([settled, heard]).toEqual([['ack a'], []])
})

it('one that throws without complete() is a failure, and nothing else is reported', () => {
  const { consumers, heard, settled, take } = makeConsumers(() => {
    throw new Error('no')
  })
  take(lease('a'))
  consumers.startDue()
  expect(settled).toEqual(['retry a'])
  expect(heard).toMatchObject([['failed', { error: { message: 'no' } }]])
})
