/**
 * Looking without changing: single messages, pages and counts, each from one snapshot.
 *
 * Pages follow the keys: what waits and what is dead topic by topic, what runs in the order of produce. A cursor
 * is the last key seen.
 *
 * Danger: a waiting message that is rescheduled between two pages may be missed or shown twice; it moved.
 */
import { UsageError } from '../../core/errors.ts'
import { PRIORITIES, type MessageState } from '../../core/message.ts'
import type { Counts, InspectQuery, Page, StoredMessage, TopicCounts } from '../contract/store.ts'
import {
  AFTER_ALL,
  BEFORE_ALL,
  deadRange,
  isDeadKey,
  isRunningKey,
  isWaitingKey,
  lineRange,
  runningRange,
  topicKey,
  topicNameKey,
  topicOfKey,
  topicsRange,
  type Range,
} from './keys.ts'
import { firstMoment } from './ledger.ts'
import { decodeNumber } from './number.ts'
import { locate } from './place.ts'
import {
  attemptOf,
  bodyOf,
  checkKey,
  dueAtOf,
  errorOf,
  idOf,
  keyOf,
  metaOf,
  priorityOf,
  readRecord,
  reasonOf,
  topicOf,
  untilOf,
  type RecordState,
} from './record.ts'
import { corrupt } from './seal.ts'
import { decodeTopic, waitingIn, type Line, type Topic } from './topic.ts'
import type { Tree } from './tree.ts'

export type ListQuery = Exclude<InspectQuery, { ids: unknown }>

/** What a reader looks at: one queue at one moment. */
export type View = { readonly tree: Tree; readonly queue: number; readonly now: number }

/** How many messages of other topics one page passes over before it is handed out short. */
const SKIP_MAX = 10_000

export function inspectIds(view: View, ids: readonly string[]): Page {
  const items: StoredMessage[] = []
  for (const id of ids) {
    const found = locate(view.tree, view.queue, id)
    if (found !== undefined) items.push(viewer(view, found.state)(found.bytes))
  }
  return { items, scanned: ids.length }
}

export function inspectPage(view: View, query: ListQuery): Page {
  const cursor = query.cursor === undefined ? undefined : parseCursor(query.cursor, query.state)
  const state = query.state === 'delayed' || query.state === 'ready' ? 'waiting' : query.state
  const toShown = viewer(view, state)
  const items: StoredMessage[] = []
  for (const range of rangesOf(view, query)) {
    const start = cursor === undefined ? range.start : later(range.start, after(cursor))
    if (Buffer.compare(start, range.end) >= 0) continue
    // Running messages of all topics lie together, so a filter may pass over some of them.
    const isMixed = query.state === 'running' && query.topic !== undefined
    const limit = isMixed ? SKIP_MAX : query.limit - items.length
    const entries = view.tree.entries({ start, end: range.end }, limit)
    for (const { key, value } of entries) {
      const item = toShown(value)
      checkKey(key, keyOf(view.queue, value, state), value)
      if (query.topic === undefined || item.topic === query.topic) items.push(item)
      if (items.length === query.limit) return { items, cursor: key.toString('hex'), scanned: items.length }
    }
    const last = entries.at(-1)
    if (isMixed && last !== undefined && entries.length === limit) {
      return { items, cursor: last.key.toString('hex'), scanned: limit }
    }
  }
  return { items, scanned: items.length }
}

export function allTopics({ tree, queue }: View): Topic[] {
  return tree
    .entries(topicsRange(queue), Infinity)
    .map(({ key, value }) => decodeTopic(value, queue, topicOfKey(key)))
}

export function topicNamed({ tree, queue }: View, name: string): Topic | undefined {
  const number = tree.get(topicNameKey(queue, name))
  return number === undefined ? undefined : readTopic(tree, queue, decodeNumber(number))
}

