// A stage for one contestant and one workload: its server, its processes, and the account of every message.
import { randomBytes } from 'node:crypto'
import { startChild } from './bench-process.mjs'
import { startMysql } from './mysql-server.mjs'
import { startPostgres } from './postgres-server.mjs'
import { freePort, scratchDirectory, startBeanstalkd, startRedis } from './servers.mjs'

const CONCURRENCY = 100
const PATIENCE_MS = 120_000
const PAYLOAD_BYTES = 200

export async function openStage(contestant, { workers = 1, payload = PAYLOAD_BYTES, topics = 1 } = {}) {
  const server = await startServer(contestant.server)
  const context = {
    port: server.port,
    directory: server.directory,
    queue: `bench-${randomBytes(4).toString('hex')}`,
    concurrency: CONCURRENCY,
    payload,
    topics,
  }
  const children = []
  const open = async () => {
    const child = await startChild(contestant.name, context)
    children.push(child)
    return child
  }
  const producer = await open()
  await producer.ask('openProducer')
  const crew = []
  return {
    server,
    queue: context.queue,
    producer,
    crew,
    /** Starts the workers; with an engine that lives in one process, in the producer's. */
    async openWorkers() {
      for (let i = 0; i < (contestant.isInProcess ? 1 : workers); i += 1) {
        const worker = contestant.isInProcess ? producer : await open()
        crew.push(worker)
      }
      const started = await Promise.all(crew.map((worker) => worker.ask('openWorker')))
      return Math.min(...started.map(({ startedAt }) => startedAt))
    },
    /** Waits until `expected` messages were handled, then proves that each was, exactly once. */
    async account(expected) {
      const deadline = Date.now() + PATIENCE_MS
      for (;;) {
        const counts = await Promise.all(crew.map((worker) => worker.ask('handled')))
        const handled = counts.reduce((sum, count) => sum + count, 0)
        if (handled >= expected || Date.now() > deadline) break
        await pause(20)
      }
      await pause(200) // A contestant that repeats a message does it about now.
      return settleAccount(await Promise.all(crew.map((worker) => worker.ask('results'))), expected)
    },
    async close() {
      await Promise.all(children.map((child) => child.stop()))
      await server.stop()
    },
  }
}

export function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

async function startServer(kind) {
  if (kind === 'redis') return startRedis()
  if (kind === 'postgres') return startPostgres(freePort)
  if (kind === 'mysql') return startMysql(freePort)
  if (kind === 'beanstalkd') return startBeanstalkd()
  if (kind === 'file') return scratchDirectory()
  return { stop: async () => {} }
}

/** Timers of another process may round; more than this is early. */
const EARLY_MS = 0.5

function settleAccount(results, expected) {
  const seen = new Uint8Array(expected)
  let repeated = 0
  const lateness = []
  for (const { numbers, lateness: each } of results) {
    for (const [i, n] of numbers.entries()) {
      if (n >= expected) throw new Error(`message ${n} was never produced`)
      if (seen[n] === 1) repeated += 1
      seen[n] = 1
      lateness.push(each[i])
    }
  }
  const lost = seen.reduce((sum, was) => sum + (was === 0 ? 1 : 0), 0)
  const early = lateness.filter((ms) => ms < -EARLY_MS && ms > -1e9).length
  if (lost > 0 || repeated > 0 || early > 0)
    throw new Error(`lost ${lost}, repeated ${repeated}, early ${early}`)
  lateness.sort((a, b) => a - b)
  const at = (share) => lateness[Math.min(lateness.length - 1, Math.ceil(lateness.length * share) - 1)]
  return {
    lateness: { p50: at(0.5), p99: at(0.99), p999: at(0.999), max: lateness.at(-1) },
    firstAt: Math.min(...results.map((result) => result.firstAt || Infinity)),
    lastAt: Math.max(...results.map((result) => result.lastAt)),
  }
}
