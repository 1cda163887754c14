/**
 * Looking at messages, page by page. Each state is walked in the order of its index:
 *
 *   waiting   topic by name, first those without a key, priority, moment; those of one key: priority, moment
 *   dead      topic by name, moment of death
 *   running   owner, end of the lease
 *   by tag, or by prefix of the id, whatever the state: id
 *
 * A page ends when it is full, or when the engine has looked at enough messages, topics or bytes; its cursor says where.
 */
import { AFTER_CONTROL } from '../../../core/control.ts'
import { assertNever } from '../../../core/errors.ts'
import { PRIORITIES, type ShownState } from '../../../core/message.ts'
import type { ListQuery, Page, RememberedQuery, StoredMessage, TagQuery } from '../../contract/store.ts'
import { isPicked } from '../../shared/filters.ts'
import type { SqlValue } from '../database/driver.ts'
import { WHOLE_ROW, isMarked, parseTags, readTexts, type WholeRow } from '../database/message.ts'
import { isWaiting } from '../database/place.ts'
import { CANCELLING, DEAD, REMEMBERED, RUNNING, SUCCEEDED } from '../database/schema.ts'
import { parseCursor, type CursorPart } from './cursor.ts'
import type { View } from './scene.ts'
import { readSuccessor } from './succeeding.ts'

type Walk = Generator<{ readonly row: ShownRow | undefined; readonly at: readonly CursorPart[] }>

/** With what only people want to see. */
type ShownRow = WholeRow & {
  readonly until: number
  readonly leased_at: number
  readonly owner: number
  readonly death: number | null
}

const SHOWN_ROW = `${WHOLE_ROW}, until, leased_at, owner, death`
const SCANNED_MAX = 2000
const BYTES_MAX = 16 * 1024 * 1024
const SLICE = 200
const END = Number.MAX_SAFE_INTEGER

const SEQUENCE = 'SELECT sequence FROM queue WHERE queue = 0'
const BY_ID = `SELECT ${SHOWN_ROW} FROM message WHERE queue = ? AND id = ?`
const TOPICS = 'SELECT topic, name FROM topic WHERE queue = ? AND name >= ? ORDER BY name LIMIT ?'
const TOPIC_NAME = 'SELECT name FROM topic WHERE topic = ?'
const OWNER_NAME = 'SELECT name FROM owner WHERE owner = ?'
const WAITING_PAGE = `SELECT ${SHOWN_ROW} FROM message INDEXED BY message_due WHERE state = 0 AND topic = ?
  AND priority = ? AND due_at >= ? AND due_at < ? AND (due_at, seq) > (?, ?) ORDER BY due_at, seq LIMIT ?`
const PLACED = `SELECT ${SHOWN_ROW.split(/, */)
  .map((column) => `message.${column.trim()}`)
  .join(', ')} FROM place`
const KEYED_PAGE = `${PLACED} INDEXED BY place_due JOIN message USING (seq) WHERE place.state = 0 AND place.topic = ?
  AND place.priority = ? AND place.due_at >= ? AND place.due_at < ? AND (place.due_at, seq) > (?, ?)
  ORDER BY place.due_at, seq LIMIT ?`
const KEY_PAGE = `${PLACED} INDEXED BY place_line JOIN message USING (seq) WHERE place.state = 0 AND place.topic = ?
  AND place.key = ? AND place.priority = ? AND place.due_at >= ? AND place.due_at < ? AND (place.due_at, seq) > (?, ?)
  ORDER BY place.due_at, seq LIMIT ?`
const DEAD_PAGE = `SELECT ${SHOWN_ROW} FROM message INDEXED BY message_dead WHERE state = 2 AND topic = ? AND death <= ?
  AND death > ? ORDER BY death LIMIT ?`
const RUNNING_PAGE = `SELECT ${SHOWN_ROW} FROM message INDEXED BY message_running WHERE state = 1 AND queue = ?
  AND (owner, until, seq) > (?, ?, ?) ORDER BY owner, until, seq LIMIT ?`
const REMEMBERED_PAGE = `SELECT ${SHOWN_ROW} FROM message INDEXED BY message_remembered WHERE state = 3 AND queue = ?
  AND (until, seq) > (?, ?) ORDER BY until, seq LIMIT ?`
const TAG_PAGE = 'SELECT id, seq FROM tag WHERE queue = ? AND tag = ? AND id > ? ORDER BY id LIMIT ?'
const BY_SEQ = `SELECT ${SHOWN_ROW} FROM message WHERE seq = ?`
const PREFIX_PAGE = `SELECT ${SHOWN_ROW} FROM message INDEXED BY message_id WHERE queue = ? AND id > ? ORDER BY id LIMIT ?`

export function inspectIds(view: View, ids: readonly string[]): Page {
  const found = ids
    .flatMap((id) => view.db.get<ShownRow>(BY_ID, view.queue, id) ?? [])
    .filter(({ state, until }) => state !== REMEMBERED || until > view.now)
  return { items: found.map((row) => show(view, row)), scanned: ids.length }
}

