import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Lane } from '../../../src/runtime/runs/lane.ts'
import { AHEAD_BYTES_MAX, Lanes } from '../../../src/runtime/runs/lanes.ts'
import type { Run, RunSource } from '../../../src/runtime/runs/run.ts'
import { makeLane, makeLanes, makeOwn, makeRun } from './runs.ts'

const [PARTITION, OTHER] = [{}, {}] as [RunSource, RunSource]

function roomFor(lanes: Lanes, lane: Lane): number {
  return lanes.roomFor(lane, lanes.survey())
}

describe('lanes', () => {
  it('one that has not shown how fast it is gets its free slots and no more', () => {
    const lane = makeLane('a', 4)
    const lanes = makeLanes(10, [lane])
    expect(roomFor(lanes, lane)).toBe(4)
    lanes.takeSlot(lane)
    expect(roomFor(lanes, lane)).toBe(3)
    expect(lanes.running).toBe(1)
    lanes.freeSlot(lane)
    expect([roomFor(lanes, lane), lanes.running]).toEqual([4, 0])
  })

  it('one of our own takes no slot from users, and gives none back', () => {
    const own = makeOwn('ours')
    const lane = makeLane('a')
    const lanes = makeLanes(2, [lane, own])
    for (let i = 0; i < 3; i += 1) {
      lanes.takeSlot(own)
      expect([lanes.running, lanes.mayStart(own)]).toEqual([0, true])
      lanes.freeSlot(own)
    }
    for (let i = 0; i < 2; i += 1) lanes.takeSlot(lane)
    expect([lanes.running, lanes.mayStart(lane), own.running]).toEqual([2, false, 0])
    expect([lanes.mayStart(own), lanes.get('ours')]).toEqual([true, own])
  })

  it('of lanes of our own there is the room that their own concurrency leaves', () => {
    const own = makeOwn('ours', 3)
    const lane = makeLane('a', 5)
    const lanes = makeLanes(1, [lane, own, makeOwn('more', 2)])
    expect([lanes.ownRoom(), lanes.users, lanes.all.length]).toEqual([5, [lane], 3])
    lanes.takeSlot(own)
    own.held += 1
    own.enqueue(makeRun('x', own))
    expect([lanes.ownRoom(), roomFor(lanes, own)]).toEqual([2, 0])
    own.ended(1)
    own.held += 9 // Never less than none, and nothing is fetched ahead.
    expect([lanes.ownRoom(), roomFor(lanes, own)]).toEqual([0, 0])
    lanes.takeSlot(own)
    lanes.takeSlot(own)
    expect(lanes.mayStart(own)).toBe(false)
  })

  it('one that is run elsewhere has as much room as is asked for there, and nothing is fetched ahead of that', () => {
    let demand = 3
    const remote = { demand: () => demand, start: () => undefined }
    const lane = new Lane('a', () => undefined, makeLane('x', 1).settings, { remote })
    const lanes = makeLanes(1, [lane])
    lane.ended(1)
    lanes.takeSlot(lane)
    expect([lanes.mayStart(lane), roomFor(lanes, lane), lanes.freeFor(lane)]).toEqual([true, 3, 3])
    demand = 0
    expect([lanes.mayStart(lane), roomFor(lanes, lane), lanes.freeFor(lane)]).toEqual([false, 0, 0])
  })

  it('P14: one with a limit is not fetched ahead, and has no more room than slots that nobody waits for', () => {
    const [limited, other] = [makeLane('limited', 4), makeLane('other', 4)]
    const lanes = makeLanes(4, [limited, other])
    limited.ended(1)
    expect(roomFor(lanes, limited)).toBeGreaterThan(100)
    lanes.tell(limited, PARTITION, 'limited')
    expect([roomFor(lanes, limited), [...lanes.limited]]).toEqual([3, [limited]])
    for (let i = 0; i < 3; i += 1) other.enqueue(makeRun(`${i}`, other))
    expect([roomFor(lanes, limited), lanes.freeFor(limited)]).toEqual([1, 3])
    lanes.tell(limited, PARTITION, 'plain')
    expect([roomFor(lanes, limited) > 100, lanes.limited.size]).toEqual([true, 0])
  })

  it('P14: of what several partitions say of a topic the strictest holds, until that one says otherwise', () => {
    const lane = makeLane('a', 4)
    const lanes = makeLanes(4, [lane])
    lanes.tell(lane, PARTITION, 'limited')
    lanes.tell(lane, OTHER, 'plain')
    expect([lane.told, lanes.areTold, lanes.limited.size]).toEqual(['limited', true, 1])
    lanes.tell(lane, OTHER, 'limited')
    lanes.tell(lane, PARTITION, 'plain')
    expect(lane.told).toBe('limited')
    lanes.tell(lane, OTHER, 'plain')
    expect([lane.told, lanes.areTold, lanes.limited.size]).toEqual(['plain', false, 0])
  })

  it('what can start now leaves out what is fetched ahead, and what waits here', () => {
    const lane = makeLane('a', 4)
    const lanes = makeLanes(4, [lane])
    lane.ended(1)
    expect(lanes.freeFor(lane)).toBe(4)
    lane.enqueue(makeRun('x', lane))
    lane.held += 1
    expect(lanes.freeFor(lane)).toBe(2)
    lane.held += 9
    expect(lanes.freeFor(lane)).toBe(0)
  })

  it('what waits takes first the slots, then what is fetched ahead', () => {
    const lane = makeLane('a', 4)
    const lanes = makeLanes(4, [lane])
    lane.ended(20)
    for (let i = 0; i < 5; i += 1) lane.enqueue(makeRun(`${i}`, lane))
    expect(lanes.survey()).toMatchObject({ room: 19, free: 0 })
  })

  it('P12: a line that does not move leaves less for others to fetch ahead', () => {
    const [stuck, fast] = [makeLane('stuck', 1), makeLane('fast', 1)]
    const lanes = makeLanes(2, [stuck, fast])
    for (const lane of [stuck, fast]) {
      lane.ended(0)
      lanes.takeSlot(lane)
    }
    for (let i = 0; i < 800; i += 1) stuck.enqueue(makeRun(`${i}`, stuck))
    stuck.bar()
    expect(lanes.survey()).toMatchObject({ room: 200, free: 0, share: 500 })
  })

  it('a lane has something to do when something runs, is held or waits; these share messages and bytes', () => {
    const [a, b, c] = [makeLane('a'), makeLane('b'), makeLane('c')]
    const lanes = makeLanes(10, [a, b, c, makeLane('idle')])
    a.held += 1
    expect(lanes.survey().share).toBe(1_000)
    b.enqueue(makeRun('x', b))
    expect(lanes.survey().share).toBe(500)
    lanes.takeSlot(c)
    c.held += 1
    expect(lanes.survey()).toMatchObject({ share: 333, bytesShare: AHEAD_BYTES_MAX / 3 })
  })

  it('P12: what waits ahead counts towards what all may fetch ahead', () => {
    const lane = makeLane('a', 1)
    const lanes = makeLanes(1, [lane])
    lane.ended(0)
    lanes.takeSlot(lane)
    for (let i = 0; i < 400; i += 1) lane.enqueue(makeRun(`${i}`, lane))
    expect(lanes.survey()).toMatchObject({ room: 600, free: 0, share: 1_000 })
    for (let i = 0; i < 900; i += 1) lane.enqueue(makeRun(`more ${i}`, lane))
    expect(lanes.survey().room).toBe(0)
  })

  it('P14: what was handed out before a pause goes back, P7: and what was handed out behind it stays', () => {
    const lane = makeLane('a')
    const run = (latenessMs: number, from = PARTITION): Run => {
      const { lease } = makeRun('x', lane)
      return { lease: { ...lease, dueAt: 1_000, latenessMs }, source: from } as Run
    }
    expect(lane.isFromBeforePause(run(0), 0)).toBe(false)
    lane.pause(PARTITION, { heardAt: 100, seenAt: 1_500 })
    expect(lane.isFromBeforePause(run(500), 99)).toBe(true)
    expect(lane.isFromBeforePause(run(501), 99)).toBe(false)
    expect(lane.isFromBeforePause(run(500, OTHER), 99)).toBe(false)
    expect(lane.isFromBeforePause(run(500), 100), 'asked for when the pause was known').toBe(false)
    expect(lane.isFromBeforePause(run(500), 99), 'and so the pause is over').toBe(false)
  })

  it('slots may change', () => {
    let slots = 2
    const lane = makeLane('a')
    const lanes = new Lanes(() => slots)
    lanes.add(lane)
    expect([lanes.slots, roomFor(lanes, lane)]).toEqual([2, 2])
    slots = 5
    expect([lanes.slots, roomFor(lanes, lane)]).toEqual([5, 5])
  })

  it.each([
    [1_000, 0],
    [201, 0],
    [101, 1],
    [100, 2],
    [10, 20],
    [1, 200],
    [0, 1_000],
  ])(
    'handlers of %i ms on two slots: %i are fetched ahead, what starts within 100 ms',
    (durationMs, ahead) => {
      const lane = makeLane('a', 2)
      const lanes = makeLanes(10, [lane])
      lane.ended(durationMs)
      lanes.takeSlot(lane)
      lanes.takeSlot(lane)
      expect(roomFor(lanes, lane)).toBe(ahead)
      expect(lanes.survey().room).toBe(8 + ahead)
    },
  )

  it('fewer slots than a lane may use make it as fast as they are', () => {
    const lane = makeLane('a', 100)
    const lanes = makeLanes(3, [lane])
    lane.ended(10)
    expect(roomFor(lanes, lane)).toBe(3 + 30)
  })

  it('what can be worked off in a second: each topic by its own slots, all together by those of the queue', () => {
    const [a, b] = [makeLane('a', 5), makeLane('b', 100)]
    const lanes = makeLanes(10, [a, b])
    expect(lanes.perSecond).toBeUndefined()
    a.ended(50)
    expect(lanes.perSecond).toBe(100)
    b.ended(50)
    expect(lanes.perSecond).toBe(200)
  })

  it('what waits here already counts, held or queued', () => {
    const lane = makeLane('a', 5)
    const lanes = makeLanes(5, [lane])
    lane.enqueue(makeRun('x', lane))
    lane.held += 1
    expect(roomFor(lanes, lane)).toBe(3)
    expect(lanes.survey().room).toBe(3)
  })

  it('P12: a lane that gave back fetches nothing ahead until one of its handlers ended', () => {
    const lane = makeLane('a', 1)
    const lanes = makeLanes(10, [lane])
    lane.ended(1)
    lanes.takeSlot(lane)
    expect(roomFor(lanes, lane)).toBe(100)
    lane.bar()
    expect(roomFor(lanes, lane)).toBe(0)
    lane.ended(1)
    expect(roomFor(lanes, lane)).toBe(100)
  })

  it('a slow handler is believed sooner than a fast one', () => {
    const lane = makeLane('a', 1)
    const lanes = makeLanes(1, [lane])
    lane.ended(0.1)
    lanes.takeSlot(lane)
    lane.ended(300)
    expect(roomFor(lanes, lane)).toBe(1) // A quarter of the way to 300 ms.
    lane.ended(300)
    expect(roomFor(lanes, lane)).toBe(0)
  })

  it('P12: lanes that have something to do share what is fetched ahead', () => {
    const [a, b, c] = [makeLane('a', 1), makeLane('b', 1), makeLane('c', 1)]
    const lanes = makeLanes(100, [a, b, c])
    for (const lane of [a, b, c]) lane.ended(0)
    lanes.takeSlot(a)
    expect(roomFor(lanes, a)).toBe(1_000)
    lanes.takeSlot(b)
    expect(roomFor(lanes, a)).toBe(500)
    lanes.takeSlot(c)
    expect(roomFor(lanes, a)).toBe(333)
  })

  it('P12: lines that do not move take nothing from a lane that can start', () => {
    const [a, b, c] = [makeLane('a', 1), makeLane('b', 1), makeLane('c', 1)]
    const lanes = makeLanes(100, [a, b, c])
    for (const lane of [a, b]) {
      lane.ended(0)
      lanes.takeSlot(lane)
      for (let i = 0; i < 500; i += 1) lane.enqueue(makeRun(`${lane.topic}${i}`, lane))
    }
    expect(roomFor(lanes, c)).toBe(1)
    expect(lanes.survey().room).toBeGreaterThanOrEqual(1)
  })

  it('P10: large messages are fetched ahead by their bytes', () => {
    const lane = makeLane('a', 1)
    const lanes = makeLanes(1, [lane])
    const run = makeRun('x', lane, { body: 'x'.repeat(1024 * 1024) })
    lane.enqueue(run)
    lane.leaveLine(run)
    lane.ended(0)
    expect(roomFor(lanes, lane)).toBe(1 + 32)
  })

  it('handlers that keep the event loop to themselves get what they can start within 100 ms', () => {
    const lane = makeLane('a', 100)
    const lanes = makeLanes(100, [lane])
    lane.blocked(20)
    expect(roomFor(lanes, lane)).toBe(5)
    lane.blocked(10_000)
    expect(roomFor(lanes, lane)).toBe(1)
  })

  it('P12: a slot is left for every lane that runs nothing, as long as there are enough', () => {
    const [a, b, c] = [makeLane('a', 10), makeLane('b', 10), makeLane('c', 10)]
    const lanes = makeLanes(5, [a, b, c])
    let started = 0
    while (lanes.mayStart(a)) {
      lanes.takeSlot(a)
      started += 1
    }
    expect(started).toBe(3)
    lanes.freeSlot(a) // It still runs others: nothing more is left for it than before.
    expect(lanes.mayStart(a)).toBe(true)
    lanes.takeSlot(a)
    expect(lanes.mayStart(a)).toBe(false)
    expect([lanes.mayStart(b), lanes.mayStart(c)]).toEqual([true, true])
    expect([roomFor(lanes, a), roomFor(lanes, b)]).toEqual([0, 1])
    lanes.takeSlot(b)
    expect([lanes.mayStart(b), lanes.mayStart(c)]).toEqual([false, true])
    lanes.freeSlot(b) // It is left for this one again.
    expect([lanes.mayStart(a), lanes.mayStart(b), lanes.mayStart(c)]).toEqual([false, true, true])
  })

  it('P12: as many slots as lanes: each has one', () => {
    const all = ['a', 'b', 'c'].map((topic) => makeLane(topic))
    const lanes = makeLanes(3, all)
    for (const lane of all) {
      expect(roomFor(lanes, lane)).toBe(1)
      lanes.takeSlot(lane)
      expect(lanes.mayStart(lane)).toBe(false)
    }
  })

  it('P12: where slots became fewer, one that runs nothing has the next; beyond them nobody has one', () => {
    let slots = 4
    const [a, b, c] = [makeLane('a'), makeLane('b'), makeLane('c')]
    const lanes = new Lanes(() => slots)
    for (const lane of [a, b, c]) lanes.add(lane)
    for (let i = 0; i < 2; i += 1) lanes.takeSlot(a)
    const look = (lane: Lane): unknown[] => [lanes.mayStart(lane), roomFor(lanes, lane)]
    slots = 3
    expect([look(a), look(b), look(c)]).toEqual([
      [false, 0],
      [true, 1],
      [true, 1],
    ])
    slots = 2
    expect([look(a), look(b), look(c)]).toEqual([
      [false, 0],
      [false, 0],
      [false, 0],
    ])
  })

  it('with fewer slots than lanes one may have all of them, and the others wait', () => {
    const [a, b, c] = [makeLane('a'), makeLane('b'), makeLane('c')]
    const lanes = makeLanes(2, [a, b, c])
    for (let i = 0; i < 2; i += 1) {
      expect(lanes.mayStart(a)).toBe(true)
      lanes.takeSlot(a)
    }
    expect([a, b, c].map((lane) => [lanes.mayStart(lane), roomFor(lanes, lane)])).toEqual([
      [false, 0],
      [false, 0],
      [false, 0],
    ])
  })

  it('worth a call: a line that has run dry, or half of what is fetched ahead', () => {
    const lane = makeLane('a', 1)
    const lanes = makeLanes(1, [lane])
    lane.ended(10)
    lanes.takeSlot(lane)
    const isWorthwhile = (): boolean => lanes.isWorthwhile(lane, lanes.survey())
    const runs = Array.from({ length: 10 }, (_, i) => makeRun(`${i}`, lane))
    for (const run of runs) lane.enqueue(run)
    expect(isWorthwhile()).toBe(false)
    for (const run of runs.slice(0, 4)) lane.leaveLine(run)
    expect(isWorthwhile()).toBe(false)
    lane.leaveLine(runs[4] as (typeof runs)[0])
    expect(isWorthwhile()).toBe(true)
    for (const run of runs) lane.leaveLine(run)
    lane.held = 9 // Little room, and nothing that waits for a slot.
    expect(isWorthwhile()).toBe(true)
    lane.held = 10
    expect(isWorthwhile()).toBe(false)
  })

  it('lanes take turns', () => {
    const [a, b, c] = [makeLane('a'), makeLane('b'), makeLane('c')]
    const lanes = makeLanes(5, [a, b, c])
    expect([0, 1, 2].map((distance) => lanes.after(undefined, distance)?.topic)).toEqual(['a', 'b', 'c'])
    expect([0, 1, 2].map((distance) => lanes.after(b, distance)?.topic)).toEqual(['c', 'a', 'b'])
  })

  it('whatever happens: no more is asked for than there is room, and an idle lane always has its one', () => {
    const step = fc.record({
      lane: fc.nat({ max: 2 }),
      kind: fc.constantFrom('start', 'end', 'queue', 'leave', 'bar'),
    })
    fc.assert(
      fc.property(fc.integer({ min: 3, max: 8 }), fc.array(step, { maxLength: 60 }), (slots, steps) => {
        const all = ['a', 'b', 'c'].map((topic) => makeLane(topic, 4))
        const lanes = makeLanes(slots, all)
        for (const { lane: index, kind } of steps) {
          const lane = all[index] as Lane
          if (kind === 'start' && lanes.mayStart(lane)) lanes.takeSlot(lane)
          if (kind === 'end' && lane.running > 0) {
            lanes.freeSlot(lane)
            lane.ended(30)
          }
          if (kind === 'queue') lane.enqueue(makeRun('x', lane))
          if (kind === 'leave' && lane.first !== undefined) lane.leaveLine(lane.first)
          if (kind === 'bar') lane.bar()
          expect(lanes.running).toBeLessThanOrEqual(slots)
          const survey = lanes.survey()
          expect(survey.room).toBeGreaterThanOrEqual(0)
          for (const one of all) {
            expect(lanes.roomFor(one, survey)).toBeGreaterThanOrEqual(0)
            if (one.running + one.queued > 0) continue
            expect(lanes.mayStart(one)).toBe(true)
            expect(lanes.roomFor(one, survey)).toBeGreaterThanOrEqual(1)
          }
        }
      }),
    )
  })
})

describe('the lines of a lane', () => {
  it('P7: higher priority first, and in order among equals', () => {
    const lane = makeLane('a')
    const runs = [1, 2, 0, 1, 0].map((priority, i) =>
      makeRun(`${i}`, lane, { priority: priority as 0 | 1 | 2 }),
    )
    for (const run of runs) lane.enqueue(run)
    const order: string[] = []
    for (let run = lane.first; run !== undefined; run = lane.first) {
      order.push(run.lease.id)
      lane.leaveLine(run)
    }
    expect(order).toEqual(['2', '4', '0', '3', '1'])
    expect(lane.queued).toBe(0)
  })

  it('one that leaves from the middle leaves the others in order', () => {
    const lane = makeLane('a')
    const runs = ['a', 'b', 'c', 'd'].map((id) => makeRun(id, lane))
    for (const run of runs) lane.enqueue(run)
    for (const at of [0, 2]) lane.leaveLine(runs[at] as (typeof runs)[0])
    lane.leaveLine(runs[2] as (typeof runs)[0]) // Again: nothing happens.
    expect([lane.queued, lane.first?.lease.id]).toEqual([2, 'b'])
  })
})
