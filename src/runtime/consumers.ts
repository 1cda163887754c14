/**
 * Runs handlers: takes leased messages, starts each at its moment as soon as its lane has a slot, and sends what
 * becomes of it to the settler.
 *
 * The one owner of every run in this process. What may become of a run is decided by the table in `core/machines/run`; here its
 * effects are performed. Who else touches a run: the keeper, which extends its lease and tells us when that is lost.
 */
import type { Clock } from '../clock.ts'
import { decodePolicy } from '../core/encoding/codec.ts'
import { assertNever } from '../core/errors.ts'
import { parseDuration, TIMER_MS_MAX, type Duration } from '../core/input/duration.ts'
import type { LatenessGauge } from '../core/metrics/lateness.ts'
import { UNREADABLE, type Ending } from '../core/machines/outcome.ts'
import {
  hasSlot,
  HELD,
  QUEUED,
  type AbortCause,
  type RunEffect,
  type RunEvent,
} from '../core/machines/run.ts'
import type { WindowBook } from '../core/windows/windows.ts'
import type { Random } from '../random.ts'
import type { Lease } from '../store/contract/store.ts'
import { abortError, attempt, type AttemptParts, type HandlerParts } from './runs/attempt.ts'
import { Deadlines } from './runs/deadlines.ts'
import type { Events } from './telling/events.ts'
import type { Reports } from './telling/reports.ts'
import { Holding } from './runs/holding.ts'
import type { Lane } from './runs/lane.ts'
import type { Lanes } from './runs/lanes.ts'
import { Pump } from './runs/pump.ts'
import { aboutRun, leasedAt, leaseEnd, refusalOf, Run, startOf, type RunSource } from './runs/run.ts'
import { Settlements } from './runs/settlement.ts'

/** How long a handler whose signal aborted may take to end before we go on without it. */
export const ABORT_GRACE_MS = 1_000

/** What was handed to us, and cannot start within this time of its moment, goes back (P12). */
const HOLD_MS_MAX = 250

/** What nearly every run goes through is not made anew for each. */
const START: RunEvent = { kind: 'start' }
const ANSWERED: RunEvent = { kind: 'answered' }

export type ConsumersParts = HandlerParts & {
  readonly clock: Clock
  readonly random: Random
  readonly events: Events
  readonly lanes: Lanes
  readonly reports: Reports
  readonly gauge: LatenessGauge
  readonly leaseMs: number
  readonly lateAfterMs: number
  readonly windows: WindowBook
  /** A slot became free, or a line shorter. */
  readonly onRoom: () => void
}

/** Counted since the start, without our own topics: handlers that ended, whether well or not; messages that went back unstarted; handlers left behind. */
type RunCounts = { ended: number; returned: number; abandoned: number }

export class Consumers {
  readonly #parts: ConsumersParts
  /** All that are not over. */
  readonly #runs = new Set<Run>()
  readonly #holding: Holding
  readonly #pump: Pump
  readonly #deadlines: Deadlines<Run>
  readonly #settlements: Settlements
  readonly #attemptParts: AttemptParts
  #isClosed = false
  #onIdle: (() => void) | undefined
  readonly #counts: RunCounts = { ended: 0, returned: 0, abandoned: 0 }

