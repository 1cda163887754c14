/**
 * A clock that moves only when told to: `await clock.advance('48h')` runs two days of business logic in
 * milliseconds, timer by timer, in order, letting everything that each one starts come to rest first. Handlers that do
 * real work meanwhile are waited for in real time (see `real-work.ts`).
 */
import type { Clock, Timer } from '../clock.ts'
import { UsageError, describe } from '../core/errors.ts'
import { checkRecord } from '../core/input/checks.ts'
import { TIMER_MS_MAX, parseDuration, type Duration } from '../core/input/duration.ts'
import { RealWork } from './real-work.ts'

export type VirtualClockOptions = {
  /**
   * How long, in real time, the clock stands still for handlers that read files, use the network or set timers of Node,
   * without any sign of them. Then it goes on. Default `3s`; 0 for not at all.
   */
  settleWithin?: Duration
}

type Pending = { readonly at: number; readonly order: number; readonly run: () => void }

/** How often the event loop turns before the work that a timer started counts as finished. */
const TURNS_TO_REST = 6

export class VirtualClock implements Clock {
  #now: number
  #elapsedMs = 0
  #order = 0
  readonly #pending = new Set<Pending>()
  readonly #soon: (() => void)[] = []

  readonly #realWork: RealWork

  constructor(startsAt: number | Date = Date.UTC(2030, 0, 1), options: VirtualClockOptions = {}) {
    this.#now = parseStart(startsAt)
    const { settleWithin } = checkRecord(options, 'options', ['settleWithin'])
    this.#realWork = new RealWork(
      parseDuration(settleWithin ?? '3s', 'settleWithin', { min: 0, max: TIMER_MS_MAX }),
    )
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

  /** Called by the queue with each handler: the clock stands still while the handler does real work. */
  watch<Arguments extends unknown[], Result>(
    work: (...given: Arguments) => Result,
  ): (...given: Arguments) => Result {
    return this.#realWork.watch(work)
  }

  /** Timers that are set, for tests that nothing is left behind. */
  get pendingTimers(): number {
    return this.#pending.size
  }

  /** Moves both clocks forward, firing every timer on the way at its own moment, and waits for what it starts. */
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

  /** Lets everything that can go on without time passing come to rest, real work of handlers included. */
  async settle(): Promise<void> {
    await this.#rest()
    await this.#realWork.finish(() => this.#rest())
  }

  async #rest(): Promise<void> {
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

function parseStart(startsAt: unknown): number {
  const at = startsAt instanceof Date || typeof startsAt === 'number' ? Number(startsAt) : NaN
  if (Number.isFinite(at)) return at
  throw new UsageError(
    'OPTION_INVALID',
    `a virtual clock cannot start at ${describe(startsAt)}; give a date, such as new Date('2030-01-01'), or epoch milliseconds.`,
    { value: startsAt },
  )
}
