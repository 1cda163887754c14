/** A message as it lies in its row, and what becomes of it on the way out. */
import type { PriorityRank } from '../../../core/message.ts'
import { corrupt } from '../failure.ts'
import { contentSum, failureSum, numbersSum, type MessageNumbers, type MessageTexts } from './checksum.ts'
import type { Database } from './database.ts'
import type { SqlValue } from './driver.ts'
import { BODY_INLINE_MAX, type StateNumber } from './schema.ts'

/** All that moving a message needs; its texts may be long and stay where they are. */
export type MessageRow = MessageNumbers & {
  readonly seq: number
  readonly queue: number
  readonly id: string
  readonly priority: PriorityRank
  readonly state: StateNumber
  readonly until: number
  readonly lease: number
  readonly owner: number
  readonly death: number | null
  readonly checksum: number
  /** 1: its body lies in the table for bodies. */
  readonly is_large: 0 | 1
}

export type WholeRow = MessageRow &
  MessageTexts & { readonly meta: string; readonly body: string | Uint8Array | null }

export const ROW = `seq, queue, topic, priority, state, due_at, first_due_at, produced_at, until, lease, owner, death,
  attempt, lapses, checksum, id, body IS NULL AS is_large`
export const WHOLE_ROW = `seq, queue, topic, priority, state, due_at, first_due_at, produced_at, until, lease, owner,
  death, attempt, lapses, checksum, id, body IS NULL AS is_large, meta, error, reason, body`

const LARGE_BODY = 'SELECT body FROM body WHERE seq = ?'
const FAILURE = 'SELECT error, reason FROM message WHERE seq = ?'
const INSERT = `INSERT INTO message (seq, queue, topic, priority, due_at, produced_at, checksum, id, meta, body)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
const INSERT_LARGE = 'INSERT INTO body (seq, body) VALUES (?, ?)'
const DELETE = 'DELETE FROM message WHERE seq = ?'
const DELETE_LARGE = 'DELETE FROM body WHERE seq = ?'
const NEW_FAILURE = 'UPDATE message SET error = ?, reason = ?, checksum = ? WHERE seq = ?'

export type NewRow = Pick<
  WholeRow,
  'seq' | 'queue' | 'topic' | 'priority' | 'due_at' | 'produced_at' | 'id' | 'meta'
> & { readonly body: string }

/** False: the id is taken. */
export function insertMessage(db: Database, row: NewRow): boolean {
  const { seq, queue, topic, priority, due_at, produced_at, id, meta, body } = row
  const checksum =
    (contentSum(id, meta, body) ^ numbersSum({ ...row, first_due_at: null, attempt: 0, lapses: 0 })) >>> 0
  const isLarge = body.length > BODY_INLINE_MAX
  const inline = isLarge ? null : toSql(body)
  const text = toSql(meta)
  if (db.run(INSERT, seq, queue, topic, priority, due_at, produced_at, checksum, id, text, inline) === 0)
    return false
  if (isLarge) db.run(INSERT_LARGE, seq, toSql(body))
  return true
}

export function deleteMessage(db: Database, { seq, is_large }: MessageRow): void {
  db.run(DELETE, seq)
  if (is_large === 1) db.run(DELETE_LARGE, seq)
}

/** The checksum after these of its numbers changed. */
export function checksumAfter(row: MessageRow, changes: Partial<MessageNumbers>): number {
  return (row.checksum ^ numbersSum(row) ^ numbersSum({ ...row, ...changes })) >>> 0
}

/** Sets what it failed of. `checksum`: with all other changes in it. */
export function setFailure(db: Database, seq: number, checksum: number, texts: MessageTexts): void {
  const old = db.get<MessageTexts>(FAILURE, seq) ?? { error: '', reason: '' }
  const [error, reason] = [fromSql(old.error), fromSql(old.reason)]
  const next = (checksum ^ failureSum({ error, reason }) ^ failureSum(texts)) >>> 0
  db.run(NEW_FAILURE, toSql(texts.error), toSql(texts.reason), next, seq)
}

/** Reads its texts and compares them with the checksum. */
export function readTexts(
  db: Database,
  row: WholeRow,
): { readonly body: string; readonly meta: string } & MessageTexts {
  const stored = row.is_large === 1 ? db.get<{ body: string }>(LARGE_BODY, row.seq)?.body : row.body
  if (stored === undefined || stored === null) throw corrupt(`message "${row.id}" has no body`)
  const body = fromSql(stored)
  const [meta, error, reason] = [fromSql(row.meta), fromSql(row.error), fromSql(row.reason)]
  const checksum = (contentSum(row.id, meta, body) ^ failureSum({ error, reason }) ^ numbersSum(row)) >>> 0
  if (checksum !== row.checksum) throw corrupt(`message "${row.id}" does not match its checksum`)
  return { body, meta, error, reason }
}

/** Some drivers end a text at its first null character, so one that has any is kept as bytes. */
export function toSql(text: string): SqlValue {
  return text.includes('\0') ? Buffer.from(text) : text
}

export function fromSql(value: string | Uint8Array): string {
  return typeof value === 'string' ? value : Buffer.from(value).toString()
}
