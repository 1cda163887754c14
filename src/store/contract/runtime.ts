/**
 * What the runtime asks of an engine: keep a message, hand it out at its moment, hear how it ended.
 *
 * Leases. A claim hands out leases to one **owner**: one started queue. A lease has a `token`, which fences it: `settle`
 * and `extend` act only if the message runs under exactly this token. All leases of one claim may share a token. A token
 * stays the same while the lease is extended, so that the lost reply of an extension costs nothing, and is never used
 * again once the lease ended. A lapsed lease that was not taken over still counts as the holder's own: no other handler
 * has started.
 *
 * A reply can be lost after the claim took effect. The store then holds leases that no worker knows of. `owned` lists
 * what the store thinks an owner holds; the worker gives back what it does not know.
 */
import type { EndedCounts } from '../../core/metrics/figures.ts'
import type { PriorityRank, RememberedOutcome } from '../../core/message.ts'
import type { NextAnswer, WakeUp } from '../../core/machines/sleep.ts'

export type { WakeUp } from '../../core/machines/sleep.ts'

export interface RuntimeVerbs {
  /** The engine never sends it twice on its own: `duplicate` would then be said of our own message. */
  put(messages: readonly NewMessage[]): Promise<PutResult[]>

  claim(request: ClaimRequest): Promise<ClaimReply>
  /**
   * The leases then end `leaseMs` from the store's now. The caller names every lease that it still holds under each
   * token that it names: what it leaves out keeps its old end.
   */
  extend(leases: readonly LeaseRef[], leaseMs: number): Promise<ExtendResult[]>
  settle(settlements: readonly Settlement[]): Promise<SettleResult[]>

  /** One page of the leases that the store holds for this owner, lapsed ones included. */
  owned(owner: string, cursor?: string): Promise<OwnedPage>
  /** The owner stops and will claim no more: `workers` shows it as gone. */
  leave(owner: string): Promise<void>
  /** Adds to the figures of the store's current minute. */
  record(figures: readonly TopicFigures[]): Promise<void>

  /**
   * The engine calls `listener` when something may be due sooner than the last `claim` said, whichever process caused
   * it. A hint: it may be lost, late or repeated; a store may wake only some of those who could take it. What `owner`
   * itself released need not wake it. Returns the function that ends the subscription.
   */
  onWake(listener: (wake: WakeUp) => void, owner?: string): () => void
}

/** When a message is due: so long from the store's now, or at a moment. */
export type DueTime = { readonly delayMs: number } | { readonly at: number }

export type NewMessage = {
  readonly id: string
  readonly topic: string
  /** The encoded payload. Opaque to the engine. */
  readonly body: string
  /** The encoded policy of this message, '' for most. Opaque to the engine. */
  readonly meta: string
  readonly priority: PriorityRank
  readonly when: DueTime
  /** What it belongs to: at most 4, none twice, short texts without control characters. Absent for most. */
  readonly tags?: readonly string[]
  /** Whose it is: see `core/keys`. Only for engines with the feature `keys`; never of our own topics. */
  readonly key?: string
  /**
   * `keep` and `fail` both leave an existing message alone; the caller tells them apart by the answer. A remembered id is
   * a duplicate for both; `replace` stores anew, and what was remembered is forgotten. `seize` is for messages of our own
   * (`core/control`): it replaces also one that runs, whose lease is then lost.
   */
  readonly ifExists: 'keep' | 'replace' | 'seize'
  /** With `seize`: stored only if a message is there that has this body, else `duplicate`. */
  readonly ifBody?: string
  /**
   * With `replace`: it keeps the `producedAt` of the waiting one that it replaces, and is due at most so long after that.
   */
  readonly latestMs?: number
}

/**
 * `succeeds`: it replaces one that runs. It waits as its **successor**, one for each id, and takes its place when that
 * attempt ends, however it ends: the old one is neither retried nor dead.
 */
export type PutResult = 'stored' | 'duplicate' | 'replaced' | 'succeeds'
/** `cancelling`: extended all the same, and to be cancelled. */
export type ExtendResult = 'extended' | 'cancelling' | 'lost'
/**
 * `succeeded`: not done, and its successor has taken its place.
 * `cancelled`: it was to be cancelled, and is gone; what it carried was not stored, and nothing is remembered.
 * `refused`: this entry, or a message that it carries, cannot be stored; nothing of it was applied, its neighbours were.
 * The message still runs under its lease.
 * `locked`: an open transaction of somebody else has it, mostly that of its handler, and protects it; nothing was applied,
 * and it is worth asking again.
 */
export type SettleResult = 'settled' | 'succeeded' | 'cancelled' | 'lost' | 'refused' | 'locked'

export type Want = {
  readonly topic: string
  readonly limit: number
  /** How many of this topic could be started at once. A topic with a limit is handed out no more; absent: `limit`. */
  readonly free?: number
}

export type ClaimRequest = ClaimDue | ClaimLapsed

export type ClaimDue = {
  readonly from: 'due'
  readonly owner: string
  /** Facts about the worker for `workers`, as text of the runtime's own; sent when they changed or grew old. */
  readonly facts?: string
  /**
   * The store hands out at most each topic's own limit, and at most `limit` in all: by priority, and within what the
   * engine looks at in one call, in the order of wants. No topic twice; at most `wantsMax`.
   */
  readonly wants: readonly Want[]
  readonly limit: number
  /** How many could be started at once, over all topics: for those with a limit. Absent: `limit`. */
  readonly free?: number
  /** The bodies handed out have at most this many bytes together; a single larger one is handed out alone. */
  readonly bytesMax: number
  readonly leaseMs: number
  /**
   * The store also hands out what comes due within this time; the worker holds it until its moment. At most the store's
   * own `capabilities.leadMs`; a store that says 0 there need not look at it.
   */
  readonly leadMs: number
  /** Of a worker that now sleeps until it is told or woken. Without it the store tells all, and counts on nothing. */
  readonly sleeper?: SleepingAsker
}

