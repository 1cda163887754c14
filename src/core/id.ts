/**
 * Ids for messages whose producer names none: 16 characters, the first 7 the millisecond and the other 9 chance, in
 * an alphabet that sorts like the numbers do. Ids made one after the other lie together, which ordered stores like.
 */
const ALPHABET = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz'
const CODES = Uint8Array.from(ALPHABET, (char) => char.charCodeAt(0))
const TIME_CHARS = 7
const LENGTH = 16
const HALF_CHANCE = 2 ** 27

/** Written in place and turned into text at once: joined pieces would stay pieces in memory, twice the size. */
const scratch = Buffer.alloc(LENGTH)
let writtenFor = -1

/** `first` and `second` are uniform in [0, 1): 54 bits of chance. A clash is answered `duplicate`, never stored over. */
export function makeId(now: number, first: number, second: number): string {
  const ms = Math.floor(now)
  if (ms !== writtenFor) writeTime(ms)
  writeChance(Math.floor(first * HALF_CHANCE), Math.floor(second * HALF_CHANCE))
  return scratch.toString('latin1')
}

function writeTime(ms: number): void {
  let rest = ms
  for (let at = TIME_CHARS - 1; at >= 0; at -= 1) {
    scratch[at] = CODES[rest % 64] as number
    rest = Math.floor(rest / 64)
  }
  writtenFor = ms
}

/** 27 bits are four characters and a half: the halves share the one in the middle. */
function writeChance(first: number, second: number): void {
  for (let i = 0; i < 4; i += 1) {
    scratch[TIME_CHARS + i] = CODES[(first >>> (6 * i)) & 63] as number
    scratch[TIME_CHARS + 5 + i] = CODES[(second >>> (6 * i)) & 63] as number
  }
  scratch[TIME_CHARS + 4] = CODES[(first >>> 24) | ((second >>> 24) << 3)] as number
}
