/**
 * Channels, listened to on a connection of their own. A subscription can die without a word: a half-open socket brings
 * no messages and no error. So it is asked for a sign of life every few seconds, while anybody counts on it.
 */
import type { Clock, Timer } from '../../../clock.ts'
import type { Heard } from './connection.ts'
import { Link, type LinkOptions } from './link.ts'

const ANSWER_TIMEOUT_MS = 2000

export type SubscriptionOptions = Omit<LinkOptions, 'prepare' | 'ready'> & {
  readonly channels: readonly string[]
  /** At first: see `pingEvery`. */
  readonly pingEveryMs: number
  /** Channels that belong to a slot of a cluster. */
  readonly isSharded?: boolean
  readonly heard: Heard
  /** After every (re)subscription: what was said before it went unheard. */
  readonly subscribed: () => void
}

export class Subscription {
  readonly #link: Link
  readonly #clock: Clock
  #ping: Timer | undefined
  #pingEveryMs: number
  #isStarted = false
  #isClosed = false

  constructor(options: SubscriptionOptions) {
    const { channels, heard, isSharded = false, pingEveryMs, subscribed } = options
    this.#clock = options.clock
    this.#pingEveryMs = pingEveryMs
    this.#link = new Link({
      ...options,
      prepare: async (connection) => {
        await Promise.all(channels.map((channel) => connection.subscribe(channel, heard, isSharded)))
      },
      ready: subscribed,
    })
  }

  start(): void {
    if (this.#isClosed || this.#isStarted) return
    this.#isStarted = true
    this.#link.start()
    this.#schedulePing()
  }

  /** How often it is asked for a sign of life; Infinity for never. */
  pingEvery(everyMs: number): void {
    if (everyMs === this.#pingEveryMs) return
    this.#pingEveryMs = everyMs
    this.#ping?.cancel()
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
    if (this.#isClosed || !this.#isStarted || this.#pingEveryMs === Infinity) return
    this.#ping = this.#clock.schedule(this.#pingEveryMs, () => {
      const again = (): void => {
        this.#ping?.cancel()
        this.#schedulePing()
      }
      // A ping that fails has condemned its connection already; the link makes another.
      this.#link.call(['PING'], ANSWER_TIMEOUT_MS).then(again, again)
    })
    this.#ping.unref?.()
  }
}
