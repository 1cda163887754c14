/**
 * Looking without changing: single messages, pages and counts, each from one snapshot.
 *
 * Pages of waiting and dead messages follow the keys, topic by topic; a cursor is the last key seen. Pages of
 * running messages follow the produce order instead: their keys change with every extension, and a page must
 * neither miss nor repeat what goes on running. That costs a walk over the keys of all that run, which are as many
 * as the workers have in hand.
 *
 * A waiting message that is rescheduled between two pages may be missed or shown twice: it moved.
 */
import { UsageError } from '../../core/errors.ts'
import { PRIORITIES, type MessageState } from '../../core/message.ts'
import type { Counts, InspectQuery, Page, StoredMessage, TopicCounts } from '../store.ts'
import {
  AFTER_ALL,
  BEFORE_ALL,
  deadRange,
  isDeadKey,
  isWaitingKey,
  lineRange,
  runningRange,
  sequenceOfRunningKey,
  topicKey,
  topicNameKey,
  topicOfKey,
  topicsRange,
  type Range,
} from './keys.ts'
import { firstMoment } from './ledger.ts'
import { decodeNumber } from './number.ts'
import { DEAD, RUNNING, WAITING, recordKey, type PlaceState } from './place.ts'
import { findPlace } from './placing.ts'
import {
  attemptOf,
  bodyOf,
  dueAtOf,
  errorOf,
  idOf,
  metaOf,
  priorityOf,
  readRecord,
  reasonOf,
  topicOf,
  untilOf,
} from './record.ts'
import { corrupt } from './seal.ts'
import { decodeTopic, waitingIn, type Line, type Topic } from './topic.ts'
import type { Tree } from './tree.ts'

export type ListQuery = Exclude<InspectQuery, { ids: unknown }>

/** What a reader looks at: one queue at one moment. */
export type View = { readonly tree: Tree; readonly queue: number; readonly now: number }

/** So many running messages are looked at for one page at most; nobody has more in hand. */
const RUNNING_MAX = 1_000_000

export function inspectIds(view: View, ids: readonly string[]): Page {
  const { tree, queue } = view
  const items: StoredMessage[] = []
  for (const id of ids) {
    const place = findPlace(tree, queue, id)
    if (place === undefined) continue
    const value = tree.get(recordKey(queue, place))
    if (value === undefined) throw corrupt(`message "${id}" has a place but no record`)
    items.push(viewer(view, place.state)(value))
  }
  return { items }
}

export function inspectPage(view: View, query: ListQuery): Page {
  return query.state === 'running' ? runningPage(view, query) : listPage(view, query)
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
export function count(view: View): Counts {
  const states = { delayed: 0, ready: 0, running: 0, dead: 0 }
  const topics: Record<string, TopicCounts> = {}
  let nextDueAt: number | undefined
  for (const topic of allTopics(view)) {
    const waiting = waitingIn(topic)
    for (const [priority, line] of topic.lines.entries()) {
      states.ready += line.ready + sinceMark(view, topic, priority, line)
    }
    states.delayed += waiting
    states.running += topic.running
    states.dead += topic.dead
    topics[topic.name] = { waiting, running: topic.running, dead: topic.dead }
    const first = firstMoment(view.tree, topic)
    if (first !== undefined && (nextDueAt === undefined || first < nextDueAt)) nextDueAt = first
  }
  states.delayed -= states.ready
  return nextDueAt === undefined ? { states, topics } : { states, topics, nextDueAt }
}

/** How many more are ready now than at the mark; fewer than none if the clock was set back behind it. */
function sinceMark({ tree, now }: View, topic: Topic, priority: number, line: Line): number {
  if (line.waiting === 0 || line.markAt === now) return 0
  if (line.markAt < now) return tree.count(lineRange(topic.number, priority, line.markAt, now), Infinity)
  return -tree.count(lineRange(topic.number, priority, now, line.markAt), Infinity)
}

function listPage(view: View, query: ListQuery): Page {
  const cursor = query.cursor === undefined ? undefined : parseCursor(query.cursor, query.state)
  const toShown = viewer(view, query.state === 'dead' ? DEAD : WAITING)
  const items: StoredMessage[] = []
  for (const range of rangesOf(view, query)) {
    const start = cursor === undefined ? range.start : later(range.start, after(cursor))
    if (Buffer.compare(start, range.end) >= 0) continue
    for (const { key, value } of view.tree.entries({ start, end: range.end }, query.limit - items.length)) {
      items.push(toShown(value))
      if (items.length === query.limit) return { items, cursor: key.toString('hex') }
    }
  }
  return { items }
}

/** The stretches of the tree that hold a state, in key order. */
function rangesOf(view: View, { state, topic: name }: ListQuery): Range[] {
  const topics = name === undefined ? allTopics(view) : [topicNamed(view, name) ?? []].flat()
  if (state === 'dead') return topics.filter(({ dead }) => dead > 0).map(({ number }) => deadRange(number))
  const [from, until] = state === 'ready' ? [BEFORE_ALL, view.now] : [view.now, AFTER_ALL]
  return topics.flatMap((topic) =>
    [...PRIORITIES.keys()]
      .filter((priority) => topic.lines[priority]?.waiting !== 0)
      .map((priority) => lineRange(topic.number, priority, from, until)),
  )
}

function runningPage(view: View, query: ListQuery): Page {
  const { tree, queue } = view
  const seen = query.cursor === undefined ? 0 : parseSequence(query.cursor)
  const keys = tree
    .keys(runningRange(queue, AFTER_ALL), RUNNING_MAX)
    .filter((key) => sequenceOfRunningKey(key) > seen)
    .toSorted((a, b) => sequenceOfRunningKey(a) - sequenceOfRunningKey(b))
  const toShown = viewer(view, RUNNING)
  const items: StoredMessage[] = []
  for (const key of keys) {
    const value = tree.get(key)
    if (value === undefined) throw corrupt('a running message has no record')
    const item = toShown(value)
    if (query.topic === undefined || item.topic === query.topic) items.push(item)
    if (items.length === query.limit) return { items, cursor: String(sequenceOfRunningKey(key)) }
  }
  return { items }
}

/** Shows records of one state. Topic names are looked up once per page. */
function viewer(view: View, state: PlaceState): (value: Buffer) => StoredMessage {
  const names = new Map<number, string>()
  return (value) => {
    const record = readRecord(value, () => 'a message')
    const topic = topicOf(record)
    const name = names.get(topic) ?? readTopic(view.tree, view.queue, topic).name
    names.set(topic, name)
    return show(record, name, state, view.now)
  }
}

function show(record: Buffer, topic: string, state: PlaceState, now: number): StoredMessage {
  const dueAt = dueAtOf(record)
  return {
    id: idOf(record),
    topic,
    body: bodyOf(record),
    meta: metaOf(record),
    priority: priorityOf(record),
    state: stateName(state, dueAt, now),
    dueAt,
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

function stateName(state: PlaceState, dueAt: number, now: number): MessageState {
  if (state === WAITING) return dueAt > now ? 'delayed' : 'ready'
  return state === RUNNING ? 'running' : 'dead'
}

function parseCursor(cursor: string, state: MessageState): Buffer {
  const key = Buffer.from(cursor, 'hex')
  if (state === 'dead' ? isDeadKey(key) : isWaitingKey(key)) return key
  throw cursorError(cursor)
}

function parseSequence(cursor: string): number {
  const sequence = Number(cursor)
  if (Number.isSafeInteger(sequence) && sequence >= 0) return sequence
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
