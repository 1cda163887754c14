/**
 * Looking at messages without changing them. A page is a walk over the slots, from where the last page ended: a message
 * keeps its slot for life, so that none that stays is passed over or met twice.
 */
import { decodeCursor, encodeCursor } from '../../core/encoding/cursor.ts'
import type { MessageState } from '../../core/message.ts'
import type {
  InspectQuery,
  KeyLimit,
  KeyState,
  KeysPage,
  KeysQuery,
  ListQuery,
  OwnedPage,
  Page,
  RememberedQuery,
  StoredMessage,
  Successor,
  TagQuery,
} from '../contract/store.ts'
import { isPicked } from '../shared/filters.ts'
import type { Messages } from './messages.ts'
import { FREE, RUNNING, WAITING, keyPart, type MessageTable } from './table.ts'

/** How many messages one page looks at before it is handed out short, and how many bytes of their bodies. */
const SCAN_MAX = 10_000
const SCAN_BYTES_MAX = 32 * 1024 * 1024
/** Slots that are free, or of another topic, cost next to nothing. */
const SLOTS_MAX = 4_000_000

export function inspect(messages: Messages, query: InspectQuery, now: number): Page {
  if (!('ids' in query)) {
    return query.tag === undefined ? page(messages, query, now) : tagged(messages, query, now)
  }
  const items: StoredMessage[] = []
  for (const id of query.ids) {
    const slot = messages.table.slotOf(id)
    const item = slot === undefined ? messages.remembered.find(id, now) : view(messages, slot, now)
    if (item !== undefined) items.push(item)
  }
  return { items, scanned: query.ids.length }
}

function page(messages: Messages, query: ListQuery, now: number): Page {
  const { table } = messages
  const topic = query.topic === undefined ? undefined : messages.topics.named(query.topic)
  if (query.topic !== undefined && topic === undefined) return { items: [], scanned: 0 }
  const [from, deathsMax] = parseCursor(query.cursor, table.deaths)
  const until = Math.min(table.slots, from + SLOTS_MAX)
  const { states, topic: topics } = table
  const items: StoredMessage[] = []
  let scanned = 0
  let bytes = 0
  for (let slot = from; slot < until; slot += 1) {
    if (states[slot] === FREE || (topic !== undefined && topics[slot] !== topic.number)) continue
    if (items.length === query.limit || scanned === SCAN_MAX || bytes >= SCAN_BYTES_MAX)
      return { items, scanned, cursor: cursorAt(slot, deathsMax) }
    scanned += 1
    if (stateAt(table, slot, now) !== query.state) continue
    // A walk over the dead ends at those that died before it began: what is revived on the way may die again.
    if ((table.death(slot)?.number ?? -1) >= deathsMax) continue
    const item = view(messages, slot, now)
    const isFound = isPicked(query, item, now)
    if (isFound) items.push(item)
    if (isFound || query.text !== undefined) bytes += item.body.length
  }
  return until < table.slots ? { items, scanned, cursor: cursorAt(until, deathsMax) } : { items, scanned }
}

/** The cursor names the produce order of the message to go on with. */
function tagged(messages: Messages, query: TagQuery, now: number): Page {
  const { tags } = messages
  const [from] = parseCursor(query.cursor, 0)
  const items: StoredMessage[] = []
  let scanned = 0
  let bytes = 0
  for (const [slot, order] of tags.slots(query.tag, from)) {
    if (items.length === query.limit || scanned === SCAN_MAX || bytes >= SCAN_BYTES_MAX)
      return { items, scanned, cursor: cursorAt(order, 0) }
    scanned += 1
    const item = view(messages, slot, now)
    bytes += item.body.length
    if (isPicked(query, item, now)) items.push(item)
  }
  return { items, scanned }
}

/** The cursor names the number of the one to go on with. */
export function remembered(messages: Messages, { limit, cursor }: RememberedQuery, now: number): Page {
  const [from] = parseCursor(cursor, 0)
  const items: StoredMessage[] = []
  for (const { message, number } of messages.remembered.from(from)) {
    if (items.length === limit) return { items, scanned: items.length, cursor: cursorAt(number, 0) }
    if (message.until > now) items.push(message)
  }
  return { items, scanned: items.length }
}

