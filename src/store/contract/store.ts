/**
 * The contract between the runtime and an engine.
 *
 * Every verb is batched, atomic per call and bounded. An engine keeps and moves messages; it decides nothing:
 * whether a failure is retried, and when, is settled in `core/outcome` and arrives here as a finished answer.
 * Only durations cross this line, so that skewed clocks cannot disagree; the one absolute value going in is a
 * user's `at`. All comparisons with "now" use the store's own clock.
 *
 * Fencing: each claim hands out a fresh `token`. It stays the same while the lease is extended, so that the
 * lost reply of an extension costs nothing, and is never used again once the lease ended. `settle` and
 * `extend` act only if the message runs under exactly this token (a lapsed lease that nobody claimed yet still
 * counts as ours: nobody else has started).
 *
 * Results come back in the order of the entries. A rejected call throws `UnavailableError` when its effect is
 * unknown; the runtime repeats what is safe to repeat.
 *
 * The conformance suite in `punctual/testing` is this text in executable form.
 */
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../core/log.ts'
import type { MessageState, PriorityRank } from '../../core/message.ts'
import type { NextAnswer } from '../../core/schedule.ts'
import type { Random } from '../../random.ts'

export interface Store {
  readonly capabilities: Capabilities

  /** Called before any other verb; again is fine, and does nothing. */
  open(): Promise<void>
  /** Ends every connection; calls under way reject with STORE_CLOSED. Idempotent; never hangs. */
  close(): Promise<void>

  /** Never sent twice by the engine on its own: `duplicate` would then be said of our own message. */
  put(messages: readonly NewMessage[]): Promise<PutResult[]>
  /** `waiting`: takes delayed and ready ones (cancel); `dead`: takes dead ones (purge). */
  remove(ids: readonly string[], from: 'waiting' | 'dead'): Promise<RemoveResult[]>
  /** Moves delayed and ready ones; attempts and everything else stay. */
  reschedule(moves: readonly Move[]): Promise<RescheduleResult[]>

  claim(request: ClaimRequest): Promise<ClaimReply>
  /** The lease then ends `leaseMs` from the store's now. */
  extend(leases: readonly LeaseRef[], leaseMs: number): Promise<ExtendResult[]>
  settle(settlements: readonly Settlement[]): Promise<SettleResult[]>

  /** Dead -> ready: due now, attempts back to 0, the error forgotten. */
  revive(ids: readonly string[]): Promise<ReviveResult[]>
  /**
   * One page, in an order of the engine's own. What stays in its state throughout, and is not rescheduled or extended
   * meanwhile, appears exactly once. A page may be short, even empty, while `cursor` says that there is more (filters
   * cost work too).
   */
  inspect(query: InspectQuery): Promise<Page>
  count(): Promise<Counts>
  /** What an operator should know about this store, worst first. */
  doctor(): Promise<Finding[]>

  /** A copy that can be opened in its place, made while the store is in use. Absent where the server has its own way. */
  backup?(directory: string): Promise<void>

  /**
   * `listener` is called when something may be due sooner than the last `claim` said, whichever process caused
   * it. A hint: it may be lost, late or repeated. Returns the function that ends the subscription.
   */
  onWake(listener: () => void): () => void
}

export type Capabilities = {
  readonly engine: string
  /** What an accepted message survives. */
  readonly durability: 'process' | 'disk' | 'server' | 'replicas'
  /** Whether other processes may work on the same queue. */
  readonly shared: boolean
  /** `sure`: no wake-up is ever lost, so that an idle worker need not look again on its own. */
  readonly wakes: 'sure' | 'hint'
  /** The most entries that one call takes; more are refused with BATCH_TOO_LARGE, never trimmed. */
  readonly batchMax: number
  /**
   * How long before its moment a message should be leased so that the store's answer is there in time. The
   * worker holds it until then. 0 where a claim costs nothing.
   */
  readonly leadMs: number
}

export type When = { readonly delayMs: number } | { readonly at: number }

export type NewMessage = {
  readonly id: string
  readonly topic: string
  /** The encoded payload. Opaque to the engine. */
  readonly body: string
  /** The encoded policy of this message, '' for most. Opaque to the engine. */
  readonly meta: string
  readonly priority: PriorityRank
  readonly when: When
  /** `keep` and `fail` both leave an existing message alone; the caller tells them apart by the answer. */
  readonly ifExists: 'keep' | 'replace'
}

