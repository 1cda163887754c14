/**
 * In: deliveries of the `in` queue become messages of punctual.
 *
 *   delivery ─► what is asked for ─► produce ─► stored ─► ack
 *                     │ wrong          │ the store is away: again, under the same id, until it is back
 *                     └─► refused queue ─► ack
 *
 * Acknowledged after it is stored, never before. Deliveries that come in one turn of the event loop are one `put`,
 * and their acks one frame: "all up to N", where N stops before the oldest that is not stored yet.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Channel, ConsumeMessage } from 'amqplib'
import { sleep, type Clock } from '../../clock.ts'
import { exponentialMs } from '../../core/machines/backoff.ts'
import { PunctualError, UsageError, type ErrorCode } from '../../core/errors.ts'
import { makeId } from '../../core/encoding/id.ts'
import type { MessageOptions, Punctual } from '../../index.ts'
import type { Random } from '../../random.ts'
import type { Tell } from './events.ts'
import { wrap, type Envelope } from './message/envelope.ts'
import { parsePublish, type PublishRequest } from './message/request.ts'

export type IntakeParts = {
  readonly queue: Punctual
  /** Resolves when the broker has it in the refused queue. */
  readonly refuse: (message: ConsumeMessage, refusal: PunctualError) => Promise<void>
  readonly tell: Tell
  readonly clock: Clock
  readonly random: Random
}

const PAUSE = { baseMs: 100, factor: 2, capMs: 5_000, jitter: 0.2 } as const

export class Intake {
  readonly #parts: IntakeParts
  readonly #end = new AbortController()
  readonly #unfinished = new Set<Promise<void>>()
  #failures = 0
  #pause: Promise<void> | undefined

  constructor(parts: IntakeParts) {
    this.#parts = parts
  }

  /** A new channel, with tags that begin anew. Answers what to do with its deliveries. */
  attach(channel: Channel): (message: ConsumeMessage) => void {
    const acks = new AckWindow(channel)
    return (message) => {
      const work = this.#take(message, acks)
      this.#unfinished.add(work)
      void work.then(() => this.#unfinished.delete(work))
    }
  }

  /** Resolves when everything delivered so far is stored and acknowledged, or given up after `end`. */
  async drain(): Promise<void> {
    while (this.#unfinished.size > 0) await Promise.all(this.#unfinished)
  }

  /** What is not stored by now stays with the broker. */
  end(): void {
    this.#end.abort()
  }

  /** Never rejects. */
  async #take(message: ConsumeMessage, acks: AckWindow): Promise<void> {
    const { clock, random, refuse, tell } = this.#parts
    const drawnId = makeId(clock.now(), random.next(), random.next())
    while (!acks.isClosed && !this.#end.signal.aborted) {
      try {
        await this.#store(message, drawnId)
        this.#failures = 0
        return acks.finish(message.fields.deliveryTag)
      } catch (error) {
        if (isRefused(error)) {
          tell({
            kind: 'refused',
            exchange: message.fields.exchange,
            code: error.code,
            reason: error.message,
          })
          await refuse(message, error).then(
            () => acks.finish(message.fields.deliveryTag),
            () => undefined, // Only at a stop: the broker still has it.
          )
          return
        }
        await this.#wait(error)
      }
    }
  }

  async #store(message: ConsumeMessage, drawnId: string): Promise<void> {
    const { queue, clock } = this.#parts
    const { exchange, redelivered } = message.fields
    if (exchange === '') {
      throw new UsageError(
        'HEADER_INVALID',
        'it was sent to the queue itself; publish to a delayed exchange.',
      )
    }
    const envelope = wrap(message)
    const request = parsePublish(message.properties, clock.now())
    const asked = { ...request.when, ...(request.key === undefined ? {} : { key: request.key }) }
    if (request.id === undefined) {
      await queue.produce(exchange, envelope, { ...asked, id: drawnId })
    } else if (request.ifExists === 'keep' || request.ifExists === 'replace') {
      await queue.produce(exchange, envelope, { ...asked, id: request.id, ifExists: request.ifExists })
    } else {
      await this.#storeOnce(exchange, envelope, { ...request, asked, id: request.id, drawnId, redelivered })
    }
  }

  /**
   * Under its `message_id` if that is free. If it is taken, this may be our own message: a bridge stored it and died
   * before its ack. Then it is dropped, but only when the broker says `redelivered` and the stored one is equal;
   * publishers repeat message ids, and none of theirs may vanish.
   */
  async #storeOnce(
    topic: string,
    envelope: Envelope,
    request: PublishRequest & { asked: MessageOptions; id: string; drawnId: string; redelivered: boolean },
  ): Promise<void> {
    const { queue } = this.#parts
    const { id, asked, drawnId, redelivered, ifExists } = request
    try {
      await queue.produce(topic, envelope, { ...asked, id, ifExists: 'fail' })
    } catch (error) {
      if (!(error instanceof PunctualError) || error.code !== 'ID_EXISTS') throw error
      if (redelivered && (await this.#isStored(topic, id, envelope))) return
      if (ifExists === 'fail') throw error
      await queue.produce(topic, envelope, { ...asked, id: drawnId })
    }
  }

  async #isStored(topic: string, id: string, envelope: Envelope): Promise<boolean> {
    const found = await this.#parts.queue.get(id)
    return found?.topic === topic && isDeepStrictEqual(found.payload, JSON.parse(JSON.stringify(envelope)))
  }

  /** All who wait share one pause, and go on in one turn. */
  #wait(error: unknown): Promise<void> {
    const { clock, random, tell } = this.#parts
    this.#pause ??= (async () => {
      this.#failures += 1
      tell({ kind: 'trouble', error: asError(error) })
      await sleep(clock, exponentialMs(PAUSE, this.#failures, random.next()), this.#end.signal)
      this.#pause = undefined
    })()
    return this.#pause
  }
}

/** The message is at fault, and would be each time. With everything else the delivery waits for the store. */
const REFUSED: readonly ErrorCode[] = [
  'HEADER_INVALID',
  'PAYLOAD_TOO_LARGE',
  'ID_EXISTS',
  'TOPIC_INVALID',
  'DELAY_OUT_OF_RANGE',
  'MOMENT_OUT_OF_RANGE',
]

function isRefused(error: unknown): error is PunctualError {
  return error instanceof PunctualError && REFUSED.includes(error.code)
}

/** Delivery tags of one channel with one consumer: 1, 2, 3, … */
class AckWindow {
  readonly #channel: Channel
  readonly #finished = new Set<number>()
  #oldest = 1
  #isScheduled = false
  isClosed = false

  constructor(channel: Channel) {
    this.#channel = channel
    channel.on('close', () => {
      this.isClosed = true
    })
  }

  finish(tag: number): void {
    this.#finished.add(tag)
    if (this.#isScheduled) return
    this.#isScheduled = true
    process.nextTick(() => this.#flush())
  }

  #flush(): void {
    this.#isScheduled = false
    const from = this.#oldest
    while (this.#finished.delete(this.#oldest)) this.#oldest += 1
    if (this.#oldest === from || this.isClosed) return
    const upTo = { fields: { deliveryTag: this.#oldest - 1 } } as ConsumeMessage
    try {
      this.#channel.ack(upTo, true)
    } catch {
      this.isClosed = true // The channel is closing: the broker delivers them again, and they are known.
    }
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
