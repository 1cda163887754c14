/**
 * Message properties between AMQP and JSON. What the client library reads must come out of the store as it went in:
 *
 *   AMQP field                     stored as JSON
 *   text, boolean, null            itself
 *   integer of any width           number; written back as 32 bits, or 64 where it needs them
 *   float, double                  number with a fraction; written back as double
 *   bytes                          { "!": "bytes", "value": base64 }
 *   timestamp, decimal             { "!": "timestamp", ... } as the library has it
 *   list, table                    list, object
 *
 * Integers beyond 2^53 do not survive the library, so a message that has one is refused rather than changed.
 */
import type { MessageProperties, Options } from 'amqplib'
import { describe, UsageError } from '../../../core/errors.ts'

export type StoredProperties = Readonly<Record<string, string | number>>
export type StoredHeaders = Readonly<Record<string, unknown>>

const NAMES = [
  'contentType',
  'contentEncoding',
  'deliveryMode',
  'priority',
  'correlationId',
  'replyTo',
  'expiration',
  'messageId',
  'timestamp',
  'type',
  'userId',
  'appId',
] as const satisfies readonly (keyof MessageProperties & keyof Options.Publish)[]

/**
 * Headers that the broker adds by itself. Below 4.0 it takes a message that comes back with `x-death` for a cycle and
 * drops it; the others count deliveries between the broker and the bridge.
 */
const NEVER_SENT_BACK: readonly string[] = ['x-death', 'x-delivery-count', 'x-acquired-count']

export function storeProperties(properties: MessageProperties): StoredProperties {
  const stored: [string, string | number][] = []
  for (const name of NAMES) {
    const value: unknown = properties[name]
    if (typeof value === 'string' || typeof value === 'number') stored.push([name, value])
  }
  return Object.fromEntries(stored)
}

export function storeHeaders(headers: unknown): StoredHeaders {
  if (typeof headers !== 'object' || headers === null) return {}
  const entries = Object.entries(headers).filter(([name]) => !NEVER_SENT_BACK.includes(name))
  return Object.fromEntries(entries.map(([name, value]) => [name, storeField(name, value)]))
}

function storeField(name: string, value: unknown): unknown {
  if (typeof value === 'number') return storeNumber(name, value)
  if (typeof value !== 'object' || value === null) return value
  if (Buffer.isBuffer(value)) return { '!': 'bytes', value: value.toString('base64') }
  if (Array.isArray(value)) return value.map((item) => storeField(name, item))
  if (Object.hasOwn(value, '!')) return checkTagged(name, value)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, storeField(name, item)]))
}

function storeNumber(name: string, value: number): unknown {
  if (Number.isSafeInteger(value)) return value
  if (!Number.isFinite(value)) return { '!': 'double', value: String(value) }
  if (!Number.isInteger(value)) return value
  throw invalidHeader(name, value, 'a whole number beyond 2^53 would be changed on the way; send it as text')
}

/** The library marks its special types so; a table of the user's own that looks like one cannot be told apart. */
function checkTagged(name: string, value: object): unknown {
  const tag: unknown = '!' in value ? value['!'] : undefined
  if (tag === 'timestamp' || tag === 'decimal') return value
  throw invalidHeader(name, value, 'a table with the key "!" cannot be carried')
}

export function restoreProperties(properties: StoredProperties, headers: StoredHeaders): Options.Publish {
  const restored = Object.entries(headers).map(([name, value]) => [name, restoreField(value)])
  return { ...properties, headers: Object.fromEntries(restored) as Record<string, unknown> }
}

function restoreField(value: unknown): unknown {
  if (typeof value === 'number') return restoreNumber(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(restoreField)
  if (!Object.hasOwn(value, '!')) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, restoreField(item)]))
  }
  const tagged = value as { readonly '!': string; readonly value: unknown }
  if (tagged['!'] === 'bytes') return Buffer.from(String(tagged.value), 'base64')
  if (tagged['!'] === 'double') return { '!': 'double', value: Number(tagged.value) }
  return tagged
}

const INT32_MAX = 2 ** 31 - 1

function restoreNumber(value: number): unknown {
  if (!Number.isInteger(value)) return { '!': 'double', value }
  const fits = value >= -INT32_MAX - 1 && value <= INT32_MAX
  return { '!': fits ? 'int32' : 'int64', value }
}

export function invalidHeader(name: string, value: unknown, why: string): UsageError {
  return new UsageError('HEADER_INVALID', `header "${name}" is ${describe(value)}; ${why}.`, { value })
}
