/**
 * Measures the file engine alone, below the runtime: stored, leased and completed per second, the time of single
 * calls, wake-ups between processes, and how all of that fares with a million messages pending. Counts are
 * checked; times are only printed.
 *
 *   npx tsc -p tsconfig.build.json && node bench/file.mjs [--pending 1000000] [--sync off] [--directory PATH]
 */
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { systemClock } from '../dist/clock.js'
import { systemRandom } from '../dist/random.js'
import { FileStore } from '../dist/store/file/store.js'

const { values: options } = parseArgs({
  options: {
    pending: { type: 'string', default: '1000000' },
    messages: { type: 'string', default: '50000' },
    sync: { type: 'string', default: 'full' },
    ids: { type: 'string', default: 'random' },
    directory: { type: 'string' },
    listen: { type: 'string' },
  },
})

const TOPIC = 'order.close'
const BATCH = 1000
const BODY = JSON.stringify({ orderId: 42, note: 'x'.repeat(170) })
const logger = { warn: console.warn, error: console.error }
let made = 0

async function open(directory, queue = 'bench') {
  const context = { queue, clock: systemClock, random: systemRandom, logger }
  const store = new FileStore({ directory, sync: options.sync }, context)
  await store.open()
  return store
}

function message(delayMs) {
  made += 1
  const id = options.ids === 'random' ? `${systemRandom.next()}` : String(made).padStart(18, '0')
  return { id, topic: TOPIC, body: BODY, meta: '', priority: 1, when: { delayMs }, ifExists: 'keep' }
}

async function bulk(store, count, delayMs) {
  const begun = performance.now()
  const underWay = []
  for (let i = 0; i < count; i += BATCH) {
    underWay.push(store.put(Array.from({ length: Math.min(BATCH, count - i) }, () => message(delayMs))))
    if (underWay.length === 4) await underWay.shift()
  }
  await Promise.all(underWay)
  return perSecond(count, begun)
}

async function singles(store, count, inFlight) {
  const messages = Array.from({ length: count }, () => message(3_600_000))
  const begun = performance.now()
  const lane = async () => {
    for (let next = messages.pop(); next !== undefined; next = messages.pop()) await store.put([next])
  }
  await Promise.all(Array.from({ length: inFlight }, lane))
  return perSecond(count, begun)
}

async function drain(store, expected) {
  const wants = [{ topic: TOPIC, limit: 500 }]
  const begun = performance.now()
  const underWay = []
  let done = 0
  for (;;) {
    const { leases, next } = await store.claim({
      from: 'due',
      owner: 'test',
      bytesMax: 2 ** 30,
      wants,
      limit: 500,
      leaseMs: 30_000,
      leadMs: 0,
    })
    done += leases.length
    underWay.push(store.settle(leases.map(({ id, token, topic }) => ({ kind: 'ack', id, token, topic }))))
    if (underWay.length === 4) await underWay.shift()
    if (next.state !== 'EXPIRED') break
  }
  await Promise.all(underWay)
  assert.equal(done, expected)
  return perSecond(done, begun)
}

/** One at a time: how long a put takes, and then the claim that hands it out. */
async function lone(store, count) {
  const wants = [{ topic: 'lone', limit: 1 }]
  const puts = []
  const claims = []
  for (let i = 0; i < count; i += 1) {
    const begun = performance.now()
    await store.put([{ ...message(0), topic: 'lone' }])
    const stored = performance.now()
    const { leases } = await store.claim({
      from: 'due',
      owner: 'test',
      bytesMax: 2 ** 30,
      wants,
      limit: 1,
      leaseMs: 30_000,
      leadMs: 0,
    })
    puts.push(stored - begun)
    claims.push(performance.now() - stored)
    assert.equal(leases.length, 1)
    await store.settle(leases.map(({ id, token, topic }) => ({ kind: 'ack', id, token, topic })))
  }
  return `put ${quantiles(puts)}, claim ${quantiles(claims)}`
}

