/**
 * The largest of many that pass by, in room for twice as many as are kept: when it is full, the smaller half goes.
 * Each one that passes costs about the logarithm of that room.
 */
export class Largest<T> {
  readonly #count: number
  readonly #compare: (a: T, b: T) => number
  #kept: T[] = []
  #passed = 0

  /** `compare` is below 0 when `a` comes before `b`: the first `count` are kept. */
  constructor(count: number, compare: (a: T, b: T) => number) {
    this.#count = count
    this.#compare = compare
  }

  add(item: T): void {
    this.#passed += 1
    this.#kept.push(item)
    if (this.#kept.length >= 2 * this.#count) this.#kept = this.sorted()
  }

  get isMore(): boolean {
    return this.#passed > this.#count
  }

  sorted(): T[] {
    return this.#kept.toSorted(this.#compare).slice(0, this.#count)
  }
}
