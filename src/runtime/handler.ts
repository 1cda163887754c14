/** What users write: a handler, and the message it is given. */
import type { Duration } from '../core/input/duration.ts'
import type { HandleOptions } from '../core/input/handle-options.ts'
import type { Received, Sendable } from '../core/input/payload.ts'
import type { FollowUpOptions } from '../core/input/request.ts'
import type { TransactionHandle } from '../core/input/transaction.ts'

/** `Topics`: what may be attached as follow-up, by topic. */
export type Message<Payload = unknown, Topics extends object = Record<string, unknown>> = {
  readonly id: string
  readonly topic: string
  readonly payload: Payload
  /** As they were produced; empty where it has none. */
  readonly tags: readonly string[]
  /** Whose it is, as it was produced; undefined where it has no key. */
  readonly key?: string | undefined
  /** Epoch milliseconds. */
  readonly dueAt: number
  /** From `dueAt` to the start of the handler. */
  readonly latenessMs: number
  /** 1 for the first. */
  readonly attempt: number
  /** Aborts at the timeout, at the end of a stop, and when the lease was lost: work done after that may be repeated. */
  readonly signal: AbortSignal
  /**
   * More time: the timeout begins anew (with `by`, if given) and the lease is renewed at once. False when the lease
   * is lost. Leases are kept alive anyway; this is for a handler that is slow and knows it.
   */
  readonly extend: (by?: Duration) => Promise<boolean>
  /**
   * Says that the work is done: from now on this attempt completes however it ends, be it with an error, after its
   * timeout, or during a stop. For a handler whose last steps may be cut off without harm.
   *
   * With your own transaction (SQL engines only): the message, and what was attached until now, completes with its commit,
   * so that what the handler wrote in it happens once. Rejects with LEASE_LOST: then roll back. Afterwards only the commit
   * counts: an attempt that ends without it has failed.
   */
  readonly complete: {
    (): void
    (options: { readonly transaction: TransactionHandle }): Promise<void>
  }
  /**
   * Produces a message if and only if this attempt completes, in the same step (P15). Resolves to its id once it was
   * checked; one that is refused fails the attempt. At most 100, and as many bytes as the store takes at once.
   */
  readonly followUp: <K extends keyof Topics & string>(
    topic: K,
    ...[payload, options]: ProduceArguments<Topics[K], FollowUpOptions>
  ) => Promise<string>
}

/** The payload may be left out where `undefined` is one. */
export type ProduceArguments<Payload, Options> = undefined extends Payload
  ? [payload?: Payload, options?: Options]
  : [payload: Payload, options?: Options]

/** Return: done. Throw: retried by policy; `RetryIn`, `Snooze` and `DeadLetter` steer. */
export type Handler<Payload = unknown, Topics extends object = Record<string, unknown>> = (
  message: Message<Payload, Topics>,
) => unknown

type TopicHandler<T, K extends keyof T> = Handler<Received<T[K]>, { [Topic in keyof T]: Sendable<T[Topic]> }>

/** The handlers of a module for `punctual work`: by topic, each alone or with its options. */
export type Handlers<T extends object = Record<string, unknown>> = {
  readonly [K in keyof T & string]?:
    TopicHandler<T, K> | (HandleOptions & { readonly handler: TopicHandler<T, K> })
}
