/**
 * A publisher and a consumer that know nothing of punctual and do what one should: the publisher sends again what was
 * not confirmed, the consumer acknowledges what it has noted. Both connect again when they lose their connection.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import amqplib, { type ChannelModel, type ConfirmChannel } from 'amqplib'
import { SeededRandom } from '../../src/testing/index.ts'
import type { BridgeAudit } from './audit.ts'

const EXCHANGE = 'chaos'
export const DELAYED = 'chaos.delayed'
const QUEUE = 'chaos.consumers'

export class Traffic {
  readonly #url: () => string
  readonly #audit: BridgeAudit
  readonly #random: { next(): number }
  readonly #ratePerS: number
  readonly #firstSentAt = new Map<string, { at: number; delayMs: number }>()
  #isOver = false
  #isConsuming = true
  #loops: Promise<unknown> = Promise.resolve()

  constructor(url: () => string, audit: BridgeAudit, seed: number, ratePerS: number) {
    this.#url = url
    this.#audit = audit
    this.#random = new SeededRandom(seed)
    this.#ratePerS = ratePerS
  }

  static async declare(url: string): Promise<void> {
    const connection = await amqplib.connect(url)
    const channel = await connection.createChannel()
    await channel.assertExchange(EXCHANGE, 'topic', { durable: true })
    await channel.assertQueue(QUEUE, { durable: true, arguments: { 'x-queue-type': 'quorum' } })
    await channel.bindQueue(QUEUE, EXCHANGE, '#')
    await connection.close()
  }

  static get target(): string {
    return EXCHANGE
  }

  begin(): void {
    this.#loops = Promise.all([this.#publishOnAndOn(), this.#consumeOnAndOn()])
  }

  /** Ends the publisher, waits until all has arrived or `patienceMs` have passed, then ends the consumer. */
  async end(patienceMs: number): Promise<void> {
    this.#isOver = true
    const giveUpAt = performance.now() + patienceMs
    while (this.#audit.missing > 0 && performance.now() < giveUpAt) await sleep(100)
    await sleep(3_000) // Repeats may still be on their way.
    this.#isConsuming = false
    await this.#loops
  }

  async #publishOnAndOn(): Promise<void> {
    let serial = 0
    let channel: ConfirmChannel | undefined
    let connection: ChannelModel | undefined
    while (!this.#isOver) {
      const id = `m${(serial += 1)}`
      const delayMs = 200 + Math.floor(this.#random.next() * 2_000)
      for (let sends = 1; ; sends += 1) {
        try {
          if (channel === undefined) {
            connection = await connect(this.#url())
            const opened = await connection.createConfirmChannel()
            opened.on('error', () => undefined)
            opened.on('close', () => {
              if (channel === opened) channel = undefined
            })
            channel = opened
          }
          const firstSentAt = this.#firstSentAt.get(id)?.at ?? Date.now()
          this.#firstSentAt.set(id, { at: firstSentAt, delayMs })
          await confirmed(channel, id, delayMs)
          this.#audit.published(id, { confirmedAt: Date.now(), delayMs, sends })
          break
        } catch {
          await sleep(100)
        }
      }
      await sleep(1_000 / this.#ratePerS)
    }
    await connection?.close().catch(() => undefined)
  }

  async #consumeOnAndOn(): Promise<void> {
    while (this.#isConsuming) {
      try {
        const connection = await connect(this.#url())
        const ended = new Promise<void>((resolve) => connection.on('close', () => resolve()))
        const channel = await connection.createChannel()
        channel.on('error', () => undefined)
        await channel.prefetch(500)
        await channel.consume(QUEUE, (message) => {
          if (message === null) {
            connection.close().catch(() => undefined)
            return
          }
          this.#note(message.content.toString(), Number(message.properties.headers?.['x-due-at']))
          channel.ack(message)
        })
        while (
          this.#isConsuming &&
          (await Promise.race([ended.then(() => false), sleep(100).then(() => true)]))
        );
        await connection.close().catch(() => undefined)
      } catch {
        await sleep(100)
      }
    }
  }

  #note(id: string, dueAt: number): void {
    const { at, delayMs } = this.#firstSentAt.get(id) ?? { at: 0, delayMs: 0 }
    this.#audit.arrived(id, Date.now(), dueAt, at + delayMs)
  }
}

async function connect(url: string): Promise<ChannelModel> {
  const connection = await amqplib.connect(`${url}?heartbeat=2`, { timeout: 3_000 })
  connection.on('error', () => undefined)
  return connection
}

/** Mandatory: before the bridge has declared its exchange, a publish must not count as done. */
function confirmed(channel: ConfirmChannel, id: string, delayMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const onReturn = (): void => reject(new Error('returned'))
    channel.once('return', onReturn)
    channel.publish(
      DELAYED,
      'k',
      Buffer.from(id),
      { persistent: true, mandatory: true, messageId: id, headers: { 'x-delay': delayMs } },
      (error: unknown) => {
        channel.off('return', onReturn)
        if (error instanceof Error) reject(error)
        else resolve()
      },
    )
  })
}
