import { describe, expect, it } from 'vitest'
import { addCounts, NOTHING_ENDED } from '../../src/core/metrics/figures.ts'
import { bucketOf, percentilesOf, upperEdgeMs } from '../../src/core/metrics/lateness.ts'
import { decodeFacts, encodeFacts, ownerName, speaksForOthers } from '../../src/core/owner.ts'

describe('owners', () => {
  const parts = { host: 'box:1 \n', pid: 42, startedAt: 1_800_000_000_000.5, chance: 0 }

  it('an owner says where it runs, on one line and with three colons', () => {
    expect(ownerName(parts)).toBe(`box_1__:42:${(1_800_000_000_000).toString(36)}:00000000`)
    expect(ownerName({ ...parts, chance: 0.999_999_999_999 })).not.toBe(ownerName(parts))
    expect(ownerName({ ...parts, host: 'x'.repeat(300) }).length).toBeLessThan(80)
  })

  it('says whether it speaks for workers elsewhere', () => {
    const names = [ownerName({ ...parts, isRemote: true }), ownerName(parts)]
    expect(names.map(speaksForOthers)).toEqual([true, false])
  })

  it('facts survive their way through the store; anything else is not taken for facts', () => {
    const facts = {
      version: '1',
      host: 'h',
      pid: 1,
      startedAt: 2,
      topics: ['a'],
      topicCount: 1,
      running: 0,
      slots: 9,
    }
    expect(decodeFacts(encodeFacts(facts))).toEqual(facts)
    const many = Array.from({ length: 500 }, (_, i) => `t${i}`)
    expect(decodeFacts(encodeFacts({ ...facts, topics: many, topicCount: 500 }))?.topics).toHaveLength(200)
    for (const text of ['', '{', 'null', '{}', JSON.stringify({ ...facts, pid: 'x' }), '[]'])
      expect(decodeFacts(text)).toBeUndefined()
  })
})

describe('figures', () => {
  it('counts add up, and lateness stays in order', () => {
    const one = { completed: 1, failed: 2, dead: 3, skipped: 4, lateness: [[5, 1]] } as const
    const two = {
      ...one,
      lateness: [
        [2, 1],
        [5, 1],
      ],
    } as const
    expect(addCounts(one, two)).toEqual({
      completed: 2,
      failed: 4,
      dead: 6,
      skipped: 8,
      lateness: [
        [2, 1],
        [5, 2],
      ],
    })
    expect(addCounts(NOTHING_ENDED, one)).toEqual(one)
  })

  it('percentiles come from the buckets', () => {
    expect(percentilesOf([])).toBeUndefined()
    const late = [bucketOf(1), 99] as const
    const later = [bucketOf(1000), 1] as const
    const found = percentilesOf([later, late])
    expect(found).toEqual({
      p50: upperEdgeMs(late[0]),
      p99: upperEdgeMs(late[0]),
      max: upperEdgeMs(later[0]),
    })
    expect(found?.max).toBeGreaterThanOrEqual(1000)
    expect(found?.max).toBeLessThan(1050)
  })
})
