/** An average that forgets: each new value counts for its weight, which differs for rising and for falling. */
export class Average {
  readonly #up: number
  readonly #down: number
  #value: number | undefined

  constructor({ up, down }: { up: number; down: number }) {
    this.#up = up
    this.#down = down
  }

  /** Undefined before the first. */
  get value(): number | undefined {
    return this.#value
  }

  add(value: number): void {
    if (this.#value === undefined) this.#value = value
    else this.#value += (value - this.#value) * (value > this.#value ? this.#up : this.#down)
  }
}
