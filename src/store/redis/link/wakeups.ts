/**
 * Hearing that something may be due sooner: pub/sub, begun for the first listener. The scripts decide when to publish
 * (`scripts/parts/lines.lua`), `shared/wanted-topics.ts` whom a wake-up concerns. After every (re)subscription all listeners
 * are called once and read the head again, because wake-ups may have been published meanwhile.
 */
import type { LinkOptions } from './link.ts'
import { Subscription } from './subscription.ts'

export type WakeupsOptions = Omit<LinkOptions, 'prepare' | 'ready'> & { readonly channel: string }

type ConcernedListener = { readonly call: () => void; readonly isConcerned: (message: string) => boolean }

export class Wakeups {
  readonly #subscription: Subscription
  readonly #listeners = new Set<ConcernedListener>()

  constructor(options: WakeupsOptions) {
    const heard = (message: string): void => {
      for (const { call, isConcerned } of this.#listeners) if (isConcerned(message)) call()
    }
    const subscribed = (): void => {
      for (const { call } of this.#listeners) call()
    }
    this.#subscription = new Subscription({ ...options, heard, subscribed })
  }

  /** Each subscription counts on its own, even of the same function. */
  listen(call: () => void, isConcerned: (message: string) => boolean): () => void {
    const entry: ConcernedListener = { call, isConcerned }
    this.#listeners.add(entry)
    this.#subscription.start()
    return () => void this.#listeners.delete(entry)
  }

  close(): void {
    this.#listeners.clear()
    this.#subscription.close()
  }
}
