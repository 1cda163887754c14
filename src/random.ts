/** Chance, as a parameter. The one file that reads it. */
import { randomBytes } from 'node:crypto'

export interface Random {
  /** Uniform in [0, 1). */
  next(): number
}

export const systemRandom: Random = { next: () => randomFraction() }

// Bytes are drawn in blocks: asking the kernel for each id would cost more than making it.
const BLOCK_BYTES = 8192
const FRACTION_BYTES = 6
let block = Buffer.alloc(0)
let used = 0

function randomFraction(): number {
  if (used + FRACTION_BYTES > block.length) {
    block = randomBytes(BLOCK_BYTES)
    used = 0
  }
  const value = block.readUIntBE(used, FRACTION_BYTES)
  used += FRACTION_BYTES
  return value / 2 ** 48
}
