/**
 * Runs handlers: takes leased messages, starts each at its moment as soon as its lane has a slot, and sends what
 * becomes of it to the settler.
 *
 * The one owner of every run in this process. Who else touches one: the keeper, which extends its lease and tells
 * us when that is lost.
 */
import type { Clock } from '../clock.ts'
import { decodePolicy } from '../core/codec.ts'
import { formatDuration, parseDuration, TIMER_MS_MAX, type Duration } from '../core/input/duration.ts'
import type { LatenessGauge } from '../core/lateness.ts'
import { decideOutcome, decideStart, type Ending, type Outcome } from '../core/outcome.ts'
import type { RetryPolicy } from '../core/backoff.ts'
import type { Random } from '../random.ts'
import type { Lease } from '../store/contract/store.ts'
import { attempt, type AttemptParts } from './runs/attempt.ts'
import { Deadlines } from './runs/deadlines.ts'
import type { Events } from './events.ts'
import { Holding } from './runs/holding.ts'
import type { Lane, Lanes } from './runs/lanes.ts'
import { leaseEnd, Run } from './runs/run.ts'
import { RunSettlement } from './runs/settlement.ts'
import type { Settler } from './settler.ts'
import { StoreClock } from './runs/store-clock.ts'

/** How long a handler whose signal aborted may take to end before we go on without it. */
export const ABORT_GRACE_MS = 1_000

/** A retry cannot help. */
const UNREADABLE: Outcome = {
  kind: 'dead',
  reason: 'unreadable',
  error: 'the stored policy of the message cannot be read',
}

export type ConsumersParts = {
  readonly clock: Clock
  readonly random: Random
  readonly events: Events
  readonly lanes: Lanes
  readonly settler: Settler
  readonly gauge: LatenessGauge
  readonly leaseMs: number
  readonly lateAfterMs: number
  /** Extends the lease of this run at once; false when it is lost. */
  readonly renew: (run: Run) => Promise<boolean>
  /** A slot became free, or a line shorter. */
  readonly onRoom: () => void
}

export class Consumers {
  readonly #parts: ConsumersParts
  readonly #live = new Set<Run>()
  /** Told to end, and not yet ended or given up. */
  readonly #aborted = new Set<Run>()
  readonly #holding: Holding
  readonly #storeClock = new StoreClock()
  readonly #timeouts: Deadlines<Run>
  readonly #graces: Deadlines<Run>
  readonly #attemptParts: AttemptParts
  #isPumping = false
  #servedLast: Lane | undefined
  #isClosed = false
  #onIdle: (() => void) | undefined
  #endedCount = 0

