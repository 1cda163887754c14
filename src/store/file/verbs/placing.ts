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
import { countedState, isKeyed, isWaiting, keyOf, placeWaits } from '../database/place.ts'
import { CANCELLING, DEAD, IN_TURN, REMEMBERED, RUNNING, SUCCEEDED, WAITING } from '../database/schema.ts'
import type { Scene } from './scene.ts'
import { dropSuccessor, moveSuccessor, succeed } from './succeeding.ts'

const BY_ID = `SELECT ${ROW} FROM message WHERE queue = ? AND id = ?`
const WHOLE_BY_ID = `SELECT ${WHOLE_ROW} FROM message WHERE queue = ? AND id = ?`
const CANCEL = 'UPDATE message SET mark = mark | ? WHERE seq = ?'
const MOVE = 'UPDATE message SET due_at = ?, first_due_at = NULL, checksum = ? WHERE seq = ?'
const REVIVE = `UPDATE message SET state = ?, until = 0, death = NULL, due_at = ?, first_due_at = NULL, attempt = 0,
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
  const { ledger, queue, now } = scene
  if (message.ifBody !== undefined && bodyOf(scene, message.id) !== message.ifBody) return 'duplicate'
  const { topic } = ledger.internTopic(queue, message.topic)
  const moment = boundedMoment(message, undefined, now)
  const dueAt = Math.floor(moment.dueAt)
  ledger.nextAt(topic)
  const seq = ledger.nextSequence()
  if (insertMessage(scene.db, { seq, queue, topic, dueAt, producedAt: moment.producedAt }, message)) {
    waits(scene, topic, dueAt, message.key)
    return 'stored'
  }
  const old = byId(scene, message.id)
  const isOver = old?.state === REMEMBERED && old.until <= now
  if (message.ifExists === 'keep' && !isOver) return 'duplicate'
  if (old?.state === RUNNING && message.ifExists === 'replace') {
    succeed(scene, old, message)
    return 'succeeds'
  }
  place(
    scene,
    message,
    boundedMoment(message, old !== undefined && isWaiting(old) ? old.produced_at : undefined, now),
  )
  return old?.state === REMEMBERED ? 'stored' : 'replaced'
}

/** Takes the place of what stands for its id, if anything does. */
export function place(
  scene: Scene,
  message: NewMessage,
  { dueAt: at, producedAt }: { readonly dueAt: number; readonly producedAt: number },
): void {
  const { db, ledger, queue } = scene
  const old = byId(scene, message.id)
  if (old !== undefined) drop(scene, old)
  const { topic } = ledger.internTopic(queue, message.topic)
  const dueAt = Math.floor(at)
  ledger.nextAt(topic)
  insertMessage(db, { seq: ledger.nextSequence(), queue, topic, dueAt, producedAt }, message)
  waits(scene, topic, dueAt, message.key)
}

/** A new message waits. */
export function waits(
  { ledger, turns, queueName }: Scene,
  topic: number,
  dueAt: number,
  key: string | undefined,
): void {
  if (key === undefined) {
    ledger.add(topic, WAITING, dueAt, queueName)
    return
  }
  ledger.count(topic, WAITING, 1)
  turns.touch(topic, key)
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
  if (row === undefined || !(from === 'dead' ? row.state === DEAD : isWaiting(row))) return 'missing'
  drop(scene, row)
  return 'removed'
}

export function rescheduleOne(scene: Scene, { id, when }: Move): RescheduleResult {
  const row = byId(scene, id)
  if (row?.state === RUNNING)
    return isMarked(row, SUCCEEDED) && moveSuccessor(scene, row, when) ? 'rescheduled' : 'running'
  if (row === undefined || !isWaiting(row)) return 'missing'
  const dueAt = Math.floor(dueAtOf(when, scene.now))
  if (isKeyed(row)) putInPlace(scene, row, dueAt)
  else scene.ledger.move(row.topic, dueAt, scene.queueName)
  scene.db.run(MOVE, dueAt, checksumAfter(row, { due_at: dueAt, first_due_at: null }), row.seq)
  return 'rescheduled'
}

export function reviveOne(scene: Scene, id: string): ReviveResult {
  const row = byId(scene, id)
  if (row?.state !== DEAD) return 'missing'
  scene.ledger.take(row.topic, DEAD)
  if (isKeyed(row)) {
    scene.ledger.count(row.topic, WAITING, 1)
    putInPlace(scene, row, scene.now)
  } else scene.ledger.add(row.topic, WAITING, scene.now, scene.queueName)
  const checksum = checksumAfter(row, { due_at: scene.now, first_due_at: null, attempt: 0, lapses: 0 })
  scene.db.run(REVIVE, isKeyed(row) ? IN_TURN : WAITING, scene.now, checksum, row.seq)
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

/** A message with a key waits, due then, by its user's doing: its key is not held by it. */
function putInPlace({ db, turns }: Scene, { topic, seq }: MessageRow, dueAt: number): void {
  placeWaits(db, seq, dueAt, false)
  turns.touch(topic, keyOf(db, seq))
}

function drop(scene: Scene, row: MessageRow): void {
  const { db, ledger, turns } = scene
  if (isMarked(row, SUCCEEDED)) dropSuccessor(scene, row)
  const isCounted = row.state !== REMEMBERED
  if (isCounted && isKeyed(row)) turns.touch(row.topic, keyOf(db, row.seq))
  deleteMessages(db, [row])
  if (!isCounted) return
  if (isKeyed(row)) ledger.count(row.topic, countedState(row.state), -1)
  else ledger.take(row.topic, countedState(row.state))
}
