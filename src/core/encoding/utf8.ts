/**
 * Text from outside, in bytes: UTF-8, or refused. Decoded leniently, each wrong byte would become U+FFFD, and what was sent
 * would be kept as something else.
 */
import { isUtf8 } from 'node:buffer'
import { UsageError } from '../errors.ts'

/** `name`: what the caller calls it. Throws ENCODING_INVALID. */
export function decodeText(bytes: Uint8Array, name: string): string {
  if (isUtf8(bytes)) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
  throw new UsageError(
    'ENCODING_INVALID',
    `${name} has bytes that are not UTF-8; write it in UTF-8, or binary data as base64 in a JSON text.`,
  )
}
