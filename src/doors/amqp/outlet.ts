/**
 * Out: at its moment a message is published, and completed when the broker has confirmed it.
 *
 * The handler writes to the channel before anything else happens in its turn, so that messages leave in the order in
 * which punctual hands them out. One channel to a route: what goes wrong with one target holds up no other.
 */
import type { ChannelModel, Options } from 'amqplib'
import { sleep, type Clock } from '../../clock.ts'
import { exponentialMs } from '../../core/machines/backoff.ts'
import { DeadLetter, type Handler, type Message } from '../../index.ts'
import type { Random } from '../../random.ts'
import type { Tell } from './events.ts'
import { bodyOf, isEnvelope, type Envelope } from './message/envelope.ts'
import { restoreProperties } from './message/properties.ts'
import type { BridgeRoute } from './options.ts'
import { brokerError } from './wire/failure.ts'
import { ID_HEADER, PublishError, Publisher } from './wire/publisher.ts'

export type OutletParts = {
  readonly route: Readonly<BridgeRoute>
  /** The user of the connection: the broker refuses a message that names another one as its sender. */
  readonly user: string
  readonly urlShown: string
  readonly retryLimit: number
  readonly tell: Tell
  readonly clock: Clock
  readonly random: Random
}

const PAUSE = { baseMs: 250, factor: 2, capMs: 5_000, jitter: 0.2 } as const

export class Outlet {
  readonly publisher = new Publisher()
  readonly #parts: OutletParts

  constructor(parts: OutletParts) {
    this.#parts = parts
  }

  /** Opens the channel, and opens it again whenever the broker closes it while the connection lives. */
  async attach(connection: ChannelModel, signal: AbortSignal): Promise<void> {
    const channel = await connection.createConfirmChannel()
    channel.on('error', () => undefined) // Told below, or by the call that caused it.
    const { to } = this.#parts.route
    if (to !== '') await channel.checkExchange(to)
    this.publisher.attach(channel, (error) => {
      if (!signal.aborted) void this.#reattach(connection, signal, error)
    })
  }

  async #reattach(connection: ChannelModel, signal: AbortSignal, closedBy: unknown): Promise<void> {
    const { clock, random, tell, urlShown, route } = this.#parts
    let error: unknown = closedBy ?? new Error('the channel was closed')
    for (let failures = 1; !signal.aborted; failures += 1) {
      tell({ kind: 'trouble', error: brokerError(error, urlShown, `publishing to exchange "${route.to}"`) })
      await sleep(clock, exponentialMs(PAUSE, failures, random.next()), signal)
      if (signal.aborted) return
      try {
        return await this.attach(connection, signal)
      } catch (again) {
        error = again
      }
    }
  }

  readonly handler: Handler = (message) => {
    const { payload } = message
    if (!isEnvelope(payload)) {
      throw new DeadLetter('not from the broker: the payload is no message that this bridge has stored')
    }
    return this.#publish(message, payload)
  }

  async #publish(message: Message, envelope: Envelope): Promise<void> {
    const { route, clock } = this.#parts
    const startedAt = clock.monotonic()
    try {
      await this.publisher.publish(
        {
          id: message.id,
          exchange: route.to,
          key: envelope.key,
          body: bodyOf(envelope),
          options: () => this.#options(message, envelope, clock.monotonic() - startedAt),
        },
        message.signal,
      )
    } catch (error) {
      if (!(error instanceof PublishError)) throw error
      const isLast = error.isFinal || message.attempt > this.#parts.retryLimit
      throw isLast ? new Undeliverable(error) : error
    }
  }

  #options(message: Message, { properties, headers }: Envelope, waitedMs: number): Options.Publish {
    const { userId, ...others } = properties
    const isForeign = userId !== undefined && userId !== this.#parts.user
    const added = {
      ...(isForeign ? { 'x-user-id': userId } : {}),
      'x-due-at': message.dueAt,
      'x-lateness-ms': Math.max(0, Math.round(message.latenessMs + waitedMs)),
      [ID_HEADER]: message.id,
    }
    const options = restoreProperties(isForeign ? others : properties, { ...headers, ...added })
    return { ...options, mandatory: true }
  }
}

/** A dead letter whose error says what the broker said, not where in this file it was thrown. */
class Undeliverable extends DeadLetter {
  constructor({ reason, message }: PublishError) {
    super(reason)
    this.message = message
    this.stack = `${this.name}: ${message}`
  }
}
