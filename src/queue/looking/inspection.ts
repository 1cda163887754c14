/** Looking at messages, page by page: no single call to the store is unbounded. */
import { decodePayload, decodePolicy } from '../../core/encoding/codec.ts'
import { messageIn } from '../../core/machines/outcome.ts'
import { retryOptionsOf, type RetryOptions } from '../../core/input/handle-options.ts'
import { priorityName, type Priority, type RememberedOutcome, type ShownState } from '../../core/message.ts'
import { makeCursor, type ParsedList } from '../../core/input/questions.ts'
import type { SaidWhen } from '../../core/windows/local.ts'
import type { TimeWindow } from '../../core/windows/windows.ts'
import type { Page, Store, StoredMessage, Successor } from '../../store/contract/store.ts'
import { Gaps } from './gaps.ts'

export type FoundMessage = {
  readonly id: string
  readonly topic: string
  readonly payload: unknown
  /** `completed`: it is done, and its id is remembered; the payload is gone. */
  readonly state: ShownState
  readonly priority: Priority
  /** What it belongs to, as it was produced. Absent where there is none. */
  readonly tags?: readonly string[]
  /** Whose it is, as it was produced. Absent where it has none. */
  readonly key?: string
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
  /** How long one attempt may take. Absent: that of its handler holds. */
  readonly timeoutMs?: number
  /** How long its id stays taken after it is done. */
  readonly rememberMs?: number
  /** When it may start, as it was produced. Absent: at any time, or as its handler says. */
  readonly within?: readonly TimeWindow[]
  /** What was said of its moment when it was produced, where that was a local time, or working days. */
  readonly said?: SaidWhen
  /** The moment that was asked for when it was produced, if its window moved it: epoch milliseconds. */
  readonly movedFrom?: number
  /** Its own, as `produce` takes it, with durations in milliseconds. Absent: that of its handler holds. */
  readonly retry?: RetryOptions
  /** Of the last failed attempt. */
  readonly error?: string
  /** What `error` says, without its stack. */
  readonly errorMessage?: string
  /** Running: until when its worker has it, unless it extends. */
  readonly leaseEndsAt?: number
  /** Running: its worker, as `workers` names it. */
  readonly owner?: string
  /** Running: since when its worker has it, in epoch milliseconds. */
  readonly runningSince?: number
  /** Running: it was cancelled with `{ running: true }`, and is gone when its handler ends. */
  readonly isCancelling?: true
  /** Running: what replaced it meanwhile, and takes its place when this attempt ends. */
  readonly successor?: FoundSuccessor
  /** Dead: why, and since when. */
  readonly reason?: string
  readonly diedAt?: number
  /** Completed: how it ended, what its handler returned, and until when its id is taken, in epoch milliseconds. */
  readonly outcome?: RememberedOutcome
  readonly result?: unknown
  readonly rememberedUntil?: number
  /** Present when the stored text is no JSON: that text. */
  readonly unreadable?: string
}

export type FoundSuccessor = Pick<
  FoundMessage,
  'topic' | 'payload' | 'priority' | 'tags' | 'key' | 'dueAt' | 'producedAt' | 'unreadable'
>

export type MessagePage = {
  readonly items: readonly FoundMessage[]
  /** Present when there may be more: give it to the next call. */
  readonly cursor?: string
  /** How many messages the store looked at for this page. */
  readonly scanned: number
  /** Partitions that did not answer, by name: what they hold is not listed. Absent where all did. */
  readonly missing?: readonly string[]
}

export async function find(store: Store, id: string): Promise<FoundMessage | undefined> {
  const [found] = (await store.inspect({ ids: [id] })).items
  return found === undefined ? undefined : presentMessage(found)
}

export async function list(store: Store, parsed: ParsedList): Promise<MessagePage> {
  const page = await listStored(store, parsed)
  return { ...page, items: page.items.map((item) => presentMessage(item)) }
}

