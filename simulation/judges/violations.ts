/** Promises that were broken. They are noted, not thrown: what is thrown at the runtime it would survive, as it should. */
import type { History } from './history.ts'

export type PromiseName =
  `P${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15 | 16 | 17 | 18 | 19}` | 'liveness'

export class Violations {
  readonly #history: History
  readonly #found: string[] = []

  constructor(history: History) {
    this.#history = history
  }

  get found(): readonly string[] {
    return this.#found
  }

  get any(): boolean {
    return this.#found.length > 0
  }

  add(promise: PromiseName, what: string): void {
    this.#found.push(`${promise}: ${what}`)
    this.#history.note('VIOLATION', () => `${promise}: ${what}`)
  }
}
