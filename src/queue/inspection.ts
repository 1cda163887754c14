/** Looking at messages, and moving many of them, page by page: no single call to the store is unbounded. */
import { decodePayload, decodePolicy } from '../core/encoding/codec.ts'
import { priorityName, type MessageState, type Priority } from '../core/message.ts'
import { makeCursor, type ParsedList } from '../core/input/questions.ts'
import type { ParsedFilter } from '../core/input/request.ts'
import type { Store, StoredMessage } from '../store/contract/store.ts'

export type FoundMessage = {
  readonly id: string
  readonly topic: string
  readonly payload: unknown
  readonly state: MessageState
  readonly priority: Priority
  /** Epoch milliseconds. A retry moves it. */
  readonly dueAt: number
  /** The moment last set by produce, reschedule or revive, in epoch milliseconds. */
  readonly firstDueAt: number
  /** When the store took it, in epoch milliseconds. Absent where the engine does not know. */
  readonly producedAt?: number
  /** Attempts so far, with the one that runs. */
  readonly attempt: number
  /** How many attempts in a row ended without an answer: their workers died, or were cut off. */
  readonly lapses: number
  readonly ttlMs?: number
  /** Of the last failed attempt. */
  readonly error?: string
  /** Running: until when its worker has it, unless it extends. */
  readonly leaseEndsAt?: number
  /** Running: its worker, as `workers` names it. */
  readonly owner?: string
  /** Running: since when its worker has it, in epoch milliseconds. */
  readonly runningSince?: number
  /** Dead: why, and since when. */
  readonly reason?: string
  readonly diedAt?: number
  /** Present when the stored text is no JSON: that text. */
  readonly unreadable?: string
}

export type MessagePage = {
  readonly items: readonly FoundMessage[]
  /** Present when there may be more: give it to the next call. */
  readonly cursor?: string
  /** How many messages the store looked at for this page. */
  readonly scanned: number
}

export async function find(store: Store, id: string): Promise<FoundMessage | undefined> {
  const [found] = (await store.inspect({ ids: [id] })).items
  return found === undefined ? undefined : present(found)
}

/** One page, perhaps across several states; never more than one call per state. */
export async function list(
  store: Store,
  { states, search, limit, cursor }: ParsedList,
): Promise<MessagePage> {
  const items: FoundMessage[] = []
  let scanned = 0
  let inner = cursor
  for (const [i, state] of states.entries()) {
    const page = await store.inspect({
      ...search,
      state,
      limit: Math.min(limit - items.length, store.capabilities.batchMax),
      ...(inner === undefined ? {} : { cursor: inner }),
    })
    scanned += page.scanned
    items.push(...page.items.map(present))
    if (page.cursor !== undefined) return { items, cursor: makeCursor(state, page.cursor), scanned }
    inner = undefined
    const next = states[i + 1]
    if (items.length === limit && next !== undefined) {
      return { items, cursor: makeCursor(next, undefined), scanned }
    }
  }
  return { items, scanned }
}

/** Messages may die again meanwhile: no more are revived than were dead when it began, so that it ends. */
export async function revive(store: Store, filter: ParsedFilter): Promise<number> {
  const most = 'ids' in filter ? Infinity : await countDead(store, filter.topic)
  let revived = 0
  for await (const ids of batches(store, filter)) {
    const results = await store.revive(ids.slice(0, most - revived))
    revived += results.filter((result) => result === 'revived').length
    if (revived >= most) break
  }
  return revived
}

async function countDead(store: Store, topic: string | undefined): Promise<number> {
  if (topic === undefined) return (await store.count()).states.dead
  const { topics } = await store.countTopics({ topics: [topic] })
  return topics[topic]?.dead ?? 0
}

export async function purge(store: Store, filter: ParsedFilter): Promise<number> {
  let removed = 0
  for await (const ids of batches(store, filter)) {
    for (const from of placesFor(filter)) {
      removed += (await store.remove(ids, from)).filter((result) => result === 'removed').length
    }
  }
  return removed
}

/** Ids may be of either kind; what is removed in the first round is missing in the second. */
function placesFor(filter: ParsedFilter): readonly ('waiting' | 'dead')[] {
  if ('ids' in filter) return ['waiting', 'dead']
  return filter.state === 'dead' ? ['dead'] : ['waiting']
}

const BATCH = 500

async function* batches(store: Store, filter: ParsedFilter): AsyncGenerator<readonly string[]> {
  const size = Math.min(BATCH, store.capabilities.batchMax)
  if ('ids' in filter) {
    for (let from = 0; from < filter.ids.length; from += size) yield filter.ids.slice(from, from + size)
    return
  }
  const { state, topic } = filter
  let cursor: string | undefined
  do {
    const page = await store.inspect({
      state,
      limit: size,
      ...(topic === undefined ? {} : { topic }),
      ...(cursor === undefined ? {} : { cursor }),
    })
    if (page.items.length > 0) yield page.items.map(({ id }) => id)
    cursor = page.cursor
  } while (cursor !== undefined)
}

function present(message: StoredMessage): FoundMessage {
  const { id, topic, state, dueAt, firstDueAt, producedAt, attempt, lapses, error, reason, until } = message
  const ttlMs = decodePolicy(message.meta)?.ttlMs
  return {
    id,
    topic,
    ...readPayload(message.body),
    state,
    priority: priorityName(message.priority),
    dueAt,
    firstDueAt,
    ...(producedAt === 0 ? {} : { producedAt }),
    attempt,
    lapses,
    ...(ttlMs === undefined ? {} : { ttlMs }),
    ...(error === '' ? {} : { error }),
    ...(state === 'running' ? { leaseEndsAt: until } : {}),
    ...(message.owner === '' ? {} : { owner: message.owner, runningSince: message.leasedAt }),
    ...(state === 'dead' ? { reason, diedAt: until } : {}),
  }
}

function readPayload(body: string): { payload: unknown; unreadable?: string } {
  try {
    return { payload: decodePayload(body) }
  } catch {
    return { payload: undefined, unreadable: body } // One broken message must not hide the others.
  }
}