export function inspectPage(view: View, query: ListQuery | TagQuery): Page {
  const items: StoredMessage[] = []
  let [scanned, steps, bytes] = [0, 0, 0]
  for (const { row, at } of walk(view, query)) {
    steps += 1
    if (row !== undefined) {
      scanned += 1
      const item = isCandidate(view, query, row) ? show(view, row) : undefined
      if (item !== undefined) {
        bytes += item.body.length
        if (isPicked(query, item, view.now)) items.push(item)
      }
    }
    if (items.length >= query.limit || steps >= SCANNED_MAX || bytes >= BYTES_MAX) {
      return { items, cursor: JSON.stringify(at), scanned }
    }
  }
  return { items, scanned }
}

export function inspectRemembered(view: View, { limit, cursor }: RememberedQuery): Page {
  const after = (parseCursor(cursor, ['number', 'number']) ?? [view.now, END]).map(Number)
  const items: StoredMessage[] = []
  for (const { row, at } of rows(view, REMEMBERED_PAGE, [view.queue], after, placeOfEnd, placeOfEnd)) {
    if (row !== undefined) items.push(show(view, row))
    if (items.length === limit) return { items, cursor: JSON.stringify(at), scanned: items.length }
  }
  return { items, scanned: items.length }
}

function walk(view: View, query: ListQuery | TagQuery): Walk {
  if (query.tag !== undefined) return walkTag(view, query)
  if (query.idPrefix !== undefined && query.idPrefix !== '')
    return walkIds(view, query.idPrefix, query.cursor)
  switch (query.state) {
    case 'delayed':
      return walkWaiting(view, query, view.now + 1, END)
    case 'ready':
      return walkWaiting(view, query, 0, view.now + 1)
    case 'running':
      return walkRunning(view, query.cursor)
    case 'dead':
      return walkDead(view, query)
    default:
      return assertNever(query)
  }
}

/** In this order, by priority; a cursor has the number of its page. */
const WAITING_PAGES = [WAITING_PAGE, KEYED_PAGE].flatMap((sql) =>
  [...PRIORITIES.keys()].map((rank) => [sql, rank] as const),
)
const KEY_PAGES = [...PRIORITIES.keys()].map((rank) => [KEY_PAGE, rank] as const)

function* walkWaiting(view: View, query: ListQuery, from: number, until: number): Walk {
  const start = parseCursor(query.cursor, ['string', 'number', 'number', 'number'])
  const [name = AFTER_CONTROL, priority = 0, dueAt = -1, seq = -1] = start ?? []
  const range = [Math.max(from, query.dueFrom ?? from), Math.min(until, query.dueUntil ?? until)] as const
  const pages = query.key === undefined ? WAITING_PAGES : KEY_PAGES
  for (const topic of topics(view, query, String(name))) {
    const isStart = topic.name === name
    for (const [step, [sql, rank]] of pages.entries()) {
      if (isStart && step < Number(priority)) continue
      const after = isStart && step === priority ? [Number(dueAt), Number(seq)] : [-1, -1]
      const cursorOf = (row: ShownRow): CursorPart[] => [topic.name, step, row.due_at, row.seq]
      const which = query.key === undefined ? [topic.topic] : [topic.topic, query.key]
      yield* rows(view, sql, [...which, rank, ...range], after, (row) => [row.due_at, row.seq], cursorOf)
    }
    yield { row: undefined, at: [topic.name, pages.length, -1, -1] }
  }
}

/** It ends at those that died before it began, so that reviving page by page comes to an end. */
function* walkDead(view: View, query: ListQuery): Walk {
  const start = parseCursor(query.cursor, ['number', 'string', 'number'])
  const [last = view.db.get<{ sequence: number }>(SEQUENCE)?.sequence ?? 0, name = AFTER_CONTROL, death = 0] =
    start ?? []
  for (const topic of topics(view, query, String(name))) {
    const after = topic.name === name ? [Number(death)] : [0]
    const cursorOf = (row: ShownRow): CursorPart[] => [last, topic.name, row.death ?? 0]
    yield* rows(view, DEAD_PAGE, [topic.topic, last], after, (row) => [row.death], cursorOf)
    yield { row: undefined, at: [last, topic.name, END] }
  }
}

function* walkRunning(view: View, cursor: string | undefined): Walk {
  const after = (parseCursor(cursor, ['number', 'number', 'number']) ?? [-1, -1, -1]).map(Number)
  yield* rows(view, RUNNING_PAGE, [view.queue], after, placeOfLease, placeOfLease)
}

function* walkIds(view: View, prefix: string, cursor: string | undefined): Walk {
  const [id] = parseCursor(cursor, ['string']) ?? []
  const exact = id === undefined ? view.db.get<ShownRow>(BY_ID, view.queue, prefix) : undefined
  if (exact !== undefined) yield { row: exact, at: [prefix] }
  for (const step of rows(view, PREFIX_PAGE, [view.queue], [id ?? prefix], placeOfId, placeOfId)) {
    if (step.row?.id.startsWith(prefix) !== true) return
    yield step
  }
}

