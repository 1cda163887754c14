/** What the queue said, and what became of it: kept by those who called it, and compared with the store at the end. */

/** `run`: due soon. `keep`: due in days, so that it must be there at the end. `cancel`: the same, and then cancelled. */
export type Purpose = 'run' | 'keep' | 'cancel'

export class Ledger {
  readonly #accepted = new Map<string, Purpose>()
  readonly #cancelled = new Set<string>()
  readonly #starts = new Map<string, number>()
  readonly #completions = new Map<string, number>()
  readonly #startedAfterwards = new Set<string>()
  /** Calls that were answered with an error: they may or may not have taken effect. */
  unknown = 0
  /** Of those, the ones whose replicas did not confirm in time. */
  unreplicated = 0

  get accepted(): number {
    return this.#accepted.size
  }

  accept(id: string, purpose: Purpose): void {
    this.#accepted.set(id, purpose)
  }

  cancel(id: string): void {
    this.#cancelled.add(id)
  }

  start(id: string): void {
    if (this.#completions.has(id)) this.#startedAfterwards.add(id)
    this.#starts.set(id, (this.#starts.get(id) ?? 0) + 1)
  }

  complete(id: string): void {
    this.#completions.set(id, (this.#completions.get(id) ?? 0) + 1)
  }

  refuse(error: unknown): void {
    this.unknown += 1
    if (error instanceof Error && 'code' in error && error.code === 'STORE_UNREPLICATED')
      this.unreplicated += 1
  }

  /** `present`: the ids that the store has at the end, when everything that was due is done. */
  audit(present: ReadonlySet<string>): Audit {
    const lost: string[] = []
    let cancelling = 0
    for (const [id, purpose] of this.#accepted) {
      // Whether an unanswered cancel took effect is unknown.
      if (purpose === 'cancel' && !this.#cancelled.has(id)) cancelling += 1
      else if (purpose === 'run' ? !this.#starts.has(id) : purpose === 'keep' && !present.has(id))
        lost.push(id)
    }
    return {
      acknowledged: this.#accepted.size,
      found: this.#accepted.size - lost.length - cancelling - this.#cancelled.size,
      lost: lost.length,
      cancelled: this.#cancelled.size,
      cancelledBack: [...this.#cancelled].filter((id) => present.has(id)).length,
      completed: this.#completions.size,
      completedAgain: [...this.#completions.values()].filter((count) => count > 1).length,
      repeated: [...this.#starts.values()].filter((count) => count > 1).length,
      repeatedCompleted: this.#startedAfterwards.size,
      unknown: this.unknown,
      unreplicated: this.unreplicated,
    }
  }
}

export type Audit = {
  /** `produce` resolved. */
  readonly acknowledged: number
  /** Of these: handled, or in the store as they should be. */
  readonly found: number
  /** Of these: neither. */
  readonly lost: number
  /** `cancel` answered "cancelled". */
  readonly cancelled: number
  /** Of these: in the store again. */
  readonly cancelledBack: number
  /** The event `completed` came. */
  readonly completed: number
  /** Of these: it came a second time, because the end of the first was forgotten. */
  readonly completedAgain: number
  /** Handlers that started more than once: this is allowed. */
  readonly repeated: number
  /** Of these: after they had been told as completed. */
  readonly repeatedCompleted: number
  readonly unknown: number
  readonly unreplicated: number
}
