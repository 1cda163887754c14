/**
 * One channel, listened to on a connection of its own. A subscription can die without a word: a half-open socket brings
 * no messages and no error. So it is asked for a sign of life every few seconds.
 */
import type { Clock, Timer } from '../../../clock.ts'
import { Link, type LinkOptions } from './link.ts'

const PING_EVERY_MS = 3000
const ANSWER_TIMEOUT_MS = 2000

export type SubscriptionOptions = Omit<LinkOptions, 'prepare' | 'ready'> & {
  readonly channel: string
  readonly heard: (message: string) => void
  /** After every (re)subscription: what was said before it went unheard. */
  readonly subscribed: () => void
}

export class Subscription {
  readonly #link: Link
  readonly #clock: Clock
  #ping: Timer | undefined
  #isClosed = false

  constructor(options: SubscriptionOptions) {
    const { channel, heard, subscribed } = options
    this.#clock = options.clock
    this.#link = new Link({
      ...options,
      prepare: (connection) => connection.subscribe(channel, heard),
      ready: subscribed,
    })
  }

  start(): void {
    if (this.#isClosed || this.#ping !== undefined) return
    this.#link.start()
    this.#schedulePing()
  }

  /** On the same connection: what happens after the answer is heard on the channel. */
  ask(command: readonly string[]): Promise<unknown> {
    return this.#link.call(command, ANSWER_TIMEOUT_MS)
  }

  close(): void {
    this.#isClosed = true
    this.#ping?.cancel()
    this.#link.close()
  }

  #schedulePing(): void {
    this.#ping = this.#clock.schedule(PING_EVERY_MS, () => {
      const again = (): void => {
        if (!this.#isClosed) this.#schedulePing()
      }
      // A ping that fails has condemned its connection already; the link mends it.
      this.#link.call(['PING'], ANSWER_TIMEOUT_MS).then(again, again)
    })
  }
}
