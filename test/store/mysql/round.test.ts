/** Who is handed something in one round of a claim; pure. */
import { expect, it } from 'vitest'
import { chosenOf, sharesOf, type KeyInLine } from '../../../src/store/mysql/verbs/keys/round.ts'

function member(concurrency: number): KeyInLine {
  const first = [1, 2, 3].map((seq) => ({ seq, dueAt: seq }))
  const terms = { weight: 1, concurrency }
  return {
    key: 'a',
    servedAt: 0,
    used: 0,
    nextAt: 1,
    tie: 1,
    terms,
    meter: undefined,
    running: 0,
    holder: undefined,
    first,
  }
}

function chosen(concurrency: number, skipped: readonly number[]): number[] {
  const terms = { room: 10, priority: 1, until: 100, stamp: 101, skipped: new Set(skipped) }
  return chosenOf(sharesOf([member(concurrency)], terms), [], terms).map(({ seq }) => seq)
}

it('P17: of a serial key nothing goes before a message that somebody else has locked', () => {
  expect(chosen(1, [])).toEqual([1])
  expect(chosen(1, [1])).toEqual([])
})

it('P17: of a key that has several at once a locked message is passed over', () => {
  expect(chosen(2, [])).toEqual([1, 2])
  expect(chosen(2, [1])).toEqual([2, 3])
})
