/** One lease as the ledger remembers it: who got it, and what its holder made of it. */
import type { TimeWindow } from '../../src/core/windows/windows.ts'
import type { LeaseRef, Settlement } from '../../src/store/contract/store.ts'
import type { Owner } from '../world/timeline.ts'

/** A process, as far as the ledger must know it. */
export interface Holder extends Owner {
  readonly name: string
  /** Simulated time since when it has a handler for this topic; Infinity for none. */
  handledSince(topic: string): number
  /** Simulated time of its call of `stop()`. */
  readonly stopBeganAt: number | undefined
  readonly stopEndedAt: number | undefined
  /** Simulated time until which it had trouble with its line, or stood still. */
  readonly troubledAt: number
}

/** How a handler ended. `RetryIn` is an error like any other here. */
export type HandlerEnd = 'returned' | 'threw' | 'threw DeadLetter' | 'snoozed'

export type LeaseRecord = LeaseRef & {
  readonly from: 'due' | 'lapsed'
  readonly holder: Holder
  /** As the claim named it. */
  readonly owner: string
  readonly attempt: number
  /** How many leases of the message had lapsed in a row before. */
  readonly lapses: number
  readonly dueAt: number
  /** Of the message: its own, or its topic's. */
  readonly policy: LeasePolicy
  /** Simulated time. */
  readonly grantedAt: number
  /** By how much the store's clock had been set back by then. */
  readonly setBackMs: number
  /** Its payload does not fit its topic's schema. */
  readonly isMisfit: boolean
  /** The schema takes its time, which counts as the handler's. */
  readonly isSchemaSlow: boolean
  /** By the store's clock. */
  endsAt: number
  /** Whether the reply that carries it has reached its holder, and when, in simulated time. */
  isDelivered: boolean
  deliveredAt: number
  /** Whether its holder was told that it is lost. */
  isLost: boolean
  /** Whether its holder has tried to settle it, whatever came of it, and how it first did. */
  isAnswered: boolean
  answer: Settlement['kind'] | undefined
  /** Simulated time. */
  startedAt: number | undefined
  endedAt: number | undefined
  ended: HandlerEnd | undefined
  /** The handler said that it has completed. */
  isComplete: boolean
  /** Ids of the follow-ups that the handler attached. */
  readonly attached: string[]
  /** Somebody asked for its message to be cancelled while it had it. */
  isCancelled: boolean
  /** The handler asked for more time. */
  hasExtended: boolean
  /** Simulated time when the handler's signal aborted. */
  abortedAt: number | undefined
  /** How it was settled, in time and under its token. */
  settledAs: Settlement['kind'] | undefined
}

export type LeasePolicy = {
  readonly limit: number
  readonly timeoutMs: number
  readonly ttlMs: number | undefined
  /** Past its ttl it is skipped, and not dead. */
  readonly isSkipped: boolean
  /** Outside of it it must not start. */
  readonly window: TimeWindow | undefined
}
