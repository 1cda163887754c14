import { describe, expect, it } from 'vitest'
import type { Clock } from '../../../src/clock.ts'
import { Pump } from '../../../src/runtime/runs/pump.ts'
import type { Run } from '../../../src/runtime/runs/run.ts'
import { makeLane, makeLanes, makeRun } from './runs.ts'

/** A clock that handlers move, as those do that keep the event loop to themselves. */
class WorkClock implements Clock {
  elapsed = 0
  readonly turns: (() => void)[] = []
  now = (): number => this.elapsed
  monotonic = (): number => this.elapsed
  soon = (run: () => void): void => void this.turns.push(run)
  schedule(): never {
    throw new Error('no timers here')
  }
}

function makePump(workMs: number, topics: Record<string, number>, slots = 100) {
  const clock = new WorkClock()
  const all = Object.keys(topics).map((topic) => makeLane(topic, 100))
  const lanes = makeLanes(slots, all)
  const started: string[] = []
  const onStart: ((run: Run) => void)[] = []
  for (const lane of all)
    for (let i = 0; i < (topics[lane.topic] ?? 0); i += 1) lane.enqueue(makeRun(`${lane.topic}${i}`, lane))
  const pump = new Pump({
    clock,
    lanes,
    start: (run) => {
      run.lane.leaveLine(run)
      started.push(run.lease.id)
      clock.elapsed += workMs
      for (const hear of onStart) hear(run)
    },
  })
  return { clock, lanes, pump, started, onStart }
}

describe('pump', () => {
  it('lanes take turns', () => {
    const { pump, started } = makePump(0, { a: 3, b: 1, c: 2 })
    pump.run()
    expect(started).toEqual(['a0', 'b0', 'c0', 'a1', 'c1', 'a2'])
  })

  it('synchronous handlers give the event loop a turn at least every 10 ms, and then go on', () => {
    const { clock, pump, started } = makePump(4, { a: 8 })
    pump.run()
    expect(started).toHaveLength(3)
    pump.run() // A handler that ended: not before the turn is over.
    expect([started.length, clock.turns.length]).toEqual([3, 1])
    clock.turns.shift()?.()
    expect([started.length, clock.turns.length]).toEqual([6, 1])
    clock.turns.shift()?.()
    expect([started.length, clock.turns.length]).toEqual([8, 0])
  })

  it('tells the lane how long its handlers kept the event loop', () => {
    const { lanes, pump } = makePump(25, { a: 1 })
    pump.run()
    expect(lanes.get('a')?.startable).toBe(4)
  })

  it('a handler that ends at once comes back without going deeper', () => {
    const { pump, started, onStart } = makePump(0, { a: 5_000 })
    let depth = 0
    onStart.push(() => {
      depth += 1
      expect(depth).toBe(1)
      pump.run()
      depth -= 1
    })
    pump.run()
    expect(started).toHaveLength(5_000)
  })

  it('closed, it starts nothing: not later, not in the middle, not after its pause', () => {
    const { clock, pump, started, onStart } = makePump(11, { a: 5 })
    pump.run()
    expect(started).toHaveLength(1)
    pump.close()
    clock.turns.shift()?.()
    pump.run()
    expect(started).toHaveLength(1)
    const other = makePump(0, { a: 5 })
    other.onStart.push(() => other.pump.close())
    other.pump.run()
    expect(other.started).toHaveLength(1)
    expect(onStart).toEqual([])
  })
})
