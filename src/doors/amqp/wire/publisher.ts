/**
 * Publishes with confirms on one channel, and keeps what is not confirmed yet.
 *
 * A parcel is `pending` from `publish` until the broker confirmed, returned or refused it. When the channel is lost,
 * the fate of what was sent is unknown, so all pending parcels are sent again, in their order, on the next channel:
 * a repeat at worst, never a loss. While there is no channel, or the broker blocks, they wait.
 *
 * `basic.return` comes before the confirm of the same message and carries nothing but the message itself, so the
 * parcel is found by a header of ours, its id.
 */
import type { ConfirmChannel, Message, Options } from 'amqplib'
import { isNotFound } from './failure.ts'

export const ID_HEADER = 'x-punctual-id'

export type Parcel = {
  /** Unique among what is pending. */
  readonly id: string
  readonly exchange: string
  readonly key: string
  readonly body: Buffer
  /** Asked for each time that it is sent. */
  readonly options: () => Options.Publish
}

export type PublishFailure = 'unroutable' | 'refused'

/** The broker took it and could not, or would not, keep it. */
export class PublishError extends Error {
  override readonly name = 'PublishError'
  readonly reason: PublishFailure
  /** Sending the same again cannot help. */
  readonly isFinal: boolean

  constructor(reason: PublishFailure, message: string, options: { cause?: unknown; isFinal?: boolean } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.reason = reason
    this.isFinal = options.isFinal === true
  }
}

type PendingParcel = {
  readonly parcel: Parcel
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
  isSent: boolean
  returned: string | undefined
}

/** One channel from its opening to its end. */
type ChannelLife = { readonly channel: ConfirmChannel; isClosed: boolean; closedBy: unknown }

export class Publisher {
  /** In the order of `publish`: a Set keeps it. */
  readonly #pending = new Set<PendingParcel>()
  readonly #byId = new Map<string, PendingParcel>()
  #session: ChannelLife | undefined
  #isBlocked = false

  /** Resolves when the broker has it. Rejects with `PublishError`, or with the signal's reason. */
  publish(parcel: Parcel, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(asError(signal.reason))
      const forget = (): void => {
        this.#pending.delete(pending)
        if (this.#byId.get(parcel.id) === pending) this.#byId.delete(parcel.id)
        signal?.removeEventListener('abort', abort)
      }
      const pending: PendingParcel = {
        parcel,
        isSent: false,
        returned: undefined,
        resolve: () => {
          forget()
          resolve()
        },
        reject: (error) => {
          forget()
          reject(asError(error))
        },
      }
      const abort = (): void => pending.reject(signal?.reason)
      signal?.addEventListener('abort', abort)
      this.#pending.add(pending)
      this.#byId.set(parcel.id, pending)
      this.#send(pending)
    })
  }

  get pendingCount(): number {
    return this.#pending.size
  }

  /** A channel in confirm mode is there: what waits is sent. `ended` is called when it closes for whatever reason. */
  attach(channel: ConfirmChannel, ended: (error: unknown) => void): void {
    const session: ChannelLife = { channel, isClosed: false, closedBy: undefined }
    channel.on('error', (error: Error) => {
      session.closedBy = error
    })
    // Before the library's own listener, which then fails every unconfirmed publish.
    channel.prependListener('close', () => {
      session.isClosed = true
      if (this.#session === session) this.#session = undefined
    })
    channel.on('close', () => ended(session.closedBy))
    channel.on('return', (message: Message) => this.#onReturn(message))
    this.#session = session
    for (const pending of this.#pending) pending.isSent = false
    this.#sendWaiting()
  }

  /** The connection is lost. */
  detach(): void {
    this.#session = undefined
    this.#isBlocked = false
  }

  block(): void {
    this.#isBlocked = true
  }

  unblock(): void {
    this.#isBlocked = false
    this.#sendWaiting()
  }

  #sendWaiting(): void {
    for (const pending of this.#pending) if (!pending.isSent) this.#send(pending)
  }

  #send(pending: PendingParcel): void {
    const session = this.#session
    if (session === undefined || this.#isBlocked) return
    const { exchange, key, body, options } = pending.parcel
    pending.isSent = true
    pending.returned = undefined
    try {
      session.channel.publish(exchange, key, body, options(), (error: unknown) =>
        this.#onAnswer(pending, session, error),
      )
    } catch (error) {
      if (session.isClosed || this.#session !== session) {
        pending.isSent = false // The channel closed under our hands; the next one gets it.
        return
      }
      // The library cannot write it: a header table beyond its limit.
      pending.reject(
        new PublishError('refused', `cannot be sent: ${asError(error).message}`, {
          cause: error,
          isFinal: true,
        }),
      )
    }
  }

  #onAnswer(pending: PendingParcel, session: ChannelLife, error: unknown): void {
    if (!this.#pending.has(pending)) return
    if (error === null || error === undefined) {
      if (pending.returned === undefined) pending.resolve()
      else pending.reject(new PublishError('unroutable', pending.returned))
      return
    }
    if (!session.isClosed) {
      pending.reject(new PublishError('refused', 'the broker refused it (basic.nack)', { cause: error }))
      return
    }
    // A lost connection, or an exchange that is missing: wait for the next channel. Anything else that makes the
    // broker close a channel may be the fault of one of these messages, so their attempt ends here.
    if (session.closedBy === undefined || isNotFound(session.closedBy)) return
    pending.reject(
      new PublishError('refused', asError(session.closedBy).message, { cause: session.closedBy }),
    )
  }

  #onReturn({ fields, properties }: Message): void {
    const id: unknown = properties.headers?.[ID_HEADER]
    const pending = typeof id === 'string' ? this.#byId.get(id) : undefined
    if (pending === undefined) return
    const { replyText } = fields as unknown as { readonly replyText?: string }
    pending.returned = `no queue is bound for exchange "${fields.exchange}", key "${fields.routingKey}" (${replyText ?? 'returned'})`
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
