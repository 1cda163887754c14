/**
 * A hierarchical timing wheel: who is due next, with O(1) place and cancel.
 *
 * Idea. A moment in milliseconds is written in base 256, six digits (enough for the year 10889). A ring of 256
 * buckets stands for each digit. A moment goes to the ring of the highest digit in which it differs from now,
 * into the bucket of that digit:
 *
 *      now   = .. 0 0 7 3          ring 0: due within this block of 256 ms, one bucket per millisecond
 *      due A = .. 0 0 7 9  ring 0, bucket 9
 *      due B = .. 0 0 8 1  ring 1, bucket 8      ring 1: one bucket per 256 ms, ring 2: per 65 s, ring 3: per
 *      due C = .. 2 0 0 0  ring 3, bucket 2      4.7 h, ring 4: per 50 days, ring 5: per 35 years
 *
 * "Rounds" are thereby the higher digits. When now reaches the start of a bucket of a higher ring, its
 * entries are placed again and land in lower rings; each entry falls at most five times in its life. A bitmap
 * per ring finds the next occupied bucket, so that time jumps over empty ones instead of ticking.
 *
 * Every entry of a lower ring is due before every entry of a higher one: the next due is in the first
 * occupied bucket of the lowest occupied ring.
 *
 * Entries are small integers chosen by the caller (slots of its own table), linked through typed arrays: no
 * object, closure or timer per entry. 10 bytes each; moments and lanes are read from the caller's own columns.
 *
 * Lanes. Every entry belongs to a lane (a topic, an owner), and the wheel knows when the next of some lanes is due:
 * `wheel-lanes` remembers the earliest moment of each, and where to look when that one has left.
 *
 * Cost. place, cancel: O(1). advance: O(expired + fallen), at most `budget` of them per call. nextAt: O(1); after
 * the head of a far bucket was cancelled, once O(entries in that bucket). nextAtAmong: O(lanes), and for a stale lane
 * that may be the next one, the entries of one bucket, within a budget.
 *
 * Order. Within one millisecond entries come out as they were placed. (An entry placed early falls into a bucket
 * of ring 0 when its block begins, before any later one can be placed there directly.)
 */
import { invariant } from '../errors.ts'
import { grownInt32 } from './columns.ts'
import { BITMAP_WORDS, NO_BUCKET, WheelLanes, firstBit, type Looks } from './wheel-lanes.ts'

const RING_BITS = 8
const RING_SIZE = 1 << RING_BITS
const RINGS = 6
const HALF = 2 ** (RING_BITS * 3)
const NONE = NO_BUCKET

/** Columns of the caller. What they say about an entry stays the same while it is placed; they may grow. */
export interface WheelEntries {
  /** Whole milliseconds. */
  readonly dueAt: Float64Array
  /** Small integers from 0 on. */
  readonly lane: Int32Array
}

export class TimingWheel {
  readonly #entries: WheelEntries
  #now: number
  #size = 0
  /** A bucket whose fall the budget cut short. Until it is empty it goes before all others, because what is left in it may be due first. */
  #falling = NONE

  // Per entry. `bucket` is NONE for an entry that is not placed.
  #next = new Int32Array(0)
  #previous = new Int32Array(0)
  #bucket = new Int16Array(0)

  // Per bucket: a doubly linked list, and the earliest moment in it (stale after that one was cancelled).
  readonly #first = new Int32Array(RINGS * RING_SIZE).fill(NONE)
  readonly #last = new Int32Array(RINGS * RING_SIZE).fill(NONE)
  readonly #earliest = new Float64Array(RINGS * RING_SIZE)
  readonly #stale = new Uint8Array(RINGS * RING_SIZE)
  readonly #occupied = new Uint32Array(BITMAP_WORDS)
  readonly #lanes = new WheelLanes()

  constructor(now: number, entries: WheelEntries) {
    this.#now = Math.floor(now)
    this.#entries = entries
  }

  get size(): number {
    return this.#size
  }

  /** Everything due up to here has come out. */
  get now(): number {
    return this.#now
  }

  has(entry: number): boolean {
    return entry < this.#bucket.length && this.#bucket[entry] !== NONE
  }

