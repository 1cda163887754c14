/**
 * Rows of a message table as the contract's messages and leases. Numbers are microseconds where they are moments.
 *
 * What SQL engines share is in this folder; nothing in it writes a statement. A dialect has a folder of its own beside it,
 * and brings:
 *
 *   tables       one of messages, whose columns are those below: what they mean in each state stands in its `sql/tables`;
 *                counts, controls with a revision, workers, figures, the version of the schema
 *   verbs        each atomic; rows are locked in the order of ids, or skipped where a user's open transaction has them
 *   connections  by `store/link`: how one is opened, what its errors mean (`server/refusals`), which of them are repeated
 *   server       how it is asked without a store, and migrated: `server/server`, `server/migrating`
 *   wake-ups     a way to tell sleepers of other processes after the commit: a `SqlListener` of `wakeups/wakeups`
 *   joined       the verbs that go through a client of the user's own (`replies` reads its answers)
 *
 * and uses:
 *
 *   micros         moments and delays as columns     floors       where a claim begins to look
 *   tokens         the fence of a lease              claiming     a claim with and without pauses and limits
 *   presence       when a claim tells who asks       gating       what these leave of it
 *   queue-number   by which tables know a queue      controlling  how they are changed
 *   upkeep         what is done after writes         wakeups/     who is woken, and whether rings arrive
 */
import type { PriorityRank, RememberedOutcome, ShownState } from '../../core/message.ts'
import type { Lease, StoredMessage, Successor } from '../contract/store.ts'
import { toMs } from './micros.ts'

export type LeaseRow = {
  readonly id: string
  readonly topic: string
  readonly priority: number
  readonly due_at: number
  readonly first_due_at: number | null
  readonly attempt: number
  readonly lapses: number
  readonly meta: string
  readonly body: string
  readonly key?: string | null
}

export type SeenRow = LeaseRow & {
  readonly state: number
  readonly produced_at: number
  readonly error: string | null
  readonly reason: string | null
  readonly until: number | null
  readonly owner: string | null
  readonly leased_at: number | null
  readonly tags: readonly string[] | null
  readonly is_cancelling: boolean | null
  readonly successor: unknown
}

/** As JSON in a column of the message that runs. */
export type SuccessorColumn = Pick<LeaseRow, 'topic' | 'body' | 'meta' | 'key' | 'priority' | 'due_at'> & {
  readonly tags: readonly string[]
  readonly produced_at: number
}

export function toLease(row: LeaseRow, token: string, now: number): Lease {
  const { id, topic, body, meta, due_at, attempt, lapses } = row
  return {
    id,
    token,
    topic,
    body,
    meta,
    ...keyOf(row),
    priority: row.priority as PriorityRank,
    dueAt: toMs(due_at),
    firstDueAt: toMs(row.first_due_at ?? due_at),
    attempt,
    lapses,
    latenessMs: toMs(now - due_at),
  }
}

export function toStored(row: SeenRow, now: number): StoredMessage {
  const { id, topic, body, meta, due_at, attempt, lapses } = row
  const state = stateOf(row, now)
  const isDone = state === 'completed'
  return {
    id,
    topic,
    body,
    meta,
    tags: row.tags ?? [],
    ...keyOf(row),
    priority: row.priority as PriorityRank,
    state,
    dueAt: toMs(due_at),
    firstDueAt: toMs(row.first_due_at ?? due_at),
    producedAt: toMs(row.produced_at),
    attempt,
    lapses: isDone ? 0 : lapses,
    error: isDone ? '' : (row.error ?? ''),
    reason: isDone ? '' : (row.reason ?? ''),
    until: toMs(row.until ?? 0),
    owner: row.owner ?? '',
    leasedAt: toMs(row.leased_at ?? 0),
    ...(row.is_cancelling === true ? { isCancelling: true } : {}),
    ...(isSound(row.successor) ? { successor: toSuccessor(row.successor) } : {}),
    ...(isDone ? { outcome: (row.reason ?? '') as RememberedOutcome, result: row.error ?? '' } : {}),
  }
}

/** One that somebody changed by hand counts as not there. */
export function isSound(value: unknown): value is SuccessorColumn {
  if (typeof value !== 'object' || value === null) return false
  const { topic, body, meta, tags, priority, due_at, produced_at } = value as Partial<SuccessorColumn>
  const texts = [topic, body, meta, ...(Array.isArray(tags) ? tags : [undefined])]
  const numbers = [priority, due_at, produced_at]
  return texts.every((one) => typeof one === 'string') && numbers.every((one) => typeof one === 'number')
}

function toSuccessor(column: SuccessorColumn): Successor {
  const { topic, body, meta, tags, due_at, produced_at } = column
  const priority = column.priority as PriorityRank
  const moments = { dueAt: toMs(due_at), producedAt: toMs(produced_at) }
  return { topic, body, meta, tags, ...keyOf(column), priority, ...moments }
}

function keyOf({ key }: Pick<LeaseRow, 'key'>): { readonly key?: string } {
  return typeof key === 'string' ? { key } : {}
}

function stateOf({ state, due_at }: SeenRow, now: number): ShownState {
  if (state === 0 || state === 4) return due_at > now ? 'delayed' : 'ready'
  if (state === 3) return 'completed'
  return state === 1 ? 'running' : 'dead'
}
