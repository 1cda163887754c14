/** Placing a message as another store showed it. */
import type { RestoredMessage, RestoreResult } from '../contract/store.ts'
import type { Messages } from './messages.ts'

export function restore(messages: Messages, message: RestoredMessage, now: number): RestoreResult {
  const { table, topics, waiting, remembered } = messages
  const { id, state, firstDueAt, dueAt, producedAt, attempt, lapses, error, reason, until } = message
  if (table.slotOf(id) !== undefined || remembered.find(id, now) !== undefined) return 'taken'
  if (state === 'completed') {
    remembered.add({ ...message, state, body: '', meta: '', tags: [], owner: '', leasedAt: 0 })
    return 'restored'
  }
  remembered.delete(id)
  const { topic, slot } = messages.add(message, { dueAt: firstDueAt, producedAt })
  if (dueAt !== firstDueAt) table.putOff(slot, dueAt)
  table.attempt[slot] = attempt
  table.setLapses(slot, lapses)
  table.setError(slot, error)
  if (state === 'dead') table.bury(slot, reason, until)
  topics.enter(topic, state === 'dead' ? 'dead' : 'waiting')
  if (state !== 'dead') waiting.enter(slot, { now })
  return 'restored'
}