/**
 * A store may count on its sleepers: then it tells two of them of a topic's head, wakes those two and no others, and lets
 * the others sleep longer than they would (`ClaimReply.lookMs`). A worker that is left without room is passed over.
 */
export type SleepingAsker = {
  /** How long it would sleep at most on its own. */
  readonly fallbackMs: number
  /** How long it may be told to sleep at most, where others look meanwhile; absent: about a minute. */
  readonly lookMsMax?: number
  /** Topics that it handles and can take none of now. At most `wantsMax`. */
  readonly busy: readonly string[]
}

/**
 * Takes over leases that ended without an answer, of any topic, and leases whose owner is proven dead. The attempt was
 * counted when it began. The asker's own leases are left out: its keeper extends them (`isOwnLapsed` tells).
 */
export type ClaimLapsed = {
  readonly from: 'lapsed'
  readonly owner: string
  readonly limit: number
  readonly leaseMs: number
}

export type ClaimReply = {
  readonly leases: readonly Lease[]
  readonly next: Next
  /**
   * Of `due`: wanted topics that have a limit now. Nothing of them is handed out ahead, nor more than `free`. Those that are
   * paused until a resume may be left out.
   */
  readonly limited?: readonly string[]
  /**
   * Of `due`: wanted topics of which messages with a key are there, unless they are `limited`. What is handed out ahead of
   * its start there costs other keys their turn: the less, the fairer.
   */
  readonly keyed?: readonly string[]
  /** Of `lapsed`: leases of the asker's own have ended. */
  readonly isOwnLapsed?: boolean
  /** Of `due`, to a sleeper: it asks again after this at the latest, instead of after its fallback. */
  readonly lookMs?: number
  /**
   * Comes with `lookMs`: after this the asker should claim what has lapsed. Infinity where it need not before its next
   * look: others do, or no lease ends until then.
   */
  readonly lapseMs?: number
}

/**
 * When it is worth asking the same again: something is there now, in `ms`, or not before a wake-up. It speaks only of
 * what this request could be handed: what is due for other topics, or lapsed leases of the asker's own, do not count. Nor
 * does what is paused until somebody resumes it, at its limit of concurrency, or beyond `free`. To a sleeper it need not
 * speak of topics that others watch.
 */
export type Next = NextAnswer

export type LeaseRef = { readonly id: string; readonly token: string; readonly topic: string }

export type Lease = LeaseRef & {
  readonly body: string
  readonly meta: string
  readonly key?: string
  readonly priority: PriorityRank
  readonly dueAt: number
  /** The moment last set by produce, reschedule or revive: a retry moves `dueAt` only. */
  readonly firstDueAt: number
  /** 1 for the first. Counted at claim, because a worker that dies never reports. */
  readonly attempt: number
  /** How many leases of this message lapsed in a row before this attempt. */
  readonly lapses: number
  /** By the store's clock at the claim; below 0 for one leased ahead of its moment. */
  readonly latenessMs: number
}

export type OwnedPage = { readonly leases: readonly OwnedLease[]; readonly cursor?: string }

/** `isTakenOver`: by `claim lapsed`. Its attempt is that of the worker before, and must be counted. */
export type OwnedLease = LeaseRef & { readonly isTakenOver: boolean }

export type Settlement =
  /**
   * Done: the message is gone; its id stays taken for a while if there is something to remember. `isOwnWord`: the handler
   * said so itself, so that it is done even if it was to be cancelled.
   */
  | (LeaseRef &
      FollowUps & { readonly kind: 'ack'; readonly remember?: Remember; readonly isOwnWord?: boolean })
  /**
   * Due again at a moment that is then its own (`firstDueAt`), this attempt not counted, lapses 0; perhaps with another
   * content. `keepsLapses`: its handler has not run, so that its leases have still lapsed in a row.
   */
  | (LeaseRef &
      FollowUps & {
        readonly kind: 'again'
        readonly when: DueTime
        readonly keepsLapses?: boolean
        readonly content?: { readonly body: string; readonly meta: string }
      })
  /** Due again `delayMs` from the store's now. `isLapse`: the lease had lapsed, and the store counts that. */
  | (LeaseRef & {
      readonly kind: 'retry'
      readonly delayMs: number
      readonly error: string
      readonly isLapse?: boolean
    })
  /** Its lease lapsed: back in its place, due as before, this attempt and the lapse counted. */
  | (LeaseRef & { readonly kind: 'lapse'; readonly error: string })
  /** Given back unharmed: in its place, due as before, this attempt not counted. It wakes others. */
  | (LeaseRef & { readonly kind: 'release' })
  | (LeaseRef & { readonly kind: 'dead'; readonly reason: string; readonly error: string })

/**
 * Messages that are stored in the same step: all of them if this entry is settled, else none. The message itself leaves
 * first, so that one of them may take its id. At most FOLLOW_UPS_MAX; each counts as an entry of the call. None seizes.
 */
export type FollowUps = { readonly followUps?: readonly NewMessage[] }

/**
 * What stays of a message that is done, for `ms` from the store's now: its id is taken, and `inspect` by id shows how it
 * ended. No list and no count shows it. It leaves by itself.
 */
export type Remember = {
  readonly ms: number
  readonly outcome: RememberedOutcome
  /** What its handler returned, encoded; '' for nothing. Opaque to the engine. */
  readonly result: string
}

/** What ended, of one topic. */
export type TopicFigures = EndedCounts & { readonly topic: string }
