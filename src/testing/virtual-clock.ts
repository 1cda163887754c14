/**
 * A clock that moves only when told to: `await clock.advance('48h')` runs two days of business logic in
 * milliseconds, timer by timer, in order, letting everything that each one starts come to rest first.
 */
import type { Clock, Timer } from '../clock.ts'
import { TIMER_MS_MAX, parseDuration, type Duration } from '../core/input/duration.ts'

type Pending = { readonly at: number; readonly order: number; readonly run: () => void }

/** How often the event loop turns before the work that a timer started counts as finished. */
const TURNS_TO_REST = 6

export class VirtualClock implements Clock {
  #now: number
  #elapsedMs = 0
  #order = 0
  readonly #pending = new Set<Pending>()
  readonly #soon: (() => void)[] = []

  constructor(startsAt: number | Date = Date.UTC(2030, 0, 1)) {
    this.#now = Number(startsAt)
  }

  now(): number {
    return this.#now
  }

  monotonic(): number {
    return this.#elapsedMs
  }

  schedule(delayMs: number, run: () => void): Timer {
    const at = this.#elapsedMs + Math.max(0, Math.min(delayMs, TIMER_MS_MAX))
    const pending = { at, order: this.#order, run }
    this.#order += 1
    this.#pending.add(pending)
    return { cancel: () => void this.#pending.delete(pending) }
  }

  soon(run: () => void): void {
    this.#soon.push(run)
  }

  /** Timers that are set, for tests that nothing is left behind. */
  get pendingTimers(): number {
    return this.#pending.size
  }

  /** Moves both clocks forward, firing every timer on the way at its own moment. */
  async advance(duration: Duration): Promise<void> {
    const until = this.#elapsedMs + parseDuration(duration, 'duration')
    await this.settle()
    for (let next = this.#earliest(until); next !== undefined; next = this.#earliest(until)) {
      this.#pending.delete(next)
      this.#moveTo(next.at)
      next.run()
      await this.settle()
    }
    this.#moveTo(until)
  }

  /** Moves only the wall clock, as an operator or NTP would. */
  jump(byMs: number): void {
    this.#now += byMs
  }

  /** Lets everything that can go on without time passing come to rest. */
  async settle(): Promise<void> {
    do {
      for (let turn = 0; turn < TURNS_TO_REST; turn += 1)
        await new Promise((resolve) => setImmediate(resolve))
    } while (this.#runSoon())
  }

  #runSoon(): boolean {
    const due = this.#soon.splice(0)
    for (const run of due) run()
    return due.length > 0
  }

  #moveTo(elapsedMs: number): void {
    this.#now += elapsedMs - this.#elapsedMs
    this.#elapsedMs = elapsedMs
  }

  #earliest(until: number): Pending | undefined {
    let earliest: Pending | undefined
    for (const pending of this.#pending) {
      if (pending.at > until) continue
      const isEarlier =
        earliest === undefined ||
        pending.at < earliest.at ||
        (pending.at === earliest.at && pending.order < earliest.order)
      if (isEarlier) earliest = pending
    }
    return earliest
  }
}
