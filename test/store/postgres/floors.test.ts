import { describe, expect, it } from 'vitest'
import { Floors } from '../../../src/store/sql/floors.ts'

const SECOND = 1_000_000
const NOW = 1_000 * SECOND
const SLOW = 5_000

function learned(tookMicros: number, head: number | null = NOW + 60 * SECOND): Floors {
  const floors = new Floors()
  floors.learn({ topics: ['a'], floors: [0], heads: [head], now: NOW, tookMicros, monotonicMs: 0 })
  return floors
}

describe('floors', () => {
  it('a look that was quick needs none', () => {
    expect(learned(100).of(['a'], 1)).toEqual([0])
  })

  it('after a slow look, the next begins two seconds before now, or before what is due already', () => {
    expect(learned(SLOW).of(['a', 'b'], 1)).toEqual([NOW - 2 * SECOND, 0])
    expect(learned(SLOW, null).of(['a'], 1)).toEqual([NOW - 2 * SECOND])
    expect(learned(SLOW, NOW - 60 * SECOND).of(['a'], 1)).toEqual([NOW - 62 * SECOND])
  })

  it('P9: it falls by itself, below the fallback interval, so that a lost wake-up costs no more', () => {
    const floors = learned(SLOW)
    expect(floors.of(['a'], 2_499)).toEqual([NOW - 2 * SECOND])
    expect(floors.of(['a'], 2_500)).toEqual([0])
  })

  it('it rises with the line, and a wake-up about something below it lets it fall', () => {
    const floors = learned(SLOW)
    const later = NOW + SECOND
    floors.learn({ topics: ['a'], floors: [1], heads: [null], now: later, tookMicros: 10, monotonicMs: 1 })
    expect(floors.of(['a'], 2)).toEqual([later - 2 * SECOND])
    floors.lower(later, ['a'])
    floors.lower(NOW - 10 * SECOND, ['b'])
    expect(floors.of(['a'], 2)).toEqual([later - 2 * SECOND])
    floors.lower(NOW - 10 * SECOND, ['b', 'a'])
    expect(floors.of(['a'], 2)).toEqual([0])
    const again = learned(SLOW)
    again.lower(undefined, [])
    expect(again.of(['a'], 2)).toEqual([0])
  })
})
