/**
 * The quick way to settle, which nearly all messages go: their handlers are done, and they leave. Little of them is read.
 *
 * Only what is held under its token and has nothing that must be decided: no successor, no cancellation, no tags. The rest
 * stays where it is, and is settled one by one (`settling`).
 */
import type { QueuePlace } from '../../sql/clock.ts'
import { followUpsOf } from '../../../contract/sizes.ts'
import type { Settlement } from '../../../contract/store.ts'
import type { Ring } from '../../../sql/wakeups/bell.ts'
import { tokenColumn } from '../../../sql/tokens.ts'
import { sql, textOf, textOrNull, type Statement } from '../../sql/statement.ts'
import type { Steps } from '../../transactions.ts'
import { deleteKeyed, type KeyOfTopic } from '../keys/changes.ts'
import { noteEnded } from '../keys/rules.ts'
import { deleteRows } from './locked-row.ts'
import { RingNotes } from './ring-notes.ts'
import { countOf, deltaStatements } from './row-set.ts'
import { freeingLook } from './settling.ts'

/** Of more claims than this, all are settled one by one. */
const TOKENS_MAX = 8

/** The ids to be settled this way, by the token of their lease; undefined: it is not for these. */
export function acksByToken(settlements: readonly Settlement[]): ReadonlyMap<string, string[]> | undefined {
  const acks = new Map<string, string[]>()
  // Of one that comes twice, under two tokens, only one can be right.
  if (new Set(settlements.map(({ id }) => id)).size < settlements.length) return undefined
  for (const one of settlements) {
    if (one.kind !== 'ack' || one.remember !== undefined || followUpsOf(one).length > 0) return undefined
    const ids = acks.get(one.token)
    if (ids !== undefined) ids.push(one.id)
    else if (acks.size < TOKENS_MAX && tokenColumn(one.token) !== null) acks.set(one.token, [one.id])
    else return undefined
  }
  return acks
}

export type SettledAcks = { readonly settled: ReadonlySet<string>; readonly ring: Ring | undefined }

export async function settleAcks(
  steps: Steps,
  { queue }: QueuePlace,
  acks: ReadonlyMap<string, readonly string[]>,
): Promise<SettledAcks> {
  const [frees = [], ...groups] = await steps.send(
    freeingLook(queue),
    ...[...acks].map(([token, ids]) => lockPlain(queue, token, ids)),
  )
  const settled = new Set<string>()
  const seqs: number[] = []
  const keyed: number[] = []
  const keys = new Map<string, KeyOfTopic>()
  const counts = new Map<string, { waiting: number; running: number; dead: number }>()
  const notes = new RingNotes()
  for (const row of groups.flat()) {
    const topic = textOf(row['topic'])
    settled.add(textOf(row['id']))
    seqs.push(Number(row['seq']))
    countOf(counts, topic).running -= 1
    if (frees.length > 0) notes.noteFreed(topic, Number(row['due_at']))
    const key = textOrNull(row['its_key'])
    if (key === null) continue
    keyed.push(Number(row['seq']))
    keys.set(`${topic}\n${key}`, { topic, key })
  }
  if (seqs.length === 0) return { settled, ring: undefined }
  const written = [deleteRows(seqs), ...deltaStatements(queue, counts)]
  if (keyed.length === 0) {
    await steps.commit(...written)
    return { settled, ring: notes.ring([]) }
  }
  const replies = await steps.commit(...written, deleteKeyed(keyed), ...noteEnded(queue, [...keys.values()]))
  for (const row of replies.at(-1) ?? []) notes.noteFreed(textOf(row['topic']), 0)
  return { settled, ring: notes.ring([]) }
}

function lockPlain(queue: number, token: string, ids: readonly string[]): Statement {
  return sql`select seq, id, topic, due_at, its_key from punctual_message force index (punctual_message_id)
    where queue = ${queue} and id in (${ids}) and token = cast(${token} as signed) and state = 1
      and successor is null and is_cancelling is null and tags is null order by id for update skip locked`
}
