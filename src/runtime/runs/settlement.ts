/** What a run sends to the settler, and what the answer means for whoever listens. */
import type { Outcome } from '../../core/outcome.ts'
import type { Settlement } from '../../store/contract/store.ts'
import type { Events } from '../events.ts'
import type { Run } from './run.ts'
import { settlementFor, type Entry, type SettleAnswer } from '../settler.ts'

export class RunSettlement implements Entry {
  readonly settlement: Settlement
  tries = 0
  readonly #run: Run
  readonly #leaseMs: number
  readonly #events: Events
  readonly #live: Set<Run>

  constructor(run: Run, outcome: Outcome, leaseMs: number, events: Events, live: Set<Run>) {
    this.settlement = settlementFor(run.lease, outcome)
    this.#run = run
    this.#leaseMs = leaseMs
    this.#events = events
    this.#live = live
  }

  /** One lease after the end: until somebody has taken the message over, the answer still counts. */
  givesUpAt(): number {
    return this.#run.leaseEndsAt + this.#leaseMs
  }

  answered(answer: SettleAnswer): void {
    this.#run.phase = 'over'
    this.#live.delete(this.#run)
    if (answer === 'settled') this.#reportSettled()
    else this.#events.emit('lost', { ...this.#about(), maybeSettled: answer !== 'lost' })
  }

  #reportSettled(): void {
    const { settlement } = this
    switch (settlement.kind) {
      case 'ack':
        if (!this.#events.hears('completed')) return
        this.#events.emit('completed', {
          ...this.#about(),
          latenessMs: this.#run.latenessMs,
          durationMs: this.#run.durationMs,
        })
        return
      case 'retry':
        this.#events.emit('retrying', {
          ...this.#about(),
          delayMs: settlement.delayMs,
          error: settlement.error,
        })
        return
      case 'dead':
        this.#events.emit('dead', { ...this.#about(), reason: settlement.reason, error: settlement.error })
        return
      case 'lapse':
      case 'release':
    }
  }

  #about(): { id: string; topic: string; attempt: number } {
    const { id, topic, attempt } = this.#run.lease
    return { id, topic, attempt }
  }
}
