/** Whether a message fits the filters of a page. One of our own topics must be named. */
import { isControl } from '../../core/control.ts'
import type { ListQuery, StoredMessage } from '../contract/store.ts'

export function isPicked(
  { topic, dueFrom, dueUntil, idPrefix, text }: ListQuery,
  message: Pick<StoredMessage, 'id' | 'topic' | 'dueAt' | 'body'>,
): boolean {
  return (
    (topic === undefined ? !isControl(message.topic) : message.topic === topic) &&
    (dueFrom === undefined || message.dueAt >= dueFrom) &&
    (dueUntil === undefined || message.dueAt < dueUntil) &&
    (idPrefix === undefined || message.id.startsWith(idPrefix)) &&
    (text === undefined || message.body.includes(text))
  )
}
