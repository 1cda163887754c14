/** A store as one process sees it, with the ledger watching: every call is entered at the moment of its effect. */
import type * as contract from '../../src/store/contract/store.ts'
import type { EffectOrder } from './effect-order.ts'
import type { Holder } from '../judges/lease-record.ts'
import type { Ledger } from '../judges/ledger.ts'
import type { World } from './world.ts'

export class AuditedStore implements contract.Store {
  readonly capabilities: contract.Capabilities
  readonly #store: contract.Store
  readonly #ledger: Ledger
  readonly #order: EffectOrder
  readonly #holder: Holder
  /** By the store's clock. */
  readonly #now: () => number

  constructor(world: World, holder: Holder) {
    const { store, ledger, effectOrder, storeTime } = world
    this.capabilities = store.capabilities
    this.#store = store
    this.#ledger = ledger
    this.#holder = holder
    this.#order = effectOrder
    this.#now = () => storeTime.now()
  }

  open(): Promise<void> {
    return this.#store.open()
  }

  async close(): Promise<void> {} // One process leaves; the others go on.

  put(messages: readonly contract.NewMessage[]): Promise<contract.PutResult[]> {
    const now = this.#now()
    return this.#order.run(
      () => this.#store.put(messages),
      (results) => this.#ledger.put(messages, results, now),
    )
  }

  remove(ids: readonly string[], from: 'waiting' | 'dead'): Promise<contract.RemoveResult[]> {
    return this.#order.run(
      () => this.#store.remove(ids, from),
      (results) => this.#ledger.remove(ids, from, results),
    )
  }

  reschedule(moves: readonly contract.Move[]): Promise<contract.RescheduleResult[]> {
    const now = this.#now()
    return this.#order.run(
      () => this.#store.reschedule(moves),
      (results) => this.#ledger.reschedule(moves, results, now),
    )
  }

  claim(request: contract.ClaimRequest): Promise<contract.ClaimReply> {
    const now = this.#now()
    return this.#order.run(
      () => this.#store.claim(request),
      (reply) => this.#ledger.claim(this.#holder, request, reply, now),
    )
  }

  extend(leases: readonly contract.LeaseRef[], leaseMs: number): Promise<contract.ExtendResult[]> {
    const now = this.#now()
    return this.#order.run(
      () => this.#store.extend(leases, leaseMs),
      (results) => this.#ledger.extend(leases, leaseMs, results, now),
    )
  }

  settle(settlements: readonly contract.Settlement[]): Promise<contract.SettleResult[]> {
    const now = this.#now()
    return this.#order.run(
      () => this.#store.settle(settlements),
      (results) => this.#ledger.settle(this.#holder, settlements, results, now),
    )
  }

  revive(ids: readonly string[]): Promise<contract.ReviveResult[]> {
    const now = this.#now()
    return this.#order.run(
      () => this.#store.revive(ids),
      (results) => this.#ledger.revive(ids, results, now),
    )
  }

  inspect(query: contract.InspectQuery): Promise<contract.Page> {
    return this.#store.inspect(query)
  }

  count(): Promise<contract.Counts> {
    return this.#store.count()
  }

  doctor(): Promise<contract.Finding[]> {
    return this.#store.doctor()
  }

  onWake(listener: () => void): () => void {
    return this.#store.onWake(listener)
  }
}
