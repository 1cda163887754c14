import { describe, expect, it } from 'vitest'
import { homeKeyOf, homeOf } from '../../src/core/encoding/home.ts'
import { makeId } from '../../src/core/encoding/id.ts'
import { occurrenceId, scheduleId } from '../../src/core/recurrence/spec.ts'
import { systemRandom } from '../../src/random.ts'

describe('where a message lives', () => {
  it.each([
    ['order-42', 'order-42'],
    ['{customer-7}invoice-1', 'customer-7'],
    ['a{b}c{d}e', 'b'],
    ['{}a', '{}a'],
    ['{a', '{a'],
    ['a}b{c}', 'c'],
  ])('%s is found by %s', (id, key) => {
    expect(homeKeyOf(id)).toBe(key)
  })

  it('P13: a schedule and its occurrences share a home', () => {
    for (const name of ['nightly', 'a b', 'é']) {
      const home = homeOf(scheduleId(name), 64)
      for (const at of [0, 1_893_456_000_000]) expect(homeOf(occurrenceId(name, at), 64)).toBe(home)
    }
  })

  it.each([3, 16, 64])('generated ids spread evenly over %i partitions', (partitions) => {
    const size = partitions * 1_000
    const counts = Array.from({ length: partitions }, () => 0)
    for (let i = 0; i < size; i += 1) {
      const home = homeOf(
        makeId(1_893_456_000_000 + i / 100, systemRandom.next(), systemRandom.next()),
        partitions,
      )
      counts[home] = (counts[home] ?? 0) + 1
    }
    expect(Math.min(...counts)).toBeGreaterThan(800)
    expect(Math.max(...counts)).toBeLessThan(1_200)
  })

  it('ids that differ in their last character spread too', () => {
    const homes = new Set(Array.from({ length: 200 }, (_, i) => homeOf(`order-${i}`, 16)))
    expect(homes.size).toBe(16)
  })

  it('stays where it is: the homes of some ids, written down', () => {
    const ids = ['order-42', '{customer-7}invoice-1', 'é', scheduleId('nightly')]
    expect(ids.map((id) => homeOf(id, 16))).toMatchInlineSnapshot(`
      [
        7,
        3,
        9,
        10,
      ]
    `)
  })
})
