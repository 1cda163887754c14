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
 * object, closure or timer per entry. 26 bytes each.
 *
 * Cost. place, cancel: O(1). advance: O(expired + fallen), at most `budget` of them per call. nextAt: O(1); after
 * the head of a far bucket was cancelled, once O(entries in that bucket).
 *
 * Order. Within one millisecond entries come out as they were placed. (An entry placed early falls into a bucket
 * of ring 0 when its block begins, before any later one can be placed there directly.)
 */
import { invariant } from './errors.ts'

const RING_BITS = 8
const RING_SIZE = 1 << RING_BITS
const RINGS = 6
const HALF = 2 ** (RING_BITS * 3)
const WORDS = RING_SIZE / 32
const NONE = -1

export class TimingWheel {
  #now: number
  #size = 0
  /** A bucket whose fall the budget cut short. Until it is empty it goes before all others, because what is left in it may be due first. */
  #falling = NONE

  // Per entry. `bucket` is NONE for an entry that is not placed.
  #dueAt = new Float64Array(0)
  #next = new Int32Array(0)
  #previous = new Int32Array(0)
  #bucket = new Int16Array(0)

  // Per bucket: a doubly linked list, and the earliest moment in it (stale after that one was cancelled).
  readonly #first = new Int32Array(RINGS * RING_SIZE).fill(NONE)
  readonly #last = new Int32Array(RINGS * RING_SIZE).fill(NONE)
  readonly #earliest = new Float64Array(RINGS * RING_SIZE)
  readonly #stale = new Uint8Array(RINGS * RING_SIZE)
  readonly #occupied = new Uint32Array(RINGS * WORDS)

  constructor(now: number) {
    this.#now = Math.floor(now)
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

  /** `dueAt` is a whole millisecond after `now`; what is already due needs no wheel. */
  place(entry: number, dueAt: number): void {
    invariant(dueAt > this.#now, `placed at ${dueAt}, which is not after ${this.#now}`)
    this.#grow(entry)
    invariant(this.#bucket[entry] === NONE, `entry ${entry} is placed already`)
    this.#dueAt[entry] = dueAt
    this.#link(entry, dueAt)
    this.#size += 1
  }

  /** Takes an entry out; false when it was not in. */
  cancel(entry: number): boolean {
    if (!this.has(entry)) return false
    const bucket = this.#bucket[entry] as number
    this.#unlink(entry, bucket)
    if (this.#dueAt[entry] === this.#earliest[bucket]) this.#stale[bucket] = 1
    this.#size -= 1
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
      this.#size -= 1
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
      const dueAt = this.#dueAt[entry] as number
      this.#unlink(entry, bucket)
      left -= 1
      if (dueAt > this.#now) this.#link(entry, dueAt)
      else {
        this.#size -= 1
        expire(entry)
      }
      entry = this.#first[bucket] as number
    }
    return left
  }

  #link(entry: number, dueAt: number): void {
    const bucket = this.#bucketFor(dueAt)
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
    if (this.#size === 0) return NONE
    for (let word = 0; word < this.#occupied.length; word += 1) {
      const bits = this.#occupied[word] as number
      if (bits !== 0) return word * 32 + (31 - Math.clz32(bits & -bits))
    }
    return NONE
  }

  #earliestIn(bucket: number): number {
    if (this.#first[bucket] === NONE) return Infinity
    if (this.#stale[bucket] === 1) this.#refreshEarliest(bucket)
    return this.#earliest[bucket] as number
  }

  #refreshEarliest(bucket: number): void {
    let earliest = Infinity
    for (let entry = this.#first[bucket] as number; entry !== NONE; entry = this.#next[entry] as number) {
      earliest = Math.min(earliest, this.#dueAt[entry] as number)
    }
    this.#earliest[bucket] = earliest
    this.#stale[bucket] = 0
  }

  #grow(entry: number): void {
    const before = this.#bucket.length
    if (entry < before) return
    const size = Math.max(64, before * 2, entry + 1)
    this.#dueAt = grownFloat64(this.#dueAt, size)
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

export function grownFloat64(from: Float64Array, size: number): Float64Array<ArrayBuffer> {
  const to = new Float64Array(size)
  to.set(from)
  return to
}

export function grownInt32(from: Int32Array, size: number): Int32Array<ArrayBuffer> {
  const to = new Int32Array(size)
  to.set(from)
  return to
}
