/** The ledgers of all partitions, as one to look into. Calls are entered in each by itself. */
import type { Known, Ledger } from './ledger.ts'
import type { LeaseRecord } from './lease-record.ts'

export class Ledgers {
  readonly #all: readonly Ledger[]
  readonly #homeOf: (id: string) => Ledger

  constructor(all: readonly Ledger[], homeOf: (id: string) => Ledger) {
    this.#all = all
    this.#homeOf = homeOf
  }

  get messages(): ReadonlyMap<string, Known> {
    const [first, ...others] = this.#all
    if (first !== undefined && others.length === 0) return first.messages
    return new Map(this.#all.flatMap(({ messages }) => [...messages]))
  }

  get leases(): Iterable<LeaseRecord> {
    return this.#all.flatMap(({ leases }) => [...leases])
  }

  find(id: string): Known | undefined {
    return this.#homeOf(id).messages.get(id)
  }

  wasStored(id: string): boolean {
    return this.#homeOf(id).wasStored(id)
  }

  /** Undefined for one that never was. */
  firstStoredAt(id: string): number | undefined {
    return this.#homeOf(id).firstStoredAt(id)
  }

  withdrawnAt(id: string): number | undefined {
    return this.#homeOf(id).withdrawnAt(id)
  }

  wasMoved(id: string): boolean {
    return this.#homeOf(id).wasMoved(id)
  }

  wasCompleted(id: string): boolean {
    return this.#homeOf(id).wasCompleted(id)
  }

  leaseOf(ref: { readonly id: string; readonly token: string }): LeaseRecord | undefined {
    return this.#homeOf(ref.id).leaseOf(ref)
  }
}