async function idleClaims(store, count) {
  const wants = [{ topic: 'nothing here', limit: 1 }]
  const begun = performance.now()
  for (let i = 0; i < count; i += 1) {
    await store.claim({
      from: 'due',
      owner: 'test',
      bytesMax: 2 ** 30,
      wants,
      limit: 1,
      leaseMs: 30_000,
      leadMs: 0,
    })
  }
  return `${(((performance.now() - begun) / count) * 1000).toFixed(0)} µs`
}

/** From the call of put in this process to the listener in another. */
async function wakeUps(directory, count) {
  const store = await open(directory, 'wake')
  const child = fork(import.meta.filename, ['--listen', directory])
  await new Promise((resolve) => child.once('message', resolve))
  const times = []
  for (let i = 0; i < count; i += 1) {
    const { id } = message(0)
    const woken = new Promise((resolve) => child.once('message', resolve))
    const started = performance.timeOrigin + performance.now()
    await store.put([{ ...message(0), id }])
    times.push((await woken) - started)
    await store.remove([id], 'waiting')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  child.kill()
  await store.close()
  return quantiles(times)
}

async function listen(directory) {
  const store = await open(directory, 'wake')
  let last = 0
  store.onWake(() => {
    const now = performance.timeOrigin + performance.now()
    if (now - last > 10) process.send(now)
    last = now
  })
  // A store does not keep its process alive; listening to the parent does.
  process.on('message', () => {})
  process.on('disconnect', () => process.exit())
  process.send('ready')
}

async function residentMiB() {
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '')
  const anonymous = /RssAnon:\s+(\d+)/.exec(status)?.[1]
  return anonymous === undefined ? process.memoryUsage().rss / 2 ** 20 : Number(anonymous) / 1024
}

function perSecond(count, begun) {
  return `${Math.round((count / (performance.now() - begun)) * 1000).toLocaleString('en')}/s`
}

function quantiles(times) {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share) =>
    (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN).toFixed(2)
  return `p50 ${at(0.5)} p99 ${at(0.99)} ms`
}

function report(what, figure) {
  console.log(`${what.padEnd(46)} ${figure}`)
}

async function run() {
  const directory = await mkdtemp(path.join(options.directory ?? tmpdir(), 'punctual-bench-'))
  const count = Number(options.messages)
  const pending = Number(options.pending)
  try {
    let store = await open(directory)
    const measure = async (where) => {
      report(`${where}: bulk, batches of ${BATCH}, 4 in flight`, await bulk(store, count, 0))
      report(`${where}: drain, batches of 500`, await drain(store, count))
      report(`${where}: 100 single puts in flight`, await singles(store, count / 2, 100))
      report(`${where}: one at a time`, await lone(store, 300))
      report(`${where}: a claim that finds nothing`, await idleClaims(store, 2000))
    }
    report('node, sync, ids', `${process.version}, ${options.sync}, ${options.ids}`)
    await measure('empty')
    report('wake-up of another process, from put', await wakeUps(directory, 100))
    if (pending === 0) return
    const before = await residentMiB()
    report(`${pending} more, bulk`, await bulk(store, pending, 3_600_000))
    const { size } = await stat(path.join(directory, 'queue.db'))
    report('bytes on disk per pending message', Math.round(size / (pending + count / 2)))
    await store.close()
    const begun = performance.now()
    store = await open(directory)
    report('open', `${(performance.now() - begun).toFixed(1)} ms`)
    const counting = performance.now()
    const { states } = await store.count()
    report('count', `${(performance.now() - counting).toFixed(1)} ms`)
    assert.equal(states.delayed, pending + count / 2)
    await measure('full')
    const { size: after } = await stat(path.join(directory, 'queue.db'))
    report('growth of the file by all that', `${((after - size) / 2 ** 20).toFixed(1)} MiB`)
    report(
      'private memory before and after',
      `${before.toFixed(0)} and ${(await residentMiB()).toFixed(0)} MiB`,
    )
    await store.close()
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

await (options.listen === undefined ? run() : listen(options.listen))
