/**
 * Hearing that something may be due sooner: pub/sub, begun for the first listener. The scripts decide when to publish
<<<<<<< HEAD
 * (`scripts/parts/lines.lua`), `shared/wanted-topics.ts` whom a wake-up concerns. After every (re)subscription all listeners
 * are called once and read the head again, because wake-ups may have been published meanwhile.
=======
 * (`scripts/parts/lines.lua`), `shared/wanted-topics.ts` whom a wake-up concerns. After every (re)subscription all listeners
 * are called once and look at everything again, because wake-ups may have been published meanwhile.
>>>>>>> main
 */
import type { WakeUp } from '../../contract/store.ts'
import type { LinkOptions } from './link.ts'
import { Subscription } from './subscription.ts'

export type WakeupsOptions = Omit<LinkOptions, 'prepare' | 'ready'> & { readonly channel: string }

/** What a message means to one listener; undefined when it does not concern it. */
type Hear = (message: string) => WakeUp | undefined
type ConcernedListener = { readonly call: (wake: WakeUp) => void; readonly hear: Hear }

export class Wakeups {
  readonly #subscription: Subscription
  readonly #listeners = new Set<ConcernedListener>()

  constructor(options: WakeupsOptions) {
    const heard = (message: string): void => {
      for (const { call, hear } of this.#listeners) {
        const wake = hear(message)
        if (wake !== undefined) call(wake)
      }
    }
    const subscribed = (): void => {
      for (const { call } of this.#listeners) call({ kind: 'controls' })
    }
    this.#subscription = new Subscription({ ...options, heard, subscribed })
  }

  /** Each subscription counts on its own, even of the same function. */
  listen(call: (wake: WakeUp) => void, hear: Hear): () => void {
    const entry: ConcernedListener = { call, hear }
    this.#listeners.add(entry)
    this.#subscription.start()
    return () => void this.#listeners.delete(entry)
  }

  close(): void {
    this.#listeners.clear()
    this.#subscription.close()
  }
}
