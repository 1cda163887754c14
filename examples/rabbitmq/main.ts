/**
 * Delays on RabbitMQ: five messages with delays of 5, 4, 3, 2, 1 (times 200 ms), first the way that is told everywhere, with
 * a TTL and dead letters, then through the bridge; and one message that is cancelled.
 *
 *   npm run example rabbitmq
 *
 * The publisher and the consumer use amqplib alone: they know nothing of punctual.
 */
import amqplib, { type Channel } from 'amqplib'
import { bridge } from 'punctual/amqp'
import { startRabbitmq } from './rabbitmq-server.ts'

const UNIT_MS = 200
const server = await startRabbitmq()
if (server === undefined) {
  console.log('skipped: rabbitmq-server is not installed, and RABBITMQ_URL is not set')
  process.exit(0)
}

const connection = await amqplib.connect(server.url)
const channel = await connection.createChannel()
await channel.assertExchange('orders', 'topic')
await channel.assertQueue('shop')
await channel.bindQueue('shop', 'orders', '#')

await channel.assertQueue('waiting', {
  arguments: { 'x-dead-letter-exchange': 'orders', 'x-dead-letter-routing-key': 'order.close' },
})
for (const n of [5, 4, 3, 2, 1]) {
  channel.sendToQueue('waiting', Buffer.from(String(n)), { expiration: String(n * UNIT_MS) })
}
console.log(`TTL and dead letters: ${await take(channel, 5)}`)

const running = await bridge({
  url: server.url,
  store: 'memory:',
  routes: [{ from: 'orders.delayed', to: 'orders' }],
  logger: false,
})
for (const n of [5, 4, 3, 2, 1]) {
  channel.publish('orders.delayed', 'order.close', Buffer.from(String(n)), {
    headers: { 'x-delay': n * UNIT_MS },
    messageId: `order-${n}`,
  })
}
channel.publish('orders.delayed', 'order.close', Buffer.from('never'), {
  headers: { 'x-delay': 60_000 },
  messageId: 'order-6',
})
console.log(`through the bridge:   ${await take(channel, 5)}`)
console.log(`cancel order-6:       ${await ask({ do: 'cancel', id: 'order-6' })}`)

await running.stop()
await connection.close()
await server.stop()

/** The next messages of the shop, with the time since they were asked for. */
async function take(from: Channel, count: number): Promise<string> {
  const began = Date.now()
  const taken: string[] = []
  await new Promise<void>((resolve) => {
    void from.consume(
      'shop',
      (message) => {
        taken.push(`${message?.content.toString()} (${Math.round((Date.now() - began) / UNIT_MS)})`)
        if (taken.length === count) resolve()
      },
      { noAck: true, consumerTag: 'taker' },
    )
  })
  await from.cancel('taker')
  return taken.join('  ')
}

/** A request over the broker's own reply queue. */
async function ask(request: object): Promise<string> {
  return new Promise((resolve) => {
    void channel
      .consume('amq.rabbitmq.reply-to', (message) => resolve(message?.content.toString() ?? ''), {
        noAck: true,
      })
      .then(() =>
        channel.sendToQueue('punctual.v1.default.control', Buffer.from(JSON.stringify(request)), {
          replyTo: 'amq.rabbitmq.reply-to',
        }),
      )
  })
}