  /** Its moment is a whole millisecond after `now`; what is already due needs no wheel. */
  place(entry: number): void {
    const dueAt = this.#dueAt(entry)
    invariant(dueAt > this.#now, `placed at ${dueAt}, which is not after ${this.#now}`)
    this.#grow(entry)
    invariant(this.#bucket[entry] === NONE, `entry ${entry} is placed already`)
    this.#lanes.enter(this.#lane(entry), dueAt)
    this.#link(entry, dueAt)
    this.#size += 1
  }

  /** Takes an entry out; false when it was not in. */
  cancel(entry: number): boolean {
    if (!this.has(entry)) return false
    const bucket = this.#bucket[entry] as number
    this.#unlink(entry, bucket)
    if (this.#dueAt(entry) === this.#earliest[bucket]) this.#stale[bucket] = 1
    this.#leave(entry)
    return true
  }

  /** The moment of the earliest entry. */
  nextAt(): number | undefined {
    const bucket = this.#firstOccupied()
    if (bucket === NONE) return undefined
    if (this.#falling === NONE) return this.#earliestIn(bucket)
    return Math.min(this.#earliestIn(bucket), this.#earliestIn(this.#falling))
  }

  /**
   * The moment of the earliest entry in any of these lanes. If `looks` run out before it is found: the start of the bucket
   * in which it may lie, which is not later.
   */
  nextAtAmong(lanes: Iterable<number>, looks: Looks): number | undefined {
    let earliest = Infinity
    const stale: number[] = []
    for (const lane of lanes) {
      const size = this.#lanes.size(lane)
      if (size === 0) continue
      if (size === this.#size) return this.nextAt()
      const known = this.#lanes.earliest(lane)
      if (known === undefined) stale.push(lane)
      else earliest = Math.min(earliest, known)
    }
    for (const lane of stale) earliest = Math.min(earliest, this.#earliestOf(lane, earliest, looks))
    return earliest === Infinity ? undefined : earliest
  }

  /**
   * Moves now forward to `to` and hands out what is due by then, earliest first, touching at most `budget`
   * entries. Returns false when the budget ran out first: call again.
   */
  advance(to: number, budget: number, expire: (entry: number) => void): boolean {
    let left = budget
    for (;;) {
      const bucket = this.#falling === NONE ? this.#firstOccupied() : this.#falling
      const startsAt = bucket === NONE ? Infinity : this.#startOf(bucket)
      if (startsAt > to) break
      this.#now = startsAt
      left =
        bucket < RING_SIZE ? this.#expireBucket(bucket, left, expire) : this.#dropBucket(bucket, left, expire)
      const isEmptied = this.#first[bucket] === NONE
      this.#falling = isEmptied || bucket < RING_SIZE ? NONE : bucket
      if (!isEmptied) {
        this.#stale[bucket] = 1 // Its earliest may be among those that left.
        return false
      }
    }
    if (to > this.#now) this.#now = Math.floor(to)
    return true
  }

  #expireBucket(bucket: number, budget: number, expire: (entry: number) => void): number {
    let left = budget
    let entry = this.#first[bucket] as number
    while (entry !== NONE && left > 0) {
      this.#unlink(entry, bucket)
      this.#leave(entry)
      left -= 1
      expire(entry)
      entry = this.#first[bucket] as number
    }
    return left
  }

  /** Now stands at the start of this bucket of a higher ring: its entries fall to lower rings. */
  #dropBucket(bucket: number, budget: number, expire: (entry: number) => void): number {
    let left = budget
    let entry = this.#first[bucket] as number
    while (entry !== NONE && left > 0) {
      const dueAt = this.#dueAt(entry)
      this.#unlink(entry, bucket)
      left -= 1
      if (dueAt > this.#now) this.#link(entry, dueAt)
      else {
        this.#leave(entry)
        expire(entry)
      }
      entry = this.#first[bucket] as number
    }
    return left
  }

  #dueAt(entry: number): number {
    return this.#entries.dueAt[entry] as number
  }

  #lane(entry: number): number {
    return this.#entries.lane[entry] as number
  }

  /** An entry has left the wheel. */
  #leave(entry: number): void {
    this.#size -= 1
    this.#lanes.leave(this.#lane(entry), this.#dueAt(entry))
  }

  #link(entry: number, dueAt: number): void {
    const bucket = this.#bucketFor(dueAt)
    this.#lanes.mark(this.#lane(entry), bucket)
    const last = this.#last[bucket] as number
    this.#bucket[entry] = bucket
    this.#previous[entry] = last
    this.#next[entry] = NONE
    this.#last[bucket] = entry
    if (last === NONE) {
      this.#first[bucket] = entry
      this.#earliest[bucket] = dueAt
      this.#stale[bucket] = 0
      this.#occupied[bucket >>> 5] = (this.#occupied[bucket >>> 5] as number) | (1 << (bucket & 31))
    } else {
      this.#next[last] = entry
      if (dueAt < (this.#earliest[bucket] as number)) {
        this.#earliest[bucket] = dueAt
        this.#stale[bucket] = 0
      }
    }
  }

  #unlink(entry: number, bucket: number): void {
    const next = this.#next[entry] as number
    const previous = this.#previous[entry] as number
    if (previous === NONE) this.#first[bucket] = next
    else this.#next[previous] = next
    if (next === NONE) this.#last[bucket] = previous
    else this.#previous[next] = previous
    if (this.#first[bucket] === NONE) {
      this.#occupied[bucket >>> 5] = (this.#occupied[bucket >>> 5] as number) & ~(1 << (bucket & 31))
    }
    this.#bucket[entry] = NONE
  }

  /** The ring is the highest base-256 digit that differs from now. Two halves, since bit operations see 32 bits. */
  #bucketFor(dueAt: number): number {
    const high = Math.floor(dueAt / HALF)
    const highDiff = high ^ Math.floor(this.#now / HALF)
    if (highDiff !== 0) return bucketIn(3, high, highDiff)
    const low = dueAt % HALF
    return bucketIn(0, low, low ^ (this.#now % HALF))
  }

  #startOf(bucket: number): number {
    const ring = bucket >>> RING_BITS
    const digit = bucket & (RING_SIZE - 1)
    const width = RING_SIZE ** ring
    return Math.floor(this.#now / (width * RING_SIZE)) * (width * RING_SIZE) + digit * width
  }

  #firstOccupied(): number {
    return this.#size === 0 ? NONE : firstBit(this.#occupied, 0)
  }

  /** Of a stale lane. Where it cannot be before `limit`, or the looks run out: a moment that is not after it. */
  #earliestOf(lane: number, limit: number, looks: Looks): number {
    if (this.#falling !== NONE) return this.#startOf(this.#falling)
    for (;;) {
      const bucket = this.#lanes.firstMarked(lane)
      invariant(bucket !== NONE, `lane ${lane} has entries in no bucket`)
      const startsAt = Math.max(this.#startOf(bucket), this.#now + 1)
      if (startsAt >= limit) return startsAt
      const earliest = this.#earliestInLane(bucket, lane, looks)
      if (earliest === undefined) return startsAt
      if (earliest !== Infinity) {
        this.#lanes.refresh(lane, earliest)
        return earliest
      }
      this.#lanes.unmark(lane, bucket)
    }
  }

  /** Infinity when there is none; undefined when the looks ran out. */
  #earliestInLane(bucket: number, lane: number, looks: Looks): number | undefined {
    let earliest = Infinity
    for (let entry = this.#first[bucket] as number; entry !== NONE; entry = this.#next[entry] as number) {
      if (looks.left === 0) return undefined
      looks.left -= 1
      if (this.#lane(entry) === lane) earliest = Math.min(earliest, this.#dueAt(entry))
    }
    return earliest
  }

  #earliestIn(bucket: number): number {
    if (this.#first[bucket] === NONE) return Infinity
    if (this.#stale[bucket] === 1) this.#refreshEarliest(bucket)
    return this.#earliest[bucket] as number
  }

  #refreshEarliest(bucket: number): void {
    let earliest = Infinity
    for (let entry = this.#first[bucket] as number; entry !== NONE; entry = this.#next[entry] as number) {
      earliest = Math.min(earliest, this.#dueAt(entry))
    }
    this.#earliest[bucket] = earliest
    this.#stale[bucket] = 0
  }

  #grow(entry: number): void {
    const before = this.#bucket.length
    if (entry < before) return
    const size = Math.max(64, before * 2, entry + 1)
    this.#next = grownInt32(this.#next, size)
    this.#previous = grownInt32(this.#previous, size)
    const bucket = new Int16Array(size).fill(NONE, before)
    bucket.set(this.#bucket)
    this.#bucket = bucket
  }
}

function bucketIn(lowestRing: number, digits: number, diff: number): number {
  const ring = diff >>> 16 !== 0 ? 2 : diff >>> 8 !== 0 ? 1 : 0
  return ((lowestRing + ring) << RING_BITS) | ((digits >>> (ring * RING_BITS)) & (RING_SIZE - 1))
}
