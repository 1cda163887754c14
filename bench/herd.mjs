// What many idle workers of one queue cost Redis: calls per second while nothing happens, calls per message, lateness, and
// how late a message is whose watcher was killed or frozen. Calls are counts, so that a busy machine counts right as well;
// lateness is worth something on a quiet one only.
//   node scripts/build.mjs && node bench/herd.mjs
//   node bench/herd.mjs --workers 1,8,64,256 --seconds 30 --rates 2,20,200 --rounds 5 --dist /path/to/another/dist
// Several queues share a process, at most 32. Every message is handled exactly once, and what INFO commandstats counts is
// what MONITOR saw, or there is no figure.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import Redis from 'ioredis'
import { startRedis } from './servers.mjs'

const { values: options } = parseArgs({
  allowPositionals: true,
  options: {
    workers: { type: 'string', default: '1,8,64,256' },
    seconds: { type: 'string', default: '30' },
    rates: { type: 'string', default: '2,20,200' },
    rounds: { type: 'string', default: '5' },
    dist: { type: 'string', default: new URL('../dist', import.meta.url).pathname },
  },
})
const DIST = resolve(options.dist)
const load = (file) => import(pathToFileURL(`${DIST}/${file}`).href)
const { Punctual } = await load('index.js')
const TOPIC = 'herd'
const PER_PROCESS = 32
/** At 2 a second each message finds the queue empty, and is a new head. */
const DELAY_MS = 300
/** What workers and producers send once they are open. */
const COUNTED = new Set(['evalsha', 'eval', 'ping'])
const pause = (ms) => new Promise((done) => setTimeout(done, ms))
const open = (url) => new Punctual({ store: url, queue: 'herd', logger: false })

if (process.send === undefined) await measure()
else await work(process.argv.at(-2), Number(process.argv.at(-1)))

/** In a child: so many queues, each a worker of its own. */
async function work(url, count) {
  const queues = Array.from({ length: count }, () => open(url))
  for (const queue of queues) {
    queue.handle(TOPIC, ({ id, dueAt }) => process.send({ id, lateMs: Date.now() - dueAt, pid: process.pid }))
    await queue.start()
  }
  process.on('disconnect', () => process.exit(1))
  process.on('message', () => {
    void Promise.all(queues.map((queue) => queue.stop())).then(() => process.exit(0))
  })
  process.send('ready')
}

async function measure() {
  const server = await startRedis()
  const url = `redis://127.0.0.1:${server.port}`
  const meter = await openMeter(server.port)
  try {
    const sizes = options.workers
      .split(',')
      .map(Number)
      .filter((size) => size > 0)
    const rows = []
    for (const size of sizes)
      rows.push(await withWorkers(url, size, (crew) => measureSize(url, meter, crew, size)))
    if (rows.length > 0) printTable(rows)
    if (Number(options.rounds) > 0) await measureDeaths(url)
  } finally {
    meter.close()
    await server.stop()
  }
}

async function withWorkers(url, size, body, perProcess = PER_PROCESS) {
  const crew = { children: new Set(), handled: new Map(), lastPid: undefined }
  for (let left = size; left > 0; left -= perProcess) await addChild(crew, url, Math.min(left, perProcess))
  try {
    return await body(crew)
  } finally {
    await Promise.all([...crew.children].map((child) => endChild(child)))
  }
}

async function addChild(crew, url, count) {
  const child = fork(new URL(import.meta.url).pathname, ['--dist', DIST, '--', url, String(count)])
  crew.children.add(child)
  child.once('exit', () => crew.children.delete(child))
  await new Promise((isReady, failed) => {
    child.once('exit', (code) => failed(new Error(`a worker ended with ${code}`)))
    child.on('message', (message) => {
      if (message === 'ready') return isReady()
      const times = crew.handled.get(message.id) ?? []
      crew.handled.set(message.id, [...times, message.lateMs])
      crew.lastPid = message.pid
    })
  })
}

async function endChild(child) {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGCONT')
  child.send('stop')
  const timer = setTimeout(() => child.kill('SIGKILL'), 10_000)
  await exited
  clearTimeout(timer)
}

/** What clients sent between two marks, by MONITOR and by INFO commandstats, which must agree. */
async function openMeter(port) {
  const admin = new Redis({ port })
  const listener = new Redis({ port })
  const monitor = await listener.monitor()
  const names = new Map(
    Object.values(await load('store/redis/scripts/generated.js')).map(({ sha, name }) => [sha, name]),
  )
  let counts = new Map()
  const marks = new Map()
  monitor.on('monitor', (_, [command, first], source) => {
    const word = command.toLowerCase()
    if (word === 'echo') marks.get(first)?.()
    if (source === 'lua' || !COUNTED.has(word)) return
    const name = word === 'ping' ? 'ping' : (names.get(first) ?? word)
    counts.set(name, (counts.get(name) ?? 0) + 1)
  })
  let number = 0
  const mark = async () => {
    number += 1
    const seen = new Promise((done) => {
      marks.set(String(number), () => {
        done(counts)
        counts = new Map()
      })
    })
    const replies = await admin.multi().echo(String(number)).info('commandstats').exec()
    const before = await seen
    return { before, total: totalOf(replies[1][1]) }
  }
  return {
    async during(body) {
      const { total } = await mark()
      const startedAt = performance.now()
      const result = await body()
      const seconds = (performance.now() - startedAt) / 1000
      const { before, total: after } = await mark()
      const seen = [...before.values()].reduce((sum, count) => sum + count, 0)
      if (seen !== after - total) throw new Error(`MONITOR saw ${seen} calls, commandstats ${after - total}`)
      return { calls: seen, by: before, seconds, result }
    },
    close() {
      for (const client of [admin, listener, monitor]) client.disconnect()
    },
  }
}

