/** Numbers as text of a fixed length, in an alphabet whose bytes sort as the numbers do. */
const ALPHABET = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz'
const BASE = ALPHABET.length

export const DIGIT_CODES: Uint8Array = Uint8Array.from(ALPHABET, (char) => char.charCodeAt(0))

export function digitsOf(value: number, length: number): string {
  let [digits, rest] = ['', value]
  for (let place = 0; place < length; place += 1) {
    digits = ALPHABET.charAt(rest % BASE) + digits
    rest = Math.floor(rest / BASE)
  }
  return digits
}

/** What is no digit counts as 0. */
export function numberOf(digits: string): number {
  let value = 0
  for (const digit of digits) value = value * BASE + Math.max(0, ALPHABET.indexOf(digit))
  return value
}
