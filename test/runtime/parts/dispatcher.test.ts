import { describe, expect, it } from 'vitest'
import { UnavailableError } from '../../../src/core/errors.ts'
import { Dispatcher } from '../../../src/runtime/claiming/dispatcher.ts'
import type { ClaimReading } from '../../../src/runtime/claiming/scheduler.ts'
import { RoomSharing } from '../../../src/runtime/claiming/sharing.ts'
import { Strays } from '../../../src/runtime/claiming/strays.ts'
import type { Consumers } from '../../../src/runtime/consumers.ts'
import { Identity } from '../../../src/runtime/identity.ts'
import type { Settler } from '../../../src/runtime/leases/settler.ts'
import type { Lane } from '../../../src/runtime/runs/lane.ts'
import { AHEAD_BYTES_MAX } from '../../../src/runtime/runs/lanes.ts'
import type { RunSource } from '../../../src/runtime/runs/run.ts'
import type {
  Capabilities,
  ClaimDue,
  ClaimReply,
  ClaimRequest,
  Lease,
} from '../../../src/store/contract/store.ts'
import { StoreWrapper } from '../../../src/store/contract/verbs.ts'
import { MemoryStore } from '../../../src/store/memory/store.ts'
import { VirtualClock } from '../../../src/testing/index.ts'
import { gate } from '../world.ts'
import { makeLane, makeLanes, makeOwn, makeRun } from './runs.ts'

const LEASE_MS = 10_000
const FALLBACK_MS = 5_000
const NOTHING: ClaimReply = { leases: [], next: { state: 'NO_TASK' } }
const MORE: ClaimReply = { leases: [], next: { state: 'EXPIRED' } }
const FULL: ClaimReading = { next: { state: 'NO_TASK' }, got: 0, room: false }

type Answer = (request: ClaimDue) => Promise<ClaimReply>
type Scene = {
  readonly slots?: number
  readonly partitions?: number
  readonly capabilities?: Partial<Capabilities>
}

/** Dispatchers of one worker, one for each partition; what they are handed waits in the lanes and never starts. */
function makeDispatchers(
  all: readonly Lane[],
  { slots = 10, partitions = 1, capabilities = {} }: Scene = {},
) {
  const clock = new VirtualClock()
  const lanes = makeLanes(slots, all)
  const heard: string[] = []
  const settler = { isStuck: false }
  class Spied extends RoomSharing {
    override takesTurn(member: Dispatcher): void {
      heard.push(`turn of ${dispatchers.findIndex(({ dispatcher }) => dispatcher === member)}`)
      super.takesTurn(member)
    }
  }
  const sharing = partitions > 1 ? new Spied(clock) : undefined
  const consumers = {
    take: (_: RunSource, leases: readonly Lease[], askedAt: number, answeredAt: number): void => {
      heard.push(`take ${leases.length} of ${askedAt} at ${answeredAt}`)
      for (const lease of leases) {
        const lane = lanes.get(lease.topic) as Lane
        lane.enqueue(makeRun(lease.id, lane))
      }
    },
    startDue: () => void heard.push('start'),
  } as unknown as Consumers
  const dispatchers = Array.from({ length: partitions }, (_, i) => makeOne(i))
  function makeOne(i: number) {
    const requests: ClaimDue[] = []
    const scene: { answer: Answer; onRoom: () => void } = {
      answer: async () => NOTHING,
      onRoom: () => void heard.push(`room for ${i}`),
    }
    class Spy extends StoreWrapper {
      override claim(request: ClaimRequest): Promise<ClaimReply> {
        requests.push(request as ClaimDue)
        return scene.answer(request as ClaimDue)
      }
    }
    const store = new Spy(new MemoryStore(clock), { wakes: 'some', batchMax: 1_000, ...capabilities })
    const dispatcher = new Dispatcher({
      clock,
      store,
      source: {} as RunSource,
      sharing,
      identity: new Identity(clock, lanes, { owner: 'me', startedAt: 0 }),
      strays: new Strays({ store, owner: 'me', held: () => [], onReleased: () => undefined }),
      lanes,
      consumers,
      settler: settler as Settler,
      leaseMs: LEASE_MS,
      fallbackMs: FALLBACK_MS,
      onLeased: () => void heard.push('leased'),
      lookMsMax: () => (partitions > 1 ? 77_000 : undefined),
      onTold: ({ lapseMs, lookMs, next }) => void heard.push(`told ${lapseMs} ${lookMs} ${next.state}`),
      onFailure: (error) => void heard.push(`failure ${String(error)}`),
      onRoom: () => scene.onRoom(),
    })
    return { dispatcher, requests, scene }
  }
  const [first] = dispatchers as [(typeof dispatchers)[0]]
  /** What was heard of this kind, in order. */
  const heardOf = (word: string): string[] => heard.filter((one) => one.startsWith(word))
  return { ...first, clock, dispatchers, heard, heardOf, lanes, settler }
}

