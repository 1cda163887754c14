/** A broker with one exchange and one queue of consumers, as somebody who knows nothing of punctual would set it up. */
import amqplib, {
  type ChannelModel,
  type ConfirmChannel,
  type ConsumeMessage,
  type GetMessage,
  type Options,
} from 'amqplib'
import { onTestFinished } from 'vitest'
import { bridge, type Bridge, type BridgeEvent, type BridgeOptions } from '../../../src/doors/amqp/index.ts'
import { until } from '../../store/redis/until.ts'
import { queueNames } from '../../../src/doors/amqp/topology.ts'

export type Arrival = {
  readonly body: Buffer
  readonly key: string
  readonly properties: ConsumeMessage['properties']
  readonly headers: Readonly<Record<string, unknown>>
  /** By this machine's clock, which is the broker's too. */
  readonly arrivedAt: number
  readonly lateMs: number
}

let serial = 0

export class World {
  /** Unique: part of every name on the broker. */
  readonly name: string
  readonly url: string
  readonly channel: ConfirmChannel
  readonly arrivals: Arrival[] = []
  readonly events: BridgeEvent[] = []
  readonly #connection: ChannelModel

  private constructor(url: string, connection: ChannelModel, channel: ConfirmChannel) {
    serial += 1
    this.name = `w${process.pid}-${serial}`
    this.url = url
    this.#connection = connection
    this.channel = channel
  }

  static async open(url: string): Promise<World> {
    const connection = await amqplib.connect(url)
    connection.on('error', () => undefined)
    const channel = await connection.createConfirmChannel()
    channel.on('error', () => undefined)
    const world = new World(url, connection, channel)
    onTestFinished(async () => {
      await connection.close().catch(() => undefined)
    })
    await channel.assertExchange(world.to, 'topic', { durable: true })
    await channel.assertQueue(world.to, { durable: true, arguments: { 'x-queue-type': 'quorum' } })
    await channel.bindQueue(world.to, world.to, '#')
    await world.consume()
    return world
  }

  get from(): string {
    return `${this.name}.delayed`
  }

  get to(): string {
    return this.name
  }

  get queues(): ReturnType<typeof queueNames> {
    return queueNames(this.name)
  }

  async consume(): Promise<void> {
    await this.channel.consume(this.to, (message) => {
      if (message === null) return
      this.arrivals.push(arrivalOf(message))
      this.channel.ack(message)
    })
  }

  /** Stopped with the test. */
  async bridge(options: Partial<BridgeOptions> = {}): Promise<Bridge> {
    const made = await bridge({
      url: this.url,
      store: 'memory:',
      queue: this.name,
      routes: [{ from: this.from, to: this.to }],
      onEvent: (event) => this.events.push(event),
      logger: false,
      ...options,
    })
    onTestFinished(async () => {
      await made.stop()
    })
    return made
  }

  /** Resolves when the broker has it. */
  publish(body: string | Buffer, options: Options.Publish & { key?: string } = {}): Promise<void> {
    const { key = 'some.key', ...others } = options
    return new Promise((resolve, reject) => {
      this.channel.publish(this.from, key, Buffer.from(body), others, (error: unknown) =>
        error instanceof Error ? reject(error) : resolve(),
      )
    })
  }

  delayed(
    body: string | Buffer,
    delayMs: number,
    options: Options.Publish & { key?: string } = {},
  ): Promise<void> {
    const headers = { ...(options.headers as object | undefined), 'x-delay': delayMs }
    return this.publish(body, { ...options, headers })
  }

  get bodies(): string[] {
    return this.arrivals.map(({ body }) => body.toString())
  }

  async arrived(count: number): Promise<readonly Arrival[]> {
    await until(`${count} messages arrive (${this.arrivals.length} did)`, () => this.arrivals.length >= count)
    return this.arrivals
  }

  /** Over a channel of its own: a queue that is missing closes it. */
  async depth(queue: string): Promise<number> {
    const channel = await this.#connection.createChannel()
    channel.on('error', () => undefined)
    const { messageCount } = await channel.checkQueue(queue)
    await channel.close()
    return messageCount
  }

  /** Waits for a refused message and takes it. */
  async refused(): Promise<GetMessage> {
    const found: GetMessage[] = []
    await until('a message is refused', async () => {
      const message = await this.channel.get(this.queues.refused, { noAck: true })
      if (message !== false) found.push(message)
      return message !== false
    })
    const [first] = found
    if (first === undefined) throw new Error('nothing was refused')
    return first
  }

  /** A request to the control queue, as any client makes one. */
  async ask(request: unknown): Promise<Record<string, unknown>> {
    const { queue } = await this.channel.assertQueue('', { exclusive: true })
    const answer = new Promise<Record<string, unknown>>((resolve) => {
      void this.channel.consume(
        queue,
        (message) => {
          if (message?.properties.correlationId === 'c1') {
            resolve(JSON.parse(message.content.toString()) as Record<string, unknown>)
          }
        },
        { noAck: true },
      )
    })
    const body = typeof request === 'string' ? request : JSON.stringify(request)
    this.channel.sendToQueue(this.queues.control, Buffer.from(body), { replyTo: queue, correlationId: 'c1' })
    return answer
  }
}

export function arrivalOf(message: ConsumeMessage): Arrival {
  const arrivedAt = Date.now()
  const headers = (message.properties.headers ?? {}) as Readonly<Record<string, unknown>>
  return {
    body: message.content,
    key: message.fields.routingKey,
    properties: message.properties,
    headers,
    arrivedAt,
    lateMs: arrivedAt - Number(headers['x-due-at']),
  }
}
