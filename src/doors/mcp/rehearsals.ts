/**
 * What touches many messages is done in two calls: the first answers what would happen and gives a word, the second has the
 * same arguments and that word. So an agent has always seen the number, and so has the person who is asked for each call.
 */
import type { Clock } from '../../clock.ts'
import type { Random } from '../../random.ts'
import { CallError } from '../shared/failure.ts'

const GOOD_FOR_MS = 10 * 60_000
const KEPT_MAX = 100

type Rehearsal = { readonly call: string; readonly endsAt: number }

export class Rehearsals {
  readonly #clock: Clock
  readonly #random: Random
  /** By word; the oldest first. */
  readonly #kept = new Map<string, Rehearsal>()

  constructor(clock: Clock, random: Random) {
    this.#clock = clock
    this.#random = random
  }

  /** Answers the word for this very call. */
  keep(call: string): string {
    const word = Math.floor(this.#random.next() * 36 ** 8)
      .toString(36)
      .padStart(8, '0')
    this.#kept.set(word, { call, endsAt: this.#clock.monotonic() + GOOD_FOR_MS })
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= KEPT_MAX) break
      this.#kept.delete(oldest)
    }
    return word
  }

  /** A word is good for one call, with the arguments that it was given for. */
  take(word: unknown, call: string): void {
    const kept = typeof word === 'string' ? this.#kept.get(word) : undefined
    if (typeof word === 'string') this.#kept.delete(word)
    if (kept === undefined || kept.endsAt < this.#clock.monotonic())
      throw new CallError('this confirm is not known, used, or older than 10 minutes; call without it first.')
    if (kept.call !== call)
      throw new CallError('this confirm was given for other arguments; call without it first.')
  }
}
