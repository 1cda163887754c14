/** Ids that stay taken after their message is done. Some that are over leave with each that comes, and with facts of workers. */
import type { Remember } from '../../contract/store.ts'
import { ROW, deleteMessages, keepRemembered, type MessageRow } from '../database/message.ts'
import type { Scene } from './scene.ts'

/** How many leave at once. */
const DROPPED_MAX = 100

const OVER = `SELECT ${ROW} FROM message INDEXED BY message_remembered WHERE state = 3 AND queue = ? AND until <= ? LIMIT ?`
const TOPIC_NAME = 'SELECT name FROM topic WHERE topic = ?'

/** Before the ledger forgets its topic. */
export function remember(scene: Scene, row: MessageRow, { ms, outcome, result }: Remember): void {
  const topic = scene.db.get<{ name: string }>(TOPIC_NAME, row.topic)?.name ?? ''
  keepRemembered(scene.db, row, { until: Math.floor(scene.now + ms), outcome, topic, result })
  pruneRemembered(scene)
}

export function pruneRemembered({ db, queue, now }: Scene): void {
  deleteMessages(db, db.all<MessageRow>(OVER, queue, now, DROPPED_MAX))
}
