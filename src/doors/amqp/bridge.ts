/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The bridge: AMQP in, punctual keeps, AMQP out at the moment.
 *
 *   exchange FROM ─► in queue ─► intake ─► produce ─► [any engine] ─► outlet ─► exchange TO
 *                                  ack when stored ◄┘       completed when confirmed ◄┘
 *
 * Two connections, because a broker that is short of memory stops reading from those that publish, and acks must not
 * get stuck behind what it does not read. Nothing of the runtime or of an engine is special here: messages are
 * produced and handled as anybody's, so every promise of the engine holds for them.
 */
import type { Channel, ChannelModel, ConsumeMessage } from 'amqplib'
import type { PunctualError } from '../../core/errors.ts'
import { Punctual, type Finding, type StopReport } from '../../index.ts'
import { Control } from './control.ts'
import { examine } from './doctor.ts'
import { Intake } from './intake.ts'
import { restoreProperties, storeHeaders, storeProperties } from './message/properties.ts'
import { parseBridgeOptions, type BridgeOptions, type BridgeSettings } from './options.ts'
import { Outlet } from './outlet.ts'
import { declareTopology, queueNames } from './topology.ts'
import { dial, within } from './wire/dial.ts'
import { BrokerLink } from './wire/link.ts'
import { ID_HEADER, Publisher } from './wire/publisher.ts'

/** What a stop waits for deliveries that are being stored. */
const DRAIN_MS_MAX = 3_000

/** Connects, declares and begins; resolves when messages flow both ways. */
export async function bridge(options: BridgeOptions): Promise<Bridge> {
  const made = new Bridge(parseBridgeOptions(options))
  await made.start()
  return made
}

/** Made by `bridge()`. */
export class Bridge {
  /** Where the messages wait: list them, cancel them, read the stats. Stopped with the bridge. */
  readonly queue: Punctual
  readonly #settings: BridgeSettings
  readonly #intake: Intake
  readonly #control: Control
  readonly #outlets: readonly Outlet[]
  /** Refused messages and answers. */
  readonly #service = new Publisher()
  readonly #links: { readonly in: BrokerLink; readonly out: BrokerLink }
  readonly #hurry = new AbortController()
  #serial = 0
  #consumers: { readonly channel: Channel; readonly tag: string }[] = []
  #stopping: Promise<StopReport> | undefined

