/** A message as it lies in its row: how it gets there, changes and leaves. */
import type { PriorityRank } from '../../../core/message.ts'
import type { NewMessage } from '../../contract/store.ts'
import { corrupt } from '../failure.ts'
import { contentSum, failureSum, numbersSum, type MessageTexts } from './checksum.ts'
import type { Database } from './database.ts'
import { SQLITE, sqliteCode, type SqlValue } from './driver.ts'
import { dropPlaces, insertPlace, isKeyed, keyIn, placeEnds } from './place.ts'
import { BODY_INLINE_MAX, IN_TURN, KEYED, REMEMBERED, RUNNING, type StateNumber } from './schema.ts'

/** All that moving a message needs; its texts may be long and stay where they are. */
export type MessageRow = {
  readonly seq: number
  readonly queue: number
  readonly topic: number
  readonly priority: PriorityRank
  readonly state: StateNumber | typeof REMEMBERED | typeof IN_TURN
  readonly until: number
  readonly due_at: number
  readonly first_due_at: number | null
  readonly produced_at: number
  readonly lease: number
  readonly owner: number
  readonly attempt: number
  readonly lapses: number
  readonly checksum: number
  readonly id: string
  /** 1: its body lies in the table for bodies. */
  readonly is_large: 0 | 1
  /** 1: it has tags, and is in the table of tags. */
  readonly is_tagged: 0 | 1
  readonly mark: number
}

export type Text = string | Uint8Array
export type WholeRow = Omit<MessageRow, 'queue' | 'owner' | 'until' | 'is_large' | 'is_tagged'> & {
  readonly tags: string | null
  readonly meta: Text
  readonly error: Text
  readonly reason: Text
  readonly body: Text | null
}

export const ROW = `seq, queue, topic, priority, state, until, due_at, first_due_at, produced_at, lease, owner, attempt, lapses,
  checksum, id, body IS NULL AS is_large, tags IS NOT NULL AS is_tagged, mark`
export const WHOLE_ROW = `seq, topic, priority, state, due_at, first_due_at, produced_at, lease, attempt, lapses,
  checksum, id, tags, meta, error, reason, body, mark`
/** For statements about many: a list of numbers in JSON, because one statement is cheaper than many. */
export const AMONG = 'seq IN (SELECT value FROM json_each(?))'

