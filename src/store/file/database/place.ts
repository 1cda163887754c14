/**
 * Where a message with a key stands among those of its key. What waits is found here in the order of its key; when a key is
 * served is in `turn`.
 */
import type { PriorityRank } from '../../../core/message.ts'
import { corrupt } from '../failure.ts'
import type { Database } from './database.ts'
import { IN_TURN, KEYED, WAITING, type DEAD, type REMEMBERED, type StateNumber } from './schema.ts'

export type PlaceRow = {
  readonly seq: number
  readonly topic: number
  readonly key: string
  readonly priority: PriorityRank
  readonly due_at: number
}

const SEQS = 'seq IN (SELECT value FROM json_each(?))'
const INSERT = 'INSERT INTO place (seq, topic, key, priority, due_at, state) VALUES (?, ?, ?, ?, ?, 0)'
const DROP = `DELETE FROM place WHERE ${SEQS}`
const KEY = 'SELECT key FROM place WHERE seq = ?'
const RUN = `UPDATE place SET state = 1, is_holding = 0 WHERE ${SEQS}`
const END = 'UPDATE place SET state = ?, is_holding = 0 WHERE seq = ?'
const WAIT = 'UPDATE place SET state = 0, due_at = ?, is_holding = ? WHERE seq = ?'

export function isKeyed({ mark }: { readonly mark: number }): boolean {
  return (mark & KEYED) !== 0
}

/** Whether it waits, with a key or without. */
export function isWaiting({ state }: { readonly state: number }): boolean {
  return state === WAITING || state === IN_TURN
}

/** As topics and queues count it. */
export function countedState(state: number): StateNumber {
  return state === IN_TURN ? WAITING : (state as StateNumber)
}

export function insertPlace(db: Database, { seq, topic, key, priority, due_at }: PlaceRow): void {
  db.run(INSERT, seq, topic, key, priority, due_at)
}

export function keyOf(db: Database, seq: number): string {
  const key = db.get<{ key: unknown }>(KEY, seq)?.key
  if (typeof key !== 'string') throw corrupt(`message ${seq} has lost its key`)
  return key
}

/** The key of a row, if it has one. */
export function keyIn(
  db: Database,
  row: { readonly seq: number; readonly mark: number },
): string | undefined {
  return isKeyed(row) ? keyOf(db, row.seq) : undefined
}

/** They are handed out. */
export function placesRun(db: Database, seqs: readonly number[]): void {
  if (seqs.length > 0) db.run(RUN, JSON.stringify(seqs))
}

/** It is dead, or done and remembered. */
export function placeEnds(db: Database, seq: number, state: typeof DEAD | typeof REMEMBERED): void {
  db.run(END, state, seq)
}

/** `isHolding`: its key is serial, and waits for it. */
export function placeWaits(db: Database, seq: number, dueAt: number, isHolding: boolean): void {
  db.run(WAIT, dueAt, isHolding ? 1 : 0, seq)
}

export function dropPlaces(db: Database, seqs: readonly number[]): void {
  if (seqs.length > 0) db.run(DROP, JSON.stringify(seqs))
}
