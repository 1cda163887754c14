import { describe, expect, it } from 'vitest'
import { layoutCopies, queueOfLayout } from '../../../../src/store/redis/cluster/layout.ts'
import { partitionTag, SLOTS, slotOf } from '../../../../src/store/redis/cluster/slots.ts'

describe('slots', () => {
  it('are those of Redis', () => {
    // CLUSTER KEYSLOT on a real server.
    expect(['{123456789}', '{foo}', '{user1000}'].map(slotOf)).toEqual([12_739, 12_182, 3_443])
  })

  it.each([1, 3, 16, 64, 1_024])('each of %i partitions has its own part of the range', (partitions) => {
    for (const queue of ['default', 'a}b%c', 'é']) {
      for (let k = 0; k < partitions; k += 1) {
        const slot = slotOf(partitionTag(queue, k, partitions))
        expect(Math.floor((slot * partitions) / SLOTS)).toBe(k)
      }
    }
  })

  it('a partition stays where it is: some tags, written down', () => {
    expect([0, 1, 15].map((k) => partitionTag('orders', k, 16))).toMatchInlineSnapshot(`
      [
        "{orders#0.40}",
        "{orders#1.43}",
        "{orders#15.42}",
      ]
    `)
  })

  it('the number of partitions is written in three thirds of the range, under a key that names the queue', () => {
    for (const queue of ['default', 'a}b%c', 'x#y']) {
      const copies = layoutCopies(queue)
      expect(copies.map(({ tag }) => Math.floor((slotOf(tag) * 3) / SLOTS))).toEqual([0, 1, 2])
      for (const { key } of copies) expect(queueOfLayout(key)).toBe(queue)
    }
  })
})
