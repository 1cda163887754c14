/** The verbs that work by id: put, remove, reschedule, revive. */
import type {
  Move,
  NewMessage,
  PutResult,
  RemoveResult,
  RescheduleResult,
  ReviveResult,
} from '../../contract/store.ts'
import { dueAtOf } from '../../shared/moments.ts'
import {
  ROW,
  WHOLE_ROW,
  checksumAfter,
  deleteMessages,
  insertMessage,
  readTexts,
  setFailure,
  type MessageRow,
  type WholeRow,
} from '../database/message.ts'
import { DEAD, REMEMBERED, RUNNING, WAITING } from '../database/schema.ts'
import type { Scene } from './scene.ts'

const BY_ID = `SELECT ${ROW} FROM message WHERE queue = ? AND id = ?`
const WHOLE_BY_ID = `SELECT ${WHOLE_ROW} FROM message WHERE queue = ? AND id = ?`
const MOVE = 'UPDATE message SET due_at = ?, first_due_at = NULL, checksum = ? WHERE seq = ?'
const REVIVE = `UPDATE message SET state = 0, until = 0, death = NULL, due_at = ?, first_due_at = NULL, attempt = 0,
  lapses = 0, checksum = ? WHERE seq = ?`

/** Places one new message: of a `put`, or one that a settlement carries. */
export function putOne(scene: Scene, message: NewMessage): PutResult {
  const { ledger, queue, queueName, now } = scene
  if (message.ifBody !== undefined && bodyOf(scene, message.id) !== message.ifBody) return 'duplicate'
  const { topic } = ledger.internTopic(queue, message.topic)
  const dueAt = Math.floor(dueAtOf(message.when, now))
  ledger.nextAt(topic)
  let result: PutResult = 'stored'
  if (!insertMessage(scene.db, { seq: ledger.nextSequence(), queue, topic, dueAt, now }, message)) {
    const old = byId(scene, message.id)
    const isOver = old?.state === REMEMBERED && old.until <= now
    if (message.ifExists === 'keep' && !isOver) return 'duplicate'
    if (old?.state === RUNNING && message.ifExists === 'replace') return 'running'
    if (old !== undefined) drop(scene, old)
    ledger.nextAt(topic)
    insertMessage(scene.db, { seq: ledger.nextSequence(), queue, topic, dueAt, now }, message)
    if (old?.state !== REMEMBERED) result = 'replaced'
  }
  ledger.add(topic, WAITING, dueAt, queueName)
  return result
}

/** Whether it would replace one that runs, other than `parent`. */
export function cannotPlace(scene: Scene, { id, ifExists }: NewMessage, parent: number): boolean {
  if (ifExists !== 'replace') return false
  const row = byId(scene, id)
  return row?.state === RUNNING && row.seq !== parent
}

export function removeOne(scene: Scene, id: string, from: 'waiting' | 'dead'): RemoveResult {
  const row = byId(scene, id)
  if (row?.state === RUNNING) return 'running'
  if (row?.state === REMEMBERED) {
    drop(scene, row)
    return from === 'dead' && row.until > scene.now ? 'removed' : 'missing'
  }
  if (row === undefined || row.state !== (from === 'dead' ? DEAD : WAITING)) return 'missing'
  drop(scene, row)
  return 'removed'
}

export function rescheduleOne(scene: Scene, { id, when }: Move): RescheduleResult {
  const row = byId(scene, id)
  if (row?.state === RUNNING) return 'running'
  if (row?.state !== WAITING) return 'missing'
  const dueAt = Math.floor(dueAtOf(when, scene.now))
  scene.ledger.move(row.topic, dueAt, scene.queueName)
  scene.db.run(MOVE, dueAt, checksumAfter(row, { due_at: dueAt, first_due_at: null }), row.seq)
  return 'rescheduled'
}

export function reviveOne(scene: Scene, id: string): ReviveResult {
  const row = byId(scene, id)
  if (row?.state !== DEAD) return 'missing'
  scene.ledger.take(row.topic, DEAD)
  scene.ledger.add(row.topic, WAITING, scene.now, scene.queueName)
  const checksum = checksumAfter(row, { due_at: scene.now, first_due_at: null, attempt: 0, lapses: 0 })
  scene.db.run(REVIVE, scene.now, checksum, row.seq)
  setFailure(scene.db, row.seq, checksum, { error: '', reason: '' })
  return 'revived'
}

function byId({ db, queue }: Scene, id: string): MessageRow | undefined {
  return db.get<MessageRow>(BY_ID, queue, id)
}

function bodyOf({ db, queue }: Scene, id: string): string | undefined {
  const row = db.get<WholeRow>(WHOLE_BY_ID, queue, id)
  return row === undefined ? undefined : readTexts(db, row).body
}

function drop({ db, ledger }: Scene, row: MessageRow): void {
  deleteMessages(db, [row])
  if (row.state !== REMEMBERED) ledger.take(row.topic, row.state)
}
