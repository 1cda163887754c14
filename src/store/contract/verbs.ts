/**
 * The verbs as data, and one wrapper for all of them. A store behind a faulty line, under audit or far away is a
 * `StoreWrapper` with its own `around`, so that a new verb is known to all of them at once.
 */
import type { Capabilities, Store, WakeUp } from './store.ts'

export const STORE_VERBS = [
  'open',
  'close',
  'put',
  'claim',
  'extend',
  'settle',
  'owned',
  'leave',
  'record',
  'remove',
  'reschedule',
  'revive',
  'inspect',
  'count',
  'countTopics',
  'forecast',
  'figures',
  'workers',
  'join',
  'control',
  'controls',
  'keys',
  'doctor',
  'backup',
  'remembered',
  'restore',
] as const satisfies readonly (keyof Store)[]

export type StoreVerb = (typeof STORE_VERBS)[number]

/** What a subclass sees of its wrapper, and may override besides single verbs. */
export interface Wrapping {
  readonly inner: Store
  /** Every verb goes through here; `call` sends it to the inner store, and may be called never, once or twice. */
  around<T>(verb: StoreVerb, args: readonly unknown[], call: () => Promise<T>): Promise<T>
}

type VerbCall = (...args: unknown[]) => Promise<unknown>

class PassingStore {
  readonly inner: Store
  readonly capabilities: Capabilities

  constructor(inner: Store, changes: Partial<Capabilities> = {}) {
    this.inner = inner
    this.capabilities = { ...inner.capabilities, ...changes }
  }

  around<T>(_verb: StoreVerb, _args: readonly unknown[], call: () => Promise<T>): Promise<T> {
    return call()
  }

  onWake(listener: (wake: WakeUp) => void, owner?: string): () => void {
    return this.inner.onWake(listener, owner)
  }
}

for (const verb of STORE_VERBS) {
  Object.defineProperty(PassingStore.prototype, verb, {
    value(this: PassingStore, ...args: unknown[]) {
      return this.around(verb, args, () => (this.inner[verb] as VerbCall)(...args))
    },
    configurable: true,
    writable: true,
  })
}

/** The verbs are made from the list above, which the compiler cannot see: hence the cast. */
export const StoreWrapper = PassingStore as unknown as new (
  inner: Store,
  changes?: Partial<Capabilities>,
) => Store & Wrapping
