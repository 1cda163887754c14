/** The verbs under a lease: extend and settle. Each acts only if the message runs under exactly this token (P4). */
import { assertNever } from '../../../core/errors.ts'
import type { ExtendResult, LeaseRef, SettleResult, Settlement } from '../../contract/store.ts'
import { followUpsOf } from '../../contract/sizes.ts'
import { dueAtOf, isOwnWord, isStorable } from '../../shared/moments.ts'
import {
  AMONG,
  ROW,
  checksumAfter,
  deleteMessages,
  isMarked,
  setContent,
  setFailure,
  type LeavingRow,
  type MessageRow,
} from '../database/message.ts'
import { isKeyed, keyOf, placeEnds, placeWaits } from '../database/place.ts'
import { CANCELLING, DEAD, IN_TURN, RUNNING, SUCCEEDED, WAITING } from '../database/schema.ts'
import { corrupt } from '../failure.ts'
import { concurrencyLimits } from './controlling.ts'
import { place, putOne } from './placing.ts'
import { remember } from './remembering.ts'
import type { Scene } from './scene.ts'
import { dropSuccessor } from './succeeding.ts'

/** All that an ack needs. */
type HeldRow = LeavingRow & Pick<MessageRow, 'topic' | 'lease'>

const HELD = `SELECT seq, queue, topic, lease, id, body IS NULL AS is_large, tags IS NOT NULL AS is_tagged, mark
  FROM message WHERE ${AMONG} AND state = 1`
const WHOLE = `SELECT ${ROW} FROM message WHERE seq = ?`
const OWNER_NAME = 'SELECT name FROM owner WHERE owner = ?'
const EXTEND = `UPDATE message SET until = ? WHERE ${AMONG}`
const WAIT = `UPDATE message SET state = ?, until = 0, owner = 0, due_at = ?, first_due_at = ?, attempt = ?, lapses = ?,
  checksum = ? WHERE seq = ?`
const BURY = 'UPDATE message SET state = 2, until = ?, owner = 0, death = ? WHERE seq = ?'

export function extend(scene: Scene, leases: readonly LeaseRef[], leaseMs: number): ExtendResult[] {
  const held = heldBy(scene, leases)
  const rows = held.filter((row) => row !== undefined)
  if (rows.length > 0) {
    scene.db.run(EXTEND, scene.now + leaseMs, JSON.stringify(rows.map(({ seq }) => seq)))
  }
  return held.map((row) => {
    if (row === undefined) return 'lost'
    return isMarked(row, CANCELLING) ? 'cancelling' : 'extended'
  })
}

export function settle(scene: Scene, settlements: readonly Settlement[]): SettleResult[] {
  const held = heldBy(scene, settlements)
  const settled = new Set<number>()
  let done: HeldRow[] = []
  const limits = concurrencyLimits(scene)
  const results = settlements.map((settlement, index): SettleResult => {
    const row = held[index]
    if (row === undefined || settled.has(row.seq)) return 'lost'
    const isCancelled = isMarked(row, CANCELLING) && !isOwnWord(settlement)
    const followUps = isCancelled ? [] : followUpsOf(settlement)
    if (followUps.length > 0) {
      // What they replace or find taken may be among those that are done.
      deleteMessages(scene.db, done)
      done = []
    }
    if (!isStorable(settlement) || (followUps.length > 0 && !scene.hasRoomFor(followUps))) return 'refused'
    settled.add(row.seq)
    if (limits.size > 0) noteFreed(scene, row.topic, limits)
    const givesWay = isCancelled || isMarked(row, SUCCEEDED)
    if (isKeyed(row) && (givesWay || settlement.kind === 'ack' || settlement.kind === 'dead'))
      scene.turns.touch(row.topic, keyOf(scene.db, row.seq))
    if (givesWay) return giveWay(scene, row, settlement, isCancelled)
    scene.ledger.take(row.topic, RUNNING)
    if (settlement.kind !== 'ack') goOn(scene, wholeRow(scene, row.seq), settlement)
    else if (settlement.remember !== undefined) remember(scene, wholeRow(scene, row.seq), settlement.remember)
    else if (followUps.length === 0) done.push(row)
    else deleteMessages(scene.db, [row])
    for (const message of followUps) putOne(scene, message)
    return 'settled'
  })
  deleteMessages(scene.db, done)
  return results
}

/** It leaves, however its attempt ended: it was to be cancelled, or another has replaced it. */
function giveWay(scene: Scene, row: HeldRow, settlement: Settlement, isCancelled: boolean): SettleResult {
  const successor = isMarked(row, SUCCEEDED) ? dropSuccessor(scene, row) : undefined
  scene.ledger.take(row.topic, RUNNING)
  deleteMessages(scene.db, [row])
  if (!isCancelled) for (const message of followUpsOf(settlement)) putOne(scene, message)
  if (successor !== undefined) place(scene, successor, successor)
  if (isCancelled) return 'cancelled'
  return settlement.kind === 'ack' ? 'settled' : 'succeeded'
}

