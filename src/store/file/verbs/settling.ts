/** The verbs under a lease: extend and settle. Each acts only if the message runs under exactly this token (P4). */
import { assertNever } from '../../../core/errors.ts'
import type { ExtendResult, LeaseRef, SettleResult, Settlement } from '../../contract/store.ts'
import { isStorable } from '../../shared/moments.ts'
import { ROW, checksumAfter, deleteMessage, setFailure, type MessageRow } from '../database/message.ts'
import { DEAD, RUNNING, WAITING } from '../database/schema.ts'
import type { MessageNumbers } from '../database/checksum.ts'
import type { Scene } from './scene.ts'

const HELD = `SELECT ${ROW} FROM message WHERE seq = ? AND lease = ? AND state = 1`
const OWNER_NAME = 'SELECT name FROM owner WHERE owner = ?'
const EXTEND = 'UPDATE message SET until = ? WHERE seq = ?'
const WAIT = `UPDATE message SET state = 0, until = 0, owner = 0, due_at = ?, first_due_at = ?, attempt = ?, lapses = ?,
  checksum = ? WHERE seq = ?`
const BURY = 'UPDATE message SET state = 2, until = ?, owner = 0, death = ? WHERE seq = ?'

export function extendOne(scene: Scene, lease: LeaseRef, leaseMs: number): ExtendResult {
  const row = heldBy(scene, lease)
  if (row === undefined) return 'lost'
  scene.db.run(EXTEND, scene.now + leaseMs, row.seq)
  return 'extended'
}

export function settleOne(scene: Scene, settlement: Settlement): SettleResult {
  const row = heldBy(scene, settlement)
  if (row === undefined) return 'lost'
  if (!isStorable(settlement)) return 'refused'
  scene.ledger.take(row.topic, RUNNING)
  switch (settlement.kind) {
    case 'ack':
      deleteMessage(scene.db, row)
      break
    case 'retry': {
      const lapses = settlement.isLapse === true ? row.lapses + 1 : 0
      const dueAt = Math.floor(scene.now + settlement.delayMs)
      const first = row.first_due_at ?? row.due_at
      const checksum = wait(scene, row, { due_at: dueAt, first_due_at: first, lapses })
      setFailure(scene.db, row.seq, checksum, { error: settlement.error, reason: '' })
      break
    }
    case 'lapse': {
      const checksum = wait(scene, row, { lapses: row.lapses + 1 })
      setFailure(scene.db, row.seq, checksum, { error: settlement.error, reason: '' })
      break
    }
    case 'release':
      wait(scene, row, { attempt: row.attempt - 1 }, ownerName(scene, row))
      break
    case 'dead':
      scene.ledger.add(row.topic, DEAD, row.due_at, scene.queueName)
      scene.db.run(BURY, scene.now, scene.ledger.nextSequence(), row.seq)
      setFailure(scene.db, row.seq, row.checksum, settlement)
      break
    default:
      return assertNever(settlement)
  }
  return 'settled'
}

/** The message waits again, with these of its numbers changed. Returns its checksum. */
function wait(scene: Scene, row: MessageRow, changes: Partial<MessageNumbers>, giver?: string): number {
  const { due_at, first_due_at, attempt, lapses } = { ...row, ...changes }
  const checksum = checksumAfter(row, changes)
  scene.ledger.add(row.topic, WAITING, due_at, scene.queueName, giver)
  scene.db.run(WAIT, due_at, first_due_at, attempt, lapses, checksum, row.seq)
  return checksum
}

/** A lapsed lease still counts until somebody else has taken over. */
function heldBy({ db, queue }: Scene, { id, token }: LeaseRef): MessageRow | undefined {
  const [seq = NaN, lease = NaN] = token.split('.').map(Number)
  if (!Number.isSafeInteger(seq) || !Number.isSafeInteger(lease)) return undefined
  const row = db.get<MessageRow>(HELD, seq, lease)
  return row !== undefined && row.id === id && row.queue === queue ? row : undefined
}

function ownerName({ db }: Scene, { owner }: MessageRow): string | undefined {
  return db.get<{ name: string }>(OWNER_NAME, owner)?.name
}
