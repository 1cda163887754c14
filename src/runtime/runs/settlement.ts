/** How a run ended, sent to the settler, and what the answer means for listeners. */
import { encodeResult } from '../../core/encoding/codec.ts'
import { assertNever, InvariantError } from '../../core/errors.ts'
import { decideOutcome, type Ending, type Outcome } from '../../core/machines/outcome.ts'
import type { Random } from '../../random.ts'
import type { LeaseRef, Settlement } from '../../store/contract/store.ts'
import type { Events } from '../telling/events.ts'
import type { Reports } from '../telling/reports.ts'
import { uncommitted, wasCommitted, type JoiningParts } from './joining.ts'
import { aboutRun, retryOf, type Carried, type Run } from './run.ts'
import { settlementFor, type SettleEntry, type SettleAnswer } from '../leases/settler.ts'

export type SettlementsParts = JoiningParts & {
  readonly random: Random
  readonly events: Events
  readonly reports: Reports
  readonly leaseMs: number
  /** The store has answered, or it was given up. */
  readonly onAnswered: (run: Run) => void
}

const ACK: Outcome = { kind: 'ack' }
const OWN_WORD: Outcome = { kind: 'ack', isOwnWord: true }
const UNCOMMITTED: Ending = { kind: 'threw', error: uncommitted() }

export class Settlements {
  readonly #parts: SettlementsParts

  constructor(parts: SettlementsParts) {
    this.#parts = parts
  }

  /** Decides what becomes of the message, and sends it. */
  conclude(run: Run, given: Ending): void {
    const ending = run.isJoined && given.kind === 'returned' && given.isOwnWord !== true ? UNCOMMITTED : given
    if (ending.kind === 'timed out') run.durationMs = ending.timeoutMs // At least: it may still be at work.
    const isFailure = ending.kind !== 'returned' && ending.kind !== 'stopped'
    const chance = isFailure ? this.#parts.random.next() : 0
    const outcome = decideOutcome(run.lease.attempt, ending, retryOf(run), chance)
    const hasFailed = isFailure && outcome.kind !== 'again'
    if (hasFailed && !run.isJoined) this.reportFailed(run, ending)
    const ended = outcome.kind === 'ack' ? this.#ack(run, ending) : outcome
    this.#send(run, ended, hasFailed && run.isJoined ? ending : undefined)
  }

  settle(run: Run, outcome: Outcome): void {
    this.#send(run, outcome.kind === 'skip' ? skipOf(run) : outcome, undefined)
  }

  /** `failure`: to be told only if the store says that the attempt has failed. */
  #send(run: Run, outcome: Outcome, failure: Ending | undefined): void {
    run.source.settler.add(new RunSettlement(run, outcome, failure, this.#parts, this))
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

  reportFailed(run: Run, ending: Ending): void {
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
  readonly #failure: Ending | undefined
  readonly #parts: SettlementsParts
  readonly #settlements: Settlements
  #isToldOfLock = false

  constructor(
    run: Run,
    outcome: Outcome,
    failure: Ending | undefined,
    parts: SettlementsParts,
    settlements: Settlements,
  ) {
    this.settlement = settlementFor(run.lease, outcome, carriedBy(run, outcome))
    this.#run = run
    this.#outcome = outcome
    this.#failure = failure
    this.#parts = parts
    this.#settlements = settlements
  }

  /** One lease after the end: until somebody has taken the message over, the answer still counts. */
  givesUpAt(): number {
    return this.#run.leaseEndsAt + this.#parts.leaseMs
  }

  /** Its own transaction is the likely reason, and the handler has ended before it. */
  locked(): void {
    if (this.#run.isJoined && !this.#isToldOfLock)
      this.#parts.events.report('settling waits', stillOpen(this.#run.lease))
    this.#isToldOfLock = true
  }

  answered(answer: SettleAnswer): void | Promise<void> {
    const run = this.#run
    if (answer === 'refused' && 'followUps' in this.settlement) return this.#settlements.refuse(run)
    if (run.isJoined && (answer === 'lost' || answer === 'maybe')) return this.#learn(answer)
    this.#parts.onAnswered(run)
    this.#report(answer)
  }

  /** Completed by the handler's own transaction, or another worker has it. */
  async #learn(answer: 'lost' | 'maybe'): Promise<void> {
    const [run, failure] = [this.#run, this.#failure]
    const { events, onAnswered, reports } = this.#parts
    const isCommitted = await wasCommitted(run, this.#parts).catch(() => undefined)
    onAnswered(run)
    if (isCommitted !== true) return this.#report(isCommitted === false ? answer : 'maybe')
    if (failure !== undefined && failure !== UNCOMMITTED && failure.kind === 'threw')
      events.report(`the handler of "${run.lease.topic}" threw after complete()`, failure.error)
    reports.settled(ACK, run.lease, run)
  }

  #report(answer: SettleAnswer): void {
    const { events, reports } = this.#parts
    const run = this.#run
    run.onAnswered?.(answer)
    switch (answer) {
      case 'settled':
        if (this.#failure !== undefined) this.#settlements.reportFailed(run, this.#failure)
        if (this.settlement.kind === 'release') run.source.returned(run.lane)
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

function stillOpen({ topic, id }: LeaseRef): Error {
  return new Error(
    `the transaction in which the handler of ${topic} ${id} completes it is still open; end it before the handler does`,
  )
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
