/** Which workers the server was told of lately: a claim says so now and then, not each time. */
const TOLD_MS = 30_000
const OWNERS_MAX = 10_000

export class Presence {
  readonly #toldAt = new Map<string, number>()

  /** Whether this claim should tell; if so, it is taken as told. */
  tells(owner: string, facts: string | undefined, now: number): boolean {
    const before = this.#toldAt.get(owner)
    if (facts === undefined && before !== undefined && now - before < TOLD_MS && now >= before) return false
    if (this.#toldAt.size > OWNERS_MAX) this.#toldAt.clear()
    this.#toldAt.set(owner, now)
    return true
  }

  forget(owner: string): void {
    this.#toldAt.delete(owner)
  }
}
