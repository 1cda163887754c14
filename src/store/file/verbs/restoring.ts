/** Placing messages as another store showed them. */
import type { RestoredMessage, RestoreResult } from '../../contract/store.ts'
import {
  checksumAfter,
  deleteMessages,
  insertMessage,
  keepRemembered,
  setFailure,
  type MessageRow,
} from '../database/message.ts'
import { isKeyed, placeEnds } from '../database/place.ts'
import { DEAD, REMEMBERED } from '../database/schema.ts'
import { corrupt } from '../failure.ts'
import { byId, waits } from './placing.ts'
import type { Scene } from './scene.ts'

const HISTORY = `UPDATE message SET first_due_at = ?, attempt = ?, lapses = ?, checksum = ? WHERE seq = ?`
const BURY = 'UPDATE message SET state = 2, until = ?, death = ? WHERE seq = ?'
/** What is remembered names its topic in its row; this number is no topic's. */
const NO_TOPIC = 0

export function restoreOne(scene: Scene, message: RestoredMessage): RestoreResult {
  const { db, ledger, queue, now } = scene
  const { id, state, dueAt, firstDueAt, attempt, lapses, error, reason, until } = message
  const old = byId(scene, id)
  if (old !== undefined && !(old.state === REMEMBERED && old.until <= now)) return 'taken'
  if (old !== undefined) deleteMessages(db, [old])
  const isDone = state === 'completed'
  const topic = isDone ? NO_TOPIC : ledger.internTopic(queue, message.topic).topic
  if (!isDone) ledger.nextAt(topic)
  const seq = ledger.nextSequence()
  const content = isDone ? { ...message, body: '', meta: '', tags: [] } : message
  insertMessage(db, { seq, queue, topic, dueAt, producedAt: message.producedAt }, content)
  const row = withHistory(scene, id, {
    first_due_at: firstDueAt === dueAt ? null : firstDueAt,
    attempt,
    lapses,
  })
  if (isDone) {
    const { outcome = 'completed', result = '' } = message
    keepRemembered(db, row, { until, outcome, topic: message.topic, result })
    return 'restored'
  }
  if (state === 'dead') db.run(BURY, until, ledger.nextSequence(), seq)
  if (state === 'dead' && isKeyed(row)) placeEnds(db, seq, DEAD)
  if (error !== '' || reason !== '') setFailure(db, seq, row.checksum, { error, reason })
  if (state === 'dead') ledger.count(topic, DEAD, 1)
  else waits(scene, topic, dueAt, message.key)
  return 'restored'
}

function withHistory(
  scene: Scene,
  id: string,
  changes: Pick<MessageRow, 'first_due_at' | 'attempt' | 'lapses'>,
): MessageRow {
  const row = byId(scene, id)
  if (row === undefined) throw corrupt(`message "${id}" was stored and cannot be found`)
  const checksum = checksumAfter(row, changes)
  scene.db.run(HISTORY, changes.first_due_at, changes.attempt, changes.lapses, checksum, row.seq)
  return { ...row, ...changes, checksum }
}