/** An entry whose message is gone, which only damage leaves behind, is passed over. */
function* walkTag({ db, queue }: View, { tag, cursor }: TagQuery): Walk {
  for (let [after = ''] = parseCursor(cursor, ['string']) ?? []; ;) {
    const slice = db.all<{ id: string; seq: number }>(TAG_PAGE, queue, tag, after, SLICE)
    for (const { id, seq } of slice) yield { row: db.get<ShownRow>(BY_SEQ, seq), at: [id] }
    const last = slice.at(-1)
    if (last === undefined || slice.length < SLICE) return
    after = last.id
  }
}

const placeOfLease = ({ owner, until, seq }: ShownRow): number[] => [owner, until, seq]
const placeOfEnd = ({ until, seq }: ShownRow): number[] => [until, seq]
const placeOfId = ({ id }: ShownRow): string[] => [id]

/** All rows of a statement, a slice at a time, each slice after the last row of the one before. */
function* rows(
  { db }: View,
  sql: string,
  fixed: readonly SqlValue[],
  after: readonly SqlValue[],
  keyOf: (row: ShownRow) => readonly SqlValue[],
  cursorOf: (row: ShownRow) => readonly CursorPart[],
): Walk {
  for (let key = after; ;) {
    const slice = db.all<ShownRow>(sql, ...fixed, ...key, SLICE)
    for (const row of slice) yield { row, at: cursorOf(row) }
    const last = slice.at(-1)
    if (last === undefined || slice.length < SLICE) return
    key = keyOf(last)
  }
}

function* topics(
  { db, queue }: View,
  { topic }: ListQuery,
  from: string,
): Generator<{ readonly topic: number; readonly name: string }> {
  type Row = { topic: number; name: string }
  if (topic !== undefined) {
    const [row] = db.all<Row>(TOPICS, queue, topic, 1)
    if (row?.name === topic) yield row
    return
  }
  for (let name = from; ;) {
    const slice = db.all<Row>(TOPICS, queue, name, SLICE)
    yield* slice
    const last = slice.at(-1)
    if (last === undefined || slice.length < SLICE) return
    // No topic holds a control character, so nothing lies between this and the next name.
    name = `${last.name}\u0001`
  }
}

/** What can be told without its texts, which may be long. */
function isCandidate({ db, now }: View, query: ListQuery | TagQuery, row: ShownRow): boolean {
  return (
    (query.state === undefined || stateOf(row, now) === query.state) &&
    row.due_at >= (query.dueFrom ?? -Infinity) &&
    row.due_at < (query.dueUntil ?? Infinity) &&
    (query.topic === undefined || db.get<{ name: string }>(TOPIC_NAME, row.topic)?.name === query.topic)
  )
}

function show(view: View, row: ShownRow): StoredMessage {
  const { db, now } = view
  if (row.state === REMEMBERED) return showRemembered(db, row)
  const { id, priority, due_at, first_due_at, produced_at, attempt, lapses, until } = row
  const isRunning = row.state === RUNNING
  const successor = isMarked(row, SUCCEEDED) ? readSuccessor(view, id) : undefined
  return {
    ...readTexts(db, row),
    id,
    tags: parseTags(row.tags),
    topic: db.get<{ name: string }>(TOPIC_NAME, row.topic)?.name ?? '',
    priority,
    state: stateOf(row, now),
    dueAt: due_at,
    firstDueAt: first_due_at ?? due_at,
    producedAt: produced_at,
    attempt,
    lapses,
    until,
    owner: isRunning ? (db.get<{ name: string }>(OWNER_NAME, row.owner)?.name ?? '') : '',
    leasedAt: isRunning ? row.leased_at : 0,
    ...(isMarked(row, CANCELLING) ? { isCancelling: true } : {}),
    ...(successor === undefined ? {} : { successor }),
  }
}

function showRemembered(db: View['db'], row: ShownRow): StoredMessage {
  const { body, meta, reason, key } = readTexts(db, row)
  return {
    id: row.id,
    topic: meta,
    body: '',
    meta: '',
    tags: [],
    ...(key === undefined ? {} : { key }),
    priority: row.priority,
    state: 'completed',
    dueAt: row.due_at,
    firstDueAt: row.first_due_at ?? row.due_at,
    producedAt: row.produced_at,
    attempt: row.attempt,
    lapses: 0,
    error: '',
    reason: '',
    until: row.until,
    owner: '',
    leasedAt: 0,
    outcome: reason === 'skipped' ? 'skipped' : 'completed',
    result: body,
  }
}

function stateOf(row: Pick<ShownRow, 'state' | 'due_at'>, now: number): ShownState {
  if (isWaiting(row)) return row.due_at > now ? 'delayed' : 'ready'
  if (row.state === REMEMBERED) return 'completed'
  return row.state === DEAD ? 'dead' : 'running'
}
