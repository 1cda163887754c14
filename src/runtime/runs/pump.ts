/**
 * Starts whatever may start, lane after lane, so that each gets its turn. A handler that ends at once comes back here
 * through a new `run()`; the loop under way goes on with it. Handlers that never wait would keep everything else in the
 * process from being heard, so the loop gives the event loop a turn after a while.
 */
import type { Clock } from '../../clock.ts'
import type { Lane } from './lane.ts'
import type { Lanes } from './lanes.ts'
import type { Run } from './run.ts'

/** How long handlers are started without a turn of the event loop. */
const TURN_MS = 10

export type PumpParts = {
  readonly clock: Clock
  readonly lanes: Lanes
  /** Makes the run leave its line, started or not. `now`: monotonic. */
  readonly start: (run: Run, now: number) => void
}

export class Pump {
  readonly #parts: PumpParts
  #servedLast: Lane | undefined
  #state: 'idle' | 'at work' | 'pausing' | 'closed' = 'idle'

  constructor(parts: PumpParts) {
    this.#parts = parts
  }

  run(): void {
    if (this.#state !== 'idle') return
    this.#state = 'at work'
    const { clock } = this.#parts
    const beganAt = clock.monotonic()
    let now = beganAt
    while (this.#startOne(now)) {
      const startedAt = now
      now = clock.monotonic()
      this.#servedLast?.blocked(now - startedAt)
      if (now - beganAt >= TURN_MS) return this.#pause()
    }
    if (this.#state === 'at work') this.#state = 'idle'
  }

  close(): void {
    this.#state = 'closed'
  }

  #pause(): void {
    if (this.#state !== 'at work') return
    this.#state = 'pausing'
    this.#parts.clock.soon(() => {
      if (this.#state !== 'pausing') return
      this.#state = 'idle'
      this.run()
    })
  }

  /** False when no lane has a message that may start. */
  #startOne(now: number): boolean {
    if (this.#state !== 'at work') return false // A handler has stopped its queue.
    const { lanes } = this.#parts
    // A start under a limit was charged when it was claimed, so that it must not wait for others.
    if (lanes.limited.size > 0) for (const lane of lanes.limited) if (this.#startFirst(lane, now)) return true
    for (let distance = 0; distance < lanes.all.length; distance += 1) {
      const lane = lanes.after(this.#servedLast, distance)
      if (lane !== undefined && this.#startFirst(lane, now)) return true
    }
    return false
  }

  #startFirst(lane: Lane, now: number): boolean {
    const { lanes, start } = this.#parts
    const run = lanes.mayStart(lane) ? lane.first : undefined
    if (run === undefined) return false
    this.#servedLast = lane
    start(run, now)
    return true
  }
}
