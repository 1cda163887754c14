/**
 * Messages leased a little ahead of their moment, so that the store's answer is here in time. They wait here, in the
 * order of their moments, on one timer; none leaves early (P1).
 */
import type { Clock, Timer } from '../../clock.ts'
import type { Run } from './run.ts'

export class Holding {
  readonly #clock: Clock
  /** Must make each of them leave. */
  readonly #onDue: (runs: readonly Run[]) => void
  /** By moment. Short: what comes due within the lead. */
  readonly #runs: Run[] = []
  #timer: Timer | undefined
  #timerAt = Infinity

  constructor(clock: Clock, onDue: (runs: readonly Run[]) => void) {
    this.#clock = clock
    this.#onDue = onDue
  }

  hold(run: Run): void {
    run.lane.held += 1
    let at = this.#runs.length
    while (at > 0 && (this.#runs[at - 1] as Run).startsAt > run.startsAt) at -= 1
    this.#runs.splice(at, 0, run)
    this.#arm()
  }

  remove(run: Run): void {
    const at = this.#runs.indexOf(run)
    if (at === -1) return
    this.#runs.splice(at, 1)
    run.lane.held -= 1
    if (this.#runs.length > 0) return
    this.#timer?.cancel()
    this.#timer = undefined
    this.#timerAt = Infinity
  }

  #arm(): void {
    const first = this.#runs[0]
    if (first === undefined || first.startsAt >= this.#timerAt) return
    this.#timer?.cancel()
    this.#timerAt = first.startsAt
    this.#timer = this.#clock.schedule(first.startsAt - this.#clock.monotonic(), () => this.#look())
  }

  #look(): void {
    this.#timerAt = Infinity
    const now = this.#clock.monotonic()
    const firstLater = this.#runs.findIndex((run) => run.startsAt > now)
    const due = this.#runs.slice(0, firstLater === -1 ? this.#runs.length : firstLater)
    if (due.length > 0) this.#onDue(due)
    this.#arm()
  }
}
