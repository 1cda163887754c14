/**
 * Hearing that something may be due sooner: pub/sub, begun for the first listener, on the channel of the queue and on one of
 * this store's own. The scripts decide when to publish and to whom (`scripts/parts/watch.lua`), `shared/wanted-topics.ts` whom
 * a wake-up concerns. After every (re)subscription all listeners are called once and look at everything again, because
 * wake-ups may have been published meanwhile.
 *
 * A worker that may sleep for longer than its fallback is not counted on: nothing is lost when it hears nothing, and
 * its subscription is not asked for signs of life. The system's own probes keep it from being forgotten on the way.
 */
import type { WakeUp } from '../../contract/store.ts'
import type { LinkOptions } from './link.ts'
import { Subscription } from './subscription.ts'

const PING_EVERY_MS = 10_000

export type WakeupsOptions = Omit<LinkOptions, 'prepare' | 'ready'> & { readonly channels: readonly string[] }

/** Where a store hears wake-ups, and says how much it counts on them. */
export interface WakeSource {
  /** When a worker looks again, if it was told, and after which time it would on its own. */
  look(lookMs: number | undefined, fallbackMs?: number): void
  /** Each subscription counts on its own, even of the same function. */
  listen(call: (wake: WakeUp) => void, hear: Hear): () => void
}

/** What a message means to one listener; undefined when it does not concern it. */
export type Hear = (message: string) => WakeUp | undefined
type ConcernedListener = { readonly call: (wake: WakeUp) => void; readonly hear: Hear }

export class Wakeups implements WakeSource {
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
    this.#subscription = new Subscription({ ...options, heard, subscribed, pingEveryMs: PING_EVERY_MS })
  }

  /** When a worker looks again, if it was told, and after which time it would on its own. */
  look(lookMs: number | undefined, fallbackMs = Infinity): void {
    if (lookMs !== undefined)
      this.#subscription.pingEvery(lookMs <= fallbackMs + 1 ? PING_EVERY_MS : Infinity)
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