  constructor(settings: BridgeSettings) {
    this.#settings = settings
    const { clock, random, routes, urlShown, user, retryLimit, tell } = settings
    this.queue = new Punctual(settings.queue)
    this.#intake = new Intake({
      queue: this.queue,
      refuse: (message, refusal) => this.#refuse(message, refusal),
      tell,
      clock,
      random,
    })
    this.#control = new Control({
      queue: this.queue,
      reply: (to, correlationId, answer) => this.#reply(to, correlationId, answer),
      tell,
    })
    this.#outlets = routes.map((route) => {
      const outlet = new Outlet({ route, user, urlShown, retryLimit, tell, clock, random })
      this.queue.handle(route.from, outlet.handler)
      return outlet
    })
    const link = (side: 'in' | 'out'): BrokerLink =>
      new BrokerLink({
        side,
        urlShown,
        dial: (signal) =>
          dial({ ...settings, name: `punctual bridge "${settings.queueName}" (${side})` }, signal),
        role: side === 'in' ? this.#inRole() : this.#outRole(),
        tell,
        clock,
        random,
      })
    this.#links = { in: link('in'), out: link('out') }
  }

  /** Resolves when messages flow both ways. Rejects when store or broker refuse; waits for what is merely away. */
  async start(): Promise<void> {
    try {
      await this.#links.out.start()
      await this.queue.start()
      await this.#links.in.start()
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  /** In order: nothing new comes in, what is stored is acknowledged, what is out is confirmed, then both hang up. */
  stop(): Promise<StopReport> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  /** What an operator should know about the broker and the store. */
  async doctor(): Promise<Finding[]> {
    return [...(await examine(this.#settings, this.queue)), ...(await this.queue.doctor())]
  }

  async #stop(): Promise<StopReport> {
    const { clock } = this.#settings
    await within(clock, DRAIN_MS_MAX, this.#drain())
    this.#intake.end()
    // Without a broker no handler can end; what is due goes back to the store at once.
    const isUp = this.#links.out.connection !== undefined
    const report = await this.queue.stop(isUp ? undefined : { timeout: 0 })
    this.#hurry.abort(new Error('the bridge stops'))
    await Promise.all([this.#links.in.stop(), this.#links.out.stop()])
    return report
  }

  async #drain(): Promise<void> {
    const cancelled = this.#consumers.map(({ channel, tag }) => channel.cancel(tag))
    await Promise.allSettled(cancelled)
    await Promise.all([this.#intake.drain(), this.#control.drain()])
  }

  #inRole() {
    return {
      open: async (connection: ChannelModel, fail: (error: unknown) => void): Promise<void> => {
        const { prefetch, queueName } = this.#settings
        await declareTopology(connection, this.#settings)
        const names = queueNames(queueName)
        await this.#consume(connection, fail, names.in, prefetch, (channel) => this.#intake.attach(channel))
        await this.#consume(connection, fail, names.control, 100, (channel) => this.#control.attach(channel))
      },
      lost: (): void => {
        this.#consumers = []
      },
    }
  }

  /** Each consumer on a channel of its own, where the tags of its deliveries have no gaps. */
  async #consume(
    connection: ChannelModel,
    fail: (error: unknown) => void,
    queueName: string,
    prefetch: number,
    attach: (channel: Channel) => (message: ConsumeMessage) => void,
  ): Promise<void> {
    const channel = await connection.createChannel()
    channel.on('error', fail)
    await channel.prefetch(prefetch)
    const deliver = attach(channel)
    const { consumerTag } = await channel.consume(queueName, (message) => {
      if (message === null) fail(new Error(`the queue "${queueName}" was deleted`))
      else deliver(message)
    })
    this.#consumers.push({ channel, tag: consumerTag })
  }

  #outRole() {
    let life = new AbortController()
    const publishers = (): Publisher[] => [this.#service, ...this.#outlets.map(({ publisher }) => publisher)]
    return {
      open: async (connection: ChannelModel, fail: (error: unknown) => void): Promise<void> => {
        life = new AbortController()
        connection.on('blocked', (reason: string) => {
          for (const publisher of publishers()) publisher.block()
          this.#settings.tell({ kind: 'blocked', reason })
        })
        connection.on('unblocked', () => {
          for (const publisher of publishers()) publisher.unblock()
          this.#settings.tell({ kind: 'unblocked' })
        })
        await declareTopology(connection, this.#settings)
        const channel = await connection.createConfirmChannel()
        this.#service.attach(channel, (error) => {
          if (!life.signal.aborted && error !== undefined) fail(error)
        })
        for (const outlet of this.#outlets) await outlet.attach(connection, life.signal)
      },
      lost: (): void => {
        life.abort()
        for (const publisher of publishers()) publisher.detach()
      },
    }
  }

  #refuse({ content, fields, properties }: ConsumeMessage, { code, message }: PunctualError): Promise<void> {
    const { userId, ...kept } = storeProperties(properties)
    const reasons = {
      'x-refused-code': code,
      'x-refused-reason': message,
      'x-refused-exchange': fields.exchange,
      'x-refused-key': fields.routingKey,
      ...(userId === undefined ? {} : { 'x-user-id': userId }),
    }
    const id = this.#nextId()
    return this.#service.publish(
      {
        id,
        exchange: '',
        key: queueNames(this.#settings.queueName).refused,
        body: content,
        options: () => ({
          ...restoreProperties(kept, { ...carriable(properties.headers), ...reasons }),
          deliveryMode: 2,
        }),
      },
      this.#hurry.signal,
    )
  }

  /** Not mandatory: who asked may be gone. */
  #reply(to: string, correlationId: string | undefined, answer: object): Promise<void> {
    return this.#service.publish(
      {
        id: this.#nextId(),
        exchange: '',
        key: to,
        body: Buffer.from(JSON.stringify(answer)),
        options: () => ({
          contentType: 'application/json',
          ...(correlationId === undefined ? {} : { correlationId }),
        }),
      },
      this.#hurry.signal,
    )
  }

  #nextId(): string {
    this.#serial += 1
    return `${ID_HEADER}:${this.#serial}`
  }
}

/** Refused because of its headers: what can be carried of them is. */
function carriable(headers: unknown): Record<string, unknown> {
  const kept: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(headers ?? {})) {
    try {
      Object.assign(kept, storeHeaders({ [name]: value }))
    } catch {
      kept[name] = String(value)
    }
  }
  return kept
}