type Made = ReturnType<typeof makeDispatchers>['dispatchers'][0]

let count = 0
function leasesOf(...topics: readonly string[]): readonly Lease[] {
  return topics.map((topic) => makeRun(`m${(count += 1)}`, makeLane(topic)).lease)
}

/** Everything that may run of this lane runs. */
function fill(lane: Lane, { lanes }: ReturnType<typeof makeDispatchers>): void {
  while (lane.running < lane.settings.concurrency) lanes.takeSlot(lane)
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Answers when it is told to. */
function held(): { answer: () => Promise<ClaimReply>; open: () => void } {
  const { opened, open } = gate()
  const answer = async (): Promise<ClaimReply> => {
    await opened
    return NOTHING
  }
  return { answer, open }
}

/** The second was answered; of "a", it could not ask. Of "full" there is no room. */
async function makePutOff() {
  const full = makeLane('full', 1)
  const made = makeDispatchers([makeLane('a', 1), makeLane('b', 20), full], { slots: 20, partitions: 2 })
  fill(full, made)
  const [first, second] = made.dispatchers as [Made, Made]
  const { answer, open } = held()
  first.scene.answer = answer
  const fetching = first.dispatcher.fetch()
  await turn()
  await second.dispatcher.fetch()
  const answerFirst = async (): Promise<void> => {
    open()
    await fetching
    await turn()
  }
  return { ...made, answerFirst, second }
}

const wantsOf = (requests: readonly ClaimDue[]): string[] =>
  requests.map(({ wants }) => wants.map(({ topic, limit }) => `${topic}${limit}`).join(' '))

describe('what a claim asks for', () => {
  it('the room of each lane and of all, within what the store takes; the facts until the store has them', async () => {
    const lanes = [makeLane('a', 4), makeLane('b', 20)]
    const { clock, dispatcher, requests, scene } = makeDispatchers(lanes, {
      capabilities: { wakes: 'hint', leadMs: 7, batchBytesMax: 1_000 },
    })
    scene.answer = () => Promise.reject(new UnavailableError('STORE_UNAVAILABLE', 'away'))
    await expect(dispatcher.fetch()).rejects.toThrow('away')
    scene.answer = async () => NOTHING
    expect(await dispatcher.fetch()).toEqual({ next: { state: 'NO_TASK' }, got: 0, room: true })
    await clock.advance('20s')
    await dispatcher.fetch()
    await clock.advance('10s')
    await dispatcher.fetch()
    const plain = {
      from: 'due',
      owner: 'me',
      // Nine: a slot is left for the other one.
      wants: [
        { topic: 'a', limit: 4, free: 4 },
        { topic: 'b', limit: 9, free: 9 },
      ],
      limit: 10,
      free: 10,
      bytesMax: 1_000,
      leaseMs: LEASE_MS,
      leadMs: 7,
    }
    const facts: unknown = expect.stringContaining('"a"')
    expect(requests).toStrictEqual([{ ...plain, facts }, { ...plain, facts }, plain, { ...plain, facts }])
  })

  it('P10: no more bytes than are fetched ahead, nor more messages than one call takes or can soon be run', async () => {
    for (const [batchMax, limit] of [
      [20, 20],
      [1_000, 500],
    ] as const) {
      const { dispatcher, requests } = makeDispatchers([makeLane('a', 2_000)], {
        slots: 2_000,
        capabilities: { batchMax, batchBytesMax: 2 * AHEAD_BYTES_MAX },
      })
      await dispatcher.fetch()
      expect(requests).toMatchObject([{ limit, bytesMax: AHEAD_BYTES_MAX }])
    }
  })

  it('what is fetched ahead is wanted, and what can start now is told apart from it', async () => {
    const lane = makeLane('a', 2)
    const made = makeDispatchers([lane])
    lane.ended(10)
    fill(lane, made)
    await made.dispatcher.fetch()
    expect(made.requests).toMatchObject([{ wants: [{ topic: 'a', limit: 20, free: 0 }], free: 8 }])
  })

  it('lanes take turns: the one after that which was served last comes first', async () => {
    const { dispatcher, requests, scene } = makeDispatchers(['a', 'b', 'c'].map((topic) => makeLane(topic)))
    scene.answer = async () => ({ ...NOTHING, leases: leasesOf('a', 'c', 'b') })
    await dispatcher.fetch()
    scene.answer = async () => NOTHING
    await dispatcher.fetch()
    await dispatcher.fetch()
    expect(requests.map(({ wants }) => wants.map(({ topic }) => topic).join(''))).toEqual([
      'abc',
      'cab',
      'cab',
    ])
  })

  it('our own messages have room where users have none', async () => {
    const own = makeOwn('ours', 3)
    const lane = makeLane('a', 2)
    const made = makeDispatchers([lane, own], { slots: 2 })
    fill(lane, made)
    expect(await made.dispatcher.fetch()).toMatchObject({ room: true })
    expect(made.requests).toMatchObject([{ wants: [{ topic: 'ours', limit: 3 }], limit: 3, free: 0 }])
    expect(made.requests[0]?.wants).toHaveLength(1)
  })

  it('P9: a store that counts on its sleepers hears how long we sleep and which topics have no room here', async () => {
    const lanes = ['a', 'b', 'c', 'd'].map((topic) => makeLane(topic, 1))
    const made = makeDispatchers(lanes, { capabilities: { wantsMax: 2 } })
    await made.dispatcher.fetch()
    expect(made.requests.map(({ sleeper }) => sleeper)).toStrictEqual(
      [1, 2].map(() => ({ fallbackMs: FALLBACK_MS, busy: [] })),
    )
    for (const lane of lanes.slice(1)) fill(lane, made)
    await made.dispatcher.fetch()
    expect(wantsOf(made.requests.slice(2))).toEqual(['a1'])
    expect(made.requests[2]?.sleeper).toEqual({ fallbackMs: FALLBACK_MS, busy: ['b', 'c'] })
  })
})

describe('more topics than a claim takes', () => {
  const five = ['a', 'b', 'c', 'd', 'e']
  const capabilities = { wantsMax: 2 }

  it('are asked for in several claims, and what these brought is told as one', async () => {
    const { dispatcher, heardOf, requests, scene } = makeDispatchers(
      five.map((topic) => makeLane(topic, 1)),
      { capabilities },
    )
    const replies: ClaimReply[] = [
      { leases: leasesOf('a'), next: { state: 'WAITING', ms: 70 }, lookMs: 9_000 },
      { leases: leasesOf('c', 'd'), next: { state: 'NO_TASK' }, lookMs: 8_000 },
      { leases: [], next: { state: 'WAITING', ms: 80 } },
    ]
    scene.answer = async () => replies.shift() ?? NOTHING
    expect(await dispatcher.fetch()).toEqual({
      next: { state: 'WAITING', ms: 70 },
      got: 3,
      room: true,
      lookMs: 8_000,
    })
    expect(wantsOf(requests)).toEqual(['a1 b1', 'c1 d1', 'e1'])
    // How long to sleep comes with when to see to the leases of others: without that nobody is told anything.
    expect(heardOf('told')).toEqual([])
  })

  const [none, now, soon, later] = [
    { state: 'NO_TASK' },
    { state: 'EXPIRED' },
    { state: 'WAITING', ms: 5 },
    { state: 'WAITING', ms: 6 },
  ] as const
  it.each([
    [none, none, none],
    [none, later, later],
    [later, none, later],
    [soon, later, soon],
    [later, soon, soon],
    [now, soon, now],
    [soon, now, now],
    [now, none, now],
    [none, now, now],
  ])('of the answers %j and %j the sooner counts', async (a, b, sooner) => {
    const { dispatcher, scene } = makeDispatchers([makeLane('a'), makeLane('b')], {
      capabilities: { wantsMax: 1 },
    })
    const nexts = [a, b]
    scene.answer = async () => ({ leases: [], next: nexts.shift() ?? none })
    expect((await dispatcher.fetch()).next).toEqual(sooner)
  })

  it('when the first claims used up the room, the rest is asked for as soon as there is room', async () => {
    const lanes = five.map((topic) => makeLane(topic))
    const { dispatcher, requests, scene } = makeDispatchers(lanes, { slots: 2, capabilities })
    scene.answer = async () => ({ ...NOTHING, leases: leasesOf('a', 'a') })
    expect(await dispatcher.fetch()).toEqual({ next: { state: 'EXPIRED' }, got: 2, room: false })
    expect(requests).toHaveLength(1)
  })

  it('P11: after a stop not even the next claim of several begins', async () => {
    const { dispatcher, requests, scene } = makeDispatchers(
      five.map((topic) => makeLane(topic)),
      { capabilities },
    )
    const { answer, open } = held()
    scene.answer = answer
    const fetching = dispatcher.fetch()
    await turn()
    dispatcher.stop()
    open()
    await fetching
    // The second says to the store that it should wake others.
    expect(wantsOf(requests)).toEqual(['a6 b6', ''])
  })
})

describe('what a claim brings', () => {
  it('is taken with the moments of question and answer, watched over and started', async () => {
    const { clock, dispatcher, heard, scene } = makeDispatchers([makeLane('a')])
    scene.answer = () =>
      new Promise((resolve) => {
        clock.schedule(30, () => resolve({ ...NOTHING, leases: leasesOf('a', 'a') }))
      })
    await clock.advance(100)
    const fetching = dispatcher.fetch()
    await clock.advance(30)
    expect(await fetching).toEqual({ next: { state: 'NO_TASK' }, got: 2, room: true })
    expect(heard).toEqual(['take 2 of 100 at 130', 'leased', 'start'])
  })

  it('nothing: there is nothing to watch over or to start', async () => {
    const { dispatcher, heardOf } = makeDispatchers([makeLane('a')])
    await dispatcher.fetch()
    expect([...heardOf('leased'), ...heardOf('start')]).toEqual([])
  })

  it.each([
    [
      'nothing more is due: handlers start first',
      'NO_TASK',
      ['asked for a', 'asked for b', 'start', 'fetched', 'start'],
    ],
    [
      'more is due: that is asked for first',
      'EXPIRED',
      ['asked for a', 'asked for b', 'fetched', 'start', 'start'],
    ],
  ] as const)('other topics are asked for before handlers start, and where %s', async (_, state, order) => {
    const { clock, dispatcher, heard, scene } = makeDispatchers([makeLane('a'), makeLane('b')], {
      capabilities: { wantsMax: 1 },
    })
    scene.answer = async ({ wants: [want] }) => {
      heard.push(`asked for ${want?.topic}`)
      return { next: { state: want?.topic === 'a' ? 'NO_TASK' : state }, leases: leasesOf(want?.topic ?? '') }
    }
    await dispatcher.fetch()
    heard.push('fetched')
    await clock.settle()
    expect(heard.filter((one) => /asked|start|fetched/u.test(one))).toEqual(order)
  })

  it('P9: what the store says of our sleep is passed on', async () => {
    const { dispatcher, heard, scene } = makeDispatchers([makeLane('a')])
    scene.answer = async () => ({ leases: [], next: { state: 'NO_TASK' }, lapseMs: 77, lookMs: 9_000 })
    expect(await dispatcher.fetch()).toMatchObject({ lookMs: 9_000 })
    expect(heard.slice(1)).toEqual(['told 77 9000 NO_TASK'])
  })

  it('a store that says nothing of our sleep tells nobody anything', async () => {
    const { dispatcher, heard } = makeDispatchers([makeLane('a')])
    expect(await dispatcher.fetch()).not.toHaveProperty('lookMs')
    expect(heard).toEqual(['take 0 of 0 at 0'])
  })
})

describe('no room', () => {
  it('P9: the store is told once, in a claim that wants nothing; and again after the next one that wants something', async () => {
    const lane = makeLane('a', 1)
    const made = makeDispatchers([lane, makeLane('b', 1)], { slots: 2 })
    const { dispatcher, lanes, requests } = made
    await dispatcher.fetch()
    for (const one of lanes.all) fill(one, made)
    expect(await dispatcher.fetch()).toEqual(FULL)
    expect(await dispatcher.fetch()).toEqual(FULL)
    expect(requests.slice(1)).toMatchObject([{ wants: [], limit: 0, sleeper: { busy: ['a', 'b'] } }])
    lanes.freeSlot(lane)
    await dispatcher.fetch()
    lanes.takeSlot(lane)
    await dispatcher.fetch()
    expect(wantsOf(requests.slice(2))).toEqual(['a1', ''])
  })

  it('a store that does not count on us, or has never heard of us, is not told', async () => {
    for (const isKnown of [true, false]) {
      const lane = makeLane('a', 1)
      const made = makeDispatchers([lane], { capabilities: isKnown ? { wakes: 'hint' } : {} })
      if (isKnown) await made.dispatcher.fetch()
      made.requests.length = 0
      fill(lane, made)
      expect(await made.dispatcher.fetch()).toEqual(FULL)
      made.dispatcher.stop()
      expect(made.requests).toEqual([])
    }
  })

  it('room that comes while the store is told: we ask at once', async () => {
    const lane = makeLane('a', 1)
    const made = makeDispatchers([lane])
    await made.dispatcher.fetch()
    fill(lane, made)
    made.scene.answer = async () => {
      made.lanes.freeSlot(lane)
      return NOTHING
    }
    expect(await made.dispatcher.fetch()).toEqual({ next: { state: 'EXPIRED' }, got: 0, room: true })
  })

  it('P9: woken without room, the store is told; not with room, nor after a stop', async () => {
    const { dispatcher, requests, scene, heard } = makeDispatchers([makeLane('a', 1)])
    await dispatcher.fetch()
    dispatcher.noteWake()
    scene.answer = async () => ({ ...NOTHING, leases: leasesOf('a') })
    expect(await dispatcher.fetch()).toMatchObject({ got: 1, room: false })
    expect(requests).toHaveLength(2)
    scene.answer = () => Promise.reject(new Error('away'))
    dispatcher.noteWake()
    await turn()
    expect(requests.slice(2)).toMatchObject([{ wants: [], limit: 0 }])
    expect(heard).toContain('failure Error: away')

    const stopped = makeDispatchers([makeLane('a', 1)])
    stopped.scene.answer = async () => ({ ...NOTHING, leases: leasesOf('a') })
    await stopped.dispatcher.fetch()
    stopped.dispatcher.stop()
    stopped.dispatcher.noteWake()
    // The stop itself said it.
    expect(stopped.requests.slice(1)).toMatchObject([{ wants: [], limit: 0 }])
  })

  it('P9: a store that did not hear that there is no room here is told again at the next wake-up', async () => {
    const lane = makeLane('a', 1)
    const made = makeDispatchers([lane])
    await made.dispatcher.fetch()
    fill(lane, made)
    made.scene.answer = () => Promise.reject(new Error('away'))
    expect(await made.dispatcher.fetch()).toEqual(FULL)
    made.scene.answer = async () => NOTHING
    made.dispatcher.noteWake()
    await turn()
    made.dispatcher.noteWake()
    await turn()
    expect([wantsOf(made.requests), made.heardOf('failure')]).toEqual([
      ['a1', '', ''],
      ['failure Error: away'],
    ])
  })

  it('P6: while settlements are stuck nothing is asked for, and the store is not told; then all is as before', async () => {
    const { dispatcher, heardOf, requests, settler } = makeDispatchers([makeLane('a', 1)])
    await dispatcher.fetch()
    settler.isStuck = true
    expect(await dispatcher.fetch()).toEqual(FULL)
    dispatcher.noteRoom()
    await turn()
    expect([requests.length, heardOf('room')]).toEqual([1, []])
    settler.isStuck = false
    dispatcher.noteRoom()
    await turn()
    expect(heardOf('room')).toEqual(['room for 0'])
  })
})

describe('room comes free', () => {
  it('after a claim that left no room: said once per turn, and only if there is some', async () => {
    const lane = makeLane('a', 1)
    const made = makeDispatchers([lane])
    fill(lane, made)
    await made.dispatcher.fetch()
    made.dispatcher.noteRoom()
    await turn()
    expect(made.heardOf('room')).toEqual([])
    made.lanes.freeSlot(lane)
    for (let i = 0; i < 3; i += 1) made.dispatcher.noteRoom()
    expect(made.heardOf('room')).toEqual([])
    await turn()
    expect(made.heardOf('room')).toEqual(['room for 0'])
    made.dispatcher.noteRoom()
    await turn()
    expect(made.heardOf('room')).toHaveLength(2)
    made.dispatcher.noteRoom()
    made.dispatcher.stop()
    await turn()
    expect(made.heardOf('room')).toHaveLength(2)
  })

  it('nothing is said before the first claim, during one, or after one that had room for all', async () => {
    const { dispatcher, heardOf, scene } = makeDispatchers([makeLane('a', 1)])
    const { answer, open } = held()
    scene.answer = answer
    dispatcher.noteRoom()
    await turn()
    const fetching = dispatcher.fetch()
    dispatcher.noteRoom()
    await turn()
    open()
    await fetching
    dispatcher.noteRoom()
    await turn()
    expect(heardOf('room')).toEqual([])
  })

  it('only a lane that was left out makes a difference', async () => {
    const [a, b] = [makeLane('a', 2), makeLane('b', 2)]
    const made = makeDispatchers([a, b])
    fill(a, made)
    expect(await made.dispatcher.fetch()).toMatchObject({ room: true })
    made.lanes.takeSlot(b)
    made.lanes.freeSlot(b)
    made.dispatcher.noteRoom()
    await turn()
    expect([made.heardOf('room'), made.clock.pendingTimers]).toEqual([[], 0])
    made.lanes.freeSlot(a)
    made.dispatcher.noteRoom()
    await turn()
    expect(made.heardOf('room')).toEqual(['room for 0'])
  })

  it('a little room behind a long line is not worth a call', async () => {
    const lane = makeLane('a', 1)
    const made = makeDispatchers([lane])
    lane.ended(10)
    fill(lane, made)
    const runs = Array.from({ length: 10 }, (_, i) => makeRun(`${i}`, lane))
    for (const run of runs) lane.enqueue(run)
    await made.dispatcher.fetch()
    for (const run of runs.slice(0, 4)) lane.leaveLine(run)
    made.dispatcher.noteRoom()
    await turn()
    expect(made.heardOf('room')).toEqual([])
    for (const run of runs.slice(4, 5)) lane.leaveLine(run)
    made.dispatcher.noteRoom()
    await turn()
    expect(made.heardOf('room')).toEqual(['room for 0'])
  })

  it('a message that went back is asked for again, although its lane was not left out', async () => {
    const [a, b] = [makeLane('a', 1), makeLane('b', 1)]
    const made = makeDispatchers([a, b])
    await made.dispatcher.fetch()
    made.dispatcher.noteReturned(b)
    await turn()
    expect(made.heardOf('room')).toEqual(['room for 0'])
    fill(b, made)
    made.dispatcher.noteReturned(b)
    await turn()
    expect(made.heardOf('room')).toHaveLength(1)
  })
})

describe('P14: topics with a limit', () => {
  it('are known as such as long as the store says so', async () => {
    const [a, b] = [makeLane('a'), makeLane('b')]
    const { dispatcher, lanes, scene } = makeDispatchers([a, b])
    scene.answer = async () => ({ ...NOTHING, limited: ['b'] })
    await dispatcher.fetch()
    expect([...lanes.limited]).toEqual([b])
    scene.answer = async () => NOTHING
    await dispatcher.fetch()
    expect([lanes.limited.size, b.told]).toEqual([0, 'plain'])
  })

  it.each([
    ['took all that could start of it', ['a', 'a'], ['a'], true],
    ['took less', ['a'], ['a'], false],
    ['took less, but with others that have a limit all that could start', ['a', 'b'], ['a', 'b'], true],
    ['took less, and others without a limit took the rest', ['a', 'b'], ['a'], false],
    ['has no limit', ['a', 'a'], ['b'], false],
  ] as const)('one that %s: whether it is asked for when a slot is free', async (_, got, topics, isAsked) => {
    const [a, b, ahead] = [makeLane('a', 2), makeLane('b', 10), makeLane('ahead', 10)]
    const { dispatcher, heardOf, scene } = makeDispatchers([a, b, ahead], { slots: 2 })
    ahead.ended(10)
    scene.answer = async () => ({ ...NOTHING, leases: leasesOf(...got), limited: [...topics] })
    expect(await dispatcher.fetch()).toMatchObject({ room: true })
    await turn()
    expect(heardOf('room')).toEqual([])
    for (const lane of [a, b])
      for (let run = lane.first; run !== undefined; run = lane.first) lane.leaveLine(run)
    dispatcher.noteRoom()
    await turn()
    expect(heardOf('room')).toEqual(isAsked ? ['room for 0'] : [])
  })

  it('a slot that came free while the store was asked is noticed', async () => {
    const a = makeLane('a', 2)
    const made = makeDispatchers([a])
    made.lanes.takeSlot(a)
    made.scene.answer = async () => {
      made.lanes.freeSlot(a)
      made.dispatcher.noteRoom()
      return { ...NOTHING, leases: leasesOf('a'), limited: ['a'] }
    }
    await made.dispatcher.fetch()
    await turn()
    expect(made.heardOf('room')).toEqual(['room for 0'])
  })
})

describe('partitions of one worker', () => {
  it('each asks for half of what the others have left, and the store hears how long all turns take', async () => {
    const { dispatchers } = makeDispatchers([makeLane('a')], { partitions: 3 })
    for (const { scene } of dispatchers) scene.answer = held().answer
    for (const { dispatcher } of dispatchers) void dispatcher.fetch()
    await turn()
    expect(
      dispatchers.map(({ requests }) => requests.map(({ limit, wants }) => [limit, wants[0]?.limit])),
    ).toEqual([[[5, 5]], [[3, 3]], [[1, 1]]])
    const fallbackMs = FALLBACK_MS
    expect(dispatchers[2]?.requests[0]?.sleeper).toEqual({ fallbackMs, lookMsMax: 77_000, busy: [] })
  })

  it.each([
    ['slot', 1, 10],
    ['place in its lane', 10, 1],
  ])(
    'the one %s is promised: another waits, and the store is not told that it is busy',
    async (_, slots, concurrency) => {
      const { clock, dispatchers, heardOf } = makeDispatchers([makeLane('a', concurrency)], {
        slots,
        partitions: 2,
      })
      const [first, second] = dispatchers as [Made, Made]
      await second.dispatcher.fetch()
      const { answer, open } = held()
      first.scene.answer = answer
      const fetching = first.dispatcher.fetch()
      await turn()
      expect(await second.dispatcher.fetch()).toEqual(FULL)
      second.dispatcher.noteWake()
      second.dispatcher.noteRoom()
      await clock.advance(99)
      expect([second.requests.length, heardOf('room')]).toEqual([1, []])
      await clock.advance(1)
      expect(heardOf('room')).toEqual(['room for 1'])
      open()
      await fetching
    },
  )

  it('a slot that is promised for one topic is not asked for with another', async () => {
    const { clock, dispatchers, heardOf } = makeDispatchers([makeLane('a'), makeLane('b')], {
      slots: 1,
      partitions: 2,
      capabilities: { wantsMax: 1 },
    })
    const [first, second] = dispatchers as [Made, Made]
    first.scene.answer = held().answer
    void first.dispatcher.fetch()
    await turn()
    expect(wantsOf(first.requests)).toEqual(['a1'])
    expect(await second.dispatcher.fetch()).toEqual(FULL)
    second.dispatcher.noteRoom()
    await clock.advance(99)
    expect([second.requests, heardOf('room')]).toEqual([[], []])
  })

  it('what one did not use is offered to the others when it is answered', async () => {
    const { dispatchers, heardOf } = makeDispatchers([makeLane('a')], { slots: 1, partitions: 2 })
    const [first, second] = dispatchers as [Made, Made]
    const { answer, open } = held()
    first.scene.answer = answer
    const fetching = first.dispatcher.fetch()
    await turn()
    await second.dispatcher.fetch()
    open()
    await fetching
    await turn()
    expect(heardOf('room')).toEqual(['room for 1'])
  })

  it('with one slot and something due in each, they take turns', async () => {
    const { clock, dispatchers } = makeDispatchers([makeLane('a')], { slots: 1, partitions: 3 })
    const order: number[] = []
    for (const [i, { dispatcher, scene }] of dispatchers.entries()) {
      scene.answer = () => {
        order.push(i)
        return new Promise((resolve) => {
          clock.schedule(10, () => resolve(MORE))
        })
      }
      const fetchAll = async (): Promise<void> => {
        while (order.length < 9 && (await dispatcher.fetch()).room) await turn()
      }
      scene.onRoom = () => void fetchAll()
      void fetchAll()
    }
    await clock.advance('1s')
    expect(order.slice(0, 9)).toEqual([0, 1, 2, 0, 1, 2, 0, 1, 2])
  })

  it('a lane that another has asked for is put off: nothing is said of our sleep, and the place is kept', async () => {
    const { answerFirst, heardOf, second } = await makePutOff()
    expect(wantsOf(second.requests)).toEqual(['b5'])
    expect(second.requests[0]).not.toHaveProperty('sleeper')
    expect(heardOf('turn')).toEqual(['turn of 0'])
    await turn()
    expect(heardOf('room')).toEqual([])
    await answerFirst()
    expect(heardOf('room')).toEqual(['room for 1'])
    await second.dispatcher.fetch()
    expect(wantsOf(second.requests)).toEqual(['b5', 'a1 b9'])
    expect(second.requests[1]?.sleeper?.busy).toEqual(['full'])
    expect(heardOf('turn')).toEqual(['turn of 0', 'turn of 1'])
  })

  it('what was put off is asked for after a while also if the other one is not answered', async () => {
    const { clock, heardOf } = await makePutOff()
    await clock.advance(100)
    expect(heardOf('room')).toEqual(['room for 1'])
  })

  it('P6: what was put off is not asked for while settlements are stuck', async () => {
    const { answerFirst, heardOf, settler } = await makePutOff()
    settler.isStuck = true
    await answerFirst()
    expect(heardOf('room')).toEqual([])
  })

  it('a store that was told nothing of our sleep does not count on us: it is not told that we are busy', async () => {
    const made = await makePutOff()
    await made.answerFirst()
    for (const lane of made.lanes.all) fill(lane, made)
    expect(await made.second.dispatcher.fetch()).toEqual(FULL)
    expect(made.second.requests).toHaveLength(1)
  })

  it('lanes that were put off are asked for together, when there is room for all of them', async () => {
    const topics = ['a', 'b', 'c']
    const { dispatchers, heardOf } = makeDispatchers(
      topics.map((topic) => makeLane(topic, 1)),
      { partitions: 3, capabilities: { wantsMax: 1 } },
    )
    const [first, second, third] = dispatchers as [Made, Made, Made]
    const answers = [held(), held(), held()] as const
    first.scene.answer = ({ wants: [want] }) => (want?.topic === 'a' ? answers[0] : answers[1]).answer()
    second.scene.answer = answers[2].answer
    void first.dispatcher.fetch()
    void second.dispatcher.fetch()
    await turn()
    await third.dispatcher.fetch()
    expect([first, second, third].map(({ requests }) => wantsOf(requests))).toEqual([['a1'], ['b1'], ['c1']])
    // Now "a" could be asked for, and "b" could not.
    answers[0].open()
    await turn()
    expect([wantsOf(first.requests), heardOf('room for 2')]).toEqual([['a1', 'b1'], []])
    answers[1].open()
    answers[2].open()
    await turn()
    expect(heardOf('room for 2')).toEqual(['room for 2'])
  })

  it('one that was put off and then had no room keeps its place until it is asked for', async () => {
    const a = makeLane('a', 1)
    const made = makeDispatchers([a, makeLane('b', 20)], { slots: 20, partitions: 2 })
    const [first, second] = made.dispatchers as [Made, Made]
    const { answer, open } = held()
    first.scene.answer = answer
    const fetching = first.dispatcher.fetch()
    await turn()
    await second.dispatcher.fetch()
    open()
    await fetching
    fill(a, made)
    await second.dispatcher.fetch()
    expect(second.requests[1]?.sleeper?.busy).toEqual(['a'])
    expect(made.heardOf('turn of 1')).toEqual([])
    made.lanes.freeSlot(a)
    await second.dispatcher.fetch()
    expect(made.heardOf('turn of 1')).toEqual(['turn of 1'])
  })

  it.each([
    ['who was offered the room decides before one that asks by itself', true],
    ['who was offered the room before comes in its order', false],
  ])('%s', async (_, isOffered) => {
    const { dispatchers } = makeDispatchers([makeLane('a')], { slots: 1, partitions: 2 })
    const [first, second] = dispatchers as [Made, Made]
    const answers = [held(), held()] as const
    first.scene.answer = answers[0].answer
    second.scene.answer = answers[1].answer
    second.scene.onRoom = () => void second.dispatcher.fetch()
    const fetching = first.dispatcher.fetch()
    await turn()
    await second.dispatcher.fetch()
    answers[0].open()
    await fetching
    if (!isOffered) {
      await turn()
      answers[1].open()
      await turn()
    }
    first.scene.answer = held().answer
    void first.dispatcher.fetch()
    if (!isOffered) void second.dispatcher.fetch()
    await turn()
    expect([first.requests.length, second.requests.length]).toEqual(isOffered ? [1, 1] : [2, 1])
  })
})
