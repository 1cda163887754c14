/**
 * An engine, as it registers itself: `store/<engine>/engine.ts` makes one of these, and `engines.ts` lists it. Nothing
 * else outside the engine's folder knows that it exists.
 *
 * The registration is loaded with the package, so it holds only what must be known before a store is opened: names,
 * options, texts. Its functions load the engine itself when they are called.
 */
import type { Clock } from '../clock.ts'
import type { Logger } from '../core/log.ts'
import type { PriorityRank } from '../core/message.ts'
import type { Random } from '../random.ts'
import type { Store } from './contract/store.ts'

/** What an engine is given when it makes a store. */
export type StoreContext = {
  /** Queues in one store share nothing. */
  readonly queue: string
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
}

/** `Client`: the objects that it takes instead of a URL. */
export interface Engine<Client extends object = object> {
  readonly name: string
  /** The beginnings of its URLs, with the colon. */
  readonly schemes: readonly string[]
  /** How its URLs look, in the words of the help: `file:PATH`. */
  readonly urls: readonly string[]
  /** A URL that works on many machines. */
  readonly example: string
  /** One line for people who choose an engine. */
  readonly help: string
  /** Who can see one of its stores: this process, the processes of this machine, or other machines too. */
  readonly reach: 'process' | 'machine' | 'network'
  /** The options of `new Punctual({ ... })` that only this engine has. */
  readonly options: Readonly<Record<string, EngineOption>>
  /** Objects that a user may give instead of a URL; undefined for an engine that takes URLs only. */
  readonly client?: EngineClientSpec<Client>

  /** A store that is not open yet. `options` holds what `parse` of each given option answered. */
  open(target: string | Client, context: StoreContext, options: EngineOptionValues): Promise<Store>
  /** Whether the URL names a store that is there, as far as the engine can tell without making it. */
  exists(url: string): Promise<boolean>
  /** What is missing where `exists` answers no, and what makes it. Absent: a store is made when it is first used. */
  absence?(url: string): Promise<string>
  /** Rejects at once where it is certain that no store answers at this URL. Resolves where it is not certain. */
  probe(url: string): Promise<void>
  /** The names of the queues in a store; bounded work. */
  queues(target: string | Client, context: QueuesContext): Promise<QueueList>
  /** Brings what the store keeps to the form that this version reads. Undefined: there was nothing to do, or it is not told. */
  migrate(target: string | Client, context: QueuesContext): Promise<DoneMigration | undefined>
  /** Queues of other packages that lie in the same servers, and can be imported from there. */
  readonly foreign?: readonly ForeignSource[]
  /** What `migrate` sends to the server, for someone who runs it himself; undefined where there are no statements. */
  migrationText?(url: string): Promise<string>
}

export type DoneMigration = {
  /** As a sentence names it: `the schema punctual`. */
  readonly what: string
  /** Versions; from 0: it was made. */
  readonly from: number
  readonly to: number
}

export type QueuesContext = Omit<StoreContext, 'queue'>

export type EngineOption = {
  /** One line for the help. */
  readonly help: string
  /** Throws a UsageError that names the option. */
  readonly parse: (value: unknown) => unknown
}

export type EngineOptionValues = Readonly<Record<string, unknown>>

export type EngineClientSpec<Client extends object> = {
  /** What the object is, in a sentence: "a client of ...". */
  readonly what: string
  /** Throws a UsageError for an object that looks like one and cannot be used. */
  readonly accepts: (value: object) => value is Client
}

export type QueueList = {
  /** In the order of the alphabet. */
  readonly names: readonly string[]
  /** False when there may be more: the engine looks at a bounded part of a store. */
  readonly isComplete: boolean
}

/** Another package whose queues can be read. */
export type ForeignSource = {
  /** Its name, as `punctual import NAME` takes it. */
  readonly name: string
  /** What its keys begin with unless told otherwise. */
  readonly prefix: string
  /** It has priorities of its own order, for which `--priorities` means nothing. */
  readonly hasRanks?: true
  /** What is imported can be cancelled there. */
  readonly canTake?: true
  readonly open: (url: string, where: ForeignPlace, context: QueuesContext) => Promise<ForeignQueue>
}

