/** What people change of messages: remove, reschedule, revive. */
import type * as contract from '../../../contract/store.ts'
import { nowOf, selectClock, type QueuePlace } from '../../sql/clock.ts'
import { sql, textOf } from '../../sql/statement.ts'
import type { Steps } from '../../transactions.ts'
import { DEAD, lockRows, REMEMBERED, RUNNING, stateOf, WAITING } from './locked-row.ts'
import { RingNotes } from './ring-notes.ts'
import { dueMicros, RowSet } from './row-set.ts'
import { distinct, write, type WrittenAnswers } from './writing.ts'

export async function remove(
  steps: Steps,
  { queue, at }: QueuePlace,
  ids: readonly string[],
  { wanted, isRunningToo }: { readonly wanted: typeof WAITING | typeof DEAD; readonly isRunningToo: boolean },
): Promise<WrittenAnswers<contract.RemoveResult>> {
  const { rows, states, now } = await lockSome(steps, { queue, at }, ids, (state, hasSuccessor) =>
    state === RUNNING ? isRunningToo || hasSuccessor : state === wanted || state === REMEMBERED,
  )
  const answers = ids.map((id): contract.RemoveResult => {
    const row = rows.get(id)
    if (row === undefined) return states.get(id) === RUNNING ? 'running' : 'missing'
    if (row.state === RUNNING) {
      rows.change(row, { successor: null, ...(isRunningToo ? { is_cancelling: 1 } : {}) })
      return isRunningToo ? 'cancelling' : 'running'
    }
    if (row.state !== wanted && row.state !== REMEMBERED) return 'missing'
    rows.remove(row)
    return row.state !== REMEMBERED || (wanted === DEAD && (row.until ?? 0) > now) ? 'removed' : 'missing'
  })
  return { answers, ring: await write(steps, rows, new RingNotes(), { queue, now }) }
}

export async function reschedule(
  steps: Steps,
  where: QueuePlace,
  moves: readonly contract.Move[],
): Promise<WrittenAnswers<contract.RescheduleResult>> {
  const ids = moves.map(({ id }) => id)
  const { rows, states, now } = await lockSome(steps, where, ids, (state, hasSuccessor) =>
    state === RUNNING ? hasSuccessor : state === WAITING,
  )
  const notes = new RingNotes()
  const answers = moves.map((move): contract.RescheduleResult => {
    const row = rows.get(move.id)
    if (row === undefined) return states.get(move.id) === RUNNING ? 'running' : 'missing'
    const due = dueMicros(move, now)
    if (row.state === WAITING) {
      rows.change(row, { due_at: due, first_due_at: null, is_holding: null })
      return 'rescheduled'
    }
    if (row.state !== RUNNING) return 'missing'
    if (row.successor === null) return 'running'
    rows.change(row, { successor: { ...row.successor, due_at: due } })
    return 'rescheduled'
  })
  for (const id of ids) {
    const row = rows.get(id)
    if (row?.state === WAITING) notes.note(row.topic, row.due_at)
  }
  return { answers, ring: await write(steps, rows, notes, { queue: where.queue, now }) }
}

export async function revive(
  steps: Steps,
  where: QueuePlace,
  ids: readonly string[],
): Promise<WrittenAnswers<contract.ReviveResult>> {
  const { rows, now } = await lockSome(steps, where, ids, (state) => state === DEAD)
  const notes = new RingNotes()
  const answers = ids.map((id): contract.ReviveResult => {
    const row = rows.get(id)
    if (row === undefined || row.state !== DEAD) return 'missing'
    const anew = { first_due_at: null, until: null, attempt: 0, lapses: 0, error: '', reason: '' }
    rows.change(row, { ...anew, state: WAITING, due_at: now })
    rows.moveToEnd(row)
    notes.note(row.topic, now)
    return 'revived'
  })
  return { answers, ring: await write(steps, rows, notes, { queue: where.queue, now }) }
}

type Locked = { readonly rows: RowSet; readonly states: ReadonlyMap<string, number>; readonly now: number }

/**
 * Locks only what the verb is about. A locking read waits for every row that it looks at, also for those that its conditions
 * leave out; so it looks first, and what it then has locked it looks at again.
 */
async function lockSome(
  steps: Steps,
  { queue, at }: QueuePlace,
  ids: readonly string[],
  isWanted: (state: number, hasSuccessor: boolean) => boolean,
): Promise<Locked> {
  const [clock, found = []] = await steps.send(
    selectClock(at),
    sql`select id, state, successor is not null as has_successor from punctual_message force index (punctual_message_id)
      where queue = ${queue} and id in (${distinct(ids)})`,
  )
  const states = new Map(found.map((row) => [textOf(row['id']), stateOf(row)]))
  const wanted = found.filter((row) => isWanted(stateOf(row), Number(row['has_successor']) === 1))
  const rows = new RowSet(queue)
  if (wanted.length > 0) {
    const [locked] = await steps.send(
      lockRows(queue, distinct(wanted.map((row) => textOf(row['id']))), false),
    )
    rows.load(locked ?? [])
  }
  return { rows, states, now: nowOf(clock) }
}
