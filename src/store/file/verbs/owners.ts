/**
 * Who claims. An owner is one started queue; its row says in which process it runs, and facts about it for people. An
 * owner that speaks for workers elsewhere has no process there: its death proves nothing about them, and their leases end by themselves. Rows
 * of owners that are gone, or were last seen, more than an hour ago leave when the next new one comes, unless they still
 * hold leases.
 */
import type { OwnedLease, OwnedPage, WorkerRecord, WorkersReply } from '../../contract/store.ts'
import { speaksForOthers } from '../../../core/owner.ts'
import { OWN_PROCESS } from '../process-identity.ts'
import { parseCursor } from './cursor.ts'
import type { Scene, View } from './scene.ts'

const KEPT_MS = 3_600_000
const SEEN_MS = 60_000
const WORKERS_MAX = 1000
const PAGE = 1000

type KnownOwner = {
  readonly owner: number
  readonly process: string
  readonly last_seen_at: number
  readonly gone_at: number | null
}
export type OwnerRow = { readonly owner: number; readonly process: string }

const OWNER = 'SELECT owner, process, last_seen_at, gone_at FROM owner WHERE queue = ? AND name = ?'
const NEW_OWNER = `INSERT INTO owner (queue, name, process, facts, first_seen_at, last_seen_at) VALUES (?, ?, ?, ?, ?, ?)
  RETURNING owner`
const SEEN = `UPDATE owner SET facts = coalesce(?, facts), process = ?, last_seen_at = ?, gone_at = NULL
  WHERE owner = ?`
const FORGET = `DELETE FROM owner WHERE queue = ?1 AND max(last_seen_at, coalesce(gone_at, 0)) < ?2
  AND NOT EXISTS (SELECT 1 FROM message INDEXED BY message_running
    WHERE state = 1 AND message.queue = ?1 AND message.owner = owner.owner)`
const NEXT_HOLDER = `SELECT min(owner) AS owner FROM message INDEXED BY message_running
  WHERE state = 1 AND queue = ? AND owner > ?`
const PROCESS = 'SELECT process FROM owner WHERE owner = ?'
const GONE = 'UPDATE owner SET gone_at = ? WHERE queue = ? AND name = ? AND gone_at IS NULL'
const WORKERS = `SELECT name, facts, first_seen_at, last_seen_at, gone_at FROM owner
  WHERE queue = ? AND max(last_seen_at, coalesce(gone_at, 0)) >= ? ORDER BY last_seen_at DESC, owner DESC LIMIT ?`
const OWNED = `SELECT seq, id, lease, until, is_taken_over, topic.name AS topic FROM message INDEXED BY message_running
  JOIN topic USING (topic) WHERE state = 1 AND message.queue = ? AND owner = ? AND (until, seq) > (?, ?)
  ORDER BY until, seq LIMIT ?`

export function ownerNumber({ db, queue }: View, name: string): number | undefined {
  return db.get<{ owner: number }>(OWNER, queue, name)?.owner
}

export function internOwner({ db, queue, now }: Scene, name: string, facts?: string): number {
  const process = speaksForOthers(name) ? '' : OWN_PROCESS
  const known = db.get<KnownOwner>(OWNER, queue, name)
  if (known === undefined) {
    db.run(FORGET, queue, now - KEPT_MS)
    const row = db.get<{ owner: number }>(NEW_OWNER, queue, name, process, facts ?? '', now, now)
    return row?.owner ?? 0
  }
  const isStale = now - known.last_seen_at > SEEN_MS || known.gone_at !== null || known.process !== process
  if (facts !== undefined || isStale) db.run(SEEN, facts ?? null, process, now, known.owner)
  return known.owner
}

/** Every owner that holds leases in this queue. One look each, however many leases they hold. */
export function ownersWithLeases({ db, queue }: View): OwnerRow[] {
  const owners: OwnerRow[] = []
  for (let last = -1; ;) {
    const owner = db.get<{ owner: number | null }>(NEXT_HOLDER, queue, last)?.owner ?? null
    if (owner === null) return owners
    owners.push({ owner, process: db.get<{ process: string }>(PROCESS, owner)?.process ?? '' })
    last = owner
  }
}

export function leave({ db, queue, now }: Scene, name: string): void {
  db.run(GONE, now, queue, name)
}

export function owned(view: View, name: string, cursor?: string): OwnedPage {
  const owner = ownerNumber(view, name)
  if (owner === undefined) return { leases: [] }
  const [until, seq] = parseCursor(cursor, ['number', 'number']) ?? [-1, -1]
  type Row = {
    seq: number
    id: string
    lease: number
    until: number
    is_taken_over: 0 | 1 | 2
    topic: string
  }
  const rows = view.db.all<Row>(OWNED, view.queue, owner, Number(until), Number(seq), PAGE)
  const leases = rows.map(({ id, seq: number, lease, topic, is_taken_over }): OwnedLease => ({
    id,
    token: `${number}.${lease}`,
    topic,
    isTakenOver: is_taken_over !== 0,
  }))
  const last = rows.length < PAGE ? undefined : rows.at(-1)
  return last === undefined ? { leases } : { leases, cursor: JSON.stringify([last.until, last.seq]) }
}

export function workers({ db, queue, now }: View): WorkersReply {
  type Row = {
    name: string
    facts: string
    first_seen_at: number
    last_seen_at: number
    gone_at: number | null
  }
  const rows = db.all<Row>(WORKERS, queue, now - KEPT_MS, WORKERS_MAX)
  const records = rows.map(({ name, facts, first_seen_at, last_seen_at, gone_at }): WorkerRecord => {
    const seen = { owner: name, facts, firstSeenAt: first_seen_at, lastSeenAt: last_seen_at }
    return gone_at === null ? seen : { ...seen, goneAt: gone_at }
  })
  return { now, workers: records }
}
