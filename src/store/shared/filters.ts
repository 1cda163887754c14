/** Whether a message fits the filters of a page. One of our own topics must be named. */
import { isControl } from '../../core/control.ts'
import type { ListQuery, StoredMessage, TagQuery } from '../contract/store.ts'

type Picked = Pick<
  StoredMessage,
  'id' | 'topic' | 'key' | 'state' | 'dueAt' | 'body' | 'tags' | 'producedAt' | 'until' | 'successor'
>

export function isPicked(query: ListQuery | TagQuery, message: Picked, now: number): boolean {
  const { state, tag, topic, key, dueFrom, dueUntil, idPrefix, text, olderThanMs } = query
  return (
    (state === undefined || message.state === state) &&
    (tag === undefined || hasTag(message, tag)) &&
    (topic === undefined ? !isControl(message.topic) : message.topic === topic) &&
    (key === undefined || message.key === key) &&
    (dueFrom === undefined || message.dueAt >= dueFrom) &&
    (dueUntil === undefined || message.dueAt < dueUntil) &&
    (idPrefix === undefined || message.id.startsWith(idPrefix)) &&
    (olderThanMs === undefined || now - sinceOf(message) >= olderThanMs) &&
    (text === undefined || message.body.includes(text))
  )
}

/** A successor's tags lead to the message that it waits for. */
function hasTag({ tags, successor }: Picked, tag: string): boolean {
  return tags.includes(tag) || successor?.tags.includes(tag) === true
}

/** Since when a message is as old as a filter counts: since its death, or since it was produced. */
function sinceOf({ state, until, producedAt }: Picked): number {
  return state === 'dead' ? until : producedAt
}