function totalOf(commandstats) {
  let calls = 0
  for (const line of commandstats.split('\r\n'))
    calls += Number(/^cmdstat_(?:evalsha|eval|ping):calls=(\d+)/.exec(line)?.[1] ?? 0)
  return calls
}

async function measureSize(url, meter, crew, size) {
  const seconds = Number(options.seconds)
  const producer = open(url)
  try {
    // The first messages are for those who do not know each other yet.
    await produceAndWait(producer, crew, { count: 5, rate: 2, delayMs: 500 })
    await pause(12_000)
    const idle = await meter.during(() => pause(seconds * 1000))
    const row = { workers: size, idle: idle.calls / idle.seconds, idleBy: perSecond(idle), phases: [] }
    for (const delayMs of [DELAY_MS, 0])
      for (const rate of options.rates.split(',').map(Number)) {
        const count = Math.round(rate * Math.min(seconds, 15))
        crew.handled.clear()
        const run = await meter.during(() => produceAndWait(producer, crew, { count, rate, delayMs }))
        const late = [...crew.handled.values()].map(([ms]) => ms).toSorted((a, b) => a - b)
        row.phases.push({
          name: `${delayMs === 0 ? 'now' : 'delayed'}, ${rate}/s`,
          calls: run.calls / count,
          beyond: (run.calls - row.idle * run.seconds) / count,
          p50: late[Math.floor(late.length / 2)],
          p99: late[Math.floor(late.length * 0.99)],
          by: Object.fromEntries([...run.by].map(([name, calls]) => [name, round(calls / count)])),
        })
      }
    console.error(JSON.stringify(row))
    return row
  } finally {
    await producer.stop()
  }
}

async function produceAndWait(producer, crew, { count, rate, delayMs }) {
  const ids = []
  const startedAt = performance.now()
  for (let i = 0; i < count; i += 1) {
    await pause(startedAt + (i * 1000) / rate - performance.now())
    ids.push(await producer.produce(TOPIC, { i }, { delay: delayMs }))
  }
  for (const id of ids) while (!crew.handled.has(id)) await pause(20)
  await pause(100)
  for (const id of ids)
    if (crew.handled.get(id).length !== 1) throw new Error(`${id} was handled more than once`)
}

function perSecond({ by, seconds }) {
  return Object.fromEntries([...by].map(([name, calls]) => [name, round(calls / seconds)]))
}

function round(value) {
  return Math.round(value * 100) / 100
}

function printTable(rows) {
  const names = rows[0]?.phases.map(({ name }) => name) ?? []
  console.log(
    `| workers | idle calls/s | ${names.map((name) => `${name}: calls per message, beyond the looks; p50/p99 ms`).join(' | ')} |`,
  )
  console.log(`|${' --- |'.repeat(names.length + 2)}`)
  for (const { workers, idle, phases } of rows) {
    const cells = phases.map(
      ({ calls, beyond, p50, p99 }) => `${round(calls)}, ${round(beyond)}; ${p50}/${p99}`,
    )
    console.log(`| ${workers} | ${round(idle)} | ${cells.join(' | ')} |`)
  }
}

/** The one that had the last message is one of two that watch: killed or frozen before a known moment, or before a new one. */
async function measureDeaths(url) {
  console.log('\n| 8 workers, the watcher is | next message ms late |\n| --- | --- |')
  for (const signal of ['SIGKILL', 'SIGSTOP'])
    for (const delayMs of [1000, 0]) {
      const late = await withWorkers(url, 8, (crew) => deaths(url, crew, signal, delayMs), 1)
      console.log(
        `| ${signal}, ${delayMs === 0 ? 'then a message for now' : 'while a message waits'} | ${late.join(', ')} |`,
      )
    }
}

async function deaths(url, crew, signal, delayMs) {
  const producer = open(url)
  const late = []
  try {
    for (let i = 0; i < Number(options.rounds); i += 1) {
      await produceAndWait(producer, crew, { count: 4, rate: 4, delayMs: 300 })
      const watcher = [...crew.children].find(({ pid }) => pid === crew.lastPid)
      const id = delayMs > 0 ? await producer.produce(TOPIC, {}, { delay: delayMs }) : undefined
      await pause(200)
      watcher.kill(signal)
      const waited = id ?? (await producer.produce(TOPIC, {}, { delay: 0 }))
      while (!crew.handled.has(waited)) await pause(10)
      late.push(crew.handled.get(waited)[0])
      watcher.kill('SIGKILL')
      await addChild(crew, url, 1)
    }
  } finally {
    await producer.stop()
  }
  return late
}
