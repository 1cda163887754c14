import { describe, expect, it } from 'vitest'
import { suspectsMax } from '../../../src/core/machines/dilution.ts'
import type { Run } from '../../../src/runtime/runs/run.ts'
import { makeLane, makeLanes, makeOwn, makeRun } from './runs.ts'

const SLOTS = 100

function makeSuspects() {
  const [lane, other, own] = [makeLane('t', SLOTS), makeLane('other', SLOTS), makeOwn('ours')]
  const lanes = makeLanes(SLOTS, [lane, other, own])
  const { suspects } = lanes
  let claims = 0
  /** One claim brings so many that lapsed so often; how many of them found a place. */
  const claim = (...lapses: readonly number[]): { readonly taken: Run[]; readonly surplus: Run[] } => {
    claims += 1
    const [taken, surplus]: [Run[], Run[]] = [[], []]
    for (const [i, count] of lapses.entries()) {
      const run = makeRun(`${claims}.${i}`, lane, { lapses: count })
      ;(suspects.admits(run, claims) ? taken : surplus).push(run)
    }
    return { taken, surplus }
  }
  return { claim, lane, lanes, other, own, suspects }
}

function times(count: number, lapses: number): number[] {
  return Array.from({ length: count }, () => lapses)
}

describe('what lapsed before', () => {
  it('the more often, the fewer at once, down to one', () => {
    expect([1, 2, 3, 4].map((lapses) => suspectsMax(lapses, SLOTS, 0))).toEqual([25, 6, 1, 1])
    expect(suspectsMax(1, 2, 0)).toBe(1)
  })

  it('finds as many places as its like may have, in the order of the claim; all others find one', () => {
    const { claim, lane, other, own, suspects } = makeSuspects()
    const { taken, surplus } = claim(...times(30, 1), 0, 0)
    expect([taken.length, surplus.length]).toEqual([25 + 2, 5])
    expect(suspects.placesFor(lane)).toBe(0)
    expect(suspects.placesFor(other)).toBe(Infinity)
    expect(suspects.admits(makeRun('a look', own, { lapses: 3 }), 7)).toBe(true)
  })

  it('the one that lapsed most decides for all: beside one of three lapses there is no other', () => {
    const { claim } = makeSuspects()
    expect(claim(3, 1, 2).surplus).toHaveLength(2)
    // What comes behind one that found no place stays behind it.
    const { claim: again } = makeSuspects()
    expect(again(1, 3, 1).surplus).toHaveLength(2)
  })

  it('none starts while what goes back is not known to be back; what never lapsed does', () => {
    const { claim, suspects } = makeSuspects()
    const { taken, surplus } = claim(...times(27, 1))
    const [first] = taken
    const fresh = makeRun('fresh', makeLane('t'))
    const mayStart = (): boolean[] => [first, fresh].map((run) => run !== undefined && suspects.mayStart(run))
    expect(mayStart()).toEqual([false, true])
    expect(surplus.map((run) => suspects.letGo(run))).toEqual([false, true])
    expect(mayStart()).toEqual([true, true])
  })

  it('as places come free its lane asks for so many, until a claim brings others', () => {
    const { claim, lane, lanes, suspects } = makeSuspects()
    const { taken, surplus } = claim(...times(30, 2))
    for (const run of [...surplus, ...taken.slice(0, 2)]) suspects.letGo(run)
    expect(lanes.roomFor(lane, lanes.survey())).toBe(2)
    claim(2, 0)
    expect(suspects.placesFor(lane)).toBe(Infinity)
  })

  it('each that lapsed once and ended well makes room for one more; one that went back does not', () => {
    const { claim, suspects } = makeSuspects()
    const { taken, surplus } = claim(...times(30, 1))
    for (const run of taken.slice(0, 10)) {
      run.startedAt = 1
      suspects.letGo(run)
    }
    for (const run of [...surplus, ...taken.slice(10, 15)]) suspects.letGo(run)
    expect(claim(...times(60, 1)).taken).toHaveLength(25 + 10 - 10)
  })

  it('is not held back where our own calls failed a moment ago, but for what lapsed again', () => {
    const { claim, suspects } = makeSuspects()
    suspects.forgive(1.5)
    expect(claim(...times(80, 1)).surplus).toEqual([])
    suspects.forgive(2.5)
    expect(claim(...times(80, 2)).taken).toHaveLength(6)
    expect(claim(...times(80, 1)).taken).toHaveLength(0)
  })
})
