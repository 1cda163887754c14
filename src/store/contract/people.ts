/** What people and doors ask of an engine: look at messages, move them, count them, see who works. */
import type { RateLimit, TemporaryRate, TopicLimit } from '../../core/controls.ts'
import type { KeyLimit } from '../../core/keys.ts'
import type { TransactionHandle } from '../../core/input/transaction.ts'
import type { MessageState, PriorityRank, RememberedOutcome, ShownState } from '../../core/message.ts'
import type { Capabilities } from './capabilities.ts'
import type { DueTime, NewMessage, PutResult, Settlement, SettleResult, TopicFigures } from './runtime.ts'

export type { Allowance, RateLimit, TemporaryRate, TopicLimit } from '../../core/controls.ts'
export type { KeyLimit } from '../../core/keys.ts'

export interface PeopleVerbs {
  /**
   * Verbs inside a transaction of the caller's own, in the same database: they take effect with its commit, and wake
   * with it. The caller checks entries before, because a failed statement ends that transaction.
   */
  join(transaction: TransactionHandle): Promise<JoinedVerbs>

  /**
   * `waiting`: takes delayed and ready ones (cancel); `dead`: takes dead ones (purge). Both free a remembered id; only for
   * `dead` is that a removal. Both take the successor of one that runs, which itself stays: `running`. With
   * `isRunningToo` it is marked: its worker is woken and told by `extend`, and every settlement but the handler's own word
   * removes it: `cancelling`.
   */
  remove(ids: readonly string[], from: 'waiting' | 'dead', options?: RemoveOptions): Promise<RemoveResult[]>
  /** Moves delayed and ready ones, and the successors of those that run; attempts and everything else stay. */
  reschedule(moves: readonly Move[]): Promise<RescheduleResult[]>
  /** Dead -> ready: due now, attempts and lapses back to 0, the error forgotten. */
  revive(ids: readonly string[]): Promise<ReviveResult[]>

  /**
   * One page, in an order of the engine's own. What stays in its state throughout, and is not rescheduled or extended
   * meanwhile, appears exactly once; in a walk over a tag, what stays at all. A page may be short, even empty, while `cursor` says that there is more: filters
   * cost work too, and the engine bounds it. A walk over dead messages ends at those that died before it began.
   */
  inspect(query: InspectQuery): Promise<Page>
  /** Totals; the cost does not grow with the number of messages. */
  count(): Promise<Counts>
  /** Counts by topic, page by page or for named topics. */
  countTopics(query: TopicsQuery): Promise<TopicsPage>
  /** How many delayed and ready messages are due in each bar between two edges; bounded work, never a walk over all. */
  forecast(query: ForecastQuery): Promise<Forecast>
  /** What `record` added, by topic and minute; kept for 48 hours. */
  figures(query: FiguresQuery): Promise<FiguresPage>
  /** Who claims, last seen first; at most 1,000. Those that are gone stay for an hour. */
  workers(): Promise<WorkersReply>

  /**
   * Sets, changes or takes back a pause or a limit. Kept; obeyed by every `claim due` from then on, whichever process asks,
   * and told to all of them (`onWake`, kind `controls`). At most `CONTROLS_MAX` topics have one.
   */
  control(change: ControlChange): Promise<void>
  /** All pauses and limits that hold now, by topic; limits of single keys are told by `keys`. */
  controls(): Promise<ControlsReply>
  /** Keys of one topic, page by page, or those that are named. What stays a key throughout a walk appears exactly once. */
  keys(query: KeysQuery): Promise<KeysPage>
}

/**
 * Of a queue that is spread over partitions: those that did not answer, by name. What they hold is not in this answer.
 * Absent where nothing is missing. A question that names ids has no gap: it is answered whole, or rejects.
 */
export type Gap = { readonly missing?: readonly string[] }

/**
 * `topic`: '' is the whole queue, but for our own topics, which begin with a control character. A topic starts only where
 * neither it nor the whole queue is paused, and where all limits allow it.
 *
 *   pause   replaces the pause before, and ends a temporary rate. Without `until` it holds until a resume
 *   resume  `over`: a rate that ends by itself after `ms`; without it, a temporary rate ends as well
 *   limit   replaces the whole limit; null takes it back. What runs goes on, also above a lower limit. With `key`, that of
 *           one key of the topic: at most `KEY_LIMITS_MAX` of a topic have one
 */
