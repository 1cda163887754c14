/**
 * Who runs what, until when. Leases have numbers of their own, far fewer than messages, so that their wheel stays
 * small however many messages wait.
 */
import { TimingWheel } from '../../core/wheel.ts'

const LAPSE_MAX = 10_000

type Held = { readonly slot: number; readonly token: string; endsAt: number }

export class Leases {
  #granted = 0
  #wheel: TimingWheel
  readonly #held: (Held | undefined)[] = []
  readonly #numberOf = new Map<number, number>()
  readonly #free: number[] = []
  /** Ended without an answer, and not yet taken over; oldest first. */
  readonly #lapsed = new Set<number>()

  constructor(now: number) {
    this.#wheel = new TimingWheel(now)
  }

  get size(): number {
    return this.#numberOf.size
  }

  grant(slot: number, endsAt: number): string {
    this.#granted += 1
    const token = String(this.#granted)
    const number = this.#free.pop() ?? this.#held.length
    this.#held[number] = { slot, token, endsAt }
    this.#numberOf.set(slot, number)
    this.#wheel.place(number, endsAt)
    return token
  }

  isHeld(slot: number, token: string): boolean {
    return this.#heldFor(slot)?.token === token
  }

  endsAt(slot: number): number {
    return this.#heldFor(slot)?.endsAt ?? 0
  }

  extend(slot: number, endsAt: number): void {
    const number = this.#numberOf.get(slot)
    const held = this.#heldFor(slot)
    if (number === undefined || held === undefined) return
    this.#lapsed.delete(number)
    this.#wheel.cancel(number)
    held.endsAt = endsAt
    this.#wheel.place(number, endsAt)
  }

  end(slot: number): void {
    const number = this.#numberOf.get(slot)
    if (number === undefined) return
    this.#wheel.cancel(number)
    this.#lapsed.delete(number)
    this.#numberOf.delete(slot)
    this.#held[number] = undefined
    this.#free.push(number)
  }

  /** Notes what ended by `now`; false when there was too much for one call. */
  advance(now: number): boolean {
    return this.#wheel.advance(now, LAPSE_MAX, (number) => this.#lapsed.add(number))
  }

  /** The clock was set back: leases that had ended may go on, as they do on every other store. */
  restart(now: number): void {
    this.#wheel = new TimingWheel(now)
    this.#lapsed.clear()
    const numbers = [...this.#numberOf.values()]
    const endOf = (number: number): number => this.#held[number]?.endsAt ?? now
    for (const number of numbers.toSorted((a, b) => endOf(a) - endOf(b))) {
      if (endOf(number) > now) this.#wheel.place(number, endOf(number))
      else this.#lapsed.add(number)
    }
  }

  /** The slot whose lease ended first, if any has. */
  firstLapsed(): number | undefined {
    for (const number of this.#lapsed) return this.#held[number]?.slot
    return undefined
  }

  /** When the next lease will end. */
  nextEndAt(): number | undefined {
    return this.#wheel.nextAt()
  }

  #heldFor(slot: number): Held | undefined {
    const number = this.#numberOf.get(slot)
    return number === undefined ? undefined : this.#held[number]
  }
}
