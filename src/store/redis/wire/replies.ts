/**
 * The scripts' replies as the contract wants them. A reply comes from a script of ours, so that its shape is known;
 * only the shape of the outermost list is checked, because a proxy or an older library might change it.
 */
import { invariant } from '../../../core/errors.ts'
import type { MessageState } from '../../../core/message.ts'
import type {
  ClaimReply,
  Counts,
  Lease,
  Next,
  PutResult,
  SettleResult,
  StoredMessage,
  TopicCounts,
} from '../../contract/store.ts'
import { decodePayload, decodeTail } from './payload.ts'
import { makeToken, tokenPrefix } from './tokens.ts'

const GROUP_FIELDS = 4
const STORED_FIELDS = 9

export function words<Word extends string>(reply: unknown): Word[] {
  invariant(Array.isArray(reply), 'a script answers with a list')
  return reply as Word[]
}

/** The answers to a put: `stored`, but for those that the reply names by their place. */
export function putResults(count: number, reply: unknown): PutResult[] {
  const exceptions = words<never>(reply) as (number | PutResult)[]
  const results = Array.from({ length: count }, (): PutResult => 'stored')
  for (let at = 0; at < exceptions.length; at += 2) {
    results[(exceptions[at] as number) - 1] = exceptions[at + 1] as PutResult
  }
  return results
}

/** The answers to a settlement: `settled`, but for those that the reply names by their place. */
export function settleResults(count: number, reply: unknown): SettleResult[] {
  const results = Array.from({ length: count }, (): SettleResult => 'settled')
  for (const place of words<never>(reply) as number[]) results[place - 1] = 'lost'
  return results
}

export type Claimed = ClaimReply & { readonly orphans: number }

type ClaimParts = [
  now: string,
  next: string,
  claim: string,
  orphans: number,
  names: string[],
  groups: readonly (number | string)[],
  ids: readonly string[],
  payloads: readonly string[],
]

/** What the messages of one group share; `first` is the place of its first message. */
type Group = {
  readonly topic: string
  readonly dueAt: number
  readonly attempt: number
  readonly first: number
}

/** `wanted`: the topics that were asked for, in that order; without them the reply brings the names. */
export function decodeClaim(reply: unknown, wanted?: readonly string[]): Claimed {
  invariant(Array.isArray(reply) && reply.length === 8, 'a claim answers with eight values')
  const [nowText, nextText, claim, orphans, names, groups, ids, payloads] = reply as ClaimParts
  const now = Number(nowText)
  const prefix = tokenPrefix(claim)
  const leases: Lease[] = []
  for (let at = 0; at < groups.length; at += GROUP_FIELDS) {
    const group = decodeGroup(groups, at, wanted ?? names)
    const end = (groups[at + GROUP_FIELDS + 3] ?? ids.length) as number
    for (let place = group.first; place < end; place += 1) {
      leases.push(decodeLease(ids[place] as string, payloads[place] as string, prefix, group, now))
    }
  }
  return { leases, next: decodeNext(nextText), orphans }
}

function decodeGroup(groups: readonly (number | string)[], at: number, topics: readonly string[]): Group {
  return {
    topic: topics[groups[at] as number] as string,
    dueAt: Number(groups[at + 1]),
    attempt: groups[at + 2] as number,
    first: groups[at + 3] as number,
  }
}

function decodeLease(id: string, payload: string, prefix: string, group: Group, now: number): Lease {
  const { topic, dueAt, attempt } = group
  const { priority, meta, body } = decodePayload(payload)
  const token = makeToken(prefix, payload)
  return {
    id,
    token,
    topic,
    body,
    meta,
    priority,
    dueAt,
    firstDueAt: dueAt,
    attempt,
    lapses: 0,
    latenessMs: now - dueAt,
  }
}

function decodeNext(text: string): Next {
  if (text === 'NO_TASK' || text === 'EXPIRED') return { state: text }
  const ms = Number(text)
  // A moment at infinity, as Redis writes it, never comes.
  return Number.isFinite(ms) ? { state: 'WAITING', ms } : { state: 'NO_TASK' }
}

export function decodeStored(rows: unknown): StoredMessage[] {
  invariant(Array.isArray(rows), 'an inspection answers with rows')
  const items: StoredMessage[] = []
  for (let at = 0; at < rows.length; at += STORED_FIELDS) items.push(decodeRow(rows, at))
  return items
}

function decodeRow(rows: readonly unknown[], at: number): StoredMessage {
  const { priority, meta, body } = decodeTail(rows[at + 8] as string)
  return {
    id: rows[at] as string,
    topic: rows[at + 1] as string,
    body,
    meta,
    priority,
    state: rows[at + 2] as MessageState,
    dueAt: rows[at + 3] as number,
    firstDueAt: rows[at + 3] as number,
    producedAt: 0,
    lapses: 0,
    owner: '',
    attempt: rows[at + 4] as number,
    error: rows[at + 5] as string,
    reason: rows[at + 6] as string,
    until: rows[at + 7] as number,
  }
}

export function decodeCounts(reply: unknown): Counts & { topics: Record<string, TopicCounts> } {
  invariant(Array.isArray(reply), 'a count answers with a list')
  const [delayed, ready, running, dead, earliest, ...rest] = reply as [number, number, number, number, string]
  const states = { delayed, ready, running, dead }
  const topics = topicCounts(rest)
  return { states, isExact: true, topics, ...(earliest === '' ? {} : { nextDueAt: Number(earliest) }) }
}

function topicCounts(rest: readonly unknown[]): Record<string, TopicCounts> {
  const entries: [string, TopicCounts][] = []
  for (let at = 0; at < rest.length; at += 4) {
    const [name, waiting, running, dead] = rest.slice(at, at + 4) as [string, number, number, number]
    entries.push([name, { waiting, running, dead }])
  }
  // fromEntries, because a topic may be called "__proto__".
  return Object.fromEntries(entries)
}
