/**
 * Hears wake-ups, on a session of its own that is never inside a transaction. Such a session can fall silent without any
 * error: a half-open socket, a pooler that hands LISTEN to some other connection, a server behind a proxy. So an echo is
 * sent to it, at the start and every 15 seconds: through another connection, because a pooler may by chance hand what is said
 * on its own back to it.
 *
 *   echo comes back     hears: wake-ups arrive
 *   no echo             deaf: everybody is called every 500 ms, and the echo is tried again; its session is asked whether
 *                       it is still there
 *   no session          the link connects again; then everybody is called, for what was said meanwhile went unheard
 */
import { endsWithin, type Clock, type Timer } from '../../../clock.ts'
import type { Ring } from '../../sql/wakeups/bell.ts'
import { DEAF_LOOK_MS, Ear, type Hearing } from '../../sql/wakeups/hearing.ts'
import { parseRing, type SqlListener } from '../../sql/wakeups/wakeups.ts'
import { callText } from '../calls.ts'
import type { PgNotification } from './client.ts'
import type { PostgresConnection } from './connection.ts'
import { PostgresLink, type PostgresLinkOptions } from './postgres-link.ts'

const ECHO_EVERY_MS = 15_000
const ECHO_TIMEOUT_MS = 2_000

export type ListenerOptions = Omit<PostgresLinkOptions, 'prepare' | 'ready' | 'lost' | 'heard'> & {
  readonly channel: string
  /** Of this process alone. */
  readonly echoChannel: string
  /** Undefined: anything may have happened. */
  readonly heardRing: (ring: Ring | undefined) => void
  readonly schema: string
  /** Another connection: for echoes, and for rings of a store that listens to nothing. */
  readonly writes: Pick<PostgresLink, 'call'>
  /** No session can hear, so none is made. */
  readonly isDeaf: boolean
}

export class PostgresListener implements SqlListener {
  readonly #options: ListenerOptions
  readonly #link: PostgresLink
  readonly #clock: Clock
  readonly #ear: Ear
  #pid = 0
  #echo: Timer | undefined
  #echoed: (() => void) | undefined
  /** Only the answer to the last question counts: a new session is asked at once. */
  #asked = 0
  #isLost = false
  #isClosed = false

  constructor(options: ListenerOptions) {
    this.#options = options
    this.#clock = options.clock
    this.#ear = new Ear({
      ...options,
      look: () => options.heardRing(undefined),
      warning: `wake-ups do not arrive here; looking every ${DEAF_LOOK_MS} ms instead. Behind a pooler, name the server itself with ?listen=postgres://…`,
      // Of a session that is away, its link has told.
      isExpected: () => options.isDeaf || this.#link.standing !== 'ready',
    })
    this.#link = new PostgresLink({
      ...options,
      prepare: (connection) => this.#listen(connection),
      ready: () => {
        options.heardRing(undefined)
        this.#askEcho()
        // Its answer lets the link say that the server is back: a session that only listens asks for nothing.
        if (this.#isLost) this.#askSession()
        this.#isLost = false
      },
      lost: () => (this.#isLost = true),
      heard: (heard) => this.#hear(heard),
    })
  }

  get hearing(): Hearing {
    return this.#ear.hearing
  }

  start(): void {
    if (!this.#ear.start()) return
    if (this.#options.isDeaf) this.#ear.deaf()
    else this.#link.start()
  }

  /** As a notification after the commit; by the session that listens, if there is one. */
  ring({ at, giver, topics }: Ring): Promise<unknown> {
    const { schema, channel, isDeaf, writes } = this.#options
    const link = isDeaf || this.hearing === 'resting' ? writes : this.#link
    const values = [channel, at ?? null, giver, topics]
    return link.call({ text: callText(schema, 'ring_1', values.length), values })
  }

  close(): void {
    this.#isClosed = true
    this.#echo?.cancel()
    this.#ear.close()
    this.#link.close()
  }

  async #listen(connection: PostgresConnection): Promise<void> {
    const { channel, echoChannel } = this.#options
    await Promise.all([
      connection.send({ text: `listen "${channel}"` }),
      connection.send({ text: `listen "${echoChannel}"` }),
    ])
    this.#pid = connection.pid
  }

  #hear({ channel, payload, processId }: PgNotification): void {
    if (channel === this.#options.echoChannel) this.#echoed?.()
    // Our own rings were heard here before they were sent.
    else if (processId !== this.#pid)
      this.#options.heardRing(payload === undefined ? undefined : parseRing(payload))
  }

  #askEcho(): void {
    this.#echo?.cancel()
    this.#asked += 1
    const asked = this.#asked
    const heard = new Promise<void>((resolve) => (this.#echoed = resolve))
    const { writes, echoChannel } = this.#options
    void writes
      .call({ text: 'select pg_notify($1, $2)', values: [echoChannel, ''] })
      // Counted from here: the question itself may have waited for a server that was restarted.
      .then(() => endsWithin(this.#clock, ECHO_TIMEOUT_MS, heard))
      // The question was not sent.
      .catch(() => undefined)
      .then((isHeard) => {
        if (this.#isClosed || asked !== this.#asked) return
        if (isHeard === true) this.#ear.hears()
        if (isHeard === false) this.#ear.deaf()
        // A session that does not answer is replaced by its link.
        if (isHeard === false && !this.#options.isDeaf) this.#askSession()
        this.#echo = this.#clock.schedule(ECHO_EVERY_MS, () => this.#askEcho())
      })
  }

  #askSession(): void {
    this.#link.call({ text: 'select 1' }).catch(() => undefined)
  }
}
