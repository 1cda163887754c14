/**
 * What the bridge declares on the broker:
 *
 *   exchange FROM (topic) ──#──► punctual.v1.QUEUE.in        messages on their way into punctual
 *                                punctual.v1.QUEUE.control   cancel, reschedule, get
 *                                punctual.v1.QUEUE.refused   what the bridge could not follow, with the reason
 *
 * All three are quorum queues: they survive a node. Arguments of a queue cannot be changed later, so the names carry
 * a version. What the broker itself takes out of `in` (a message's own `expiration`, a delivery limit) goes to
 * `refused`, at least once, instead of vanishing.
 */
import type { Channel, ChannelModel } from 'amqplib'
import type { BridgeSettings } from './options.ts'

export type QueueNames = { readonly in: string; readonly control: string; readonly refused: string }

const VERSION = 'v1'
/** Since RabbitMQ 4.0 the default of 20 would drop a message after 20 restarts of a bridge. */
const DELIVERY_LIMIT = 1_000_000_000

export function queueNames(queueName: string): QueueNames {
  const base = `punctual.${VERSION}.${queueName}`
  return { in: `${base}.in`, control: `${base}.control`, refused: `${base}.refused` }
}

const QUORUM = { 'x-queue-type': 'quorum', 'x-delivery-limit': DELIVERY_LIMIT } as const

export async function declareTopology(
  connection: ChannelModel,
  { routes, queueName }: Pick<BridgeSettings, 'routes' | 'queueName'>,
): Promise<void> {
  await onChannel(connection, async (channel) => {
    for (const role of ['refused', 'control', 'in'] as const) await declareQueue(channel, queueName, role)
    for (const { from } of routes) {
      await declareExchange(channel, from)
      await channel.bindQueue(queueNames(queueName).in, from, '#')
    }
  })
}

export async function declareQueue(
  channel: Channel,
  queueName: string,
  role: keyof QueueNames,
): Promise<void> {
  const names = queueNames(queueName)
  const overflow = {
    'x-dead-letter-exchange': '',
    'x-dead-letter-routing-key': names.refused,
    'x-dead-letter-strategy': 'at-least-once',
    'x-overflow': 'reject-publish',
  }
  await channel.assertQueue(names[role], {
    durable: true,
    arguments: role === 'in' ? { ...QUORUM, ...overflow } : QUORUM,
  })
}

export async function declareExchange(channel: Channel, name: string): Promise<void> {
  await channel.assertExchange(name, 'topic', { durable: true })
}

/** A channel for one purpose: what the broker refuses closes a channel, and this one is no loss. */
export async function onChannel<T>(
  connection: ChannelModel,
  use: (channel: Channel) => Promise<T>,
): Promise<T> {
  const channel = await connection.createChannel()
  channel.on('error', () => undefined) // The call that caused it rejects with the same.
  const result = await use(channel)
  await channel.close()
  return result
}
