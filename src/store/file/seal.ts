/**
 * A seal on every value: the CRC-32 of its bytes, in its first four. LMDB itself keeps no checksums, so a flipped
 * bit on the disk would otherwise come back as somebody's payload.
 */
import { crc32 } from 'node:zlib'
import { UnavailableError } from '../../core/errors.ts'

export const SEAL_BYTES = 4

/** Writes the seal; the last thing done to a value before it is stored. */
export function seal(value: Buffer): Buffer {
  value.writeUInt32LE(crc32(value.subarray(SEAL_BYTES)), 0)
  return value
}

/** Hands the value back if it is as it was stored. `what` names it in the error, and is only asked for then. */
export function unseal(value: Buffer, what: () => string): Buffer {
  if (value.length >= SEAL_BYTES && value.readUInt32LE(0) === crc32(value.subarray(SEAL_BYTES))) return value
  throw corrupt(`${what()} does not match its checksum`)
}

export function corrupt(what: string, cause?: unknown): UnavailableError {
  return new UnavailableError(
    'STORE_CORRUPT',
    `${what}: the file store is damaged. Stop all processes that use it, keep a copy of the directory, and restore a backup (docs/file.md).`,
    cause === undefined ? {} : { cause },
  )
}
