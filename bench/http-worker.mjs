// How late a worker over HTTP starts, beside a handler of the library: 2,000 messages a second on the memory engine.
//   node bench/http-worker.mjs [SECONDS]        (after npm run build; part of npm run bench:http)
// Server and worker are processes of their own. A message is late from its moment until the worker has read it. Every message
// is counted on both sides: each must arrive once.
import { fork } from 'node:child_process'
import { connect } from 'node:net'
import { loadavg } from 'node:os'

const RATE = 2_000
const LOOPS = 32
const QUEUE = '/v1/queues/default'
const now = () => performance.timeOrigin + performance.now()
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const start = (...words) => fork(import.meta.filename, words.map(String))
const shown = (ms) => `${ms.toFixed(2)} ms`

const ROLES = {
  /** The library alone: its handler is the worker. */
  library: async (seconds) => {
    const queue = await makeQueue()
    const { record, report } = makeRecord(seconds)
    queue.handle('t', ({ id, dueAt }) => record(id, dueAt))
    await queue.start()
    await produce(queue, seconds)
    const found = await report()
    process.send({ ...found, left: await leftIn(queue), cpu: cpuUsed() })
  },
  server: async (seconds) => {
    const { serve } = await import('../dist/doors/http/index.js')
    const queue = await makeQueue()
    const { port } = await serve({ queues: [queue], logger: false }).listen({ port: 0 })
    process.send({ port })
    const obey = async (word) => {
      if (word === 'produce') await produce(queue, seconds)
      else process.send({ left: await leftIn(queue), cpu: cpuUsed() })
    }
    process.on('message', (word) => void obey(word))
  },
  worker: async (seconds, port) => {
    const { record, report, isDone } = makeRecord(seconds)
    const loop = async () => {
      const [leasing, settling] = [new Connection(port), new Connection(port)]
      let settled
      while (!isDone()) {
        const { leases = [] } = await leasing.post('/leases', { topics: ['t'], limit: 50, wait: '1s' })
        for (const { id, dueAt } of leases) record(id, dueAt)
        const settlements = leases.map(({ lease }) => ({ lease, outcome: 'completed' }))
        await settled
        // The next is asked for meanwhile, as a worker with several slots does.
        if (leases.length > 0) settled = settling.post('/leases:settle', { settlements })
      }
      await settled
      leasing.close()
      settling.close()
    }
    const loops = Array.from({ length: LOOPS }, loop)
    process.send({ isReady: true })
    const found = await report()
    await Promise.all(loops)
    process.send(found)
  },
}

/** Seconds that this process has worked, its start included. */
function cpuUsed() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000_000
}

async function makeQueue() {
  const { Punctual } = await import('../dist/index.js')
  return new Punctual({ store: 'memory:', logger: false })
}

/** All are there before the first is due, so that producing them makes nobody late. */
async function produce(queue, seconds) {
  const first = Date.now() + 2_000
  const entries = Array.from({ length: RATE * seconds }, (_, i) => ({
    topic: 't',
    id: `m${i}`,
    at: first + (i * 1_000) / RATE,
  }))
  for (let from = 0; from < entries.length; from += 10_000)
    await queue.produceMany(entries.slice(from, from + 10_000))
}

function makeRecord(seconds) {
  const seen = new Map()
  let [end, early, twice] = [() => undefined, 0, 0]
  const ended = new Promise((resolve) => (end = resolve))
  const isDone = () => seen.size === RATE * seconds
  const record = (id, dueAt) => {
    const late = now() - dueAt
    if (late < -0.5) early += 1 // Two clocks of one machine may differ by a fraction.
    if (seen.has(id)) twice += 1
    seen.set(id, late)
    if (isDone()) end()
  }
  const report = async () => {
    await ended
    // The first seconds warm up.
    const late = [...seen]
      .slice(3 * RATE)
      .map(([, ms]) => ms)
      .toSorted((a, b) => a - b)
    const at = (share) => late[Math.min(late.length - 1, Math.floor(late.length * share))]
    return { count: seen.size, early, twice, p50: at(0.5), p99: at(0.99), max: late.at(-1) }
  }
  return { record, report, isDone }
}

