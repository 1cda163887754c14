/** Looking at the memory engine without changing it: single messages, pages and counts. */
import { decodeCursor, encodeCursor } from '../../core/cursor.ts'
import type { MessageState } from '../../core/message.ts'
import type { Counts, InspectQuery, Page, StoredMessage, TopicCounts } from '../contract/store.ts'
import type { Leases } from './leases.ts'
import { RUNNING, WAITING, type MessageTable } from './table.ts'
import type { Waiting } from './waiting.ts'

/** How many slots one page looks at before it is handed out short. */
const SCAN_MAX = 10_000

export type Parts = {
  readonly table: MessageTable
  readonly waiting: Waiting
  readonly leases: Leases
}

export function inspect(parts: Parts, query: InspectQuery, now: number): Page {
  if (!('ids' in query)) return page(parts, query, now)
  const items: StoredMessage[] = []
  for (const id of query.ids) {
    const slot = parts.table.slotOf(id)
    if (slot !== undefined) items.push(view(parts, slot, now))
  }
  return { items, scanned: query.ids.length }
}

function page(parts: Parts, query: Exclude<InspectQuery, { ids: unknown }>, now: number): Page {
  const items: StoredMessage[] = []
  let looked = 0
  for (const slot of parts.table.slotsFrom(parseCursor(query.cursor))) {
    if (items.length === query.limit || looked === SCAN_MAX)
      return { items, cursor: encodeCursor([String(slot)]), scanned: looked }
    looked += 1
    if (stateAt(parts.table, slot, now) !== query.state) continue
    if (query.topic !== undefined && topicName(parts, slot) !== query.topic) continue
    items.push(view(parts, slot, now))
  }
  return { items, scanned: looked }
}

/** What waits must have been advanced to now. */
export function count({ table, waiting, leases }: Parts): Counts & { topics: Record<string, TopicCounts> } {
  const byTopic = new Map<string, TopicCounts>()
  let total = 0
  let earliest = waiting.nextAt() ?? Infinity
  for (const topic of waiting.topics.all()) {
    if (topic.waiting + topic.running + topic.dead === 0) continue
    total += topic.waiting
    byTopic.set(topic.name, { waiting: topic.waiting, running: topic.running, dead: topic.dead })
    for (const line of topic.lines) earliest = Math.min(earliest, line.firstDueAt() ?? Infinity)
  }
  const { delayed } = waiting
  const states = { delayed, ready: total - delayed, running: leases.size, dead: table.deadCount }
  const topicCounts = Object.fromEntries(byTopic)
  return {
    states,
    isExact: true,
    topics: topicCounts,
    ...(earliest === Infinity ? {} : { nextDueAt: earliest }),
  }
}

function view(parts: Parts, slot: number, now: number): StoredMessage {
  const { table, leases } = parts
  const death = table.death(slot)
  return {
    id: table.id(slot),
    topic: topicName(parts, slot),
    body: table.body(slot),
    meta: table.meta(slot),
    priority: table.priority(slot),
    state: stateAt(table, slot, now),
    dueAt: table.dueAt[slot] as number,
    firstDueAt: table.dueAt[slot] as number,
    producedAt: 0,
    lapses: 0,
    owner: '',
    attempt: table.attempt[slot] as number,
    error: table.error(slot),
    reason: death?.reason ?? '',
    until: death?.diedAt ?? leases.endsAt(slot),
  }
}

function topicName({ table, waiting }: Parts, slot: number): string {
  return waiting.topics.numbered(table.topic[slot] as number).name
}

function stateAt(table: MessageTable, slot: number, now: number): MessageState {
  const state = table.state(slot)
  if (state === WAITING) return (table.dueAt[slot] as number) > now ? 'delayed' : 'ready'
  return state === RUNNING ? 'running' : 'dead'
}

function parseCursor(cursor: string | undefined): number {
  return cursor === undefined ? 0 : Number(decodeCursor(cursor, [/^\d{1,15}$/])[0])
}
