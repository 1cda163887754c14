/**
 * Who runs what, until when. Leases have numbers of their own, far fewer than messages, so that their wheel stays
 * small however many messages wait. A lease belongs to its owner's lane of the wheel: an owner never hears of its own.
 *
 * Cost: every verb O(1), but those that leave out one owner, which look at all other owners that hold something.
 */
import { grownFloat64, grownInt32 } from '../../core/wheel/columns.ts'
import { TimingWheel } from '../../core/wheel/wheel.ts'

const LAPSE_MAX = 10_000
/** How many leases one page looks at. */
const PAGE_MAX = 1_000
/** How many leases of others are looked at to find the next that ends. */
const LOOKS_MAX = 10_000

type HeldSlot = {
  readonly slot: number
  readonly token: string
  readonly since: number
  readonly isTakenOver: boolean
}

export type LeaseTerms = { readonly since: number; readonly endsAt: number; readonly isTakenOver: boolean }

export type HeldPage = { readonly held: readonly HeldSlot[]; readonly next?: number }

export class Leases {
  #granted = 0
  #wheel: TimingWheel
  readonly #held: (HeldSlot | undefined)[] = []
  readonly #numberOf = new Map<number, number>()
  readonly #free: number[] = []
  /** By number: when it ends, and the lane of its owner. */
  readonly #columns = { dueAt: new Float64Array(0), lane: new Int32Array(0) }
  readonly #owners = new Owners()
  /** By lane: ended without an answer, and not yet taken over; oldest first. */
  readonly #lapsed = new Map<number, Set<number>>()

  constructor(now: number) {
    this.#wheel = new TimingWheel(now, this.#columns)
  }

  get size(): number {
    return this.#numberOf.size
  }

