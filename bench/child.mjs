// One process of a contestant: a producer, a worker, or both. Obeys its parent over IPC, one verb at a time.
import { load } from './contestants/index.mjs'

/** What a message has beside its padding, as JSON: {"n":12345,"dueAt":1700000000000,"pad":""} */
const ENVELOPE_BYTES = 42
const wallClock = () => performance.timeOrigin + performance.now()

let contestant
let context
let pad = ''
let producer
let worker
let numbers = new Uint32Array(1024)
let lateness = new Float64Array(1024)
let count = 0
let firstAt = 0
let lastAt = 0

async function handle(message) {
  const now = wallClock()
  if (count === numbers.length) grow()
  numbers[count] = message.n
  lateness[count] = now - message.dueAt
  count += 1
  if (firstAt === 0) firstAt = now
  lastAt = now
}

function grow() {
  const [olderNumbers, olderLateness] = [numbers, lateness]
  numbers = new Uint32Array(count * 2)
  lateness = new Float64Array(count * 2)
  numbers.set(olderNumbers)
  lateness.set(olderLateness)
}

const messagesFor = (from, size, moment) =>
  Array.from({ length: size }, (_, i) => ({ n: from + i, dueAt: moment(from + i), pad }))

/** `due`: { kind: 'now' } | { kind: 'at', at } | { kind: 'spread', at, overMs, count } */
function dueAtFor(due) {
  if (due.kind === 'now') return () => 0
  if (due.kind === 'at') return () => due.at
  return (n) => Math.round(due.at + (n % due.count) * (due.overMs / due.count))
}

const verbs = {
  async open(given) {
    context = given.context
    pad = 'x'.repeat(Math.max(0, context.payload - ENVELOPE_BYTES))
    contestant = await load(given.name)
  },
  async openProducer() {
    producer = await contestant.openProducer(context)
  },
  async openWorker() {
    const startedAt = wallClock()
    worker = await contestant.openWorker(context, handle)
    return { startedAt }
  },
  /** Single calls, so many in flight; answers how long it took. */
  async produceSingle({ from, size, due, inFlight }) {
    const messages = messagesFor(from, size, dueAtFor(due))
    let next = 0
    const startedAt = performance.now()
    const lane = async () => {
      while (next < messages.length) {
        const message = messages[next]
        next += 1
        await producer.one(message)
      }
    }
    await Promise.all(Array.from({ length: inFlight }, lane))
    return { ms: performance.now() - startedAt }
  },
  async produceBulk({ from, size, due }) {
    const startedAt = performance.now()
    for (let at = from; at < from + size; at += producer.bulk) {
      await producer.many(messagesFor(at, Math.min(producer.bulk, from + size - at), dueAtFor(due)))
    }
    return { ms: performance.now() - startedAt }
  },
  /** One at a time, each with a delay of its own; the next when the last one should have come. */
  async produceSparse({ size, minMs, maxMs }) {
    for (let n = 0; n < size; n += 1) {
      const delayMs = minMs + ((n * 7919) % 1000) * ((maxMs - minMs) / 1000)
      const dueAt = Math.ceil(Date.now() + delayMs)
      await producer.one({ n, dueAt, pad })
      await new Promise((resolve) => setTimeout(resolve, delayMs + 30))
    }
  },
  async handled() {
    return count
  },
  async results() {
    const result = { numbers: numbers.slice(0, count), lateness: lateness.slice(0, count), firstAt, lastAt }
    count = 0
    firstAt = 0
    lastAt = 0
    return result
  },
  async usage() {
    const { user, system } = process.cpuUsage()
    return { cpuMs: (user + system) / 1000, heapBytes: process.memoryUsage().heapUsed }
  },
  async close() {
    await producer?.close()
    if (worker !== undefined && !contestant.isInProcess) await worker.close()
  },
}

async function obey({ id, verb, argument }) {
  try {
    process.send({ id, value: await verbs[verb](argument) })
  } catch (error) {
    process.send({ id, error: error.stack })
  }
}

process.on('message', (order) => void obey(order))
