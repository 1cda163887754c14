/**
 * Everything that waits: what is to come in the wheel, what is due in the line of its topic and priority.
 *
 * Also remembers what sleeping claimers were told. `promisedAt` is the latest moment until which one of them may
 * sleep; a message that is due before it must wake them, any other need not.
 */
import { TimingWheel } from '../../core/wheel.ts'
import type { Next } from '../contract/store.ts'
import type { ReadyLine } from './line.ts'
import { WAITING, type MessageTable } from './table.ts'
import { Topics, lineOf } from './topics.ts'

/** How many messages one call moves from the wheel to the lines; a longer backlog is moved in several calls. */
const MOVE_MAX = 50_000

export class Waiting {
  readonly topics = new Topics((slot, dueAt, order) => this.#isInLine(slot, dueAt, order))
  readonly #table: MessageTable
  #wheel: TimingWheel
  #promisedAt = Infinity
  #mustWake = false

  constructor(table: MessageTable, now: number) {
    this.#table = table
    this.#wheel = new TimingWheel(now)
  }

  /** How many are not due yet, provided that `advance` has moved everything up to now. */
  get delayed(): number {
    return this.#wheel.size
  }

  enter(slot: number): void {
    const dueAt = this.#table.dueAt[slot] as number
    this.#place(slot, dueAt)
    if (dueAt < this.#promisedAt) {
      this.#promisedAt = dueAt
      this.#mustWake = true
    }
  }

  /** Out of the wheel. One that stands in a line leaves a ghost there, which is recognised when its turn comes. */
  leave(slot: number): void {
    this.#wheel.cancel(slot)
  }

  /** Moves what is due by `now` to the lines; false when there was too much for one call. */
  advance(now: number): boolean {
    return this.#wheel.advance(now, MOVE_MAX, (slot) => this.#enterLine(slot))
  }

  /** Everything finds its place anew: by a clock that was set back, what was due may be to come again. */
  restart(now: number): void {
    this.#wheel = new TimingWheel(now)
    for (const { lines } of this.topics.all()) for (const line of lines) line.clear()
    for (const slot of this.#table.slotsFrom(0)) {
      if (this.#table.state(slot) === WAITING) this.#place(slot, this.#table.dueAt[slot] as number)
    }
  }

  /** The moment of the earliest message that is to come. */
  nextAt(): number | undefined {
    return this.#wheel.nextAt()
  }

  /** Tells a claimer how long it may sleep, and remembers it. */
  promise(now: number): Next {
    const at = this.#wheel.nextAt()
    this.#promisedAt = Math.max(this.#promisedAt, at ?? Infinity)
    return at === undefined ? { state: 'NO_TASK' } : { state: 'WAITING', ms: at - now }
  }

  /** Whether something came in since the last call that sleepers do not expect. */
  takeWake(): boolean {
    const mustWake = this.#mustWake
    this.#mustWake = false
    return mustWake
  }

  #place(slot: number, dueAt: number): void {
    if (dueAt > this.#wheel.now) this.#wheel.place(slot, dueAt)
    else this.#enterLine(slot)
  }

  #enterLine(slot: number): void {
    this.#lineFor(slot).push(slot, this.#table.dueAt[slot] as number, this.#table.order[slot] as number)
  }

  #lineFor(slot: number): ReadyLine {
    return lineOf(this.topics.numbered(this.#table.topic[slot] as number), this.#table.priority(slot))
  }

  #isInLine(slot: number, dueAt: number, order: number): boolean {
    const table = this.#table
    return table.state(slot) === WAITING && table.dueAt[slot] === dueAt && table.order[slot] === order
  }
}
