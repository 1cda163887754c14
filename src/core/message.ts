/**
 * The message: what it is made of, the states it can be in, and what a legal id or topic looks like.
 *
 * What a field means in each state:
 *
 *             delayed            ready              running               dead
 *   dueAt     starts then        started to be due  was due then          was due then
 *   attempt   finished attempts  finished attempts  includes this one     finished attempts
 *   error     of the last try    of the last try    of the last try       what it died of
 */
import { UsageError, describe } from './errors.ts'

export const MESSAGE_STATES = ['delayed', 'ready', 'running', 'dead'] as const
export type MessageState = (typeof MESSAGE_STATES)[number]

/** How a message that is done is remembered: its handler ran, or it was too late to run it. */
export type RememberedOutcome = 'completed' | 'skipped'

/** What can be seen of an id: a message in its state, or one that is done and remembered. */
export type ShownState = MessageState | 'completed'

export const PRIORITIES = ['high', 'normal', 'low'] as const
export type Priority = (typeof PRIORITIES)[number]

/** What the engines store: 0 is handed out first. */
export type PriorityRank = 0 | 1 | 2

export function priorityRank(priority: Priority): PriorityRank {
  return PRIORITIES.indexOf(priority) as PriorityRank
}

export function priorityName(rank: PriorityRank): Priority {
  return PRIORITIES[rank]
}

export const ID_BYTES_MAX = 200
export const TOPIC_BYTES_MAX = 200
export const TAG_BYTES_MAX = 200
export const KEY_BYTES_MAX = 200

/** Most callers give short ASCII names; only what fails this quick look is examined closely. */
const PLAIN_NAME = /^[\x20-\x7e]{1,200}$/
// Control characters would break key separators and logs; a lone surrogate cannot be stored as UTF-8.
const FORBIDDEN_IN_NAME = /\p{Cc}|\p{Surrogate}/u

export function checkId(value: unknown): string {
  if (isName(value, ID_BYTES_MAX)) return value
  throw new UsageError(
    'ID_INVALID',
    `id is ${describe(value)}; give a text of 1 to ${ID_BYTES_MAX} bytes without control characters.`,
    { value },
  )
}

export function checkTopic(value: unknown): string {
  if (isName(value, TOPIC_BYTES_MAX)) return value
  throw new UsageError(
    'TOPIC_INVALID',
    `topic is ${describe(value)}; give a text of 1 to ${TOPIC_BYTES_MAX} bytes without control characters.`,
    { value },
  )
}

/** Of a message that is made now: `checkId`, and no `.` or `..`. */
export function checkNewId(value: unknown): string {
  return refuseDots(checkId(value), 'id', 'ID_INVALID')
}

/** Of a topic that is one: whether a message of it may be made. */
export function checkNewTopic(topic: string): string {
  return refuseDots(topic, 'topic', 'TOPIC_INVALID')
}

export const TAGS_MAX = 4

export function checkTag(value: unknown): string {
  if (isName(value, TAG_BYTES_MAX)) return value
  throw new UsageError(
    'TAG_INVALID',
    `tag is ${describe(value)}; give a text of 1 to ${TAG_BYTES_MAX} bytes without control characters.`,
    { value },
  )
}

/** One tag or several of a message that is made now; the same one twice counts once. */
export function checkTags(value: unknown): readonly string[] {
  const tags = [...new Set((Array.isArray(value) ? value : [value]).map(checkNewTag))]
  if (tags.length <= TAGS_MAX) return tags
  throw new UsageError('TAG_INVALID', `${tags.length} tags on one message; allowed: ${TAGS_MAX}.`, { value })
}

export function checkKey(value: unknown): string {
  if (isName(value, KEY_BYTES_MAX)) return value
  throw new UsageError(
    'KEY_INVALID',
    `key is ${describe(value)}; give a text of 1 to ${KEY_BYTES_MAX} bytes without control characters.`,
    { value },
  )
}

/** Of a message that is made now: `checkKey`, and no `.` or `..`. */
export function checkNewKey(value: unknown): string {
  return refuseDots(checkKey(value), 'key', 'KEY_INVALID')
}

function checkNewTag(value: unknown): string {
  return refuseDots(checkTag(value), 'tag', 'TAG_INVALID')
}

function refuseDots(
  name: string,
  what: string,
  code: 'ID_INVALID' | 'TOPIC_INVALID' | 'TAG_INVALID' | 'KEY_INVALID',
): string {
  if (!isDots(name)) return name
  throw new UsageError(
    code,
    `${what} is "${name}", which is a folder in the path of an address; give another name.`,
    {
      value: name,
    },
  )
}

/**
 * No new name may be `.` or `..`: browsers, clients and proxies take them out of the path of an address, so that a call about
 * such a topic would be one about its whole queue. Older versions allowed them: those that are stored can still be found.
 */
export function isNewName(value: unknown, bytesMax: number): value is string {
  return isName(value, bytesMax) && !isDots(value)
}

function isDots(name: string): boolean {
  return name === '.' || name === '..'
}

/** True for a non-empty text that fits `bytesMax` in UTF-8 and holds nothing that a key or a log could choke on. */
export function isName(value: unknown, bytesMax: number): value is string {
  if (typeof value !== 'string') return false
  if (value.length <= bytesMax && PLAIN_NAME.test(value)) return true
  return (
    value.length > 0 &&
    value.length <= bytesMax &&
    !FORBIDDEN_IN_NAME.test(value) &&
    Buffer.byteLength(value) <= bytesMax
  )
}
