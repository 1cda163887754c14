/** A store, or one partition of it, as one process sees it, with the ledger watching: every call is entered at the moment of its effect. */
import type * as contract from '../../src/store/contract/store.ts'
import { StoreWrapper } from '../../src/store/contract/verbs.ts'
import type { ControlsJudge } from '../judges/controls.ts'
import type { EffectOrder } from './effect-order.ts'
import type { Holder } from '../judges/lease-record.ts'
import type { KeysJudge } from '../judges/keys.ts'
import type { Ledger } from '../judges/ledger.ts'
import type { Partition } from './partition.ts'
import type { World } from './world.ts'

export class AuditedStore extends StoreWrapper {
  readonly #ledger: Ledger
  readonly #controls: ControlsJudge
  readonly #keys: KeysJudge
  readonly #order: EffectOrder
  readonly #holder: Holder
  /** By the store's clock. */
  readonly #now: () => number

  constructor({ effectOrder }: World, { store, ledger, controls, keys, time }: Partition, holder: Holder) {
    super(store)
    this.#ledger = ledger
    this.#controls = controls
    this.#keys = keys
    this.#holder = holder
    this.#order = effectOrder
    this.#now = () => time.now()
  }

  override async close(): Promise<void> {} // One process leaves; the others go on.

  override put(messages: readonly contract.NewMessage[]): Promise<contract.PutResult[]> {
    const now = this.#now()
    return this.#order.run(
      () => super.put(messages),
      (results) => this.#ledger.put(messages, results, now),
    )
  }

  override remove(
    ids: readonly string[],
    from: 'waiting' | 'dead',
    options?: contract.RemoveOptions,
  ): Promise<contract.RemoveResult[]> {
    const now = this.#now()
    return this.#order.run(
      () => super.remove(ids, from, options),
      (results) => this.#ledger.remove(ids, { ...options, from, now }, results),
    )
  }

  override reschedule(moves: readonly contract.Move[]): Promise<contract.RescheduleResult[]> {
    const now = this.#now()
    return this.#order.run(
      () => super.reschedule(moves),
      (results) => this.#ledger.reschedule(moves, results, now),
    )
  }

  override claim(request: contract.ClaimRequest): Promise<contract.ClaimReply> {
    const now = this.#now()
    return this.#order.run(
      () => super.claim(request),
      (reply) => {
        this.#ledger.claim(this.#holder, request, reply, now)
        if (request.from === 'due') this.#controls.handedOut(reply.leases, now)
      },
    )
  }

  override control(change: contract.ControlChange): Promise<void> {
    const now = this.#now()
    return this.#order.run(
      () => super.control(change),
      () => {
        this.#controls.changed(change, now)
        this.#keys.changed(change)
      },
    )
  }

  override extend(leases: readonly contract.LeaseRef[], leaseMs: number): Promise<contract.ExtendResult[]> {
    const now = this.#now()
    return this.#order.run(
      () => super.extend(leases, leaseMs),
      (results) => this.#ledger.extend(leases, leaseMs, results, now),
    )
  }

  override settle(settlements: readonly contract.Settlement[]): Promise<contract.SettleResult[]> {
    const now = this.#now()
    return this.#order.run(
      () => super.settle(settlements),
      (results) => this.#ledger.settle(this.#holder, settlements, results, now),
    )
  }

  override owned(owner: string, cursor?: string): Promise<contract.OwnedPage> {
    return this.#order.run(
      () => super.owned(owner, cursor),
      (page) => this.#ledger.owned(owner, page, cursor === undefined && page.cursor === undefined),
    )
  }

  override revive(ids: readonly string[]): Promise<contract.ReviveResult[]> {
    const now = this.#now()
    return this.#order.run(
      () => super.revive(ids),
      (results) => this.#ledger.revive(ids, results, now),
    )
  }
}
