/**
 * Controls hold (P14), seen by somebody who only watches: every change at the moment when it takes effect, every claim
 * with what it handed out, every start of a handler.
 *
 *   pause        nothing of the topic is handed out; nothing starts later than 250 ms after the call resolved
 *   rate         no window holds more than burst + rate x window + 1
 *   concurrency  no claim hands out more than leaves room for
 *   ahead        what has a limit is not handed out before its moment
 *
 * It works with the changes alone and knows nothing of meters and gates.
 */
import { isControl } from '../../src/core/control.ts'
import type * as contract from '../../src/store/contract/store.ts'
import type { LeaseRecord } from './lease-record.ts'
import type { Violations } from './violations.ts'

const START_MS_MAX = 250
const SLACK_MS = 100
/** How many of the last starts a new one is compared with. */
const WINDOWS = 100

type Rated = {
  readonly intervalMs: number
  readonly burst: number
  readonly endsAt: number
  grants: number[]
}

type State = {
  pausedUntil: number
  /** Simulated time since when somebody knows that it is paused. */
  pausedSince: number | undefined
  rate: Rated | undefined
  over: Rated | undefined
  concurrency: number
  /** What its keys are allowed, and which keys have limits of their own: their judges see to that. */
  hasPerKey: boolean
  readonly limitedKeys: Set<string>
  /** Simulated time since when nothing holds it; Infinity while something does. */
  freeSince: number
}

export type ControlsJudgeParts = {
  readonly violations: Violations
  /** Simulated time. */
  readonly elapsed: () => number
  readonly storeNow: () => number
  /** How many of a topic run, as the ledger knows. */
  readonly running: (topic: string) => number
  /** How much longer than it should a process may take without fault of its own. */
  readonly slackMs: () => number
}

export class ControlsJudge {
  readonly #parts: ControlsJudgeParts
  readonly #states = new Map<string, State>()

  constructor(parts: ControlsJudgeParts) {
    this.#parts = parts
  }

  /** A change takes effect. With it the store forgets what is over, and does not remember when its clock is set back. */
  changed(change: contract.ControlChange, now: number): void {
    this.#apply(change, now)
    for (const state of this.#states.values()) {
      if (isInForce(state, now)) continue
      state.pausedUntil = 0
      state.over = undefined
    }
  }

