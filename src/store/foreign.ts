/** Queues of other packages, as they are read where they are imported from. Who reads which: `foreign/` of an engine. */
import type { PriorityRank } from '../core/message.ts'

export type ForeignPlace = {
  readonly queue: string
  readonly prefix: string
  /** `taken` will be said of what is imported: no worker there may get it before. */
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
