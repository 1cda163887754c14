/** How many calls that wait (event streams, claims) may be open at once: in all, and of one caller. */
export class Places {
  readonly #max: number
  readonly #maxOfOne: number
  readonly #taken = new Map<string, number>()
  #all = 0

  constructor(max: number, maxOfOne: number = max) {
    this.#max = max
    this.#maxOfOne = maxOfOne
  }

  get taken(): number {
    return this.#all
  }

  /** Undefined: there is none. Else how to give it back, once. */
  take(name: string): (() => void) | undefined {
    const own = this.#taken.get(name) ?? 0
    if (this.#all >= this.#max || own >= this.#maxOfOne) return undefined
    this.#all += 1
    this.#taken.set(name, own + 1)
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      this.#all -= 1
      const left = (this.#taken.get(name) ?? 1) - 1
      if (left === 0) this.#taken.delete(name)
      else this.#taken.set(name, left)
    }
  }
}
