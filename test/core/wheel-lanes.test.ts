/** What a timing wheel remembers of each lane, without the wheel. */
import { describe, expect, it } from 'vitest'
import { BITMAP_WORDS, NO_BUCKET, WheelLanes, firstBit } from '../../src/core/wheel/wheel-lanes.ts'

const BUCKETS = BITMAP_WORDS * 32

describe('lanes of the wheel', () => {
  it('a lane that nobody entered is empty', () => {
    const lanes = new WheelLanes()
    expect([lanes.size(3), lanes.earliest(3)]).toEqual([0, undefined])
  })

  it('the earliest moment is that of the first entry, until one comes before it', () => {
    const lanes = new WheelLanes()
    lanes.enter(0, 500)
    lanes.enter(0, 700)
    expect([lanes.size(0), lanes.earliest(0)]).toEqual([2, 500])
    lanes.enter(0, 300)
    expect(lanes.earliest(0)).toBe(300)
  })

  it('when the earliest leaves, the lane is stale until it is told the next, or one comes that is as early', () => {
    const lanes = new WheelLanes()
    for (const dueAt of [300, 500, 700]) lanes.enter(0, dueAt)
    lanes.leave(0, 500)
    expect([lanes.size(0), lanes.earliest(0)]).toEqual([2, 300])
    lanes.leave(0, 300)
    expect([lanes.size(0), lanes.earliest(0)]).toEqual([1, undefined])
    lanes.enter(0, 600)
    expect(lanes.earliest(0)).toBeUndefined() // It may not be the earliest: 700 is still there, and nobody has looked.
    lanes.refresh(0, 600)
    expect(lanes.earliest(0)).toBe(600)
    lanes.leave(0, 600)
    lanes.enter(0, 600)
    expect(lanes.earliest(0)).toBe(600)
  })

  it('a lane that was empty begins anew: with its own moment, and no bucket of before', () => {
    const lanes = new WheelLanes()
    lanes.enter(0, 300)
    lanes.mark(0, 40)
    lanes.leave(0, 300)
    lanes.enter(0, 900)
    expect([lanes.earliest(0), lanes.firstMarked(0)]).toEqual([900, NO_BUCKET])
  })

  it('lanes do not know of each other, however many come', () => {
    const lanes = new WheelLanes()
    for (const lane of [0, 7, 8, 100]) {
      lanes.enter(lane, lane * 10)
      lanes.mark(lane, lane)
      lanes.mark(lane, BUCKETS - 1)
    }
    for (const lane of [0, 7, 8, 100])
      expect([lanes.size(lane), lanes.earliest(lane), lanes.firstMarked(lane)]).toEqual([1, lane * 10, lane])
    lanes.unmark(7, 7)
    lanes.leave(8, 80)
    expect([0, 7, 8, 100].map((lane) => lanes.firstMarked(lane))).toEqual([0, BUCKETS - 1, 8, 100])
    expect([0, 7, 8, 100].map((lane) => lanes.size(lane))).toEqual([1, 1, 0, 1])
    lanes.unmark(7, BUCKETS - 1)
    expect(lanes.firstMarked(7)).toBe(NO_BUCKET)
  })

  it('the first bit of a bitmap is found wherever it is, beside others and alone', () => {
    for (let bit = 0; bit < BUCKETS; bit += 1) {
      const words = new Uint32Array(BITMAP_WORDS * 3).fill(0xffffffff, 0, BITMAP_WORDS)
      words.fill(0xffffffff, BITMAP_WORDS * 2)
      const set = (at: number): void => {
        words[BITMAP_WORDS + (at >>> 5)] =
          ((words[BITMAP_WORDS + (at >>> 5)] as number) | (1 << (at & 31))) >>> 0
      }
      set(bit)
      expect(firstBit(words, BITMAP_WORDS)).toBe(bit)
      set(BUCKETS - 1)
      set(Math.min(bit + 1, BUCKETS - 1))
      expect(firstBit(words, BITMAP_WORDS)).toBe(bit)
    }
    expect(firstBit(new Uint32Array(BITMAP_WORDS), 0)).toBe(NO_BUCKET)
  })
})