  #apply(change: contract.ControlChange, now: number): void {
    const state = this.#state(change.topic)
    state.freeSince = Infinity
    if (change.kind === 'limit' && change.key !== undefined) {
      if (change.limit === null) state.limitedKeys.delete(change.key)
      else state.limitedKeys.add(change.key)
      return
    }
    if (change.kind === 'limit') {
      state.hasPerKey = change.limit?.perKey !== undefined
      const rate = change.limit?.rate
      state.rate = rate === undefined ? undefined : { ...rate, endsAt: Infinity, grants: [] }
      state.concurrency = change.limit?.concurrency ?? Infinity
      return
    }
    state.over = undefined
    state.pausedSince = undefined
    state.pausedUntil = 0
    if (change.kind === 'pause') {
      const { until } = change
      state.pausedUntil = until === undefined ? Infinity : 'at' in until ? until.at : now + until.delayMs
    } else if (change.over !== undefined)
      state.over = { ...change.over, endsAt: now + change.over.ms, grants: [] }
  }

  /** A call of `pause` resolved: whoever made it may rely on it, unless it was taken back meanwhile. */
  pauseResolved(topic: string): void {
    const state = this.#state(topic)
    if (state.pausedUntil > this.#parts.storeNow()) state.pausedSince ??= this.#parts.elapsed()
  }

  /** The store's clock was set: windows of before mean nothing. */
  clockJumped(): void {
    for (const { rate, over } of this.#states.values())
      for (const rated of [rate, over]) if (rated) rated.grants = []
  }

  /** A claim of due messages takes effect. */
  handedOut(leases: readonly contract.Lease[], now: number): void {
    const { violations, running } = this.#parts
    // Schedules go on while the whole queue is paused; what they fire waits.
    for (const { id, topic, dueAt } of leases.filter((lease) => !isControl(lease.topic)))
      for (const state of this.#statesOf(topic)) {
        if (state.pausedUntil > now) violations.add('P14', `${id} of "${topic}" is handed out in a pause`)
        const rates = [state.rate, state.over].filter((rated) => rated !== undefined && rated.endsAt > now)
        for (const rated of rates as Rated[]) this.#countIn(rated, id, now)
        const isLimited = rates.length > 0 || state.concurrency < Infinity || areKeysLimited(state)
        if (isLimited && dueAt > now)
          violations.add('P14', `${id} of "${topic}" has a limit, and is handed out ${dueAt - now} ms ahead`)
      }
    for (const topic of new Set(leases.map((lease) => lease.topic)))
      for (const { concurrency } of this.#statesOf(topic))
        if (running(topic) > concurrency)
          violations.add('P14', `${running(topic)} of "${topic}" run; allowed: ${concurrency}`)
  }

  /** A handler starts. `lateMs`: how long ago the process got it, or its moment came, if that was after the pause. */
  started(lease: LeaseRecord, who: string, excusedUntil: number): void {
    const { elapsed, storeNow, violations, slackMs } = this.#parts
    for (const { pausedUntil, pausedSince } of this.#statesOf(lease.topic)) {
      if (pausedSince === undefined || pausedUntil <= storeNow()) continue
      const lateMs = elapsed() - Math.max(pausedSince, excusedUntil)
      if (lateMs > START_MS_MAX + SLACK_MS + slackMs())
        violations.add('P14', `${who} starts ${lease.id} ${lateMs} ms after "${lease.topic}" was paused`)
    }
  }

  isControlled(topic: string): boolean {
    return this.freeSince(topic) === Infinity
  }

  /** By a control of the whole topic, or of the queue; those of its keys are not asked. */
  isHeldBack(topic: string): boolean {
    const now = this.#parts.storeNow()
    return this.#statesOf(topic).some((state) => holdsTopic(state, now))
  }

  /** Simulated time since when nothing holds a topic back; Infinity while something does. */
  freeSince(topic: string): number {
    let since = -Infinity
    for (const state of this.#statesOf(topic)) {
      if (isInForce(state, this.#parts.storeNow())) state.freeSince = Infinity
      // What ended by itself is noticed now, which is later than it was.
      else if (state.freeSince === Infinity) state.freeSince = this.#parts.elapsed()
      since = Math.max(since, state.freeSince)
    }
    return since
  }

  #countIn(rated: Rated, id: string, now: number): void {
    const { intervalMs, burst, grants } = rated
    grants.push(now)
    for (const [i, from] of grants.slice(-WINDOWS).entries()) {
      const count = Math.min(grants.length, WINDOWS) - i
      // Stores count whole milliseconds.
      const most = burst + (now - from + 1) / intervalMs + 1
      if (count <= most) continue
      this.#parts.violations.add('P14', `${id} is start ${count} within ${now - from} ms; allowed: ${most}`)
      return
    }
  }

  #statesOf(topic: string): State[] {
    return [this.#states.get(topic), this.#states.get('')].filter((state) => state !== undefined)
  }

  #state(topic: string): State {
    const known = this.#states.get(topic)
    if (known !== undefined) return known
    const state: State = {
      pausedUntil: 0,
      pausedSince: undefined,
      rate: undefined,
      over: undefined,
      concurrency: Infinity,
      hasPerKey: false,
      limitedKeys: new Set(),
      freeSince: -Infinity,
    }
    this.#states.set(topic, state)
    return state
  }
}

function isInForce(state: State, now: number): boolean {
  return holdsTopic(state, now) || areKeysLimited(state)
}

function areKeysLimited({ hasPerKey, limitedKeys }: State): boolean {
  return hasPerKey || limitedKeys.size > 0
}

function holdsTopic({ pausedUntil, rate, over, concurrency }: State, now: number): boolean {
  return pausedUntil > now || rate !== undefined || concurrency < Infinity || (over?.endsAt ?? 0) > now
}
