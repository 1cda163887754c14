/** How a run ended, sent to the settler, and what the answer means for whoever listens. */
import { decideOutcome, type Ending, type Outcome } from '../../core/outcome.ts'
import type { Random } from '../../random.ts'
import type { Settlement } from '../../store/contract/store.ts'
import type { Events } from '../events.ts'
import { aboutRun, retryOf, type Run } from './run.ts'
import { settlementFor, type Entry, type SettleAnswer, type Settler } from '../settler.ts'

export type SettlementsParts = {
  readonly random: Random
  readonly events: Events
  readonly settler: Settler
  readonly leaseMs: number
  /** The store has answered, or it was given up. */
  readonly onAnswered: (run: Run) => void
}

export class Settlements {
  readonly #parts: SettlementsParts

  constructor(parts: SettlementsParts) {
    this.#parts = parts
  }

  /** Decides what becomes of the message, and sends it. */
  conclude(run: Run, ending: Ending): void {
    const isFailure = ending.kind !== 'returned' && ending.kind !== 'stopped'
    if (isFailure) this.#reportFailed(run, ending)
    const chance = isFailure ? this.#parts.random.next() : 0
    this.settle(run, decideOutcome(run.lease.attempt, ending, retryOf(run), chance))
  }

  settle(run: Run, outcome: Outcome): void {
    const { events, leaseMs, onAnswered, settler } = this.#parts
    settler.add(new RunSettlement(run, outcome, leaseMs, events, onAnswered))
  }

  #reportFailed(run: Run, ending: Ending): void {
    const { events } = this.#parts
    if (!events.hears('failed')) return
    const error = ending.kind === 'threw' ? ending.error : new Error(`the attempt ${ending.kind}`)
    events.emit('failed', { ...aboutRun(run), error })
  }
}

class RunSettlement implements Entry {
  readonly settlement: Settlement
  tries = 0
  readonly #run: Run
  readonly #leaseMs: number
  readonly #events: Events
  readonly #onAnswered: (run: Run) => void

  constructor(run: Run, outcome: Outcome, leaseMs: number, events: Events, onAnswered: (run: Run) => void) {
    this.settlement = settlementFor(run.lease, outcome)
    this.#run = run
    this.#leaseMs = leaseMs
    this.#events = events
    this.#onAnswered = onAnswered
  }

  /** One lease after the end: until somebody has taken the message over, the answer still counts. */
  givesUpAt(): number {
    return this.#run.leaseEndsAt + this.#leaseMs
  }

  answered(answer: SettleAnswer): void {
    this.#onAnswered(this.#run)
    if (answer === 'settled') this.#reportSettled()
    else this.#events.emit('lost', { ...aboutRun(this.#run), maybeSettled: answer !== 'lost' })
  }

  #reportSettled(): void {
    const { settlement } = this
    switch (settlement.kind) {
      case 'ack':
        if (!this.#events.hears('completed')) return
        this.#events.emit('completed', {
          ...aboutRun(this.#run),
          latenessMs: this.#run.latenessMs,
          durationMs: this.#run.durationMs,
        })
        return
      case 'retry':
        this.#events.emit('retrying', {
          ...aboutRun(this.#run),
          delayMs: settlement.delayMs,
          error: settlement.error,
        })
        return
      case 'dead':
        this.#events.emit('dead', {
          ...aboutRun(this.#run),
          reason: settlement.reason,
          error: settlement.error,
        })
        return
      case 'lapse':
      case 'release':
    }
  }
}
