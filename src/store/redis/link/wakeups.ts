/**
 * Hearing that something may be due sooner: pub/sub, begun for the first listener. Whatever was published while the
 * subscription was away is made up for: after every (re)subscription all listeners are called once, and read the head
 * again.
 */
import type { LinkOptions } from './link.ts'
import { Subscription } from './subscription.ts'

export type WakeupsOptions = Omit<LinkOptions, 'prepare' | 'ready'> & {
  readonly channel: string
  /** What this process publishes when it need not be woken itself. */
  readonly own: string
}

export class Wakeups {
  readonly #subscription: Subscription
  readonly #listeners = new Set<() => void>()

  constructor(options: WakeupsOptions) {
    const heard = (message: string): void => {
      if (message !== options.own) this.#tell()
    }
    this.#subscription = new Subscription({ ...options, heard, subscribed: () => this.#tell() })
  }

  listen(listener: () => void): () => void {
    // Each subscription counts on its own, even of the same function.
    const entry = (): void => listener()
    this.#listeners.add(entry)
    this.#subscription.start()
    return () => void this.#listeners.delete(entry)
  }

  close(): void {
    this.#listeners.clear()
    this.#subscription.close()
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }
}