/** One page as it is stored, perhaps across several states; never more than one call for each of them. */
export async function listStored(store: Store, parsed: ParsedList): Promise<Page> {
  if ('ids' in parsed) return listIds(store, parsed.ids)
  const { walks, search, limit, cursor } = parsed
  const items: StoredMessage[] = []
  const gaps = new Gaps()
  let scanned = 0
  let inner = cursor
  for (const [i, walk] of walks.entries()) {
    const page = await store.inspect({
      ...search,
      ...walk,
      limit: Math.min(limit - items.length, store.capabilities.batchMax),
      ...(inner === undefined ? {} : { cursor: inner }),
    })
    scanned += page.scanned
    gaps.note(page)
    items.push(...page.items)
    if (page.cursor !== undefined)
      return { items, cursor: makeCursor(walk, page.cursor), scanned, ...gaps.shown }
    inner = undefined
    const next = walks[i + 1]
    if (items.length === limit && next !== undefined) {
      return { items, cursor: makeCursor(next, undefined), scanned, ...gaps.shown }
    }
  }
  return { items, scanned, ...gaps.shown }
}

async function listIds(store: Store, ids: readonly string[]): Promise<Page> {
  const { batchMax } = store.capabilities
  const items: StoredMessage[] = []
  for (let from = 0; from < ids.length; from += batchMax) {
    const page = await store.inspect({ ids: ids.slice(from, from + batchMax) })
    items.push(...page.items.filter(({ state }) => state !== 'completed'))
  }
  return { items, scanned: ids.length }
}

type ReadBody = { readonly payload: unknown; readonly unreadable?: string }

/** `read`: its payload, where the caller has another use for the stored text. */
export function presentMessage(
  message: StoredMessage,
  read: ReadBody = readPayload(message.body),
): FoundMessage {
  const { id, topic, state, dueAt, firstDueAt, producedAt, attempt, lapses, error, reason, until } = message
  const { ttlMs, timeoutMs, rememberMs, retry, within, said, movedFrom } = decodePolicy(message.meta) ?? {}
  return {
    id,
    topic,
    ...read,
    state,
    priority: priorityName(message.priority),
    ...(message.tags.length === 0 ? {} : { tags: message.tags }),
    ...(message.key === undefined ? {} : { key: message.key }),
    dueAt,
    firstDueAt,
    ...(producedAt === 0 ? {} : { producedAt }),
    attempt,
    lapses,
    ...(ttlMs === undefined ? {} : { ttlMs }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(rememberMs === undefined ? {} : { rememberMs }),
    ...(within === undefined ? {} : { within }),
    ...(said === undefined ? {} : { said }),
    ...(movedFrom === undefined ? {} : { movedFrom }),
    ...(retry === undefined ? {} : { retry: retryOptionsOf(retry) }),
    ...(error === '' ? {} : { error, errorMessage: messageIn(error) }),
    ...(state === 'running' ? { leaseEndsAt: until } : {}),
    ...(message.owner === '' ? {} : { owner: message.owner, runningSince: message.leasedAt }),
    ...(message.isCancelling === true ? { isCancelling: true } : {}),
    ...(message.successor === undefined ? {} : { successor: presentSuccessor(message.successor) }),
    ...(state === 'dead' ? { reason, diedAt: until } : {}),
    ...(state === 'completed' ? presentEnd(message) : {}),
  }
}

function presentSuccessor({
  topic,
  body,
  priority,
  tags,
  key,
  dueAt,
  producedAt,
}: Successor): FoundSuccessor {
  return {
    topic,
    ...readPayload(body),
    priority: priorityName(priority),
    ...(tags.length === 0 ? {} : { tags }),
    ...(key === undefined ? {} : { key }),
    dueAt,
    producedAt,
  }
}

function presentEnd({
  outcome = 'completed',
  result = '',
  until,
}: StoredMessage): Pick<FoundMessage, 'outcome' | 'result' | 'rememberedUntil'> {
  const { payload, unreadable } = readPayload(result)
  const value = unreadable ?? payload
  return { outcome, ...(value === undefined ? {} : { result: value }), rememberedUntil: until }
}

function readPayload(body: string): ReadBody {
  try {
    return { payload: decodePayload(body) }
  } catch {
    return { payload: undefined, unreadable: body } // One broken message must not hide the others.
  }
}