export type ForeignPlace = {
  readonly queue: string
  readonly prefix: string
  /** `taken` will be said of what is imported: nobody else may get it before. */
  readonly isTaking?: boolean
}

/** A queue of another package. It is read, and left as it is unless `taken` is called. */
export interface ForeignQueue {
  /** Nothing new starts there, at this moment. Undefined: that package knows no pause. */
  isPaused(): Promise<boolean | undefined>
  /** False: no key of it is there. */
  isThere(): Promise<boolean>
  /** The queues that lie beside it, under the same prefix, in the order of the alphabet; of a bounded part of the keys. */
  neighbours(): Promise<readonly string[]>
  /**
   * What waits there, those that are next first, a page at a time; then what failed for good. Beside workers, the places are
   * read in the order in which jobs pass through them: what moves on meanwhile is found at its next place, and told once.
   */
  jobs(): AsyncIterable<readonly ForeignJob[]>
  /** These, of the page before, are stored here: they are not to run there. Only where it was opened for that. */
  taken?(jobs: readonly ForeignJob[]): Promise<void>
  /** What its workers have done, a page at a time; only of a package that keeps it, and whose jobs can be taken. */
  done?(): AsyncIterable<readonly ForeignDone[]>
  /** Asked after `jobs`. */
  schedules(): Promise<readonly ForeignSchedule[]>
  /** What is there and cannot be carried over; asked after `jobs`. */
  rest(): Promise<readonly ForeignRest[]>
  close(): void
}

export type ForeignJob = {
  readonly id: string
  readonly name: string
  /** JSON. */
  readonly data: string
  readonly producedAt: number
  /** Absent: it waits for nothing but its turn. */
  readonly dueAt?: number
  /** It failed for good, at this moment. */
  readonly diedAt?: number
  /** Attempts that failed. */
  readonly failures: number
  readonly error: string
  readonly policy: ForeignPolicy
  /** A schedule there made it for this moment. */
  readonly occurrence?: { readonly schedule: string; readonly at: number }
  /** Why it cannot be carried over. */
  readonly leftOut?: string
  /** What of it cannot be carried over; the rest can. */
  readonly without?: string
}

export type ForeignDone = Pick<ForeignJob, 'id' | 'name' | 'producedAt'>

export type ForeignPolicy = {
  /** How many retries in all; absent: nothing was said that can be kept here, and the handler's own policy holds. */
  readonly retries?: number
  readonly backoff?: ForeignBackoff
  readonly timeoutMs?: number
  /** 1 is the first, larger ones come later; 0: none was given. */
  readonly priority: number
  /** Where that package counts otherwise: which of ours it is. */
  readonly rank?: PriorityRank
}

export type ForeignBackoff = {
  readonly kind: 'fixed' | 'exponential'
  readonly ms: number
  readonly jitter: number
  /** The longest wait; absent: it is not bounded there. */
  readonly capMs?: number
}

export type ForeignSchedule = {
  readonly name: string
  /** Of its jobs. */
  readonly jobName: string
  readonly data: string
  /** Without a zone, `cron` is read there in that of the process. */
  readonly rhythm: { readonly cron: string; readonly zone?: string } | { readonly everyMs: number }
  readonly nextAt?: number
  /** The first moment that our schedule brings: `nextAt`, or later where the job of that moment comes by itself. */
  readonly firstAt?: number
  /** When `nextAt` was computed. */
  readonly nextMadeAt?: number
  /** Its next job, where the moment of it has passed: it is not in `jobs`, and our schedule begins later. */
  readonly overdue?: ForeignJob
  readonly startAt?: number
  readonly endAt?: number
  /** So many are left, without `overdue`; 0: it has made all its jobs. */
  readonly times?: number
  readonly policy: ForeignPolicy
  readonly leftOut?: string
  readonly without?: string
}

/** `remedy`: what the caller can do, where it would be lost otherwise. */
export type ForeignRest = {
  readonly why: string
  readonly name: string
  readonly count: number
  readonly remedy?: string
}

/** A job that a worker has in hand; or had, when it died. */
export const ACTIVE_THERE = {
  why: 'it is active there',
  remedy: 'let a worker there finish it, then import again',
} as const
