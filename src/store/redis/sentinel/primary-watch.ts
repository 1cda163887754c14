/**
 * Leaving a primary that was replaced, as soon as a sentinel says so.
 *
 * A primary that is cut off from the sentinels does not know that it was replaced, and goes on taking writes which its
 * demotion will throw away. Who waits for its own connection to break writes there until then. So every sentinel is
 * listened to, each on a connection of its own: the one that is cut off together with the old primary hears nothing.
 *
 * What was announced before a subscription stood went unheard, so that each one begins with a question. A sentinel that
 * lags behind then names the old primary; that costs a connection, and the next one is confirmed by its server again.
 */
import { UnavailableError } from '../../../core/errors.ts'
import { connectTo } from '../link/connection.ts'
import type { LinkOptions } from '../link/link.ts'
import { describeSentinel, placeIn, whereIs, type HostPort } from './sentinels.ts'
import type { SentinelGroup } from '../address/sentinel-url.ts'
import { Subscription } from '../link/subscription.ts'
import { hostAndPort } from '../address/url.ts'

const CHANNEL = '+switch-master'
const CLIENT_NAME = 'punctual:failovers'
const PING_EVERY_MS = 3000

/** A connection to what was the primary when it was made. */
export type Watched = { readonly place: HostPort; readonly leave: (reason: UnavailableError) => void }

export type PrimaryWatchOptions = Pick<
  LinkOptions,
  'connectTimeoutMs' | 'callTimeoutMs' | 'clock' | 'random' | 'logger'
>

export class PrimaryWatch {
  readonly #primaryName: string
  readonly #subscriptions: readonly Subscription[]
  readonly #watched = new Set<Watched>()

  constructor({ sentinels, primaryName }: SentinelGroup, options: PrimaryWatchOptions) {
    this.#primaryName = primaryName
    this.#subscriptions = sentinels.map((address): Subscription => {
      const subscription: Subscription = new Subscription({
        ...options,
        name: CLIENT_NAME,
        server: describeSentinel(address),
        connect: connectTo(address),
        channels: [CHANNEL],
        pingEveryMs: PING_EVERY_MS,
        heard: (message) => this.#heard(message),
        subscribed: () => void this.#ask(subscription),
      })
      return subscription
    })
  }

  /** Returns the function that ends the watch over this connection. */
  add(watched: Watched): () => void {
    this.#watched.add(watched)
    for (const subscription of this.#subscriptions) subscription.start()
    return () => void this.#watched.delete(watched)
  }

  close(): void {
    for (const subscription of this.#subscriptions) subscription.close()
  }

  /** Never rejects: a question that fails has condemned its connection, and the next subscription asks again. */
  async #ask(subscription: Subscription): Promise<void> {
    const place = placeIn(await subscription.ask(whereIs(this.#primaryName)).catch(() => undefined))
    if (place !== undefined) this.#leaveAllBut(place)
  }

  /** `<name> <old host> <old port> <new host> <new port>` */
  #heard(message: string): void {
    const [name, , , host = '', port = ''] = message.split(' ')
    if (name === this.#primaryName) this.#leaveAllBut({ host, port: Number(port) })
  }

  #leaveAllBut({ host, port }: HostPort): void {
    for (const { place, leave } of this.#watched) {
      if (place.host === host && place.port === port) continue
      const text = `the sentinels replaced ${hostAndPort(place)} by ${hostAndPort({ host, port })}.`
      leave(new UnavailableError('STORE_UNAVAILABLE', text))
    }
  }
}
