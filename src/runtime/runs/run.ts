/** One leased message in this process, from the claim to the settlement. Its states are those of `core/machines/run`. */
import type { RetryPolicy } from '../../core/machines/backoff.ts'
import type { MessagePolicy } from '../../core/encoding/codec.ts'
import { decideStart, type Outcome } from '../../core/machines/outcome.ts'
import { step, type RunEffect, type RunEvent, type RunState } from '../../core/machines/run.ts'
import { askWindow, type WindowBook } from '../../core/windows/windows.ts'
import type { Lease, NewMessage } from '../../store/contract/store.ts'
import type { FollowUpList } from './follow-ups.ts'
import type { SettleAnswer, Settler } from '../leases/settler.ts'
import { aboutMessage, type AboutMessage } from '../telling/about.ts'
import type { Lane } from './lane.ts'
import type { StoreClock } from './store-clock.ts'

/**
 * Until when, here, a lease that was asked for at `askedAt` surely lives: counted from before the call was sent, and a
 * millisecond short, because stores count whole ones.
 */
export function leaseEnd(askedAt: number, leaseMs: number): number {
  return askedAt + leaseMs - 1
}

/** When the store handed it out, by its clock. */
export function leasedAt({ dueAt, latenessMs }: Lease): number {
  return dueAt + latenessMs
}

/** Its moment, as seen here: never before the store's own. */
export function startOf({ dueAt, latenessMs }: Lease, { clock }: RunSource, answeredAt: number): number {
  const startsAt = answeredAt - latenessMs
  return latenessMs < 0 ? Math.min(startsAt, clock.reaches(dueAt)) : startsAt
}

export type Carried = {
  readonly followUps: readonly NewMessage[]
  readonly content?: { readonly body: string; readonly meta: string }
}

/** The partition that a run came from: where it is extended and settled, and whose clock its moments are of. */
export interface RunSource {
  readonly settler: Settler
  readonly clock: StoreClock
  /** Whether a message with this id could be stored together with the end of a run from here. */
  isHome(id: string): boolean
  /** Extends the lease of this run at once; false when it is lost. */
  renew(run: Run): Promise<boolean>
  /** A message of this lane went back to the store, which need not tell us that it is there. */
  returned(lane: Lane): void
}

type RunStart = {
  readonly source: RunSource
  readonly state: RunState
  readonly startsAt: number
  readonly leaseEndsAt: number
}

export class Run {
  readonly lease: Lease
  readonly lane: Lane
  readonly source: RunSource
  readonly policy: MessagePolicy
  /** Monotonic; its moment, as seen here: never before the store's own. */
  readonly startsAt: number
  /** Monotonic; never later than the store thinks. */
  leaseEndsAt: number
  /** Monotonic; until when it was promised to somebody elsewhere, who counts on it also when this process is dead. */
  promisedUntil = 0
  /** Monotonic; when the time of its state is over, Infinity for never. */
  deadlineAt = Infinity
  /** Monotonic; undefined until the handler is called. */
  startedAt: number | undefined
  durationMs = 0
  latenessMs = 0
  timeoutMs = 0
  /** What its handler attached: undefined until it does. */
  followUps: FollowUpList | undefined
  /** Its handler completes it in a transaction of its own: only the store knows whether that was committed. */
  isJoined = false
  /** What is stored with its end, whatever that is: of our own messages only. */
  carried: Carried | undefined
  /** Who runs it elsewhere hears what the store said to its end. */
  onAnswered: ((answer: SettleAnswer) => void) | undefined
  #state: RunState
  #controller: AbortController | undefined
  #abortReason: Error | undefined

  constructor(
    lease: Lease,
    lane: Lane,
    policy: MessagePolicy,
    { source, state, startsAt, leaseEndsAt }: RunStart,
  ) {
    this.lease = lease
    this.lane = lane
    this.source = source
    this.policy = policy
    this.#state = state
    this.startsAt = startsAt
    this.leaseEndsAt = leaseEndsAt
  }

  get isStarted(): boolean {
    return this.startedAt !== undefined
  }

  get state(): RunState {
    return this.#state
  }

  /** It can be given back as if nothing had happened. */
  get isUnstarted(): boolean {
    return this.state.name === 'held' || this.state.name === 'queued'
  }

  /** The only place where the state changes. The caller does what the effects say. */
  step(event: RunEvent): readonly RunEffect[] {
    const [state, effects] = step(this.#state, event)
    this.#state = state
    return effects
  }

  /** Made when asked for: most handlers never look at it, and it costs more than the rest of the run. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason)
    }
    return this.#controller.signal
  }

  /** Whether the handler has asked for its signal, and so may have ended because of it. */
  get hasSeenSignal(): boolean {
    return this.#controller !== undefined
  }

  abort(reason: Error): void {
    if (this.#abortReason !== undefined) return
    this.#abortReason = reason
    this.#controller?.abort(reason)
  }
}

export function retryOf({ policy, lane }: Run): RetryPolicy {
  return policy.retry ?? lane.settings.retry
}

/** Why it must not be started, or not now; undefined when it may. Its moment is by the store's clock. */
export function refusalOf(run: Run, book: WindowBook): Outcome | undefined {
  const { lease, lane, policy, latenessMs } = run
  const { attempt, lapses, dueAt, firstDueAt } = lease
  // What a handler says holds for messages that bring no window.
  const within = policy.within ?? lane.settings.within
  return decideStart({
    attempt,
    lapses,
    latenessMs: latenessMs + dueAt - firstDueAt,
    ttlMs: policy.ttlMs,
    ifExpired: policy.ifExpired ?? 'dead',
    window: within === undefined ? undefined : askWindow(book, within, dueAt + latenessMs),
    policy: retryOf(run),
  })
}

/** What every event says of the message. */
export function aboutRun({ lease }: Run): AboutMessage {
  return aboutMessage(lease)
}
