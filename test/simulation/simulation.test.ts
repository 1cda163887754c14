/**
 * The share of the simulator that runs with every change: seeds that stay the same, so that a change alone
 * decides the result, those that once found a bug, and the proof that one seed is one history. New seeds: `npm run simulate`.
 */
import { describe, expect, it } from 'vitest'
import { simulate } from '../../simulation/simulate.ts'

/** Seeds 1 to 120, a few to a test: a slow machine takes its time for each. */
const FIXED = Array.from({ length: 12 }, (_, part) => ({ from: part * 10 + 1, to: part * 10 + 10 }))

/** Each of these breaks a promise as soon as the mistake is back; `--mutants` has them all. */
const REGRESSIONS: readonly { readonly seed: number; readonly bug: string }[] = [
  { seed: 45, bug: 'a worker goes on when a message leased ahead cannot start at its moment' },
  { seed: 277, bug: 'a handler that ends after it was left behind is counted once' },
  { seed: 3, bug: 'list asks a store for no more than it takes in one call' },
  { seed: 103_688, bug: 'a message was started in the last fraction of a millisecond of its lease' },
  { seed: 12, bug: 'a handler was started after a slow schema had used up its time' },
  { seed: 90_001, bug: 'a worker that took only what it could not start stayed saturated' },
  { seed: 600_001, bug: 'a schedule that was changed before a worker had looked at it forgot what it owed' },
  { seed: 600_337, bug: 'the judge: a topic that was added when all slots were taken crowds the others' },
  { seed: 600_527, bug: 'the judge: a process that stands still does not hear the engine inside it' },
  { seed: 700_584, bug: 'over partitions: a worker with room did not ask for what another partition had' },
  { seed: 702_329, bug: 'over partitions: three of them asked for each other’s topics in a circle' },
  { seed: 710_026, bug: 'over partitions: the last worker that lived did not look at each within a minute' },
  {
    seed: 1_033_071,
    bug: 'the judge: an id whose time was over may be forgotten before the clock is set back',
  },
  { seed: 1_021_625, bug: 'a stop without any time forgot what its last claim brought' },
  {
    seed: 1_086_042,
    bug: 'over partitions: the looks of workers that were killed minutes ago spared the others theirs',
  },
  {
    seed: 104,
    bug: 'in memory a key that rests until its rate allows a start was told as a moment that is due',
  },
  { seed: 20_013, bug: 'in memory a key forgot its turn when its only message was given back' },
  { seed: 601_789, bug: 'a stop counted its own look at a schedule among the handlers' },
]

async function expectClean(seed: number): Promise<void> {
  const { violations } = await simulate(seed)
  expect(violations, `npm run simulate -- --seed ${seed} --trace`).toEqual([])
}

describe('simulation', () => {
  it.each([3, 11, 42, 4711])('seed %i gives one history, byte for byte', async (seed) => {
    const [first, second] = [await simulate(seed, true), await simulate(seed, true)]
    expect(first.history.lines.length).toBeGreaterThan(100)
    expect(second.history.hash).toBe(first.history.hash)
    // Nor does it matter whether anybody writes the history down.
    const silent = await simulate(seed)
    expect([silent.events, silent.tally]).toEqual([first.events, first.tally])
  })

  it.each(FIXED)('P1-P18: seeds $from to $to break no promise', async ({ from, to }) => {
    for (let seed = from; seed <= to; seed += 1) await expectClean(seed)
  })

  it.each(REGRESSIONS)('seed $seed: $bug', ({ seed }) => expectClean(seed))
})
