/**
 * Ids for messages whose producer names none: 16 characters, the first 7 the millisecond and the other 9 chance, in
 * an alphabet that sorts like the numbers do. Ids made one after the other lie together, which ordered stores like.
 */
const ALPHABET = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz'
const TIME_CHARS = 7
const HALF_CHANCE = 2 ** 27

/** `first` and `second` are uniform in [0, 1): 54 bits of chance. A clash is answered `duplicate`, never stored over. */
export function makeId(now: number, first: number, second: number): string {
  return timePart(now) + chancePart(Math.floor(first * HALF_CHANCE), Math.floor(second * HALF_CHANCE))
}

let partFor = -1
let part = ''

function timePart(now: number): string {
  const ms = Math.floor(now)
  if (ms === partFor) return part
  let rest = ms
  part = ''
  for (let i = 0; i < TIME_CHARS; i += 1) {
    part = ALPHABET.charAt(rest % 64) + part
    rest = Math.floor(rest / 64)
  }
  partFor = ms
  return part
}

/** 27 bits are four characters and a half: the halves share the one in the middle. */
function chancePart(first: number, second: number): string {
  return (
    ALPHABET.charAt(first & 63) +
    ALPHABET.charAt((first >>> 6) & 63) +
    ALPHABET.charAt((first >>> 12) & 63) +
    ALPHABET.charAt((first >>> 18) & 63) +
    ALPHABET.charAt((first >>> 24) | ((second >>> 24) << 3)) +
    ALPHABET.charAt(second & 63) +
    ALPHABET.charAt((second >>> 6) & 63) +
    ALPHABET.charAt((second >>> 12) & 63) +
    ALPHABET.charAt((second >>> 18) & 63)
  )
}
