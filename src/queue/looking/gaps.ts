/** Parts of a store that did not answer: named in what is shown, and an error where a number would be wrong without them. */
import { UnavailableError } from '../../core/errors.ts'
import type { Gap } from '../../store/contract/store.ts'

/** Those that any of the answers lacks, each once. */
export class Gaps {
  readonly #missing = new Set<string>()

  note({ missing = [] }: Gap): void {
    for (const name of missing) this.#missing.add(name)
  }

  /** To be shown with the answer; nothing where it is whole. */
  get shown(): Gap {
    return this.#missing.size === 0 ? {} : { missing: [...this.#missing] }
  }

  /** `what`: what has been done without them. */
  assertNone(what: string): void {
    if (this.#missing.size === 0) return
    const names = [...this.#missing]
    throw new UnavailableError(
      'STORE_PARTIAL',
      `${names.join(', ')} did not answer; ${what} Try again when the store is whole.`,
      { value: names },
    )
  }
}
