/**
 * A checksum on every message. SQLite has none on its pages, so a flipped bit on the disk would otherwise come back as
 * somebody's payload or start a handler a year early.
 *
 *   checksum = crc(id, meta, body, tags, key) ^ crc(error, reason) ^ mix(topic, priority, moments, finished attempts, lapses)
 *
 * Joined by exclusive or, a part can be exchanged without reading the others: a retry changes the numbers and never reads
 * the body, and what was damaged before stays visibly damaged. A claim changes none of it: the attempt that runs is not
 * among the finished ones. What only the lease needs (state, until, lease, owner) is
 * not covered: the indexes hold most of that a second time, and the doctor compares.
 */
import { crc32 } from 'node:zlib'

export type MessageTexts = { readonly error: string; readonly reason: string }

/** `tags`: as they lie in the row: null for none, and in a damaged one anything. */
export function contentSum(
  id: string,
  meta: string,
  body: string,
  tags: unknown,
  key?: string | null,
): number {
  const sum = crc32(`${id}\n${meta}\n${body}`)
  const tagged = tags === null ? sum : crc32(typeof tags === 'string' ? tags : 'damaged', sum)
  return typeof key === 'string' ? crc32(`\n${key}`, tagged) : tagged
}

export function failureSum({ error, reason }: MessageTexts): number {
  return error === '' && reason === '' ? 0 : crc32(`${error}\n${reason}`)
}

/** `finished`: attempts that ended. Each step of the mixing is reversible, so no change of one number goes unnoticed. */
export function numbersSum(
  topic: number,
  priority: number,
  dueAt: number,
  firstDueAt: number | null,
  producedAt: number,
  finished: number,
  lapses: number,
): number {
  let sum = mix(topic, priority)
  sum = mixLarge(sum, dueAt)
  sum = mixLarge(sum, firstDueAt ?? -1)
  sum = mixLarge(sum, producedAt)
  return mix(mix(sum, finished), lapses) >>> 0
}

function mixLarge(sum: number, value: number): number {
  return mix(mix(sum, value | 0), Math.floor(value / 2 ** 32))
}

function mix(sum: number, value: number): number {
  const mixed = Math.imul(sum ^ value, 0x9e3779b1)
  return mixed ^ (mixed >>> 15)
}
