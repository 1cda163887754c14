/** The verbs that work by id: put, remove, reschedule, revive. */
import type {
  Move,
  NewMessage,
  PutResult,
  RemoveOptions,
  RemoveResult,
  RescheduleResult,
  ReviveResult,
} from '../../contract/store.ts'
import { boundedMoment, dueAtOf } from '../../shared/moments.ts'
import {
  ROW,
  ROWS_AT_ONCE,
  WHOLE_ROW,
  checksumAfter,
  deleteMessages,
  insertMessage,
  insertPlainRows,
  isMarked,
  isPlain,
  readTexts,
  setFailure,
  type MessageRow,
  type WholeRow,
} from '../database/message.ts'
import { CANCELLING, DEAD, REMEMBERED, RUNNING, SUCCEEDED, WAITING } from '../database/schema.ts'
import type { Scene } from './scene.ts'
import { dropSuccessor, moveSuccessor, succeed } from './succeeding.ts'

const BY_ID = `SELECT ${ROW} FROM message WHERE queue = ? AND id = ?`
const WHOLE_BY_ID = `SELECT ${WHOLE_ROW} FROM message WHERE queue = ? AND id = ?`
const CANCEL = 'UPDATE message SET mark = mark | ? WHERE seq = ?'
const MOVE = 'UPDATE message SET due_at = ?, first_due_at = NULL, checksum = ? WHERE seq = ?'
const REVIVE = `UPDATE message SET state = 0, until = 0, death = NULL, due_at = ?, first_due_at = NULL, attempt = 0,
  lapses = 0, checksum = ? WHERE seq = ?`

/** Many at once where they are new and plain, which nearly all are. */
export function putAll(scene: Scene, messages: readonly NewMessage[]): PutResult[] {
  const results: PutResult[] = []
  for (let at = 0; at < messages.length;) {
    const group = messages.slice(at, at + ROWS_AT_ONCE)
    at += group.length
    if (group.length === ROWS_AT_ONCE && putPlain(scene, group)) for (const _ of group) results.push('stored')
    else for (const message of group) results.push(putOne(scene, message))
  }
  return results
}

/** False: one of them needs a closer look, and nothing was stored. */
function putPlain(scene: Scene, messages: readonly NewMessage[]): boolean {
  const { ledger, queue, queueName, now, db } = scene
  if (!messages.every((message) => message.ifBody === undefined && isPlain(message))) return false
  const rows = messages.map((message) => {
    const { topic } = ledger.internTopic(queue, message.topic)
    const { dueAt, producedAt } = boundedMoment(message, undefined, now)
    return { seq: ledger.nextSequence(), queue, topic, dueAt: Math.floor(dueAt), producedAt, message }
  })
  for (const { topic } of rows) ledger.nextAt(topic)
  if (!insertPlainRows(db, rows)) return false
  for (const { topic, dueAt } of rows) ledger.add(topic, WAITING, dueAt, queueName)
  return true
}

/** Places one new message: of a `put`, or one that a settlement carries. */
export function putOne(scene: Scene, message: NewMessage): PutResult {
  const { ledger, queue, queueName, now } = scene
  if (message.ifBody !== undefined && bodyOf(scene, message.id) !== message.ifBody) return 'duplicate'
  const { topic } = ledger.internTopic(queue, message.topic)
  const moment = boundedMoment(message, undefined, now)
  const dueAt = Math.floor(moment.dueAt)
  ledger.nextAt(topic)
  const seq = ledger.nextSequence()
  if (insertMessage(scene.db, { seq, queue, topic, dueAt, producedAt: moment.producedAt }, message)) {
    ledger.add(topic, WAITING, dueAt, queueName)
    return 'stored'
  }
  const old = byId(scene, message.id)
  const isOver = old?.state === REMEMBERED && old.until <= now
  if (message.ifExists === 'keep' && !isOver) return 'duplicate'
  if (old?.state === RUNNING && message.ifExists === 'replace') {
    succeed(scene, old, message)
    return 'succeeds'
  }
  place(scene, message, boundedMoment(message, old?.state === WAITING ? old.produced_at : undefined, now))
  return old?.state === REMEMBERED ? 'stored' : 'replaced'
}

/** Takes the place of what stands for its id, if anything does. */
export function place(
  scene: Scene,
  message: NewMessage,
  { dueAt: at, producedAt }: { readonly dueAt: number; readonly producedAt: number },
): void {
  const { db, ledger, queue, queueName } = scene
  const old = byId(scene, message.id)
  if (old !== undefined) drop(scene, old)
  const { topic } = ledger.internTopic(queue, message.topic)
  const dueAt = Math.floor(at)
  ledger.nextAt(topic)
  insertMessage(db, { seq: ledger.nextSequence(), queue, topic, dueAt, producedAt }, message)
  ledger.add(topic, WAITING, dueAt, queueName)
}

export function removeOne(
  scene: Scene,
  id: string,
  from: 'waiting' | 'dead',
  { isRunningToo = false }: RemoveOptions = {},
): RemoveResult {
  const row = byId(scene, id)
  if (row?.state === RUNNING) {
    if (isMarked(row, SUCCEEDED)) dropSuccessor(scene, row)
    if (!isRunningToo) return 'running'
    scene.db.run(CANCEL, CANCELLING, row.seq)
    scene.ledger.wakeCancelling(scene.queueName)
    return 'cancelling'
  }
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
  if (row?.state === RUNNING)
    return isMarked(row, SUCCEEDED) && moveSuccessor(scene, row, when) ? 'rescheduled' : 'running'
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

export function byId({ db, queue }: Scene, id: string): MessageRow | undefined {
  return db.get<MessageRow>(BY_ID, queue, id)
}

function bodyOf({ db, queue }: Scene, id: string): string | undefined {
  const row = db.get<WholeRow>(WHOLE_BY_ID, queue, id)
  return row === undefined ? undefined : readTexts(db, row).body
}

function drop(scene: Scene, row: MessageRow): void {
  if (isMarked(row, SUCCEEDED)) dropSuccessor(scene, row)
  deleteMessages(scene.db, [row])
  if (row.state !== REMEMBERED) scene.ledger.take(row.topic, row.state)
}
