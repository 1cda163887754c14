import { describe, expect, it } from 'vitest'
import { HELD } from '../../../src/core/machines/run.ts'
import { Deadlines } from '../../../src/runtime/runs/deadlines.ts'
import { Holding } from '../../../src/runtime/runs/holding.ts'
import { VirtualClock } from '../../../src/testing/index.ts'
import { makeLane, makeRun } from './runs.ts'

type Item = { readonly name: string; at: number }

function makeDeadlines(...moments: readonly number[]) {
  const clock = new VirtualClock()
  const items = new Set<Item>(moments.map((at, i) => ({ name: `${i}`, at })))
  const reached: [string, number][] = []
  const deadlines = new Deadlines<Item>({
    clock,
    items,
    deadlineOf: ({ at }) => at,
    onReached: (item) => {
      item.at = Infinity
      reached.push([item.name, clock.monotonic()])
    },
  })
  for (const { at } of items) deadlines.announce(at, clock.monotonic())
  return { clock, deadlines, items, reached }
}

describe('deadlines', () => {
  it('each is reached at its moment, on one timer', async () => {
    const { clock, reached } = makeDeadlines(300, 100, 200, 100)
    expect(clock.pendingTimers).toBe(1)
    await clock.advance(99)
    expect(reached).toEqual([])
    await clock.advance(1_000)
    expect(reached).toEqual([
      ['1', 100],
      ['3', 100],
      ['2', 200],
      ['0', 300],
    ])
    expect(clock.pendingTimers).toBe(0)
  })

  it('a later one does not push an earlier one back', async () => {
    const { clock, deadlines, items, reached } = makeDeadlines(100)
    const later = { name: 'later', at: 500 }
    items.add(later)
    deadlines.announce(later.at, 0)
    await clock.advance(100)
    expect(reached).toEqual([['0', 100]])
    await clock.advance(400)
    expect(reached).toEqual([
      ['0', 100],
      ['later', 500],
    ])
  })

  it('one that was moved or taken away meanwhile is not reached early', async () => {
    const { clock, items, reached } = makeDeadlines(100, 100)
    const [first, second] = [...items] as [Item, Item]
    first.at = 250
    items.delete(second)
    await clock.advance(249)
    expect(reached).toEqual([])
    await clock.advance(1)
    expect(reached).toEqual([['0', 250]])
  })

  it('cleared, nothing is reached and no timer is left', async () => {
    const { clock, deadlines, reached } = makeDeadlines(100)
    deadlines.clear()
    expect(clock.pendingTimers).toBe(0)
    await clock.advance(1_000)
    expect(reached).toEqual([])
    deadlines.announce(1_100, 1_000)
    expect(clock.pendingTimers).toBe(1)
  })
})

function makeHolding() {
  const clock = new VirtualClock()
  const lane = makeLane('a')
  const left: [string, number][] = []
  const holding: Holding = new Holding(clock, (runs) => {
    for (const run of runs) {
      holding.remove(run)
      left.push([run.lease.id, clock.monotonic()])
    }
  })
  const hold = (id: string, startsAt: number) => {
    const run = makeRun(id, lane, { startsAt, state: HELD })
    holding.hold(run)
    return run
  }
  return { clock, lane, left, holding, hold }
}

describe('holding', () => {
  it('P1: each leaves at its moment, in order, on one timer', async () => {
    const { clock, hold, lane, left } = makeHolding()
    for (const [id, at] of [
      ['c', 30],
      ['a', 10],
      ['b', 20],
      ['b2', 20],
    ] as const)
      hold(id, at)
    expect([clock.pendingTimers, lane.held]).toEqual([1, 4])
    await clock.advance(100)
    expect(left).toEqual([
      ['a', 10],
      ['b', 20],
      ['b2', 20],
      ['c', 30],
    ])
    expect([clock.pendingTimers, lane.held]).toEqual([0, 0])
  })

  it('one that is removed never leaves, and the others still do', async () => {
    const { clock, hold, holding, lane, left } = makeHolding()
    const first = hold('a', 10)
    hold('b', 20)
    holding.remove(first)
    holding.remove(first) // Again: nothing happens.
    expect(lane.held).toBe(1)
    await clock.advance(100)
    expect(left).toEqual([['b', 20]])
  })

  it('empty, it leaves no timer behind, and begins anew', async () => {
    const { clock, hold, holding, left } = makeHolding()
    holding.remove(hold('a', 10))
    expect(clock.pendingTimers).toBe(0)
    hold('b', 20)
    await clock.advance(100)
    expect(left).toEqual([['b', 20]])
  })
})