const LARGE_BODY = 'SELECT body FROM body WHERE seq = ?'
const FAILURE = 'SELECT error, reason FROM message WHERE seq = ?'
const INSERT = `INSERT INTO message (seq, queue, topic, priority, due_at, produced_at, checksum, id, tags, meta, body)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
const INSERT_KEYED = `INSERT INTO message (seq, queue, topic, priority, due_at, produced_at, checksum, id, tags, meta, body,
  state, mark) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ${IN_TURN}, ${KEYED}) ON CONFLICT DO NOTHING`
/** So many rows go into one statement where there are as many: a statement costs as much as half a row. */
export const ROWS_AT_ONCE = 16
const INSERT_ROWS = `INSERT INTO message (seq, queue, topic, priority, due_at, produced_at, checksum, id, meta, body)
  VALUES ${Array.from({ length: ROWS_AT_ONCE }, () => '(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)').join(', ')}`
const INSERT_LARGE = 'INSERT INTO body (seq, body) VALUES (?, ?)'
const INSERT_TAG = 'INSERT OR REPLACE INTO tag (queue, tag, id, seq) VALUES (?, ?, ?, ?)'
const DELETE_TAG = 'DELETE FROM tag WHERE queue = ? AND tag = ? AND id = ?'
const TAGS = 'SELECT tags FROM message WHERE seq = ?'
const DELETE = `DELETE FROM message WHERE ${AMONG}`
const DELETE_LARGE = `DELETE FROM body WHERE ${AMONG}`
const REMEMBER = `UPDATE message SET state = ${REMEMBERED}, until = ?, checksum = ?, meta = ?, reason = ?, body = ?, topic = 0,
  owner = 0, lapses = 0, error = '', tags = NULL WHERE seq = ?`
const CONTENT = 'SELECT meta, body, tags FROM message WHERE seq = ?'
const NEW_CONTENT = 'UPDATE message SET meta = ?, body = ?, checksum = ? WHERE seq = ?'
const NEW_FAILURE = 'UPDATE message SET error = ?, reason = ?, checksum = ? WHERE seq = ?'

export type RowPlace = {
  readonly seq: number
  readonly queue: number
  readonly topic: number
  readonly dueAt: number
  readonly producedAt: number
}

export type RowContent = Pick<NewMessage, 'id' | 'meta' | 'body' | 'priority' | 'tags' | 'key'>

/** False: the id is taken. */
export function insertMessage(
  db: Database,
  { seq, queue, topic, dueAt, producedAt }: RowPlace,
  { id, meta, body, priority, tags = [], key }: RowContent,
): boolean {
  const ownTags = tags.length === 0 ? null : JSON.stringify(tags)
  const numbers = numbersSum(topic, priority, dueAt, null, producedAt, 0, 0)
  const checksum = (contentSum(id, meta, body, ownTags, key) ^ numbers) >>> 0
  const isLarge = body.length > BODY_INLINE_MAX
  const inline = isLarge ? null : toSql(body)
  const values = [
    seq,
    queue,
    topic,
    priority,
    dueAt,
    producedAt,
    checksum,
    id,
    ownTags,
    toSql(meta),
    inline,
  ] as const
  if (db.run(key === undefined ? INSERT : INSERT_KEYED, ...values) === 0) return false
  if (key !== undefined) insertPlace(db, { seq, topic, key, priority, due_at: dueAt })
  if (isLarge) db.run(INSERT_LARGE, seq, toSql(body))
  indexTags(db, { seq, queue, id }, tags)
  return true
}

/** All of them, or none: then an id is taken. Only for messages that have neither tags, a key, nor a large body. */
export function insertPlainRows(
  db: Database,
  rows: readonly (RowPlace & { readonly message: NewMessage })[],
): boolean {
  const values: SqlValue[] = []
  for (const { seq, queue, topic, dueAt, producedAt, message } of rows) {
    const { id, meta, body, priority } = message
    const numbers = numbersSum(topic, priority, dueAt, null, producedAt, 0, 0)
    const checksum = (contentSum(id, meta, body, null) ^ numbers) >>> 0
    values.push(seq, queue, topic, priority, dueAt, producedAt, checksum, id, toSql(meta), toSql(body))
  }
  try {
    db.run(INSERT_ROWS, ...values)
    return true
  } catch (error) {
    if (sqliteCode(error) === SQLITE.constraint) return false
    throw error
  }
}

export function isPlain({ body, tags, key }: NewMessage): boolean {
  return body.length <= BODY_INLINE_MAX && (tags === undefined || tags.length === 0) && key === undefined
}

export type LeavingRow = Pick<MessageRow, 'seq' | 'queue' | 'id' | 'is_large' | 'is_tagged' | 'mark'>

export function isMarked({ mark }: Pick<MessageRow, 'mark'>, wanted: number): boolean {
  return (mark & wanted) !== 0
}

export function deleteMessages(db: Database, rows: readonly LeavingRow[]): void {
  if (rows.length === 0) return
  for (const row of rows) if (row.is_tagged === 1) untag(db, row)
  dropPlaces(db, seqsOf(rows.filter(isKeyed)))
  db.run(DELETE, JSON.stringify(seqsOf(rows)))
  const large = rows.filter(({ is_large }) => is_large === 1)
  if (large.length > 0) db.run(DELETE_LARGE, JSON.stringify(seqsOf(large)))
}

function seqsOf(rows: readonly Pick<MessageRow, 'seq'>[]): number[] {
  return rows.map(({ seq }) => seq)
}

type TaggedRow = Pick<MessageRow, 'seq' | 'queue' | 'id'>

function untag(db: Database, row: TaggedRow): void {
  unindexTags(db, row, tagsOf(db, row))
}

export function tagsOf(db: Database, { seq }: Pick<MessageRow, 'seq'>): readonly string[] {
  return parseTags(db.get<{ tags: string | null }>(TAGS, seq)?.tags ?? null)
}

export function indexTags(db: Database, { seq, queue, id }: TaggedRow, tags: readonly string[]): void {
  for (const tag of tags) db.run(INSERT_TAG, queue, tag, id, seq)
}

export function unindexTags(db: Database, { queue, id }: TaggedRow, tags: readonly string[]): void {
  for (const tag of tags) db.run(DELETE_TAG, queue, tag, id)
}

/** What cannot be read is no tag: the checksum tells of it. */
export function parseTags(text: string | null): readonly string[] {
  if (typeof text !== 'string') return []
  try {
    const tags: unknown = JSON.parse(text)
    return Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : []
  } catch {
    return []
  }
}

/** What stays of a message that is done: `meta` and `body` in place of its own. */
export function keepRemembered(
  db: Database,
  row: MessageRow,
  { until, outcome, topic, result }: { until: number; outcome: string; topic: string; result: string },
): void {
  if (row.is_tagged === 1) untag(db, row)
  const key = keyIn(db, row)
  if (key !== undefined) placeEnds(db, row.seq, REMEMBERED)
  if (row.is_large === 1) db.run(DELETE_LARGE, JSON.stringify([row.seq]))
  const isLarge = result.length > BODY_INLINE_MAX
  if (isLarge) db.run(INSERT_LARGE, row.seq, toSql(result))
  const { priority, due_at, first_due_at, produced_at, attempt } = row
  const numbers = numbersSum(0, priority, due_at, first_due_at, produced_at, attempt, 0)
  const checksum =
    contentSum(row.id, topic, result, null, key) ^ failureSum({ error: '', reason: outcome }) ^ numbers
  db.run(REMEMBER, until, checksum >>> 0, topic, outcome, isLarge ? null : toSql(result), row.seq)
}

type Changes = Partial<Pick<MessageRow, 'due_at' | 'first_due_at' | 'attempt' | 'lapses'>>

/** The checksum of a message that will wait or be dead, with these of its numbers changed. */
export function checksumAfter(row: MessageRow, changes: Changes): number {
  const {
    due_at = row.due_at,
    first_due_at = row.first_due_at,
    attempt = row.attempt,
    lapses = row.lapses,
  } = changes
  const { topic, priority, produced_at } = row
  const after = numbersSum(topic, priority, due_at, first_due_at, produced_at, attempt, lapses)
  return (row.checksum ^ sumOfNumbers(row) ^ after) >>> 0
}

/** Sets what it failed of. `checksum`: with all other changes in it. */
export function setFailure(db: Database, seq: number, checksum: number, texts: MessageTexts): void {
  const old = db.get<{ error: Text; reason: Text }>(FAILURE, seq) ?? { error: '', reason: '' }
  const before = failureSum({ error: fromSql(old.error), reason: fromSql(old.reason) })
  const next = (checksum ^ before ^ failureSum(texts)) >>> 0
  db.run(NEW_FAILURE, toSql(texts.error), toSql(texts.reason), next, seq)
}

/** Gives a message that waits another content. `checksum`: with all other changes in it. */
export function setContent(
  db: Database,
  row: MessageRow,
  checksum: number,
  { body, meta }: { readonly body: string; readonly meta: string },
): void {
  const { seq, id } = row
  const key = keyIn(db, row)
  const none = { body: '', meta: '', tags: null }
  const old = db.get<{ body: Text | null; meta: Text; tags: string | null }>(CONTENT, seq) ?? none
  const oldBody = old.body ?? db.get<{ body: Text }>(LARGE_BODY, seq)?.body ?? ''
  const before = contentSum(id, fromSql(old.meta), fromSql(oldBody), old.tags, key)
  const next = (checksum ^ before ^ contentSum(id, meta, body, old.tags, key)) >>> 0
  const isLarge = body.length > BODY_INLINE_MAX
  if (old.body === null) db.run(DELETE_LARGE, JSON.stringify([seq]))
  db.run(NEW_CONTENT, toSql(meta), isLarge ? null : toSql(body), next, seq)
  if (isLarge) db.run(INSERT_LARGE, seq, toSql(body))
}

/** Reads its texts and compares them with the checksum. */
export function readTexts(
  db: Database,
  row: WholeRow,
): { readonly body: string; readonly meta: string; readonly key?: string } & MessageTexts {
  const stored = row.body ?? db.get<{ body: Text }>(LARGE_BODY, row.seq)?.body
  if (stored === undefined) throw corrupt(`message "${row.id}" has no body`)
  const body = fromSql(stored)
  const [meta, error, reason] = [fromSql(row.meta), fromSql(row.error), fromSql(row.reason)]
  const key = keyIn(db, row)
  const content = contentSum(row.id, meta, body, row.tags, key)
  const checksum = (content ^ failureSum({ error, reason }) ^ sumOfNumbers(row)) >>> 0
  if (checksum !== row.checksum) throw corrupt(`message "${row.id}" does not match its checksum`)
  return { body, meta, error, reason, ...(key === undefined ? {} : { key }) }
}

function sumOfNumbers(
  row: Omit<MessageRow, 'queue' | 'owner' | 'until' | 'is_large' | 'is_tagged' | 'mark'>,
): number {
  const { topic, priority, due_at, first_due_at, produced_at, state, attempt, lapses } = row
  const finished = state === RUNNING ? attempt - 1 : attempt
  return numbersSum(topic, priority, due_at, first_due_at, produced_at, finished, lapses)
}

/** Some drivers end a text at its first null character, so one that has any is kept as bytes. */
export function toSql(text: string): SqlValue {
  return text.includes('\0') ? Buffer.from(text) : text
}

export function fromSql(value: Text): string {
  return typeof value === 'string' ? value : Buffer.from(value).toString()
}
