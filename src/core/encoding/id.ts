/**
 * Ids for messages whose producer names none: 16 characters in an alphabet that sorts like the numbers do.
 *
 *   PhZ3k9a  B2c   Xyz012
 *   the ms   count chance
 *
 * The ids of one process sort as they were made: within a millisecond the count goes up. So ordered stores find them
 * together, and can take their order for the order of production.
 *
 * Each millisecond begins its count by chance, below half of its range (17 bits), and 36 bits of chance follow. Two
 * processes that make one id each in the same millisecond make the same one with a probability of 2^-53; two that make
 * a thousand each, with 2^-33 (each count of one that the other has too is a chance of 2^-36). A clash is answered
 * `duplicate`, never stored over, and the producer draws again.
 */
import { DIGIT_CODES } from './digits.ts'

const [TIME_CHARS, COUNT_CHARS, LENGTH] = [7, 3, 16]
const COUNTS = 64 ** COUNT_CHARS
const HALF_CHANCE = 2 ** 18

/** Written in place and turned into text at once: joined pieces would stay pieces in memory, twice the size. */
const scratch = Buffer.alloc(LENGTH)
let writtenFor = -1
let count = 0

/** `first` and `second` are uniform in [0, 1). */
export function makeId(now: number, first: number, second: number): string {
  const ms = Math.floor(now)
  if (ms === writtenFor) {
    count = (count + 1) % COUNTS
  } else {
    writeDigits(ms, 0, TIME_CHARS)
    writtenFor = ms
    count = Math.floor((second * COUNTS) / 2)
  }
  writeDigits(count, TIME_CHARS, COUNT_CHARS)
  const chance = first * HALF_CHANCE
  const upper = Math.floor(chance)
  writeDigits(upper, TIME_CHARS + COUNT_CHARS, 3)
  writeDigits(Math.floor((chance - upper) * HALF_CHANCE), TIME_CHARS + COUNT_CHARS + 3, 3)
  return scratch.toString('latin1')
}

function writeDigits(value: number, at: number, length: number): void {
  let rest = value
  for (let place = at + length - 1; place >= at; place -= 1) {
    scratch[place] = DIGIT_CODES[rest % 64] as number
    rest = Math.floor(rest / 64)
  }
}
