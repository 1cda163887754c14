import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cutBatches, Gatherer } from '../../src/core/gathering.ts'

/** A turn that ends when the test says so. */
function makeTurn(earlyAt?: number): { turn: Gatherer<number>; sent: number[][]; end: () => void } {
  const sent: number[][] = []
  const ends: (() => void)[] = []
  const turn = new Gatherer<number>({
    entriesMax: 4,
    bytesMax: 100,
    sizeOf: (item) => item,
    ...(earlyAt === undefined ? {} : { earlyAt }),
    atTurnEnd: (run) => ends.push(run),
    send: (batch) => sent.push([...batch]),
  })
  return { turn, sent, end: () => ends.splice(0).forEach((run) => run()) }
}

describe('a turn', () => {
  it('what is added in one turn is one batch, sent at its end', () => {
    const { turn, sent, end } = makeTurn()
    for (const item of [1, 2, 3]) turn.add(item)
    expect(sent).toEqual([])
    end()
    expect(sent).toEqual([[1, 2, 3]])
    end()
    turn.add(4)
    end()
    expect(sent).toEqual([[1, 2, 3], [4]])
  })

  it('the item with the stated number leaves at once with those before it, the rest at the end', () => {
    const { turn, sent, end } = makeTurn(3)
    for (const item of [1, 2, 3, 4, 5, 6, 7]) turn.add(item)
    expect(sent).toEqual([[1, 2, 3]])
    end()
    expect(sent).toEqual([
      [1, 2, 3],
      [4, 5, 6, 7],
    ])
    for (const item of [8, 9, 10]) turn.add(item)
    expect(sent.at(-1)).toEqual([8, 9, 10]) // Counted anew in each turn.
  })

  it('flush sends at once, and the end of the turn finds nothing left', () => {
    const { turn, sent, end } = makeTurn()
    turn.add(1)
    turn.flush()
    expect(sent).toEqual([[1]])
    turn.add(2)
    end()
    expect(sent).toEqual([[1], [2]])
  })

  it('batches are cut by entries and by bytes, and what is too large goes alone', () => {
    const limits = { entriesMax: 3, bytesMax: 10, sizeOf: (item: number) => item }
    expect(cutBatches([1, 1, 1, 1], limits)).toEqual([[1, 1, 1], [1]])
    expect(cutBatches([5, 5, 5], limits)).toEqual([[5, 5], [5]])
    expect(cutBatches([1, 50, 1], limits)).toEqual([[1], [50], [1]])
    const whole = [1, 2, 3]
    expect(cutBatches(whole, limits)[0]).toBe(whole)
  })

  it('every list: nothing lost, order kept, no batch above its limits unless it is one item', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(120), { minLength: 1 }),
        fc.integer({ min: 1, max: 9 }),
        (items, entriesMax) => {
          const batches = cutBatches(items, { entriesMax, bytesMax: 100, sizeOf: (item) => item })
          expect(batches.flat()).toEqual(items)
          for (const batch of batches) {
            const bytes = batch.reduce((sum, item) => sum + item, 0)
            expect(batch.length).toBeGreaterThan(0)
            expect(batch.length).toBeLessThanOrEqual(entriesMax)
            expect(bytes <= 100 || batch.length === 1).toBe(true)
          }
        },
      ),
    )
  })
})
