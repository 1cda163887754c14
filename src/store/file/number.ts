/** A number as a sealed value of its own. */
import { SEAL_BYTES, seal, unseal } from './seal.ts'

const NUMBER_BYTES = 6

export function encodeNumber(number: number): Buffer {
  const value = Buffer.allocUnsafe(SEAL_BYTES + NUMBER_BYTES)
  value.writeUIntLE(number, SEAL_BYTES, NUMBER_BYTES)
  return seal(value)
}

export function decodeNumber(value: Buffer): number {
  return unseal(value, () => 'a counter').readUIntLE(SEAL_BYTES, NUMBER_BYTES)
}
