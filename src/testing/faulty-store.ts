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
import type { Clock } from '../clock.ts'
import { UnavailableError, assertNever } from '../core/errors.ts'
import type { Capabilities, Store, WakeUp } from '../store/contract/store.ts'
import { StoreWrapper, type StoreVerb } from '../store/contract/verbs.ts'

export type { StoreVerb } from '../store/contract/verbs.ts'

export type Fault =
  | { readonly kind: 'refuse' }
  | { readonly kind: 'lose' }
  | { readonly kind: 'delay'; readonly ms: number }
  | { readonly kind: 'duplicate' }

/** Asked before each call, with its first argument; undefined lets it pass. */
export type Fate = (verb: StoreVerb, argument: unknown) => Fault | undefined

export class FaultyStore extends StoreWrapper {
  readonly #clock: Clock
  #fate: Fate = () => undefined
  #isDeaf = false
  readonly #calls: StoreVerb[] = []

  /** `overrides` let a store pose as a lesser one: `{ wakes: 'hint', shared: true }`. */
  constructor(store: Store, clock: Clock, overrides: Partial<Capabilities> = {}) {
    super(store, overrides)
    this.#clock = clock
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

  override onWake(listener: (wake: WakeUp) => void, owner?: string): () => void {
    return super.onWake((wake) => {
      if (!this.#isDeaf) listener(wake)
    }, owner)
  }

  override async around<T>(
    verb: StoreVerb,
    [argument]: readonly unknown[],
    call: () => Promise<T>,
  ): Promise<T> {
    if (verb === 'open' || verb === 'close') return call()
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
        await new Promise<void>((resolve) => this.#clock.schedule(fault.ms, resolve))
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
