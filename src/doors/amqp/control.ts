/**
 * The control queue: cancel, reschedule and get, for publishers that have nothing but the broker.
 *
 *   body      {"do":"cancel","id":"order-42"}
 *             {"do":"reschedule","id":"order-42","delay":"10m"}     or "at": milliseconds since 1970
 *             {"do":"get","id":"order-42"}
 *   answer    to `reply_to`, with the same `correlation_id`: {"id":"order-42","result":"cancelled"}
 *
 * The answer is the store's own: not "it was asked to", but what happened. A request is acknowledged after its answer
 * is sent, so that a bridge that dies does it again; a cancel that was done twice answers `missing` the second time.
 */
import type { Channel, ConsumeMessage } from 'amqplib'
import { describe, UsageError, type PunctualError } from '../../core/errors.ts'
import { parseOneOf } from '../../core/input/checks.ts'
import type { Punctual, When } from '../../index.ts'
import type { Tell } from './events.ts'
import { idOf } from './message/request.ts'

export type ControlParts = {
  readonly queue: Punctual
  readonly reply: (to: string, correlationId: string | undefined, answer: object) => Promise<void>
  readonly tell: Tell
}

type ControlRequest = {
  readonly verb: 'cancel' | 'reschedule' | 'get'
  readonly id: string
  /** As the publisher wrote it, for the answer. */
  readonly name: string
  readonly when: When
}

const VERBS = ['cancel', 'reschedule', 'get'] as const
const REQUEST_BYTES_MAX = 64 * 1024

export class Control {
  readonly #parts: ControlParts
  readonly #unfinished = new Set<Promise<void>>()

  constructor(parts: ControlParts) {
    this.#parts = parts
  }

  attach(channel: Channel): (message: ConsumeMessage) => void {
    let isOpen = true
    channel.on('close', () => {
      isOpen = false
    })
    return (message) => {
      const work = this.#answer(message).then(
        () => {
          if (isOpen) channel.ack(message)
        },
        (error: unknown) => {
          // The store is away. The broker keeps the request and delivers it again.
          this.#parts.tell({
            kind: 'trouble',
            error: error instanceof Error ? error : new Error(String(error)),
          })
          if (isOpen) channel.nack(message, false, true)
        },
      )
      const tracked = work.catch(() => undefined) // The channel closed between the look and the ack.
      this.#unfinished.add(tracked)
      void tracked.then(() => this.#unfinished.delete(tracked))
    }
  }

  async drain(): Promise<void> {
    while (this.#unfinished.size > 0) await Promise.all(this.#unfinished)
  }

  async #answer({ content, properties }: ConsumeMessage): Promise<void> {
    const answer = await this.#perform(content)
    const { replyTo, correlationId } = properties as { replyTo?: unknown; correlationId?: unknown }
    if (typeof replyTo !== 'string' || replyTo === '') return
    await this.#parts.reply(replyTo, typeof correlationId === 'string' ? correlationId : undefined, answer)
  }

  /** Rejects only when the store gave no answer; what is wrong with the request is an answer. */
  async #perform(content: Buffer): Promise<object> {
    try {
      return await this.#do(parseRequest(content))
    } catch (error) {
      if (!(error instanceof UsageError) || error.code === 'QUEUE_STOPPED') throw error
      return describeError(error)
    }
  }

  async #do({ verb, id, name, when }: ControlRequest): Promise<object> {
    const { queue } = this.#parts
    if (verb === 'cancel') return { id: name, result: await queue.cancel(id) }
    if (verb === 'reschedule') return { id: name, result: await queue.reschedule(id, when) }
    const found = await queue.get(id)
    if (found === undefined) return { id: name, result: 'missing' }
    const { topic, state, dueAt, attempt, reason, error } = found
    return { id: name, result: 'found', message: { topic, state, dueAt, attempt, reason, error } }
  }
}

function describeError(error: PunctualError): object {
  return { result: 'error', code: error.code, error: error.message }
}

function parseRequest(content: Buffer): ControlRequest {
  const { do: verb, id, delay, at } = parseBody(content)
  if (typeof id !== 'string' || id === '') {
    throw new UsageError('ID_INVALID', `id is ${describe(id)}; give the message_id of the message.`, {
      value: id,
    })
  }
  const parsed = { verb: parseOneOf(verb, 'do', VERBS), id: idOf(id), name: id }
  if (parsed.verb === 'reschedule' && delay === undefined && at === undefined) {
    throw new UsageError('OPTION_INVALID', 'reschedule needs "delay" or "at".', { value: undefined })
  }
  // The queue checks both: they are what a user would write in code.
  return {
    ...parsed,
    when: { ...(delay === undefined ? {} : { delay }), ...(at === undefined ? {} : { at }) } as When,
  }
}

function parseBody(content: Buffer): Readonly<Record<string, unknown>> {
  try {
    if (content.length > REQUEST_BYTES_MAX) throw new Error(`${content.length} bytes`)
    const body: unknown = JSON.parse(content.toString('utf8'))
    if (typeof body === 'object' && body !== null) return body as Readonly<Record<string, unknown>>
    throw new Error('not an object')
  } catch (cause) {
    throw new UsageError('OPTION_INVALID', 'the request is no JSON like {"do":"cancel","id":"order-42"}.', {
      cause,
    })
  }
}