/** One that runs ends. At its limit, that lets another one start, and no worker knows yet that it waits. */
function noteFreed({ ledger, queueName }: Scene, topic: number, limits: ReadonlyMap<string, number>): void {
  const { name, running } = ledger.topicNumbered(topic)
  if (limits.get(name) === running) ledger.wake(queueName, 'due')
}

function wholeRow({ db }: Scene, seq: number): MessageRow {
  const row = db.get<MessageRow>(WHOLE, seq)
  if (row === undefined) throw corrupt(`message ${seq} is in an index and not in its table`)
  return row
}

function goOn(scene: Scene, row: MessageRow, settlement: Exclude<Settlement, { kind: 'ack' }>): void {
  const { db, ledger, now } = scene
  switch (settlement.kind) {
    case 'retry': {
      const changes = {
        due_at: Math.floor(now + settlement.delayMs),
        first_due_at: row.first_due_at ?? row.due_at,
        lapses: settlement.isLapse === true ? row.lapses + 1 : 0,
      }
      const checksum = wait(scene, row, changes, { isOurDoing: true })
      setFailure(db, row.seq, checksum, { error: settlement.error, reason: '' })
      break
    }
    case 'lapse': {
      const checksum = wait(scene, row, { lapses: row.lapses + 1 }, { isOurDoing: true })
      setFailure(db, row.seq, checksum, { error: settlement.error, reason: '' })
      break
    }
    case 'again': {
      const due_at = Math.floor(dueAtOf(settlement.when, now))
      const lapses = settlement.keepsLapses === true ? row.lapses : 0
      const changes = { due_at, first_due_at: null, attempt: row.attempt - 1, lapses }
      const checksum = wait(scene, row, changes)
      if (settlement.content !== undefined) setContent(db, row, checksum, settlement.content)
      break
    }
    case 'release':
      wait(
        scene,
        row,
        { attempt: row.attempt - 1 },
        { giver: db.get<{ name: string }>(OWNER_NAME, row.owner)?.name },
      )
      break
    case 'dead':
      ledger.add(row.topic, DEAD, row.due_at, scene.queueName)
      db.run(BURY, now, ledger.nextSequence(), row.seq)
      if (isKeyed(row)) placeEnds(db, row.seq, DEAD)
      setFailure(db, row.seq, checksumAfter(row, {}), settlement)
      break
    default:
      assertNever(settlement)
  }
}

type WaitReason = {
  /** Whose worker gave it back. */
  readonly giver?: string | undefined
  /** Not by its handler's or its user's word: it holds its key, if that is serial. */
  readonly isOurDoing?: boolean
}

/** The message waits again, with these of its numbers changed. Returns its checksum. */
function wait(
  scene: Scene,
  row: MessageRow,
  changes: Partial<MessageRow>,
  { giver, isOurDoing = false }: WaitReason = {},
): number {
  const {
    due_at = row.due_at,
    first_due_at = row.first_due_at,
    attempt = row.attempt,
    lapses = row.lapses,
  } = changes
  const checksum = checksumAfter(row, changes)
  if (isKeyed(row)) {
    const key = keyOf(scene.db, row.seq)
    scene.ledger.count(row.topic, WAITING, 1)
    placeWaits(scene.db, row.seq, due_at, isOurDoing && scene.turns.isSerial(row.topic, key))
    scene.turns.putBack(row.topic, key, giver)
  } else scene.ledger.add(row.topic, WAITING, due_at, scene.queueName, giver)
  const state = isKeyed(row) ? IN_TURN : WAITING
  scene.db.run(WAIT, state, due_at, first_due_at, attempt, lapses, checksum, row.seq)
  return checksum
}

/** In the order of the leases. A lapsed lease still counts until somebody else has taken over. */
function heldBy({ db, queue }: Scene, leases: readonly LeaseRef[]): (HeldRow | undefined)[] {
  const tokens = leases.map(({ token }) => token.split('.').map(Number))
  const numbers = tokens.map(([seq = NaN]) => seq).filter((seq) => Number.isSafeInteger(seq))
  const rows = new Map(db.all<HeldRow>(HELD, JSON.stringify(numbers)).map((row) => [row.seq, row]))
  return leases.map(({ id }, index) => {
    const [seq = NaN, lease = NaN] = tokens[index] ?? []
    const row = rows.get(seq)
    return row?.lease === lease && row.id === id && row.queue === queue ? row : undefined
  })
}
