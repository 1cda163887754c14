/**
 * A message of the broker as punctual keeps it, in its JSON payload:
 *
 *   { "amqp": 1, "key": "order.close", "properties": {...}, "headers": {...}, "text": "..." }
 *
 * The body is `text` where it is UTF-8 that JSON can write without escaping much, and else `base64`. To punctual all
 * this is opaque; people see it with `punctual get`.
 */
import { isUtf8 } from 'node:buffer'
import type { ConsumeMessage } from 'amqplib'
import { UsageError } from '../../../core/errors.ts'
import { BODY_BYTES_MAX } from '../options.ts'
import { storeHeaders, storeProperties, type StoredHeaders, type StoredProperties } from './properties.ts'

export type Envelope = {
  readonly amqp: 1
  readonly key: string
  readonly properties: StoredProperties
  readonly headers: StoredHeaders
  readonly text?: string
  readonly base64?: string
}

// Control characters become six bytes each in JSON; base64 is smaller and as exact.
// oxlint-disable-next-line no-control-regex
const COSTLY = /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/

export function wrap({ content, fields, properties }: ConsumeMessage): Envelope {
  if (content.length > BODY_BYTES_MAX) {
    throw new UsageError(
      'PAYLOAD_TOO_LARGE',
      `the body has ${content.length} bytes; allowed: ${BODY_BYTES_MAX}.`,
      { value: content.length },
    )
  }
  return {
    amqp: 1,
    key: fields.routingKey,
    properties: storeProperties(properties),
    headers: storeHeaders(properties.headers),
    ...wrapBody(content),
  }
}

function wrapBody(content: Buffer): { text: string } | { base64: string } {
  if (isUtf8(content)) {
    const text = content.toString('utf8')
    if (!COSTLY.test(text)) return { text }
  }
  return { base64: content.toString('base64') }
}

export function bodyOf({ text, base64 }: Envelope): Buffer {
  return text === undefined ? Buffer.from(base64 ?? '', 'base64') : Buffer.from(text, 'utf8')
}

/** Others may produce to a bridge's topic too: what is no envelope cannot be published. */
export function isEnvelope(value: unknown): value is Envelope {
  if (typeof value !== 'object' || value === null) return false
  const { amqp, key, properties, headers, text, base64 } = value as Readonly<Record<string, unknown>>
  return (
    amqp === 1 &&
    typeof key === 'string' &&
    typeof properties === 'object' &&
    properties !== null &&
    typeof headers === 'object' &&
    headers !== null &&
    (typeof text === 'string' || typeof base64 === 'string')
  )
}