  grant(slot: number, owner: string, { since, endsAt, isTakenOver }: LeaseTerms): string {
    this.#granted += 1
    const token = String(this.#granted)
    const number = this.#free.pop() ?? this.#held.length
    this.#growTo(number + 1)
    this.#held[number] = { slot, token, since, isTakenOver }
    this.#numberOf.set(slot, number)
    this.#columns.lane[number] = this.#owners.enter(owner)
    this.#place(number, endsAt)
    return token
  }

  isHeld(slot: number, token: string): boolean {
    return this.#heldFor(slot)?.token === token
  }

  endsAt(slot: number): number {
    const number = this.#numberOf.get(slot)
    return number === undefined ? 0 : (this.#columns.dueAt[number] as number)
  }

  /** When it was granted; 0 for one that is not leased. */
  since(slot: number): number {
    return this.#heldFor(slot)?.since ?? 0
  }

  ownerOf(slot: number): string {
    const number = this.#numberOf.get(slot)
    return number === undefined ? '' : this.#owners.name(this.#columns.lane[number] as number)
  }

  extend(slot: number, endsAt: number): void {
    const number = this.#numberOf.get(slot)
    if (number === undefined) return
    this.#remove(number)
    this.#place(number, endsAt)
  }

  end(slot: number): void {
    const number = this.#numberOf.get(slot)
    if (number === undefined) return
    this.#remove(number)
    this.#owners.leave(this.#columns.lane[number] as number)
    this.#numberOf.delete(slot)
    this.#held[number] = undefined
    this.#free.push(number)
  }

  /** Notes what ended by `now`; false when there was too much for one call. */
  advance(now: number): boolean {
    return this.#wheel.advance(now, LAPSE_MAX, (number) => this.#lapse(number))
  }

  /** The clock was set back: leases that had ended may go on, as they do on every other store. */
  restart(now: number): void {
    this.#wheel = new TimingWheel(now, this.#columns)
    this.#lapsed.clear()
    const endOf = (number: number): number => this.#columns.dueAt[number] as number
    for (const number of [...this.#numberOf.values()].toSorted((a, b) => endOf(a) - endOf(b)))
      this.#place(number, endOf(number))
  }

  /** The slot whose lease ended first, of all but this owner's. */
  firstLapsed(exceptOwner: string): number | undefined {
    const own = this.#owners.lane(exceptOwner)
    let first: number | undefined
    for (const [lane, numbers] of this.#lapsed) {
      if (lane === own) continue
      for (const number of numbers) {
        const endsAt = this.#columns.dueAt[number] as number
        if (first === undefined || endsAt < (this.#columns.dueAt[first] as number)) first = number
        break // The others of this owner ended later.
      }
    }
    return first === undefined ? undefined : this.#held[first]?.slot
  }

  hasLapsed(owner: string): boolean {
    const lane = this.#owners.lane(owner)
    return lane !== undefined && this.#lapsed.has(lane)
  }

  /** When the next lease will end, of all but this owner's. */
  nextEndAt(exceptOwner: string): number | undefined {
    const own = this.#owners.lane(exceptOwner)
    if (own === undefined) return this.#wheel.nextAt()
    return this.#wheel.nextAtAmong(this.#owners.lanesBut(own), { left: LOOKS_MAX })
  }

  /** One page of what this owner holds, from a number on. */
  heldBy(owner: string, from: number): HeldPage {
    const lane = this.#owners.lane(owner)
    const held: HeldSlot[] = []
    if (lane === undefined) return { held }
    const until = Math.min(this.#held.length, from + PAGE_MAX)
    for (let number = from; number < until; number += 1) {
      const one = this.#held[number]
      if (one !== undefined && this.#columns.lane[number] === lane) held.push(one)
    }
    return until === this.#held.length ? { held } : { held, next: until }
  }

  #place(number: number, endsAt: number): void {
    this.#columns.dueAt[number] = endsAt
    if (endsAt > this.#wheel.now) this.#wheel.place(number)
    else this.#lapse(number)
  }

  #lapse(number: number): void {
    const lane = this.#columns.lane[number] as number
    const numbers = this.#lapsed.get(lane)
    if (numbers === undefined) this.#lapsed.set(lane, new Set([number]))
    else numbers.add(number)
  }

  /** Out of the wheel, or from among those that lapsed. */
  #remove(number: number): void {
    if (this.#wheel.cancel(number)) return
    const lane = this.#columns.lane[number] as number
    const numbers = this.#lapsed.get(lane)
    numbers?.delete(number)
    if (numbers?.size === 0) this.#lapsed.delete(lane)
  }

  #heldFor(slot: number): HeldSlot | undefined {
    const number = this.#numberOf.get(slot)
    return number === undefined ? undefined : this.#held[number]
  }

  #growTo(size: number): void {
    const before = this.#columns.lane.length
    if (size <= before) return
    const after = Math.max(64, before * 2)
    this.#columns.dueAt = grownFloat64(this.#columns.dueAt, after)
    this.#columns.lane = grownInt32(this.#columns.lane, after)
  }
}

/** Owners that hold something, with a lane for each; lanes are used again. */
class Owners {
  readonly #laneOf = new Map<string, number>()
  readonly #names: string[] = []
  readonly #held: number[] = []
  readonly #free: number[] = []

  enter(name: string): number {
    const known = this.#laneOf.get(name)
    if (known !== undefined) {
      this.#held[known] = (this.#held[known] as number) + 1
      return known
    }
    const lane = this.#free.pop() ?? this.#names.length
    this.#laneOf.set(name, lane)
    this.#names[lane] = name
    this.#held[lane] = 1
    return lane
  }

  leave(lane: number): void {
    const left = (this.#held[lane] as number) - 1
    this.#held[lane] = left
    if (left > 0) return
    this.#laneOf.delete(this.name(lane))
    this.#names[lane] = ''
    this.#free.push(lane)
  }

  lane(name: string): number | undefined {
    return this.#laneOf.get(name)
  }

  name(lane: number): string {
    return this.#names[lane] as string
  }

  lanesBut(own: number): number[] {
    return [...this.#laneOf.values()].filter((lane) => lane !== own)
  }
}
