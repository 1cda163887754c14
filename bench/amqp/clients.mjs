// The fault probe that chose the client library of the bridge: cut, half-open, return order, headers, blocked.
import { createServer, connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { AMQPClient } from '@cloudamqp/amqp-client'
import amqplib from 'amqplib'

const QUEUE = 'probe'
const IN_FLIGHT = 3_000
const HALF_OPEN_CAP_MS = 15_000

/** Passes bytes until it is told to cut, or to fall silent without telling anybody. */
function proxyTo(port) {
  const sockets = new Set()
  const proxy = {
    isSilent: false,
    /** As a network does it: first nothing is taken any more, so that writes pile up, then the line is reset. */
    async cut() {
      for (const socket of sockets) socket.pause()
      await sleep(200)
      for (const socket of sockets) socket.resetAndDestroy()
    },
  }
  const server = createServer((outer) => {
    const inner = connect(port, '127.0.0.1')
    for (const [from, to] of [
      [outer, inner],
      [inner, outer],
    ]) {
      sockets.add(from)
      from.on('data', (data) => proxy.isSilent || to.write(data))
      from.on('error', () => {})
      from.on('close', () => proxy.isSilent || to.destroy())
    }
  })
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => {
      proxy.port = server.address().port
      proxy.close = () => server.close()
      resolve(proxy)
    }),
  )
}

const CLIENTS = {
  async '@cloudamqp/amqp-client'(port, heartbeat) {
    const client = new AMQPClient(`amqp://127.0.0.1:${port}?heartbeat=${heartbeat}&frameMax=131072`)
    const returned = new Set()
    client.onerror = () => {} // oxlint-disable-line unicorn/prefer-add-event-listener
    const lost = new Promise((resolve) => (client.ondisconnect = resolve))
    await client.connect()
    const channel = await client.channel()
    await channel.confirmSelect()
    await channel.queueDeclare(QUEUE, { durable: true })
    channel.onReturn = ({ properties }) => returned.add(properties.messageId)
    return {
      lost,
      returned,
      publish: (key, messageId, body, more = {}) =>
        channel.basicPublish('', key, body, { deliveryMode: 2, messageId, ...more }, true),
      get: async () => (await channel.basicGet(QUEUE))?.properties,
      purge: () => channel.queuePurge(QUEUE),
      close: () => client.close(),
      destroy: () => client.socket?.destroy(),
    }
  },
  async amqplib(port, heartbeat) {
    const connection = await amqplib.connect(`amqp://127.0.0.1:${port}?heartbeat=${heartbeat}`)
    const returned = new Set()
    connection.on('error', () => {})
    const lost = new Promise((resolve) => connection.on('close', resolve))
    const channel = await connection.createConfirmChannel()
    channel.on('error', () => {})
    await channel.assertQueue(QUEUE, { durable: true })
    channel.on('return', ({ properties }) => returned.add(properties.messageId))
    return {
      lost,
      returned,
      publish: (key, messageId, body, more = {}) =>
        new Promise((resolve, reject) => {
          const options = { deliveryMode: 2, messageId, mandatory: true, ...more }
          channel.publish('', key, body, options, (error) => (error === null ? resolve() : reject(error)))
        }),
      get: async () => (await channel.get(QUEUE, { noAck: true })).properties,
      purge: () => channel.purgeQueue(QUEUE),
      close: () => connection.close(),
      destroy: () => connection.connection.stream.destroy(),
    }
  },
}

/** Rejections that nobody can catch, because the library keeps the promise to itself: each would end a process. */
let unhandled = 0

async function cut(open, port) {
  unhandled = 0
  const proxy = await proxyTo(port)
  const client = await open(proxy.port, 10)
  let settled = 0
  const body = Buffer.alloc(20_000)
  const all = Array.from({ length: IN_FLIGHT }, (_, i) =>
    client.publish(QUEUE, `m${i}`, body).then(
      () => {
        settled += 1
        if (settled === 100) void proxy.cut()
      },
      () => (settled += 1),
    ),
  )
  await Promise.race([Promise.all(all), sleep(8_000)])
  await sleep(500)
  proxy.close()
  return `${IN_FLIGHT - settled} of ${IN_FLIGHT} left unsettled; ${unhandled} unhandled rejections`
}

async function halfOpen(open, port, isBusy) {
  const proxy = await proxyTo(port)
  const client = await open(proxy.port, 2)
  proxy.isSilent = true
  const started = performance.now()
  const noticed = client.lost.then(
    () => `noticed after ${((performance.now() - started) / 1_000).toFixed(1)} s`,
  )
  const publishing = setInterval(() => {
    if (isBusy) client.publish(QUEUE, 'h', Buffer.alloc(100)).catch(() => {})
  }, 5)
  const result = await Promise.race([noticed, sleep(HALF_OPEN_CAP_MS, 'not noticed within 15 s')])
  clearInterval(publishing)
  client.destroy()
  await proxy.cut()
  proxy.close()
  return result
}

async function returns(client) {
  let before = 0
  const publish = async (i) => {
    const isRoutable = i % 2 === 0
    await client.publish(isRoutable ? QUEUE : 'nowhere', `r${i}`, Buffer.from('x'))
    if (!isRoutable && client.returned.has(`r${i}`)) before += 1
  }
  await Promise.all(Array.from({ length: 200 }, (_, i) => publish(i)))
  await client.purge()
  return `${before} of 100 returns before their confirm`
}

async function headers(client) {
  const given = { int: 5, 'beyond 31 bits': 3_000_000_000, double: 3.141592653589793, text: 'é', empty: '' }
  await client.publish(QUEUE, 'h', Buffer.from('x'), { headers: given, priority: 0, contentType: '' })
  const got = await client.get()
  const changed = Object.entries(given).filter(([name, value]) => got.headers[name] !== value)
  const shown = changed.map(([name, value]) => `${name} ${value} -> ${got.headers[name]}`)
  return `changed: ${shown.join('; ') || 'none'}; priority 0 -> ${got.priority}, content type "" -> ${JSON.stringify(got.contentType)}`
}

async function blocked(client, server) {
  await server.alarm(true)
  await sleep(500)
  const told = []
  const publish = (name) =>
    client.publish(QUEUE, name, Buffer.from('x')).then(
      () => told.push(`${name} confirmed`),
      () => told.push(`${name} rejected`),
    )
  const first = publish('first')
  await sleep(500)
  const second = publish('second')
  await sleep(500)
  const during = told.join(', ') || 'both wait'
  await server.alarm(false)
  await Promise.race([Promise.all([first, second]), sleep(5_000)])
  await client.purge()
  return `while blocked: ${during}; afterwards: ${told.join(', ')}`
}

export async function probe(server) {
  process.on('unhandledRejection', () => (unhandled += 1))
  for (const [name, open] of Object.entries(CLIENTS)) {
    const say = (what, result) => console.log(`${name.padEnd(24)}${what.padEnd(24)}${result}`)
    say('cut', await cut(open, server.port))
    say('half-open, idle', await halfOpen(open, server.port, false))
    say('half-open, publishing', await halfOpen(open, server.port, true))
    const client = await open(server.port, 10)
    await client.purge()
    say('return order', await returns(client))
    say('headers', await headers(client))
    say('blocked', await blocked(client, server))
    await client.close()
  }
}
