/**
 * The scripts' replies as the contract wants them. A reply comes from a script of ours, so that its shape is known;
 * only the shape of the outermost list is checked, because a proxy or an older library might change it.
 */
import { invariant } from '../../core/errors.ts'
import type { MessageState } from '../../core/message.ts'
import type { ClaimReply, Counts, Lease, Next, StoredMessage, TopicCounts } from '../store.ts'
import { decodeTail } from './tail.ts'

const LEASE_FIELDS = 5
const STORED_FIELDS = 9

export function words<Word extends string>(reply: unknown): Word[] {
  invariant(Array.isArray(reply), 'a script answers with a list')
  return reply as Word[]
}

export type Claimed = ClaimReply & { readonly orphans: number }

export function decodeClaim(reply: unknown): Claimed {
  invariant(Array.isArray(reply) && reply.length === 5, 'a claim answers with five values')
  const [nowText, nextText, token, orphans, rows] = reply as [string, string, string, number, unknown[]]
  const now = Number(nowText)
  const leases: Lease[] = []
  for (let at = 0; at < rows.length; at += LEASE_FIELDS) leases.push(decodeLease(rows, at, token, now))
  return { leases, next: decodeNext(nextText), orphans }
}

function decodeLease(rows: readonly unknown[], at: number, token: string, now: number): Lease {
  const dueAt = rows[at + 2] as number
  const { priority, meta, body } = decodeTail(rows[at + 4] as string)
  return {
    id: rows[at] as string,
    token,
    topic: rows[at + 1] as string,
    body,
    meta,
    priority,
    dueAt,
    attempt: rows[at + 3] as number,
    latenessMs: now - dueAt,
  }
}

function decodeNext(text: string): Next {
  if (text === 'NO_TASK' || text === 'EXPIRED') return { state: text }
  return { state: 'WAITING', ms: Number(text) }
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
    attempt: rows[at + 4] as number,
    error: rows[at + 5] as string,
    reason: rows[at + 6] as string,
    until: rows[at + 7] as number,
  }
}

export function decodeCounts(reply: unknown): Counts {
  invariant(Array.isArray(reply), 'a count answers with a list')
  const [delayed, ready, running, dead, earliest, ...rest] = reply as [number, number, number, number, string]
  const states = { delayed, ready, running, dead }
  const topics = topicCounts(rest)
  return earliest === '' ? { states, topics } : { states, topics, nextDueAt: Number(earliest) }
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