/** `running`: asked to replace, but the message is in somebody's hands. */
export type PutResult = 'stored' | 'duplicate' | 'replaced' | 'running'
export type RemoveResult = 'removed' | 'running' | 'missing'
export type RescheduleResult = 'rescheduled' | 'running' | 'missing'
export type ExtendResult = 'extended' | 'lost'
export type SettleResult = 'settled' | 'lost'
export type ReviveResult = 'revived' | 'missing'

export type Move = { readonly id: string; readonly when: When }

export type Want = { readonly topic: string; readonly limit: number }

export type ClaimRequest = ClaimDue | ClaimLapsed

export type ClaimDue = {
  readonly from: 'due'
  /**
   * Hands out at most each topic's own limit, and at most `limit` in all: by priority, and within what the engine looks
   * at in one call, in the order of wants.
   */
  readonly wants: readonly Want[]
  readonly limit: number
  readonly leaseMs: number
  /**
   * Also hands out what comes due within this time; the worker holds it until its moment. At most the store's own
   * `capabilities.leadMs`; a store that says 0 there need not look at it.
   */
  readonly leadMs: number
}

/** Takes over leases that ended without an answer, of whatever topic. The attempt was counted when it began. */
export type ClaimLapsed = {
  readonly from: 'lapsed'
  readonly limit: number
  readonly leaseMs: number
}

export type ClaimReply = { readonly leases: readonly Lease[]; readonly next: Next }

/**
 * When it is worth asking the same again: something is there now, in `ms`, or not before a wake-up.
 * Speaks only of what this request could be handed: what is overdue for other topics does not count.
 */
export type Next = NextAnswer

export type LeaseRef = { readonly id: string; readonly token: string; readonly topic: string }

export type Lease = LeaseRef & {
  readonly body: string
  readonly meta: string
  readonly priority: PriorityRank
  readonly dueAt: number
  /** 1 for the first. Counted at claim, because a worker that dies never reports. */
  readonly attempt: number
  /** By the store's clock at the claim; below 0 for one leased ahead of its moment. */
  readonly latenessMs: number
}

export type Settlement =
  /** Done: the message is gone. */
  | (LeaseRef & { readonly kind: 'ack' })
  /** Due again `delayMs` from the store's now. */
  | (LeaseRef & { readonly kind: 'retry'; readonly delayMs: number; readonly error: string })
  /** Given back unharmed: its due time as before, this attempt uncounted. */
  | (LeaseRef & { readonly kind: 'release' })
  | (LeaseRef & { readonly kind: 'dead'; readonly reason: string; readonly error: string })

export type InspectQuery =
  | { readonly ids: readonly string[] }
  | {
      readonly state: MessageState
      readonly topic?: string
      readonly limit: number
      readonly cursor?: string
    }

export type Page = { readonly items: readonly StoredMessage[]; readonly cursor?: string }

export type StoredMessage = {
  readonly id: string
  readonly topic: string
  readonly body: string
  readonly meta: string
  readonly priority: PriorityRank
  readonly state: MessageState
  readonly dueAt: number
  readonly attempt: number
  /** Of the last failure; '' when there was none. */
  readonly error: string
  /** Why it is dead; '' otherwise. */
  readonly reason: string
  /** Running: when its lease ends. Dead: when it died. Otherwise 0. */
  readonly until: number
}

export type StateCounts = { readonly [state in MessageState]: number }
/** `waiting` is delayed and ready together: which of them is only a matter of the clock. */
export type TopicCounts = { readonly waiting: number; readonly running: number; readonly dead: number }

export type Counts = {
  readonly states: StateCounts
  /** Topics without any message need not appear. */
  readonly topics: Readonly<Record<string, TopicCounts>>
  /** The earliest moment among delayed and ready ones. */
  readonly nextDueAt?: number
}

export type Finding = {
  readonly level: 'problem' | 'warning' | 'fine'
  readonly what: string
  readonly remedy?: string
}

/** What an engine is given when it is made. */
export type StoreContext = {
  /** Queues in one store share nothing. */
  readonly queue: string
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
}