  constructor(parts: ConsumersParts) {
    this.#parts = parts
    this.#attemptParts = { extend: this.#extend, isLeased: this.#isLeased, ended: this.#ended }
    this.#holding = new Holding(parts.clock, (runs) => this.#enqueue(runs))
    this.#timeouts = new Deadlines({
      clock: parts.clock,
      items: this.#live,
      deadlineOf: (run) => run.timeoutAt,
      onReached: (run) => this.#timeOut(run),
    })
    this.#graces = new Deadlines({
      clock: parts.clock,
      items: this.#aborted,
      deadlineOf: (run) => run.graceEndsAt,
      onReached: (run) => this.#giveUp(run),
    })
  }

  /** Every run whose lease we hold. */
  get live(): ReadonlySet<Run> {
    return this.#live
  }

  /** Handlers at work. */
  get running(): number {
    return this.#parts.lanes.running
  }

  /** How many handlers have ended so far, one way or the other. */
  get ended(): number {
    return this.#endedCount
  }

  /** Takes leased messages in; `startDue` runs them. `askedAt`, `answeredAt`: monotonic. */
  take(leases: readonly Lease[], askedAt: number, answeredAt: number): void {
    const [first] = leases
    if (first !== undefined) this.#storeClock.observe(askedAt, answeredAt, first.dueAt + first.latenessMs)
    const leaseEndsAt = leaseEnd(askedAt, this.#parts.leaseMs)
    for (const lease of leases) {
      const lane = this.#parts.lanes.get(lease.topic)
      if (lane === undefined) continue // Not asked for: its lease will lapse, and a reaper gives it back.
      const policy = decodePolicy(lease.meta)
      const run = new Run(lease, lane, policy ?? {}, this.#startsAt(lease, answeredAt), leaseEndsAt)
      this.#live.add(run)
      if (policy === undefined) this.#settle(run, UNREADABLE)
      else if (this.#isClosed) this.#settle(run, { kind: 'release' })
      else if (lease.latenessMs < 0) this.#holding.hold(run)
      else lane.enqueue(run)
    }
  }

  /** Starts whatever may start. */
  startDue(): void {
    this.#pump()
    // One that was lost, or refused at its start, leaves its room without ever taking a slot: nobody else says so.
    this.#parts.onRoom()
  }

  #startsAt({ dueAt, latenessMs }: Lease, answeredAt: number): number {
    const startsAt = answeredAt - latenessMs
    return latenessMs < 0 ? Math.min(startsAt, this.#storeClock.reaches(dueAt)) : startsAt
  }

  /** The store says that the lease is somebody else's: nothing more is written for this run. */
  lose(run: Run): void {
    this.#live.delete(run)
    this.#reportLost(run)
    this.#abort(run, 'its lease was lost: another worker may have the message')
    run.phase = 'over'
  }

  /**
   * The lease is over by our clock and the store does not answer. The handler should end; should it finish all the
   * same, the fence decides whether that still counts.
   */
  doubt(run: Run): void {
    if (run.isAborted) return
    this.#reportLost(run)
    this.#abort(run, 'its lease may be lost: the store does not answer')
  }

  /** Starts nothing more, gives back what was not started, and answers how many that were. */
  close(): number {
    this.#isClosed = true
    let released = 0
    this.#holding.empty()
    for (const run of this.#live) {
      if (run.phase !== 'held' && run.phase !== 'queued') continue
      this.#settle(run, { kind: 'release' })
      released += 1
    }
    return released
  }

  /** Resolves when no handler runs. */
  whenIdle(): Promise<void> {
    if (this.running === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onIdle = resolve
    })
  }

  /** The worker stops: whoever still runs should end. */
  abortAll(): void {
    for (const run of this.#live) {
      if (run.phase !== 'running') continue
      run.isStopped = true
      this.#abort(run, 'its worker stops')
    }
  }

  /** Gives back what still runs, without waiting for it; answers how many handlers were left behind. */
  abandonAll(): number {
    const abandoned = this.running
    for (const run of this.#live) if (run.phase === 'running') this.#settle(run, { kind: 'release' })
    this.#timeouts.clear()
    this.#graces.clear()
    return abandoned
  }

  #enqueue(runs: readonly Run[]): void {
    for (const run of runs) {
      if (run.phase !== 'held') continue // Its lease was lost while it waited.
      run.phase = 'queued'
      run.lane.enqueue(run)
    }
    this.startDue()
  }

  /** Starts whatever may start. A handler that ends at once comes back here; the loop under way goes on with it. */
  #pump(): void {
    if (this.#isPumping || this.#isClosed) return
    this.#isPumping = true
    while (this.#startOne());
    this.#isPumping = false
  }

  /** False when no lane has a message that may start. */
  #startOne(): boolean {
    const { lanes } = this.#parts
    for (let distance = 0; distance < lanes.all.length; distance += 1) {
      const lane = lanes.after(this.#servedLast, distance)
      const run = lane !== undefined && lanes.mayStart(lane) ? lane.dequeue() : undefined
      if (run === undefined) continue
      this.#servedLast = lane
      if (run.phase === 'queued') this.#start(run) // Else its lease was lost while it stood in line.
      return true
    }
    return false
  }

  #start(run: Run): void {
    const { clock, gauge, lanes, lateAfterMs } = this.#parts
    const now = clock.monotonic()
    // The whole process slept: others may have it by now, so it is not started on an old promise.
    if (!this.#isLeased(run)) return this.#settle(run, { kind: 'release' })
    run.latenessMs = Math.max(0, now - run.startsAt)
    const refusal = this.#refusal(run)
    if (refusal !== undefined) return this.#settle(run, refusal)
    run.phase = 'running'
    run.startedAt = now
    lanes.takeSlot(run)
    gauge.record(run.latenessMs, now)
    this.#beginTimeout(run, run.policy.timeoutMs ?? run.lane.settings.timeoutMs, now)
    if (run.latenessMs > lateAfterMs) this.#reportLate(run)
    attempt(run, this.#attemptParts)
  }

  #refusal(run: Run): Outcome | undefined {
    const { attempt: number } = run.lease
    return decideStart({
      attempt: number,
      latenessMs: run.latenessMs,
      ttlMs: run.policy.ttlMs,
      policy: retryOf(run),
    })
  }

  readonly #isLeased = (run: Run): boolean => this.#parts.clock.monotonic() < run.leaseEndsAt

  readonly #ended = (run: Run, ending: Ending): void => {
    const { clock, lanes, onRoom } = this.#parts
    if (lanes.freeSlot(run)) this.#endedCount += 1
    run.timeoutAt = Infinity
    if (run.isAborted) this.#aborted.delete(run)
    if (run.phase === 'running') {
      run.durationMs = clock.monotonic() - run.startedAt
      run.lane.ended(run.durationMs)
      this.#conclude(run, ending.kind === 'threw' ? fairEnding(run, ending) : ending)
    }
    this.#pump()
    if (lanes.running === 0) this.#onIdle?.()
    onRoom()
  }

  #conclude(run: Run, ending: Ending): void {
    const isFailure = ending.kind !== 'returned' && ending.kind !== 'stopped'
    if (isFailure) this.#reportFailed(run, ending)
    const chance = isFailure ? this.#parts.random.next() : 0
    this.#settle(run, decideOutcome(run.lease.attempt, ending, retryOf(run), chance))
  }

  #settle(run: Run, outcome: Outcome): void {
    run.phase = 'settling'
    this.#parts.settler.add(
      new RunSettlement(run, outcome, this.#parts.leaseMs, this.#parts.events, this.#live),
    )
  }

  #beginTimeout(run: Run, timeoutMs: number, now: number): void {
    run.timeoutMs = timeoutMs
    run.timeoutAt = now + timeoutMs
    this.#timeouts.announce(run.timeoutAt, now)
  }

  #timeOut(run: Run): void {
    run.timeoutAt = Infinity
    if (run.phase !== 'running') return
    run.isTimedOut = true
    this.#abort(run, `it did not end within its timeout of ${formatDuration(run.timeoutMs)}`)
  }

  #abort(run: Run, reason: string): void {
    if (!run.hasSlot) return
    run.abort(new DOMException(`${run.lease.topic} ${run.lease.id}: ${reason}`, 'AbortError'))
    const now = this.#parts.clock.monotonic()
    this.#aborted.add(run)
    run.graceEndsAt = now + ABORT_GRACE_MS
    this.#graces.announce(run.graceEndsAt, now)
  }

  /** The handler ignores its signal: its slot is needed, and a timeout is a failure whether it ends or not. */
  #giveUp(run: Run): void {
    this.#aborted.delete(run)
    if (run.phase === 'running' && run.isTimedOut) this.#conclude(run, timedOut(run))
    if (run.phase === 'running') return // Doubtful or stopping: whatever it still does may count.
    if (this.#parts.lanes.freeSlot(run)) this.#endedCount += 1
    this.#pump()
    if (this.running === 0) this.#onIdle?.()
    this.#parts.onRoom()
  }

  readonly #extend = async (run: Run, by: Duration | undefined): Promise<boolean> => {
    if (run.phase !== 'running' || run.isAborted) return false
    const timeoutMs =
      by === undefined ? run.timeoutMs : parseDuration(by, 'by', { min: 1, max: TIMER_MS_MAX })
    this.#beginTimeout(run, timeoutMs, this.#parts.clock.monotonic())
    return this.#parts.renew(run)
  }

  #reportFailed({ lease }: Run, ending: Ending): void {
    const { events } = this.#parts
    if (!events.hears('failed')) return
    const error = ending.kind === 'threw' ? ending.error : new Error(`the attempt ${ending.kind}`)
    events.emit('failed', { id: lease.id, topic: lease.topic, attempt: lease.attempt, error })
  }

  #reportLate({ lease, latenessMs }: Run): void {
    this.#parts.events.emit('late', { id: lease.id, topic: lease.topic, attempt: lease.attempt, latenessMs })
  }

  #reportLost({ lease }: Run): void {
    const { id, topic, attempt: number } = lease
    this.#parts.events.emit('lost', { id, topic, attempt: number, maybeSettled: false })
  }
}

function retryOf(run: Run): RetryPolicy {
  return run.policy.retry ?? run.lane.settings.retry
}

/** What a handler throws because we aborted it is put down to the cause. */
function fairEnding(run: Run, ending: Ending): Ending {
  if (run.isTimedOut) return timedOut(run)
  return run.isStopped ? { kind: 'stopped' } : ending
}

function timedOut(run: Run): Ending {
  return { kind: 'timed out', timeoutMs: run.timeoutMs }
}
