/**
 * The contract between punctual and an engine, in three parts by who calls: the runtime (`runtime.ts`), people who look
 * and steer (`people.ts`), operators (`operators.ts`).
 *
 * Every verb is batched, atomic per call, and bounded in entries and bytes. An engine keeps and moves messages; it
 * decides nothing: whether a failure is retried, and when, is settled in `core/machines/outcome` and arrives here as a finished
 * answer. Only durations cross this line, so that skewed clocks cannot disagree; the absolute values going in are a
 * user's own moments (`at`, the edges of a forecast). All comparisons with "now" use the store's own clock.
 *
 * Results come back in the order of the entries. A call that rejects with `UnavailableError` may or may not have taken
 * effect; the runtime repeats what is safe to repeat. What an engine does not offer (`capabilities.features`) it rejects
 * with UNSUPPORTED.
 *
 * The conformance suite in `punctual/testing` is this text in executable form.
 */
import type { Capabilities } from './capabilities.ts'
import type { OperatorVerbs } from './operators.ts'
import type { Partitions } from './partitions.ts'
import type { PeopleVerbs } from './people.ts'
import type { RuntimeVerbs } from './runtime.ts'

export interface Store extends RuntimeVerbs, PeopleVerbs, OperatorVerbs {
  readonly capabilities: Capabilities
  /** Only of a queue that is spread over several stores; its own verbs then reach all of them, each for itself. */
  readonly partitions?: Partitions

  /** Called before any other verb; again is fine, and does nothing. */
  open(): Promise<void>
  /** Ends every connection; calls under way reject with STORE_CLOSED. Idempotent; never hangs. */
  close(): Promise<void>
}

export type * from './capabilities.ts'
export type * from './operators.ts'
export type * from './partitions.ts'
export type * from './people.ts'
export type * from './runtime.ts'
