/** One message of the model, and how it looks from outside. */
import type { MessageState } from '../../src/core/message.ts'
import type * as contract from '../../src/store/contract/store.ts'

export type ModelLease = {
  readonly token: string
  readonly owner: string
  readonly since: number
  readonly isTakenOver: boolean
  endsAt: number
}

export type ModelSuccessor = {
  readonly message: contract.NewMessage
  readonly dueAt: number
  readonly producedAt: number
}

export type ModelEntry = {
  message: contract.NewMessage
  readonly order: number
  readonly producedAt: number
  place: 'waiting' | 'running' | 'dead'
  dueAt: number
  firstDueAt: number
  attempt: number
  lapses: number
  held: ModelLease | undefined
  /** While it runs: what takes its place, and whether it is to be cancelled. */
  successor: ModelSuccessor | undefined
  isCancelling: boolean
  /** While it waits: it holds its key, which was serial. */
  isHolding: boolean
  error: string
  reason: string
  diedAt: number
  /** How many deaths the store had seen before this one. */
  deathsBefore: number
}

export function freshEntry(message: contract.NewMessage, order: number, producedAt: number): ModelEntry {
  return {
    message,
    order,
    producedAt,
    place: 'waiting',
    dueAt: 0,
    firstDueAt: 0,
    attempt: 0,
    lapses: 0,
    held: undefined,
    successor: undefined,
    isCancelling: false,
    isHolding: false,
    error: '',
    reason: '',
    diedAt: 0,
    deathsBefore: 0,
  }
}

export function stateOf({ place, dueAt }: ModelEntry, now: number): MessageState {
  if (place !== 'waiting') return place
  return dueAt <= now ? 'ready' : 'delayed'
}

export function storedMessage(entry: ModelEntry, now: number): contract.StoredMessage {
  const { id, topic, body, meta, tags = [], key, priority } = entry.message
  const { dueAt, firstDueAt, producedAt, attempt, lapses, error, reason, held } = entry
  return {
    id,
    topic,
    body,
    meta,
    tags,
    ...(key === undefined ? {} : { key }),
    priority,
    state: stateOf(entry, now),
    dueAt,
    firstDueAt,
    producedAt,
    attempt,
    lapses,
    error,
    reason,
    until: held?.endsAt ?? (entry.place === 'dead' ? entry.diedAt : 0),
    owner: held?.owner ?? '',
    leasedAt: held?.since ?? 0,
    ...(entry.isCancelling ? { isCancelling: true } : {}),
    ...(entry.successor === undefined ? {} : { successor: shownSuccessor(entry.successor) }),
  }
}

function shownSuccessor({ message, dueAt, producedAt }: ModelSuccessor): contract.Successor {
  const { topic, body, meta, tags = [], key, priority } = message
  return { topic, body, meta, tags, ...(key === undefined ? {} : { key }), priority, dueAt, producedAt }
}

/** What stays of one that is done. */
export function rememberedMessage(
  entry: ModelEntry,
  { ms, outcome, result }: contract.Remember,
  now: number,
): contract.StoredMessage {
  const emptied = { body: '', meta: '', tags: [], lapses: 0, error: '', reason: '', owner: '', leasedAt: 0 }
  const { successor: _successor, isCancelling: _isCancelling, ...stored } = storedMessage(entry, now)
  return { ...stored, ...emptied, state: 'completed', until: now + ms, outcome, result }
}
