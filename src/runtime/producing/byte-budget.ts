/** So many bytes at once, in the order in which they were asked for; more only for one that finds nothing under way. */
export class ByteBudget {
  readonly #max: number
  #taken = 0
  readonly #waiting: { readonly bytes: number; readonly go: () => void }[] = []

  constructor(max: number) {
    this.#max = max
  }

  /** False: the caller must wait its turn. */
  take(bytes: number): boolean {
    if (this.#waiting.length > 0 || !this.#fits(bytes)) return false
    this.#taken += bytes
    return true
  }

  waitFor(bytes: number): Promise<void> {
    return new Promise((resolve) => this.#waiting.push({ bytes, go: resolve }))
  }

  giveBack(bytes: number): void {
    this.#taken -= bytes
    for (
      let [first] = this.#waiting;
      first !== undefined && this.#fits(first.bytes);
      [first] = this.#waiting
    ) {
      this.#waiting.shift()
      this.#taken += first.bytes
      first.go()
    }
  }

  #fits(bytes: number): boolean {
    return this.#taken === 0 || this.#taken + bytes <= this.#max
  }
}
