/** What a legal id, topic, tag or key looks like, and what one that is made now may not be. */
import { UsageError, describe, type ErrorCode } from '../errors.ts'

export const NAME_BYTES_MAX = 200
export const TAGS_MAX = 4

/** Most callers give short ASCII names; only what fails this quick look is examined closely. */
const PLAIN_NAME = /^[\x20-\x7e]{1,200}$/
// Control characters would break key separators and logs; a lone surrogate cannot be stored as UTF-8.
const FORBIDDEN_IN_NAME = /\p{Cc}|\p{Surrogate}/u

const CODES = {
  id: 'ID_INVALID',
  topic: 'TOPIC_INVALID',
  tag: 'TAG_INVALID',
  key: 'KEY_INVALID',
} as const satisfies Record<string, ErrorCode>
type NameKind = keyof typeof CODES

export const checkId = (value: unknown): string => check('id', value)
export const checkTopic = (value: unknown): string => check('topic', value)
export const checkTag = (value: unknown): string => check('tag', value)
export const checkKey = (value: unknown): string => check('key', value)

// Of a message that is made now.
export const checkNewId = (value: unknown): string => refuseDots('id', checkId(value))
export const checkNewTopic = (topic: string): string => refuseDots('topic', topic)
export const checkNewKey = (value: unknown): string => refuseDots('key', checkKey(value))

/** One tag or several of a message that is made now; the same one twice counts once. */
export function checkTags(value: unknown): readonly string[] {
  const all = Array.isArray(value) ? value : [value]
  const tags = [...new Set(all.map((tag) => refuseDots('tag', checkTag(tag))))]
  if (tags.length <= TAGS_MAX) return tags
  throw new UsageError('TAG_INVALID', `${tags.length} tags on one message; allowed: ${TAGS_MAX}.`, { value })
}

/**
 * No new name may be `.` or `..`: browsers, clients and proxies take them out of the path of an address, so that a call about
 * such a topic would be one about its whole queue. Older versions allowed them: those that are stored can still be found.
 */
export function isNewName(value: unknown, bytesMax: number): value is string {
  return isName(value, bytesMax) && !isDots(value)
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

function check(kind: NameKind, value: unknown): string {
  if (isName(value, NAME_BYTES_MAX)) return value
  throw new UsageError(
    CODES[kind],
    `${kind} is ${describe(value)}; give a text of 1 to ${NAME_BYTES_MAX} bytes without control characters.`,
    { value },
  )
}

function refuseDots(kind: NameKind, name: string): string {
  if (!isDots(name)) return name
  throw new UsageError(
    CODES[kind],
    `${kind} is "${name}", which is a folder in the path of an address; give another name.`,
    { value: name },
  )
}

function isDots(name: string): boolean {
  return name === '.' || name === '..'
}