export type ControlChange =
  | { readonly kind: 'pause'; readonly topic: string; readonly until?: DueTime }
  | { readonly kind: 'resume'; readonly topic: string; readonly over?: RateLimit & { readonly ms: number } }
  | {
      readonly kind: 'limit'
      readonly topic: string
      readonly limit: TopicLimit | null
      readonly key?: never
    }
  | { readonly kind: 'limit'; readonly topic: string; readonly limit: KeyLimit | null; readonly key: string }

export type ControlsReply = Gap & { readonly now: number; readonly controls: readonly ControlState[] }
export type ControlState = {
  readonly topic: string
  /** `FOREVER` of `core/controls`: until a resume. Absent when it is not paused. */
  readonly pausedUntil?: number
  readonly limit?: TopicLimit
  /** Some of its keys have limits of their own: `keys` tells which. */
  readonly hasKeyLimits?: true
  readonly over?: TemporaryRate
}

export type KeysQuery =
  | { readonly topic: string; readonly keys: readonly string[] }
  | { readonly topic: string; readonly limit: number; readonly cursor?: string }

export type KeysPage = Gap & {
  readonly now: number
  readonly keys: readonly KeyState[]
  readonly cursor?: string
}

/**
 * A key is there while one of its messages waits, while one that counts towards its limit runs, while what its rate has used
 * is not recovered, and while it has a limit of its own. One that is named and not there is told with zeros.
 */
export type KeyState = {
  readonly key: string
  /** Of this key, delayed and ready; counted up to `KEY_COUNT_MAX` of `contract/sizes`. */
  readonly waiting: number
  /** Those that count towards its limit; where it has none, an engine may say 0. */
  readonly running: number
  /** When its first may be handed out as far as the clock tells; absent where none waits, or something else comes first. */
  readonly turnAt?: number
  /** Its rate allows no start before this. */
  readonly rateAt?: number
  /** A retry of a serial key that holds it until this moment at least. */
  readonly held?: { readonly id: string; readonly dueAt: number }
  /** Its own limit. */
  readonly limit?: KeyLimit
}

export interface JoinedVerbs {
  readonly capabilities: Capabilities
  /** Whether a transaction is open on that connection. Where the server cannot tell: false. */
  isOpen(): Promise<boolean>
  put(messages: readonly NewMessage[]): Promise<PutResult[]>
  /** Of messages that wait. */
  remove(ids: readonly string[]): Promise<RemoveResult[]>
  reschedule(moves: readonly Move[]): Promise<RescheduleResult[]>
  /**
   * The fenced ack of one message, and what it carries. Until that transaction ends, the message is locked: `claim`,
   * `extend` and `settle` pass it over instead of waiting.
   */
  complete(ack: Extract<Settlement, { kind: 'ack' }>): Promise<SettleResult>
  /** Said by who has committed that transaction: wakes for what it stored, where the commit itself does not. */
  committed?(): void
}

export type RemoveOptions = { readonly isRunningToo?: boolean }
export type RemoveResult = 'removed' | 'running' | 'cancelling' | 'missing'
export type RescheduleResult = 'rescheduled' | 'running' | 'missing'
export type ReviveResult = 'revived' | 'missing'

export type Move = { readonly id: string; readonly when: DueTime }

export type InspectQuery = { readonly ids: readonly string[] } | ListQuery | TagQuery

/** The query of a list: by state, page by page. */
export type ListQuery = PageFilters & { readonly state: MessageState; readonly tag?: never }

/**
 * A walk over the messages that have a tag, in all states unless one is named. Its work does not grow with the messages
 * that do not have it.
 */
export type TagQuery = PageFilters & { readonly tag: string; readonly state?: MessageState }

export type PageFilters = {
  readonly topic?: string
  readonly key?: string
  /** Dead for at least so long, or, in any other state, produced at least so long ago; by the store's clock. */
  readonly olderThanMs?: number
  /** Due at or after this, and before that, in epoch milliseconds. */
  readonly dueFrom?: number
  readonly dueUntil?: number
  readonly idPrefix?: string
  /** Part of the stored body, as text. */
  readonly text?: string
  readonly limit: number
  readonly cursor?: string
}

