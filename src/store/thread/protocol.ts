/**
 * What travels between the two sides of an engine's thread. All calls of one turn of the caller's event loop go in one
 * message, all answers of one turn of the thread in another.
 */
import type { WakeUp } from '../../core/machines/sleep.ts'

export type ThreadCall = {
  readonly n: number
  readonly queue: string
  readonly verb: string
  readonly args: readonly unknown[]
  /** How much work it is; groups are cut by both. */
  readonly entries: number
  readonly bytes: number
  /** The caller's time, where it has a clock of its own. Otherwise the thread reads the system's when it runs the call. */
  readonly now: number | undefined
}

/** The verb that ends the thread. */
export const END = 'end'

export type ThreadReply = readonly [n: number, value: unknown, error?: ErrorParts]

/** Something in this queue may be due sooner, or a control changed. `giver`: all of it was released by this owner. */
export type Wake = WakeUp & { readonly queue: string; readonly giver?: string }

/** The first one has nothing in it, and says that the thread has started. */
export type ThreadAnswers = { readonly replies: readonly ThreadReply[]; readonly wakes: readonly Wake[] }

/** An error of ours in pieces: its class does not survive the way between threads. */
export type ErrorParts = {
  readonly kind: 'usage' | 'unavailable' | 'invariant'
  readonly code: string
  readonly message: string
  readonly value?: string | number
  readonly cause?: string
}

/** What the thread is given when it starts. `standing` belongs to `standing.ts`. */
export type ThreadData<T = unknown> = {
  readonly standing: Int32Array
  readonly callMs: number
  readonly options: T
}
