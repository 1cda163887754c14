/** A line of runs: first in, first out; leaving from the front, which nearly all do, costs nothing. */
import type { Run } from './run.ts'

export class Line {
  readonly #runs: (Run | undefined)[] = []
  #head = 0

  get length(): number {
    return this.#runs.length - this.#head
  }

  get first(): Run | undefined {
    return this.#runs[this.#head]
  }

  push(run: Run): void {
    this.#runs.push(run)
  }

  remove(run: Run): void {
    if (this.#runs[this.#head] !== run) {
      const at = this.#runs.indexOf(run, this.#head)
      if (at !== -1) this.#runs.splice(at, 1)
      return
    }
    this.#runs[this.#head] = undefined
    this.#head += 1
    if (this.#head < this.#runs.length) return
    this.#runs.length = 0
    this.#head = 0
  }
}
