/** What a publisher asks for by headers: when, under which id, and what to do if that id exists. */
import { createHash } from 'node:crypto'
import type { MessageProperties } from 'amqplib'
import { DELAY_MS_MAX } from '../../../core/input/duration.ts'
import type { IfExists } from '../../../core/input/request.ts'
import { NAME_BYTES_MAX, isNewName } from '../../../core/input/names.ts'
import { invalidHeader } from './properties.ts'

export type PublishRequest = {
  /** A text, because a plain number of 30 years and more is taken for a date by mistake. */
  readonly when: { readonly delay: `${number}ms` } | { readonly at: number }
  /** From `message_id`. */
  readonly id: string | undefined
  /** Undefined: the publisher did not ask for one message per id. */
  readonly ifExists: IfExists | undefined
  /** From `x-key`: whose it is. */
  readonly key: string | undefined
}

const WHEN_HEADERS = ['x-delay', 'x-opt-delivery-delay', 'x-opt-delivery-time'] as const
const IF_EXISTS = ['keep', 'replace', 'fail'] as const

export function parsePublish({ headers, messageId }: MessageProperties, now: number): PublishRequest {
  const given: Readonly<Record<string, unknown>> = headers ?? {}
  const id = typeof messageId === 'string' && messageId !== '' ? idOf(messageId) : undefined
  return {
    when: parseWhenHeaders(given, now),
    id,
    ifExists: parseIfExists(given['x-if-exists'], id),
    key: parseKeyHeader(given['x-key']),
  }
}

/** `message_id` as an id of punctual: itself, or its hash where it is too long has control characters, or is `.` or `..`. */
export function idOf(messageId: string): string {
  if (isNewName(messageId, NAME_BYTES_MAX)) return messageId
  return `sha256:${createHash('sha256').update(messageId).digest('base64url')}`
}

function parseKeyHeader(value: unknown): string | undefined {
  if (value === undefined || isNewName(value, NAME_BYTES_MAX)) return value
  throw invalidHeader(
    'x-key',
    value,
    `give a text of 1 to ${NAME_BYTES_MAX} bytes without control characters`,
  )
}

function parseWhenHeaders(given: Readonly<Record<string, unknown>>, now: number): PublishRequest['when'] {
  const [name, second] = WHEN_HEADERS.filter((header) => given[header] !== undefined)
  if (name === undefined) return { delay: '0ms' }
  if (second !== undefined)
    throw invalidHeader(second, given[second], `"${name}" is given too; send one of them`)
  const value = given[name]
  return name === 'x-opt-delivery-time'
    ? { at: parseTime(value, now) }
    : { delay: `${parseDelay(name, value)}ms` }
}

/** As the plugin does: below zero is now. It writes the negated delay into what it delivers, and clients send that on. */
function parseDelay(name: string, value: unknown): number {
  const delay = toNumber(value)
  if (delay === undefined) throw invalidHeader(name, value, 'give milliseconds as a number')
  if (delay > DELAY_MS_MAX) throw invalidHeader(name, value, 'at most 100 years; it counts in milliseconds')
  return Math.max(0, Math.ceil(delay))
}

function parseTime(value: unknown, now: number): number {
  const at = isTimestamp(value) ? value.value * 1_000 : toNumber(value)
  const name = 'x-opt-delivery-time'
  if (at === undefined) throw invalidHeader(name, value, 'give milliseconds since 1970, or a timestamp')
  if (at < 0 || at > now + DELAY_MS_MAX) {
    throw invalidHeader(name, value, 'give a moment from 1970 up to 100 years from now, in milliseconds')
  }
  return Math.ceil(at)
}

/** STOMP and some AMQP 1.0 publishers can only send text. */
function toNumber(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}

/** AMQP's own timestamps count seconds. */
function isTimestamp(value: unknown): value is { readonly value: number } {
  return (
    typeof value === 'object' &&
    value !== null &&
    '!' in value &&
    value['!'] === 'timestamp' &&
    'value' in value &&
    typeof value.value === 'number'
  )
}

function parseIfExists(value: unknown, id: string | undefined): IfExists | undefined {
  if (value === undefined) return undefined
  const found = IF_EXISTS.find((choice) => choice === value)
  if (found === undefined) {
    throw invalidHeader('x-if-exists', value, `give one of: ${IF_EXISTS.join(', ')}`)
  }
  if (id === undefined) throw invalidHeader('x-if-exists', value, 'it needs a message_id')
  return found
}
