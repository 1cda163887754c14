/**
 * One leased message in this process, from the claim to the settlement.
 *
 *   held ──its moment──► queued ──a free slot──► running ──ended──► settling ──► over
 *     └────────────────────┴── stop: released ──────┴── timeout, stop: given up ────┘
 *
 *   held      leased ahead of its moment, waits for it here
 *   queued    due, waits for a free slot
 *   running   the handler has it
 *   settling  the outcome is on its way to the store
 *   over      nothing more will be written for it
 */
import type { MessagePolicy } from '../../core/codec.ts'
import type { Lease } from '../../store/contract/store.ts'
import type { Lane } from './lanes.ts'

export type RunPhase = 'held' | 'queued' | 'running' | 'settling' | 'over'

/**
 * Until when, here, a lease that was asked for at `askedAt` surely lives: counted from before the call was sent, and a
 * millisecond short, because stores count whole ones.
 */
export function leaseEnd(askedAt: number, leaseMs: number): number {
  return askedAt + leaseMs - 1
}

export class Run {
  readonly lease: Lease
  readonly lane: Lane
  readonly policy: MessagePolicy
  /** Monotonic; its moment, as seen here: never before the store's own. */
  readonly startsAt: number
  /** Monotonic; never later than the store thinks. */
  leaseEndsAt: number
  phase: RunPhase = 'queued'
  /** Monotonic. */
  startedAt = 0
  durationMs = 0
  latenessMs = 0
  timeoutMs = 0
  /** Monotonic; Infinity while none runs. */
  timeoutAt = Infinity
  /** Monotonic; until when it may end after it was told to. */
  graceEndsAt = Infinity
  isTimedOut = false
  /** Its worker stops. */
  isStopped = false
  /** The keeper has asked for more time, and waits for the answer. */
  isBeingExtended = false
  /** Whether it takes one of the lane's slots. */
  hasSlot = false
  #controller: AbortController | undefined
  #abortReason: Error | undefined

  constructor(lease: Lease, lane: Lane, policy: MessagePolicy, startsAt: number, leaseEndsAt: number) {
    this.lease = lease
    this.lane = lane
    this.policy = policy
    this.startsAt = startsAt
    this.leaseEndsAt = leaseEndsAt
  }

  /** Made when asked for: most handlers never look at it, and it costs more than the rest of the run. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason)
    }
    return this.#controller.signal
  }

  get isAborted(): boolean {
    return this.#abortReason !== undefined
  }

  abort(reason: Error): void {
    if (this.#abortReason !== undefined) return
    this.#abortReason = reason
    this.#controller?.abort(reason)
  }
}
