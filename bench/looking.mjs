// What looking costs behind a long backlog: the verbs of people (forecast, counts, lists, figures) on each engine.
//   node scripts/build.mjs && node bench/looking.mjs [--pending 1000000] [--topics 200] [--engines memory,file,redis]
// Told are the time of a call, and, on Redis, the time of the server. The quickest tenth of many calls: a busy machine delays
// the others. Beside it the longest time that the event loop of the caller stood still during a call.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { systemClock } from '../dist/clock.js'
import { makeId } from '../dist/core/encoding/id.js'
import { systemRandom } from '../dist/random.js'
import { engineForUrl } from '../dist/store/engines.js'
import { openBare } from './bare-redis.mjs'
import { startRedis } from './servers.mjs'

const { values } = parseArgs({
  options: {
    pending: { type: 'string', default: '1000000' },
    topics: { type: 'string', default: '200' },
    engines: { type: 'string', default: 'memory,file,redis' },
  },
})
const PENDING = Number(values.pending)
const TOPICS = Number(values.topics)
const DAY_MS = 86_400_000
const ROUNDS = 20
const silent = { debug() {}, info() {}, warn() {}, error() {} }

const openStore = (url, context) => engineForUrl(url).open(url, context, {})

async function open(engine) {
  const context = { queue: 'looking', clock: systemClock, random: systemRandom, logger: silent }
  if (engine === 'memory') return { store: await openStore('memory:', context), close: async () => {} }
  if (engine === 'file') {
    const directory = mkdtempSync(join(tmpdir(), 'punctual-bench-'))
    const store = await openStore(`file:${directory}`, context)
    return { store, close: async () => rmSync(directory, { recursive: true, force: true }) }
  }
  const server = await startRedis()
  const admin = await openBare(server.port)
  const store = await openStore(`redis://127.0.0.1:${server.port}`, context)
  const close = async () => {
    admin.close?.()
    await server.stop()
  }
  return { store, admin, close }
}

/** Over a day, in an order that has nothing to do with the moments. */
async function fill(store, startAt) {
  const size = Math.min(500, store.capabilities.batchMax)
  for (let from = 0; from < PENDING; from += size) {
    const batch = Array.from({ length: Math.min(size, PENDING - from) }, (_, i) => ({
      id: makeId(Date.now(), Math.random(), Math.random()),
      topic: `topic-${(from + i) % TOPICS}`,
      body: '{"n":1}',
      meta: '',
      priority: 1,
      when: { at: startAt + Math.floor(Math.random() * DAY_MS) },
      ifExists: 'keep',
    }))
    await store.put(batch)
  }
}

/** The longest gap between two turns of the event loop while `work` ran. */
async function standstillMs(work) {
  let longest = 0
  let last = performance.now()
  let isOver = false
  const look = () => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
    if (!isOver) setImmediate(look)
  }
  setImmediate(look)
  await new Promise((resolve) => setImmediate(resolve))
  await work()
  await new Promise((resolve) => setImmediate(resolve))
  isOver = true
  return longest
}

async function serverMs(admin) {
  const stats = await admin.call('INFO', 'commandstats')
  const us = [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=\d+,usec=(\d+)/g)].map(([, sum]) => Number(sum))
  return us.reduce((sum, each) => sum + each, 0) / 1000
}

function undisturbed(list) {
  return list.toSorted((a, b) => a - b)[Math.floor(list.length / 10)]
}

async function measure(name, { admin }, verb, verify) {
  const took = []
  const onServer = []
  const standstills = []
  for (let round = 0; round < ROUNDS; round += 1) {
    if (admin !== undefined) await admin.call('CONFIG', 'RESETSTAT')
    let reply
    const startedAt = performance.now()
    standstills.push(await standstillMs(async () => (reply = await verb())))
    took.push(performance.now() - startedAt)
    if (admin !== undefined) onServer.push(await serverMs(admin))
    if (!verify(reply)) throw new Error(`the benchmark's own count is wrong: ${name}`)
  }
  const figures = [undisturbed(took), ...(admin === undefined ? [undefined] : [undisturbed(onServer)])]
  const shown = [...figures, undisturbed(standstills)].map((ms) => (ms === undefined ? '' : ms.toFixed(2)))
  console.log(`| ${name} | ${shown.join(' | ')} |`)
}

const sum = (list) => list.reduce((total, each) => total + each, 0)

for (const engine of values.engines.split(',')) {
  const opened = await open(engine)
  const { store } = opened
  await store.open()
  const startAt = Date.now() + DAY_MS
  await fill(store, startAt)
  const edges = (bars) =>
    Array.from({ length: bars + 1 }, (_, i) => startAt + Math.floor((i * DAY_MS) / bars))
  console.log(`\n**${engine}**, ${PENDING.toLocaleString('en')} pending, ${TOPICS} topics\n`)
  console.log('| verb | ms | server ms | loop stood still, ms |\n|---|---:|---:|---:|')
  for (const bars of [60, 1_000])
    await measure(
      `forecast, ${bars} bars`,
      opened,
      () => store.forecast({ edges: edges(bars) }),
      (reply) =>
        reply.isExact ? sum(reply.counts) === PENDING : Math.abs(sum(reply.counts) - PENDING) < PENDING / 10,
    )
  await measure(
    'forecast of a topic, 60 bars',
    opened,
    () => store.forecast({ edges: edges(60), topic: 'topic-0' }),
    (reply) => Math.abs(sum(reply.counts) - PENDING / TOPICS) < PENDING / TOPICS / 5 + 1,
  )
  await measure(
    'count',
    opened,
    () => store.count(),
    ({ states }) => states.delayed === PENDING,
  )
  await measure(
    'countTopics, first page',
    opened,
    () => store.countTopics({ limit: 100 }),
    ({ topics }) => Object.keys(topics).length > 0,
  )
  await measure(
    'inspect, 100 of a topic',
    opened,
    () => store.inspect({ state: 'delayed', topic: 'topic-7', limit: 100 }),
    ({ items, cursor }) => items.length > 0 || cursor !== undefined,
  )
  await store.close()
  await opened.close()
}
