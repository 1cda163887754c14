/**
 * A store behind a bad line. Wraps any store, and makes its calls go wrong as told:
 *
 *   refuse     the call never arrives
 *   lose       the call takes effect, its reply is lost on the way
 *   delay      the reply comes late
 *   duplicate  the call takes effect twice, the second reply is seen
 *
 * To the caller, `refuse` and `lose` look alike: that is the point. Wake-ups can be switched off too.
 */
import { sleep, type Clock } from '../clock.ts'
import { UnavailableError, assertNever } from '../core/errors.ts'
import type * as contract from '../store/contract/store.ts'

export type StoreVerb =
  'put' | 'remove' | 'reschedule' | 'claim' | 'extend' | 'settle' | 'revive' | 'inspect' | 'count' | 'doctor'

export type Fault =
  | { readonly kind: 'refuse' }
  | { readonly kind: 'lose' }
  | { readonly kind: 'delay'; readonly ms: number }
  | { readonly kind: 'duplicate' }

/** Asked before each call; undefined lets it pass. */
export type Fate = (verb: StoreVerb, argument: unknown) => Fault | undefined

export class FaultyStore implements contract.Store {
  readonly capabilities: contract.Capabilities
  readonly #store: contract.Store
  readonly #clock: Clock
  readonly #never = new AbortController().signal
  #fate: Fate = () => undefined
  #isDeaf = false
  readonly #calls: StoreVerb[] = []

  /** `overrides` let a store pose as a lesser one: `{ wakes: 'hint', shared: true }`. */
  constructor(store: contract.Store, clock: Clock, overrides: Partial<contract.Capabilities> = {}) {
    this.#store = store
    this.#clock = clock
    this.capabilities = { ...store.capabilities, ...overrides }
  }

  /** From now on. */
  set fate(fate: Fate) {
    this.#fate = fate
  }

  /** While true, wake-ups are lost. */
  set isDeaf(value: boolean) {
    this.#isDeaf = value
  }

  /** Every call so far, for tests that nothing spins. */
  get calls(): readonly StoreVerb[] {
    return this.#calls
  }

  open(): Promise<void> {
    return this.#store.open()
  }

  close(): Promise<void> {
    return this.#store.close()
  }

  put(messages: readonly contract.NewMessage[]): Promise<contract.PutResult[]> {
    return this.#suffer('put', messages, () => this.#store.put(messages))
  }

  remove(ids: readonly string[], from: 'waiting' | 'dead'): Promise<contract.RemoveResult[]> {
    return this.#suffer('remove', ids, () => this.#store.remove(ids, from))
  }

  reschedule(moves: readonly contract.Move[]): Promise<contract.RescheduleResult[]> {
    return this.#suffer('reschedule', moves, () => this.#store.reschedule(moves))
  }

  claim(request: contract.ClaimRequest): Promise<contract.ClaimReply> {
    return this.#suffer('claim', request, () => this.#store.claim(request))
  }

  extend(leases: readonly contract.LeaseRef[], leaseMs: number): Promise<contract.ExtendResult[]> {
    return this.#suffer('extend', leases, () => this.#store.extend(leases, leaseMs))
  }

  settle(settlements: readonly contract.Settlement[]): Promise<contract.SettleResult[]> {
    return this.#suffer('settle', settlements, () => this.#store.settle(settlements))
  }

  revive(ids: readonly string[]): Promise<contract.ReviveResult[]> {
    return this.#suffer('revive', ids, () => this.#store.revive(ids))
  }

  inspect(query: contract.InspectQuery): Promise<contract.Page> {
    return this.#suffer('inspect', query, () => this.#store.inspect(query))
  }

  count(): Promise<contract.Counts> {
    return this.#suffer('count', undefined, () => this.#store.count())
  }

  doctor(): Promise<contract.Finding[]> {
    return this.#suffer('doctor', undefined, () => this.#store.doctor())
  }

  onWake(listener: () => void): () => void {
    return this.#store.onWake(() => {
      if (!this.#isDeaf) listener()
    })
  }

  async #suffer<T>(verb: StoreVerb, argument: unknown, call: () => Promise<T>): Promise<T> {
    this.#calls.push(verb)
    const fault = this.#fate(verb, argument)
    if (fault === undefined) return call()
    switch (fault.kind) {
      case 'refuse':
        throw unavailable(verb)
      case 'lose':
        await call()
        throw unavailable(verb)
      case 'delay': {
        const reply = await call()
        await sleep(this.#clock, fault.ms, this.#never)
        return reply
      }
      case 'duplicate':
        await call()
        return call()
      default:
        return assertNever(fault)
    }
  }
}

function unavailable(verb: StoreVerb): UnavailableError {
  return new UnavailableError(
    'STORE_UNAVAILABLE',
    `${verb}: the line to the store is down (a fault that a test asked for).`,
  )
}