  constructor(parts: ConsumersParts) {
    this.#parts = parts
    this.#attemptParts = {
      ...parts,
      extend: this.#extend,
      complete: (run) => this.#feed(run, { kind: 'complete' }),
      isLeased: this.#isLeased,
      ended: this.#ended,
    }
    this.#settlements = new Settlements({ ...parts, onAnswered: (run) => this.#feed(run, ANSWERED) })
    this.#holding = new Holding(parts.clock, (runs) => this.#becomeDue(runs))
    this.#pump = new Pump({
      clock: parts.clock,
      lanes: parts.lanes,
      start: (run, now) => this.#start(run, now),
    })
    this.#deadlines = new Deadlines({
      clock: parts.clock,
      items: this.#runs,
      deadlineOf: (run) => run.deadlineAt,
      onReached: (run) => this.#reachDeadline(run),
    })
  }

  /** Every run that is not over. */
  get runs(): ReadonlySet<Run> {
    return this.#runs
  }

  /** Handlers at work. */
  get running(): number {
    return this.#parts.lanes.running
  }

  get counts(): Readonly<RunCounts> {
    return { ...this.#counts }
  }

  /** Takes leased messages in; `startDue` runs them. `askedAt`, `answeredAt`: monotonic. */
  take(source: RunSource, leases: readonly Lease[], askedAt: number, answeredAt: number): void {
    const { lanes } = this.#parts
    const { suspects } = lanes
    const [first] = leases
    if (first !== undefined) source.clock.observe(askedAt, answeredAt, leasedAt(first))
    const leaseEndsAt = leaseEnd(askedAt, this.#parts.leaseMs)
    for (const lease of leases) {
      const lane = lanes.get(lease.topic)
      if (lane === undefined) continue // Not asked for: its lease will lapse, and a reaper gives it back.
      const isAhead = lease.latenessMs < 0
      const policy = decodePolicy(lease.meta)
      const startsAt = startOf(lease, source, answeredAt)
      const run = new Run(lease, lane, policy ?? {}, {
        source,
        state: isAhead ? HELD : QUEUED,
        startsAt,
        leaseEndsAt,
      })
      this.#runs.add(run)
      if (isAhead) this.#holding.hold(run)
      else this.#enqueue(run, answeredAt)
      if (policy === undefined) this.#feed(run, { kind: 'refuse', outcome: UNREADABLE })
      else if (this.#isClosed || lane.isFromBeforePause(run, askedAt) || !suspects.admits(run, askedAt))
        this.#giveBack(run)
    }
  }

  /** The topic of this lane was paused in this partition when its store looked: what it had handed out and was not started goes back. */
  pause(lane: Lane, source: RunSource, seenAt: number): void {
    lane.pause(source, { heardAt: this.#parts.clock.monotonic(), seenAt })
    this.#giveBackAll((run) => run.lane === lane && run.source === source && leasedAt(run.lease) <= seenAt)
    this.#parts.onRoom()
  }

  /** Starts whatever may start. */
  startDue(): void {
    this.#pump.run()
    // One that was lost, or refused at its start, leaves its room without ever taking a slot: only this tells it.
    this.#parts.onRoom()
  }

  /**
   * What the keeper heard. `lost`: the lease is somebody else's, nothing more is written for this run. `doubt`: it is over
   * by our clock and the store does not answer; should the handler finish all the same, the fence decides whether that
   * counts. `cancel`: what has not started goes back, what runs is told to end. `leave`: it runs on elsewhere.
   */
  tell(run: Run, kind: 'lost' | 'doubt' | 'cancel' | 'leave'): void {
    this.#feed(run, { kind })
  }

  /** Starts nothing more, and gives back what was not started, or comes later. */
  close(): void {
    this.#isClosed = true
    this.#pump.close()
    this.#giveBackAll(() => true)
  }

  /** Resolves when no handler runs. */
  whenIdle(): Promise<void> {
    if (this.running === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onIdle = resolve
    })
  }

  /** The worker stops: handlers that still run should end. */
  abortAll(): void {
    for (const run of this.#runs) this.#feed(run, { kind: 'stop' })
  }

  /** Gives back what still runs, without waiting for it; answers how many handlers were left behind. */
  abandonAll(): number {
    for (const run of this.#runs) this.#feed(run, { kind: 'abandon' })
    this.#deadlines.clear()
    return this.#counts.abandoned
  }

  #giveBackAll(isMeant: (run: Run) => boolean): void {
    for (const run of this.#runs) if (run.isUnstarted && isMeant(run)) this.#giveBack(run)
  }

  /** One that was not started. */
  #giveBack(run: Run): void {
    if (run.lane.own === undefined) this.#counts.returned += 1
    this.#feed(run, { kind: 'give back' })
  }

  #becomeDue(runs: readonly Run[]): void {
    for (const run of runs) this.#feed(run, { kind: 'due' })
    this.startDue()
  }

  #start(run: Run, now: number): void {
    // The whole process slept: others may have it by now, so it is not started on an old promise.
    if (now >= run.leaseEndsAt) return this.#feed(run, { kind: 'give back' })
    run.latenessMs = Math.max(0, now - run.startsAt)
    const outcome = refusalOf(run, this.#parts.windows)
    if (outcome === undefined) {
      run.startedAt = now
      this.#feed(run, START)
    } else this.#feed(run, { kind: 'refuse', outcome })
  }

  readonly #isLeased = (run: Run): boolean => this.#parts.clock.monotonic() < run.leaseEndsAt

  readonly #ended = (run: Run, ending: Ending): void => {
    const { state } = run
    if (hasSlot(state)) {
      const now = this.#parts.clock.monotonic()
      run.durationMs = now - (run.startedAt ?? now)
      run.lane.ended(run.durationMs)
    }
    if (ending.kind === 'threw' && 'isComplete' in state && state.isComplete)
      this.#parts.events.report(`the handler of "${run.lease.topic}" threw after complete()`, ending.error)
    this.#feed(run, { kind: 'ended', ending, hasSeenSignal: run.hasSeenSignal })
    this.#goOn()
  }

  #reachDeadline(run: Run): void {
    // After a standstill a slot may be free that was not looked at.
    if (run.state.name === 'queued') this.#pump.run()
    if (run.deadlineAt > this.#parts.clock.monotonic()) return
    run.deadlineAt = Infinity
    this.#feed(run, { kind: 'deadline' })
    this.#goOn()
  }

  /** A slot may be free, and a line shorter. */
  #goOn(): void {
    this.#pump.run()
    if (this.running === 0) this.#onIdle?.()
    this.#parts.onRoom()
  }

  #feed(run: Run, event: RunEvent): void {
    for (const effect of run.step(event)) this.#perform(run, effect)
  }

  #perform(run: Run, effect: RunEffect): void {
    switch (effect.kind) {
      case 'enqueue':
        return this.#enqueue(run, this.#parts.clock.monotonic())
      case 'leave holding':
        return this.#holding.remove(run)
      case 'leave line':
        run.deadlineAt = Infinity
        return run.lane.leaveLine(run)
      case 'clear line':
        return this.#clearLine(run.lane)
      case 'call':
        return this.#call(run)
      case 'abort':
        return this.#abort(run, effect.why)
      case 'free slot':
        return this.#freeSlot(run, effect.how)
      case 'conclude':
        return this.#settlements.conclude(run, effect.ending)
      case 'time out':
        return this.#settlements.conclude(run, { kind: 'timed out', timeoutMs: run.timeoutMs })
      case 'settle':
        return this.#settlements.settle(run, effect.outcome)
      case 'report lost':
        return this.#parts.events.emit('lost', { ...aboutRun(run), maybeSettled: false })
      case 'let go':
        this.#runs.delete(run)
        return this.#parts.lanes.suspects.letGo(run) ? this.#pump.run() : undefined
      default:
        return assertNever(effect)
    }
  }

  #enqueue(run: Run, now: number): void {
    run.lane.enqueue(run)
    this.#setDeadline(run, now + HOLD_MS_MAX, now)
  }

  /** None of them can start sooner than the one that did not start in time. */
  #clearLine(lane: Lane): void {
    lane.bar()
    for (let run = lane.first; run !== undefined; run = lane.first) this.#feed(run, { kind: 'give back' })
  }

  #call(run: Run): void {
    const { gauge, lanes, lateAfterMs, reports } = this.#parts
    lanes.takeSlot(run.lane)
    const now = run.startedAt ?? 0
    if (run.lane.own === undefined) gauge.record(run.latenessMs, now)
    this.#beginTimeout(run, run.policy.timeoutMs ?? run.lane.settings.timeoutMs, now)
    if (run.latenessMs > lateAfterMs) reports.late(run.lease, run.latenessMs)
    attempt(run, this.#attemptParts)
  }

  #beginTimeout(run: Run, timeoutMs: number, now: number): void {
    run.timeoutMs = timeoutMs
    this.#setDeadline(run, now + timeoutMs, now)
  }

  #setDeadline(run: Run, at: number, now: number): void {
    run.deadlineAt = at
    this.#deadlines.announce(at, now)
  }

  #abort(run: Run, why: AbortCause): void {
    run.abort(abortError(run, why))
    const now = this.#parts.clock.monotonic()
    // In doubt its timeout goes on: the handler may still end well. A stop ends it by itself.
    if (why === 'stop') run.deadlineAt = Infinity
    else if (why !== 'doubt') this.#setDeadline(run, now + ABORT_GRACE_MS, now)
  }

  #freeSlot(run: Run, how: 'ended' | 'abandoned'): void {
    run.deadlineAt = Infinity
    this.#parts.lanes.freeSlot(run.lane)
    if (run.lane.own !== undefined) return // A look at a schedule is no handler.
    this.#counts[how] += 1
  }

  readonly #extend = async (run: Run, by: Duration | undefined): Promise<boolean> => {
    if (run.state.name !== 'running') return false
    const timeoutMs =
      by === undefined ? run.timeoutMs : parseDuration(by, 'by', { min: 1, max: TIMER_MS_MAX })
    this.#beginTimeout(run, timeoutMs, this.#parts.clock.monotonic())
    return run.source.renew(run)
  }
}
