import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Largest } from '../../src/core/metrics/largest.ts'

it('keeps the first of all that passed by, in order, and says whether there were more', () => {
  fc.assert(
    fc.property(fc.array(fc.integer(), { maxLength: 200 }), fc.integer({ min: 1, max: 20 }), (all, count) => {
      const largest = new Largest<number>(count, (a, b) => b - a)
      for (const number of all) largest.add(number)
      expect(largest.sorted()).toEqual(all.toSorted((a, b) => b - a).slice(0, count))
      expect(largest.isMore).toBe(all.length > count)
    }),
  )
})
