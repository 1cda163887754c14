// Producing over HTTP: the server with tokens and limits, beside the least that could do the job and fastify.
//   npm run bench:http [-- ROUNDS [SECONDS]]
// One line per contestant and round, then medians and the share of the floor. The client takes the second core, and never
// sleeps: else the faster server, whose client is always busy, seems to be spared the waking of it as well, and gains by that.
// At the end: how late a worker over HTTP starts, beside the library (bench/http-worker.mjs).
import { fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { connect } from 'node:net'
import { createServer } from 'node:http'
import { printWorkers } from './http-worker.mjs'

const CONNECTIONS = 50
const TOKEN = 'ptk_bench'
const BODY = JSON.stringify({ topic: 't', payload: { text: 'x'.repeat(200) }, delay: '1h' })
const PATH = '/v1/queues/default/messages'
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

const CONTESTANTS = {
  bare: async (queue) =>
    createServer((request, response) => {
      const chunks = []
      request.on('data', (chunk) => chunks.push(chunk))
      request.on('end', () => {
        const { topic, payload, ...options } = JSON.parse(Buffer.concat(chunks).toString())
        void queue.produce(topic, payload, options).then((id) => {
          const text = JSON.stringify({ id, outcome: 'stored' })
          response.writeHead(201, { 'content-type': 'application/json', 'content-length': text.length })
          response.end(text)
        })
      })
    }),
  fastify: async (queue) => {
    const { default: fastify } = await import('fastify')
    const app = fastify()
    app.post(PATH, async (request, reply) => {
      const { topic, payload, ...options } = request.body
      reply.code(201)
      return { id: await queue.produce(topic, payload, options), outcome: 'stored' }
    })
    await app.ready()
    return app.server
  },
  punctual: async (queue) => {
    const { serve } = await import('../dist/doors/http/index.js')
    const hash = createHash('sha256').update(TOKEN).digest('hex')
    const server = serve({
      queues: [queue],
      tokens: [{ name: 'bench', hash, scopes: ['produce'] }],
      rate: 1_000_000,
      logger: false,
    })
    return createServer(server.listener)
  },
}

if (process.send !== undefined) {
  process.once('disconnect', () => process.exit())
  process.on('message', () => process.send(process.cpuUsage()))
  const { Punctual } = await import('../dist/index.js')
  const queue = new Punctual({ store: 'memory:', logger: false })
  const server = await CONTESTANTS[process.argv[2]](queue)
  server.listen(0, '127.0.0.1', () => process.send(server.address().port))
} else {
  const [rounds = 3, seconds = 4] = process.argv.slice(2).map(Number)
  const results = Object.fromEntries(Object.keys(CONTESTANTS).map((name) => [name, []]))
  for (let round = 0; round < rounds; round += 1)
    for (const name of Object.keys(CONTESTANTS)) {
      const measured = await measure(name, seconds)
      results[name].push(measured)
      console.log(
        `${name.padEnd(10)} ${Math.round(measured.rate)} requests/s, ${measured.cpu.toFixed(1)} µs of CPU each`,
      )
    }
  const median = (name, figure) =>
    results[name].map((one) => one[figure]).toSorted((a, b) => a - b)[Math.floor(rounds / 2)]
  for (const name of Object.keys(CONTESTANTS)) {
    const share = (figure) => (median(name, figure) / median('bare', figure)).toFixed(2)
    console.log(`${name.padEnd(10)} of bare: ${share('rate')} of its rate, ${share('cpu')} x its CPU`)
  }
  await printWorkers(10)
  process.exit(0)
}

async function measure(name, seconds) {
  const child = fork(import.meta.filename, [name])
  const port = await new Promise((resolve) => child.once('message', resolve))
  const counter = { answers: 0 }
  const sockets = Array.from({ length: CONNECTIONS }, () => drive(port, counter))
  const stayAwake = () => {
    if (!sockets[0].destroyed) setImmediate(stayAwake)
  }
  stayAwake()
  await wait(2_000) // Warm.
  const [before, begun, worked] = [counter.answers, performance.now(), await cpuOf(child)]
  await wait(seconds * 1_000)
  const answers = counter.answers - before
  const rate = (answers / (performance.now() - begun)) * 1_000
  const cpu = ((await cpuOf(child)) - worked) / answers
  for (const socket of sockets) socket.destroy()
  child.kill('SIGKILL')
  return { rate, cpu }
}

/** The microseconds that the server has worked: on a busy machine a better figure than its rate. */
function cpuOf(child) {
  return new Promise((resolve) => {
    child.once('message', ({ user, system }) => resolve(user + system))
    child.send('cpu')
  })
}

/** One connection that asks again as soon as it was answered. */
function drive(port, counter) {
  const request = `POST ${PATH} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${TOKEN}\r\ncontent-type: application/json\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.on('data', (chunk) => {
    const text = chunk.toString('latin1')
    if (!text.startsWith('HTTP/1.1 201')) throw new Error(text)
    counter.answers += 1
    socket.write(request)
  })
  socket.write(request)
  return socket
}
