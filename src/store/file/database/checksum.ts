/**
 * A checksum on every message. SQLite has none on its pages, so a flipped bit on the disk would otherwise come back as
 * somebody's payload or start a handler a year early.
 *
 *   checksum = crc(id, meta, body) ^ crc(error, reason) ^ mix(numbers)
 *
 * Joined by exclusive or, a part can be exchanged without reading the others: a retry changes the numbers and never reads
 * the body, and what was damaged before stays visibly damaged. What only the lease needs (state, until, lease, owner) is
 * not covered: the indexes hold most of that a second time, and the doctor compares.
 */
import { crc32 } from 'node:zlib'

export type MessageNumbers = {
  readonly topic: number
  readonly priority: number
  readonly due_at: number
  readonly first_due_at: number | null
  readonly produced_at: number
  readonly attempt: number
  readonly lapses: number
}

export type MessageTexts = { readonly error: string; readonly reason: string }

export function contentSum(id: string, meta: string, body: string): number {
  return crc32(`${id}\n${meta}\n${body}`)
}

export function failureSum({ error, reason }: MessageTexts): number {
  return error === '' && reason === '' ? 0 : crc32(`${error}\n${reason}`)
}

/** Every step is reversible, so two sets of numbers that differ in one of them never mix to the same. */
export function numbersSum(message: MessageNumbers): number {
  let sum = mix(message.topic, message.priority)
  sum = mixLarge(sum, message.due_at)
  sum = mixLarge(sum, message.first_due_at ?? -1)
  sum = mixLarge(sum, message.produced_at)
  sum = mix(sum, message.attempt)
  return mix(sum, message.lapses) >>> 0
}

function mixLarge(sum: number, value: number): number {
  return mix(mix(sum, value | 0), Math.floor(value / 2 ** 32))
}

function mix(sum: number, value: number): number {
  const mixed = Math.imul(sum ^ value, 0x9e3779b1)
  return mixed ^ (mixed >>> 15)
}
