/**
 * The frame of a verb that writes: rows are locked in order, what becomes of them is decided in a `RowSet`, and all of it is
 * written with the commit, which also says whom to ring for. The verbs: `putting`, `settling` (and `acks`), `changing`,
 * `recording`.
 */
import type { Ring } from '../../../sql/wakeups/bell.ts'
import type { Statement } from '../../sql/statement.ts'
import type { Rows, Steps } from '../../transactions.ts'
import type { RingNotes } from './ring-notes.ts'
import type { RowSet } from './row-set.ts'

export type WrittenAnswers<Word> = { readonly answers: Word[]; readonly ring: Ring | undefined }

type WriteTerms = { readonly queue: number; readonly now: number; readonly giver?: string | undefined }

export async function write(
  steps: Steps,
  rows: RowSet,
  notes: RingNotes,
  terms: WriteTerms,
): Promise<Ring | undefined> {
  return (await writeWith(steps, rows, notes, terms, [])).ring
}

export async function writeWith(
  steps: Steps,
  rows: RowSet,
  notes: RingNotes,
  { queue, now, giver = '' }: WriteTerms,
  extra: readonly Statement[],
): Promise<{ readonly ring: Ring | undefined; readonly replies: readonly Rows[] }> {
  for (const topic of rows.freedTopics) notes.noteFreed(topic, now)
  const looks = notes.look(queue, now)
  const replies = await steps.commit(...extra, ...looks, ...rows.statements(now))
  const ring = notes.ring(replies.slice(extra.length, extra.length + looks.length), giver)
  return { ring, replies: replies.slice(0, extra.length) }
}

/** Each once. The server locks them in the order of its index, whatever order they are named in. */
export function distinct(ids: readonly string[]): string[] {
  return [...new Set(ids)]
}
