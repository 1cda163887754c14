/** Time as one process sees it: its own wall clock, and timers that fire a little late and end with it. */
import type { Clock, Timer } from '../../src/clock.ts'
import { TIMER_MS_MAX } from '../../src/core/input/duration.ts'
import type { Chance } from './chance.ts'
import type { Owner } from './timeline.ts'
import { BEGINS_AT, type World } from './world.ts'

export class ProcessClock implements Clock {
  readonly #world: World
  readonly #owner: Owner
  readonly #chance: Chance
  readonly #bornAt: number
  /** Wall clock against simulated time. */
  #skewMs: number
  #pending = 0

  constructor(world: World, owner: Owner, chance: Chance) {
    this.#world = world
    this.#owner = owner
    this.#chance = chance
    this.#bornAt = world.timeline.now
    this.#skewMs = chance.whole(-3_600_000, 3_600_000)
  }

  now(): number {
    return BEGINS_AT + this.#world.timeline.now + this.#skewMs
  }

  monotonic(): number {
    return this.#world.timeline.now - this.#bornAt
  }

  schedule(delayMs: number, run: () => void): Timer {
    const lagMs = this.#chance.next() * this.#world.weather.faults.timerLagMs
    this.#pending += 1
    let isSet = true
    const clear = (): void => {
      if (isSet) this.#pending -= 1
      isSet = false
    }
    // Whole milliseconds, as the system's timers are set.
    const waitMs = Math.ceil(Math.max(0, Math.min(delayMs, TIMER_MS_MAX))) + lagMs
    const planned = this.#world.timeline.after(waitMs, this.#owner, () => {
      clear()
      run()
    })
    return {
      cancel: () => {
        clear()
        planned.cancel()
      },
    }
  }

  soon(run: () => void): void {
    this.#world.timeline.after(0, this.#owner, run)
  }

  jump(byMs: number): void {
    this.#skewMs += byMs
  }

  /** Timers that are set: what would keep a real process alive. */
  get pendingTimers(): number {
    return this.#pending
  }
}