async function leftIn(queue) {
  for (let i = 0; i < 100; i += 1) {
    const { counts } = await queue.stats()
    const left = Object.values(counts).reduce((a, b) => a + b, 0)
    if (left === 0) return 0
    await wait(50)
  }
  return 'some'
}

/**
 * A connection that asks one thing after the other. By hand, so that little of the two cores goes to the client: it is the
 * server that is measured.
 */
class Connection {
  #socket
  #text = ''
  #answer

  constructor(port) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.#socket.setEncoding('utf8') // Payloads here are ASCII: characters are bytes.
    this.#socket.on('data', (chunk) => this.#read(chunk))
    this.#socket.on('error', (error) => this.#answer?.reject(error))
    this.#socket.on('close', () => this.#answer?.reject(new Error('the server closed a connection')))
  }

  post(path, body) {
    const text = JSON.stringify(body)
    return new Promise((resolve, reject) => {
      this.#answer = { resolve, reject }
      this.#socket.write(
        `POST ${QUEUE}${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
      )
    })
  }

  #read(chunk) {
    this.#text += chunk
    const end = this.#text.indexOf('\r\n\r\n')
    if (end === -1) return
    const head = this.#text.slice(0, end)
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
    if (this.#text.length < end + 4 + length) return
    const body = this.#text.slice(end + 4)
    this.#text = ''
    if (!head.startsWith('HTTP/1.1 2')) this.#answer.reject(new Error(`${head}\n${body}`))
    else this.#answer.resolve(body === '' ? {} : JSON.parse(body))
  }

  close() {
    this.#socket.destroy()
  }
}

function heard(child) {
  return new Promise((resolve, reject) => {
    child.once('message', resolve)
    child.once('exit', (code) => reject(new Error(`a process of the bench ended with ${code}`)))
  })
}

export async function measureWorkers(seconds) {
  const alone = start('library', seconds)
  const library = await heard(alone)
  alone.kill()
  const server = start('server', seconds)
  const { port } = await heard(server)
  const worker = start('worker', seconds, port)
  await heard(worker)
  server.send('produce')
  const overHttp = await heard(worker)
  server.send('left')
  const { left, cpu } = await heard(server)
  worker.kill()
  server.kill()
  return { library, overHttp: { ...overHttp, left, cpu } }
}

export async function printWorkers(seconds) {
  const { library, overHttp } = await measureWorkers(seconds)
  const wanted = RATE * seconds
  for (const [name, { count, early, twice, left, p50, p99, max, cpu }] of Object.entries({
    library,
    overHttp,
  })) {
    console.log(
      `${name.padEnd(10)} late p50 ${shown(p50)}, p99 ${shown(p99)}, at most ${shown(max)}; ${((cpu * 1_000_000) / wanted).toFixed(0)} µs of CPU for each`,
    )
    const counts = { count, early, twice, left }
    const expected = { count: wanted, early: 0, twice: 0, left: 0 }
    if (JSON.stringify(counts) !== JSON.stringify(expected))
      throw new Error(`${name}: ${JSON.stringify(counts)} instead of ${JSON.stringify(expected)}`)
  }
  const more = (overHttp.p99 - library.p99).toFixed(2)
  console.log(
    `${wanted} of ${wanted} arrived once, none early; p99 over HTTP is the library's + ${more} ms (goal 3)`,
  )
  console.log(
    `load of the machine: ${loadavg()
      .map((load) => load.toFixed(1))
      .join(' ')}`,
  )
}

if (process.send !== undefined && ROLES[process.argv[2]] !== undefined) {
  process.once('disconnect', () => process.exit())
  await ROLES[process.argv[2]](...process.argv.slice(3).map(Number))
} else if (process.argv[1] === import.meta.filename) {
  await printWorkers(Number(process.argv[2] ?? 10))
}
