/**
 * Hearing that something may be due sooner: pub/sub on a connection of its own, opened for the first listener.
 *
 * A subscription can die without a word: a half-open socket brings no messages and no error. So it is asked for a
 * sign of life every few seconds, and whatever was published while it was away is made up for: after every
 * (re)subscription all listeners are called once, and read the head again.
 */
import type { Clock, Timer } from '../../clock.ts'
import { Link, type LinkOptions } from './link.ts'

const PING_EVERY_MS = 3000
const PING_TIMEOUT_MS = 2000

export type WakeupsOptions = Omit<LinkOptions, 'prepare' | 'ready'> & {
  readonly channel: string
  /** What this process publishes when it need not be woken itself. */
  readonly own: string
}

export class Wakeups {
  readonly #link: Link
  readonly #clock: Clock
  readonly #listeners = new Set<() => void>()
  #ping: Timer | undefined
  #isClosed = false

  constructor(options: WakeupsOptions) {
    const { channel, own } = options
    this.#clock = options.clock
    const heard = (message: string): void => {
      if (message !== own) this.#tell()
    }
    this.#link = new Link({
      ...options,
      prepare: (connection) => connection.subscribe(channel, heard),
      ready: () => this.#tell(),
    })
  }

  listen(listener: () => void): () => void {
    // Each subscription counts on its own, even of the same function.
    const entry = (): void => listener()
    this.#listeners.add(entry)
    if (!this.#isClosed && this.#ping === undefined) {
      this.#link.start()
      this.#schedulePing()
    }
    return () => void this.#listeners.delete(entry)
  }

  close(): void {
    this.#isClosed = true
    this.#ping?.cancel()
    this.#listeners.clear()
    this.#link.close()
  }

  #schedulePing(): void {
    this.#ping = this.#clock.schedule(PING_EVERY_MS, () => {
      const again = (): void => {
        if (!this.#isClosed) this.#schedulePing()
      }
      // A ping that fails has condemned its connection already; the link mends it.
      this.#link.call(['PING'], PING_TIMEOUT_MS).then(again, again)
    })
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }
}
