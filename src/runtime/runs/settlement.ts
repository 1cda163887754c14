/** How a run ended, sent to the settler, and what the answer means for whoever listens. */
import { encodeResult } from '../../core/encoding/codec.ts'
import { assertNever, InvariantError } from '../../core/errors.ts'
import { decideOutcome, type Ending, type Outcome } from '../../core/outcome.ts'
import type { Random } from '../../random.ts'
import type { LeaseRef, Settlement } from '../../store/contract/store.ts'
import type { Events } from '../events.ts'
import type { Reports } from '../reports.ts'
import type { Lane } from './lanes.ts'
import { aboutRun, retryOf, type Carried, type Run } from './run.ts'
import { settlementFor, type SettleEntry, type SettleAnswer, type Settler } from '../settler.ts'

export type SettlementsParts = {
  readonly random: Random
  readonly events: Events
  readonly reports: Reports
  readonly settler: Settler
  readonly leaseMs: number
  /** The store has answered, or it was given up. */
  readonly onAnswered: (run: Run) => void
  /** The message waits at the store again, as it was. */
  readonly onReturned: (lane: Lane) => void
}

const ACK: Outcome = { kind: 'ack' }
const OWN_WORD: Outcome = { kind: 'ack', isOwnWord: true }

export class Settlements {
  readonly #parts: SettlementsParts

  constructor(parts: SettlementsParts) {
    this.#parts = parts
  }

  /** Decides what becomes of the message, and sends it. */
  conclude(run: Run, ending: Ending): void {
    const isFailure = ending.kind !== 'returned' && ending.kind !== 'stopped'
    const chance = isFailure ? this.#parts.random.next() : 0
    const outcome = decideOutcome(run.lease.attempt, ending, retryOf(run), chance)
    if (isFailure && outcome.kind !== 'again') this.#reportFailed(run, ending)
    this.settle(run, outcome.kind === 'ack' ? this.#ack(run, ending) : outcome)
  }

  settle(run: Run, outcome: Outcome): void {
    const whole = outcome.kind === 'skip' ? skipOf(run) : outcome
    this.#parts.settler.add(new RunSettlement(run, whole, this.#parts, this))
  }

  /** The store has no room for what the run carries: nothing was stored, and the attempt has failed. */
  refuse(run: Run): void {
    this.conclude(run, { kind: 'threw', error: followUpsRefused() })
  }

  #ack({ policy, lease }: Run, ending: Ending): Outcome {
    const { rememberMs: ms } = policy
    const { result, isOwnWord } = ending.kind === 'returned' ? ending : {}
    if (ms === undefined) return isOwnWord === true ? OWN_WORD : ACK
    const remember = { ms, outcome: 'completed', result: this.#encode(lease, result) } as const
    return { kind: 'ack', remember, ...(isOwnWord === true ? { isOwnWord } : {}) }
  }

  /** A result that cannot be kept costs nothing but itself: the work is done. */
  #encode({ topic }: LeaseRef, result: unknown): string {
    try {
      return encodeResult(result)
    } catch (error) {
      this.#parts.events.report(`what the handler of "${topic}" returned is not kept`, error)
      return ''
    }
  }

  #reportFailed(run: Run, ending: Ending): void {
    const { events } = this.#parts
    if (!events.hears('failed')) return
    const error = ending.kind === 'threw' ? ending.error : new Error(`the attempt ${ending.kind}`)
    events.emit('failed', { ...aboutRun(run), error })
  }
}

class RunSettlement implements SettleEntry {
  readonly settlement: Settlement
  tries = 0
  readonly #run: Run
  readonly #outcome: Outcome
  readonly #parts: SettlementsParts
  readonly #settlements: Settlements

  constructor(run: Run, outcome: Outcome, parts: SettlementsParts, settlements: Settlements) {
    this.settlement = settlementFor(run.lease, outcome, carriedBy(run, outcome))
    this.#run = run
    this.#outcome = outcome
    this.#parts = parts
    this.#settlements = settlements
  }

  /** One lease after the end: until somebody has taken the message over, the answer still counts. */
  givesUpAt(): number {
    return this.#run.leaseEndsAt + this.#parts.leaseMs
  }

  answered(answer: SettleAnswer): void {
    const { events, onAnswered, onReturned, reports } = this.#parts
    const run = this.#run
    if (answer === 'refused' && 'followUps' in this.settlement) return this.#settlements.refuse(run)
    onAnswered(run)
    run.onAnswered?.(answer)
    switch (answer) {
      case 'settled':
        if (this.settlement.kind === 'release') onReturned(run.lane)
        return reports.settled(this.#outcome, run.lease, run)
      case 'succeeded':
        return reports.succeeded(this.settlement, run.lease, run.isStarted ? run : undefined)
      case 'cancelled':
        return reports.cancelled(run.lease)
      case 'refused':
        // The message keeps its lease until that lapses; then it is given back.
        return events.report('settling failed', refusal(this.settlement))
      case 'lost':
      case 'maybe':
      case 'gave up':
        return events.emit('lost', { ...aboutRun(run), maybeSettled: answer !== 'lost' })
      default:
        return assertNever(answer)
    }
  }
}

function refusal({ kind, topic, id }: Settlement): Error {
  return new InvariantError(`the store cannot keep the outcome "${kind}" of ${topic} ${id}`)
}

/** Follow-ups are stored if the attempt completes; messages of our own say for themselves what is. */
function carriedBy({ carried, followUps: attached }: Run, { kind }: Outcome): Carried | undefined {
  if (carried !== undefined) return kind === 'ack' || kind === 'again' ? carried : undefined
  const followUps = kind === 'ack' ? attached?.messages : undefined
  return followUps === undefined || followUps.length === 0 ? undefined : { followUps }
}

function skipOf({ policy: { rememberMs: ms } }: Run): Outcome {
  return ms === undefined
    ? { kind: 'skip' }
    : { kind: 'skip', remember: { ms, outcome: 'skipped', result: '' } }
}

function followUpsRefused(): Error {
  return new Error('the store refused the follow-ups of this attempt: it is full, or cannot keep one of them')
}