export function owned(messages: Messages, owner: string, cursor: string | undefined): OwnedPage {
  const [from] = parseCursor(cursor, 0)
  const { held, next } = messages.leases.heldBy(owner, from)
  const leases = held.map(({ slot, token, isTakenOver }) => ({
    id: messages.table.id(slot),
    token,
    topic: messages.topicOf(slot).name,
    isTakenOver,
  }))
  return next === undefined ? { leases } : { leases, cursor: cursorAt(next, 0) }
}

function view(messages: Messages, slot: number, now: number): StoredMessage {
  const { table, leases } = messages
  const death = table.death(slot)
  const successor = viewSuccessor(messages, slot)
  return {
    id: table.id(slot),
    topic: messages.topicOf(slot).name,
    body: table.body(slot),
    meta: table.meta(slot),
    tags: table.tags(slot),
    ...keyPart(table.key(slot)),
    priority: table.priority(slot),
    state: stateAt(table, slot, now),
    dueAt: table.dueAt[slot] as number,
    firstDueAt: table.firstDueAt(slot),
    producedAt: table.producedAt[slot] as number,
    attempt: table.attempt[slot] as number,
    lapses: table.lapses(slot),
    error: table.error(slot),
    reason: death?.reason ?? '',
    until: death?.diedAt ?? leases.endsAt(slot),
    owner: leases.ownerOf(slot),
    leasedAt: leases.since(slot),
    ...(table.isCancelling(slot) ? { isCancelling: true } : {}),
    ...(successor === undefined ? {} : { successor }),
  }
}

function viewSuccessor({ table, topics }: Messages, slot: number): Successor | undefined {
  const successor = table.successor(slot)
  if (successor === undefined) return undefined
  const { message, topic, dueAt, producedAt } = successor
  const { body, meta, priority, tags = [], key } = message
  return {
    topic: topics.numbered(topic).name,
    body,
    meta,
    tags,
    ...keyPart(key),
    priority,
    dueAt,
    producedAt,
  }
}

function stateAt(table: MessageTable, slot: number, now: number): MessageState {
  const state = table.state(slot)
  if (state === WAITING) return (table.dueAt[slot] as number) > now ? 'delayed' : 'ready'
  return state === RUNNING ? 'running' : 'dead'
}

/** Where to go on, and how many had died when the walk began. */
function cursorAt(from: number, deaths: number): string {
  return encodeCursor([String(from), String(deaths)])
}

const NUMBER = /^\d{1,15}$/

function parseCursor(cursor: string | undefined, deaths: number): readonly [from: number, deaths: number] {
  if (cursor === undefined) return [0, deaths]
  const [from, before] = decodeCursor(cursor, [NUMBER, NUMBER])
  return [Number(from), Number(before)]
}

/** First the keys that are there, by number; then those that only have a limit of their own. */
export function keysPage(messages: Messages, query: KeysQuery, now: number): KeysPage {
  const keys = messages.topics.named(query.topic)?.keys
  const own = messages.keyLimits.get(query.topic)
  const stateOf = (name: string): KeyState => keys?.state(name, now) ?? keyWithout(name, own?.get(name))
  if ('keys' in query) return { now, keys: query.keys.map(stateOf) }
  const [from, after] = query.cursor === undefined ? [0, ''] : decodeCursor(query.cursor, [NUMBER, /^/])
  const found: KeyState[] = []
  let next = Number(from)
  for (const [name, behind] of keys?.namesFrom(next) ?? []) {
    if (found.length === query.limit) return { now, keys: found, cursor: encodeCursor([String(next), after]) }
    found.push(stateOf(name))
    next = behind
  }
  const rest = [...(own?.keys() ?? [])].filter((name) => keys?.has(name) !== true && name > after).toSorted()
  const names = rest.slice(0, query.limit - found.length)
  const last = { now, keys: [...found, ...names.map(stateOf)] }
  if (names.length === rest.length) return last
  return { ...last, cursor: encodeCursor([String(next), names.at(-1) ?? after]) }
}

function keyWithout(key: string, limit: KeyLimit | undefined): KeyState {
  return { key, waiting: 0, running: 0, ...(limit === undefined ? {} : { limit }) }
}
