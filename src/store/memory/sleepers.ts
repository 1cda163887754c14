/**
 * Who is to be woken: everybody, when something came that sleepers do not expect. What an owner released itself wakes
 * all others, because it gave the message back for want of room.
 */
import type { WakeUp } from '../contract/store.ts'

type WakeCall = (wake: WakeUp) => void
type Sleeper = { readonly call: WakeCall; readonly owner: string | undefined }

export class Sleepers {
  readonly #sleepers = new Set<Sleeper>()
  #isForAll = false
  readonly #releasedBy = new Set<string>()

  add(call: WakeCall, owner: string | undefined): () => void {
    const sleeper = { call, owner }
    this.#sleepers.add(sleeper)
    return () => this.#sleepers.delete(sleeper)
  }

  clear(): void {
    this.#sleepers.clear()
  }

  /** Something came, or was released by this owner. */
  note(releasedBy: string | undefined): void {
    if (releasedBy === undefined) this.#isForAll = true
    else this.#releasedBy.add(releasedBy)
  }

  wake(): void {
    const others = [...this.#releasedBy]
    const isForAll = this.#isForAll
    this.#isForAll = false
    this.#releasedBy.clear()
    if (!isForAll && others.length === 0) return
    for (const { call, owner } of this.#sleepers)
      if (isForAll || others.some((name) => name !== owner)) call({ kind: 'due' })
  }

  /** Everybody, at once: a control changed, or a message that runs is to be cancelled. */
  wakeAll(kind: 'controls' | 'cancelling'): void {
    for (const { call } of this.#sleepers) call({ kind })
    if (kind === 'cancelling') return
    this.#isForAll = false
    this.#releasedBy.clear()
  }
}
