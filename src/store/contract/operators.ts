/** What operators ask of an engine: is it well, a copy of it, and what it takes to move a queue to another one. */
import type { ShownState } from '../../core/message.ts'
import type { Page, StoredMessage } from './people.ts'

export interface OperatorVerbs {
  /** What an operator should know about this store, worst first. */
  doctor(): Promise<Finding[]>
  /** Makes a copy that can be opened in its place, while the store is in use. */
  backup(directory: string): Promise<void>
  /** One page of what is remembered of messages that are done, as `inspect` shows it by id. What stays appears once. */
  remembered(query: RememberedQuery): Promise<Page>
  /**
   * Places messages as another store showed them: with their attempts, failures and moments; dead ones dead, remembered
   * ones remembered. Those that wait are in produce order as given, and wake. An id that is taken, by a message or by what
   * is remembered, stays as it is. Moments are whole milliseconds.
   */
  restore(messages: readonly RestoredMessage[]): Promise<RestoreResult[]>
}

export type RememberedQuery = { readonly limit: number; readonly cursor?: string }

export type RestoredMessage = Omit<
  StoredMessage,
  'state' | 'owner' | 'leasedAt' | 'isCancelling' | 'successor'
> & {
  /** `delayed` and `ready` alike: only the clock tells them apart. */
  readonly state: Exclude<ShownState, 'running'>
}

export type RestoreResult = 'restored' | 'taken'

export type Finding = {
  readonly level: 'problem' | 'warning' | 'fine'
  readonly what: string
  readonly remedy?: string
}
