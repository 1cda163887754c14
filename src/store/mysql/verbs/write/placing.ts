/** New messages, whose ids may be taken (P5). */
import type { NewMessage, PutResult } from '../../../contract/store.ts'
import { REMEMBERED, RUNNING, WAITING } from './locked-row.ts'
import { dueMicros, newRow, rowOfSuccessor, type RowSet } from './row-set.ts'
import type { RingNotes } from './ring-notes.ts'

export type Placing = {
  readonly rows: RowSet
  readonly now: number
  readonly notes: RingNotes
  /** Of messages that are there, where a new one asks for their body. */
  readonly bodies?: ReadonlyMap<string, string>
}

export function place(message: NewMessage, { rows, now, notes, bodies }: Placing): PutResult {
  const { id, topic, ifExists, ifBody, latestMs } = message
  const found = rows.get(id)
  const isForgotten = found?.state === REMEMBERED && (found.until ?? 0) <= now
  const old = isForgotten ? undefined : found
  if (
    ifBody !== undefined &&
    (old === undefined || old.state === REMEMBERED || (old.body ?? bodies?.get(id)) !== ifBody)
  )
    return 'duplicate'
  if (old !== undefined && ifExists === 'keep') return 'duplicate'
  const latest = latestMs === undefined ? Infinity : Math.round(latestMs * 1000)
  const due = dueMicros(message, now)

  if (old?.state === RUNNING && ifExists === 'replace') {
    const producedAt = latest < Infinity ? (old.successor?.produced_at ?? now) : now
    const { priority, meta, body, key, tags = [] } = message
    const successor = {
      topic,
      priority,
      due_at: Math.min(due, producedAt + latest),
      produced_at: producedAt,
      meta,
      body,
      tags,
      ...(key === undefined ? {} : { key }),
    }
    rows.change(old, { successor })
    return 'succeeds'
  }
  const producedAt = latest < Infinity && old?.state === WAITING ? old.produced_at : now
  const at = Math.min(due, producedAt + latest)
  if (found !== undefined) rows.remove(found)
  rows.add(newRow(message, { due_at: at, produced_at: producedAt }))
  notes.note(topic, at)
  return old === undefined || old.state === REMEMBERED ? 'stored' : 'replaced'
}

/** Takes the place of the message that it waited for, which has left; whatever else has its id by now. */
export function placeSuccessor(
  id: string,
  successor: Parameters<typeof rowOfSuccessor>[1],
  { rows, notes }: Placing,
): void {
  const found = rows.get(id)
  if (found !== undefined) rows.remove(found)
  rows.add(rowOfSuccessor(id, successor))
  notes.note(successor.topic, successor.due_at)
}