/** Exact for this moment. The walk since the mark is short: see `counting.ts`. */
export function count(view: View): Counts & { topics: Record<string, TopicCounts> } {
  const states = { delayed: 0, ready: 0, running: 0, dead: 0 }
  const counts = new Map<string, TopicCounts>()
  let nextDueAt: number | undefined
  for (const topic of allTopics(view)) {
    const waiting = waitingIn(topic)
    for (const [priority, line] of topic.lines.entries()) {
      states.ready += line.ready + sinceMark(view, topic, priority, line)
    }
    states.delayed += waiting
    states.running += topic.running
    states.dead += topic.dead
    counts.set(topic.name, { waiting, running: topic.running, dead: topic.dead })
    const first = firstMoment(view.tree, topic)
    if (first !== undefined && (nextDueAt === undefined || first < nextDueAt)) nextDueAt = first
  }
  states.delayed -= states.ready
  const topics = Object.fromEntries(counts)
  return { states, isExact: true, topics, ...(nextDueAt === undefined ? {} : { nextDueAt }) }
}

/** How many more are ready now than at the mark; fewer than none if the clock was set back behind it. */
function sinceMark({ tree, now }: View, topic: Topic, priority: number, line: Line): number {
  if (line.waiting === 0 || line.markAt === now) return 0
  if (line.markAt < now) return tree.count(lineRange(topic.number, priority, line.markAt, now), Infinity)
  return -tree.count(lineRange(topic.number, priority, now, line.markAt), Infinity)
}

/** The stretches of the tree that hold a state, in key order. */
function rangesOf(view: View, { state, topic: name }: ListQuery): Range[] {
  if (state === 'running') return [runningRange(view.queue, 0)]
  const topics = name === undefined ? allTopics(view) : [topicNamed(view, name) ?? []].flat()
  if (state === 'dead') return topics.filter(({ dead }) => dead > 0).map(({ number }) => deadRange(number))
  const [from, until] = state === 'ready' ? [BEFORE_ALL, view.now] : [view.now, AFTER_ALL]
  return topics.flatMap((topic) =>
    [...PRIORITIES.keys()]
      .filter((priority) => topic.lines[priority]?.waiting !== 0)
      .map((priority) => lineRange(topic.number, priority, from, until)),
  )
}

/** Shows records of one state. Topic names are looked up once per page. */
function viewer(view: View, state: RecordState): (value: Buffer) => StoredMessage {
  const names = new Map<number, string>()
  return (value) => {
    const record = readRecord(value, () => 'a message')
    const topic = topicOf(record)
    const name = names.get(topic) ?? readTopic(view.tree, view.queue, topic).name
    names.set(topic, name)
    return show(record, name, state, view.now)
  }
}

function show(record: Buffer, topic: string, state: RecordState, now: number): StoredMessage {
  const dueAt = dueAtOf(record)
  return {
    id: idOf(record),
    topic,
    body: bodyOf(record),
    meta: metaOf(record),
    priority: priorityOf(record),
    state: stateName(state, dueAt, now),
    dueAt,
    firstDueAt: dueAt,
    producedAt: 0,
    lapses: 0,
    owner: '',
    attempt: attemptOf(record),
    error: errorOf(record),
    reason: reasonOf(record),
    until: untilOf(record),
  }
}

function readTopic(tree: Tree, queue: number, number: number): Topic {
  const value = tree.get(topicKey(queue, number))
  if (value === undefined) throw corrupt(`topic ${number} has messages but no counts`)
  return decodeTopic(value, queue, number)
}

function stateName(state: RecordState, dueAt: number, now: number): MessageState {
  if (state !== 'waiting') return state
  return dueAt > now ? 'delayed' : 'ready'
}

const IS_KEY_OF = {
  delayed: isWaitingKey,
  ready: isWaitingKey,
  running: isRunningKey,
  dead: isDeadKey,
} as const

function parseCursor(cursor: string, state: MessageState): Buffer {
  const key = Buffer.from(cursor, 'hex')
  if (IS_KEY_OF[state](key)) return key
  throw cursorError(cursor)
}

function cursorError(cursor: string): UsageError {
  return new UsageError('CURSOR_INVALID', 'this cursor did not come from list(); start without one.', {
    value: cursor,
  })
}

/** The smallest key behind `key`. */
function after(key: Buffer): Buffer {
  return Buffer.concat([key, Buffer.of(0)])
}

function later(a: Buffer, b: Buffer): Buffer {
  return Buffer.compare(a, b) < 0 ? b : a
}
