import fc from 'fast-check'
import { expect, it } from 'vitest'
import { makeId } from '../../src/core/encoding/id.ts'
import { checkId } from '../../src/core/input/names.ts'
import { systemRandom } from '../../src/random.ts'

it('ids are short, legal, and sort by their millisecond', () => {
  const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
  const moment = fc.integer({ min: Date.UTC(2020, 0), max: Date.UTC(2100, 0) })
  fc.assert(
    fc.property(moment, moment, chance, chance, (one, two, first, second) => {
      const a = makeId(one, first, second)
      const b = makeId(two, second, first)
      expect(a).toMatch(/^[-\w]{16}$/)
      expect(checkId(a)).toBe(a)
      if (one < two) expect(a < b).toBe(true)
    }),
  )
})

it('a million ids of one millisecond differ', () => {
  const ids = new Set<string>()
  for (let i = 0; i < 1_000_000; i += 1)
    ids.add(makeId(1_800_000_000_000, systemRandom.next(), systemRandom.next()))
  expect(ids.size).toBe(1_000_000)
})