export type Page = Gap & {
  readonly items: readonly StoredMessage[]
  readonly cursor?: string
  /** How many messages the engine looked at for this page. */
  readonly scanned: number
}

export type StoredMessage = {
  readonly id: string
  readonly topic: string
  readonly body: string
  readonly meta: string
  readonly tags: readonly string[]
  readonly key?: string
  readonly priority: PriorityRank
  /** `completed` only by id: it is done, and its body, policy and tags are gone. */
  readonly state: ShownState
  readonly dueAt: number
  /** The moment last set by produce, reschedule or revive: a retry moves `dueAt` only. */
  readonly firstDueAt: number
  readonly producedAt: number
  readonly attempt: number
  /** How many leases of this message lapsed in a row. */
  readonly lapses: number
  /** Of the last failure; '' when there was none. */
  readonly error: string
  /** Why it is dead; '' otherwise. */
  readonly reason: string
  /** Running: when its lease ends. Dead: when it died. Completed: until when its id is taken. Otherwise 0. */
  readonly until: number
  /** Running: who has it; '' otherwise. */
  readonly owner: string
  /** Running: when it was handed out; otherwise 0. */
  readonly leasedAt: number
  /** Running: it is to be cancelled. */
  readonly isCancelling?: true
  /** Running: what takes its place when this attempt ends. It counts as delayed, and is in no list of its own. */
  readonly successor?: Successor
  /** Completed: how it ended, and what its handler returned. */
  readonly outcome?: RememberedOutcome
  readonly result?: string
}

export type Successor = Pick<
  StoredMessage,
  'topic' | 'body' | 'meta' | 'tags' | 'key' | 'priority' | 'dueAt' | 'producedAt'
>

export type StateCounts = { readonly [state in MessageState]: number }

export type Counts = Gap & {
  readonly states: StateCounts
  /** False when delayed and ready could only be told apart roughly within the bounds of one call. */
  readonly isExact: boolean
  /** The earliest moment among delayed and ready ones; of those with a key, an engine may leave out which stand behind others. */
  readonly nextDueAt?: number
}

/** `waiting` is delayed and ready together: which of them is only a matter of the clock. */
export type TopicCounts = {
  readonly waiting: number
  readonly running: number
  readonly dead: number
  /** The earliest moment among its delayed and ready ones; of those with a key, an engine may leave out which stand behind others. */
  readonly nextDueAt?: number
}

/** Topics without any message need not appear. */
export type TopicsQuery =
  { readonly topics: readonly string[] } | { readonly limit: number; readonly cursor?: string }

export type TopicsPage = Gap & {
  readonly topics: Readonly<Record<string, TopicCounts>>
  readonly cursor?: string
}

/** `edges`: epoch milliseconds, ascending, 2 to 1,001. A bar holds its first edge and not its last. */
export type ForecastQuery = { readonly edges: readonly number[]; readonly topic?: string }
/** One count for each bar. */
export type Forecast = Gap & { readonly counts: readonly number[]; readonly isExact: boolean }

/** `from` and `until` in epoch milliseconds; whole minutes that begin in between. */
export type FiguresQuery = {
  readonly from: number
  readonly until: number
  readonly topic?: string
  readonly cursor?: string
}
/**
 * One topic and minute may have several rows, which add up. Topics beyond the 200 that are kept by name are added up under `OTHER_TOPICS`
 * of `core/metrics/figures`.
 */
export type FiguresPage = Gap & { readonly rows: readonly MinuteFigures[]; readonly cursor?: string }
export type MinuteFigures = TopicFigures & { readonly minuteAt: number }

export type WorkersReply = Gap & { readonly now: number; readonly workers: readonly WorkerRecord[] }
export type WorkerRecord = {
  readonly owner: string
  readonly facts: string
  /** By the store's clock. */
  readonly firstSeenAt: number
  /** May be a minute old. */
  readonly lastSeenAt: number
  readonly goneAt?: number
}
