// What the Redis server pays for the verbs of the engine: microseconds of its scripts per message (INFO commandstats), and
// bytes per pending message. Each call is measured alone, and the quickest tenth of many is told: a busy machine delays the others.
//   node scripts/build.mjs && node bench/redis-server-cost.mjs
//   node bench/redis-server-cost.mjs /path/to/another/dist        the same for another build, also of an older layout
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { openBare } from './bare-redis.mjs'
import { startRedis } from './servers.mjs'

const DIST = resolve(process.argv[2] ?? new URL('../dist', import.meta.url).pathname)
const load = (file) => import(pathToFileURL(`${DIST}/${file}`).href)
const { openRedisStore } = await load('store/redis/open.js')
const { systemClock } = await load('clock.js')
const { systemRandom } = await load('random.js')
const { makeId } = await load('core/encoding/id.js').catch(() => load('core/id.js')) // Older builds have it there.

const BODY = JSON.stringify({ n: 12345, dueAt: 1_700_000_000_000, pad: 'x'.repeat(158) })
const HOUR_MS = 3_600_000
const silent = { debug() {}, info() {}, warn() {}, error() {} }
const server = await startRedis()
const admin = await openBare(server.port)
let queues = 0

async function openStore() {
  queues += 1
  const context = { queue: `cost-${queues}`, clock: systemClock, random: systemRandom, logger: silent }
  const store = openRedisStore(`redis://127.0.0.1:${server.port}`, context)
  await store.open()
  return store
}

const message = (topic, when, id = makeId(Date.now(), Math.random(), Math.random())) => ({
  id,
  topic,
  body: BODY,
  meta: '',
  priority: 1,
  when,
  ifExists: 'keep',
})
const many = (count, make) => Array.from({ length: count }, (_, i) => make(i))
const due = (topics, limit) => ({
  from: 'due',
  owner: 'bench',
  wants: topics.map((topic) => ({ topic, limit })),
  limit,
  bytesMax: 2 ** 30,
  leaseMs: 60_000,
  leadMs: 0,
})

/** Microseconds that scripts took on the server while this ran. */
async function spent(work) {
  await admin.call('CONFIG', 'RESETSTAT')
  await work()
  const stats = await admin.call('INFO', 'commandstats')
  return [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=\d+,usec=(\d+)/g)].reduce(
    (sum, [, us]) => sum + Number(us),
    0,
  )
}

/** One in ten is quicker: what the work costs when nothing comes between. */
function undisturbed(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 10)]
}

const usedBytes = async () => Number(/used_memory:(\d+)/.exec(await admin.call('INFO', 'memory'))[1])

async function clear() {
  await admin.call('FLUSHALL')
}

function verify(isTrue, what) {
  if (!isTrue) throw new Error(`the benchmark's own count is wrong: ${what}`)
}

/** Rounds of put, claim and settle in batches, after one to warm up. `producers` take turns. */
async function rounds(batch, count, { producers = 1, idFor } = {}) {
  const store = await openStore()
  const us = { put: [], claim: [], settle: [] }
  for (let round = 0; round < 3; round += 1) {
    const puts = []
    for (let at = 0; at < count; at += batch)
      puts.push(many(batch, (i) => message('bench-0', { delayMs: 0 }, idFor?.(round, at + i))))
    // Several producers: their batches arrive in another order than they were made in.
    if (producers > 1)
      for (let at = 0; at + 1 < puts.length; at += 2) puts.splice(at, 2, puts[at + 1], puts[at])
    for (const messages of puts) us.put.push((await spent(() => store.put(messages))) / batch)
    for (let taken = 0; taken < count;) {
      let leases = []
      const claim = await spent(async () => {
        leases = (await store.claim(due(['bench-0'], batch))).leases
      })
      verify(leases.length > 0, 'nothing was handed out')
      taken += leases.length
      us.claim.push(claim / leases.length)
      const acks = leases.map(({ id, token, topic }) => ({ kind: 'ack', id, token, topic }))
      us.settle.push((await spent(() => store.settle(acks))) / acks.length)
    }
    if (round === 0) for (const values of Object.values(us)) values.length = 0
  }
  const { states } = await store.count()
  verify(states.running + states.ready + states.delayed === 0, JSON.stringify(states))
  await store.close()
  await clear()
  const [put, claim, settle] = [us.put, us.claim, us.settle].map(undisturbed)
  return { put, claim, settle, all: put + claim + settle }
}

async function bytesPerMessage(count, idFor) {
  const store = await openStore()
  await store.put([message('bench-0', { delayMs: HOUR_MS })])
  const before = await usedBytes()
  for (let at = 0; at < count; at += 1_000)
    await store.put(many(1_000, (i) => message('bench-0', { delayMs: HOUR_MS }, idFor?.(at + i))))
  const pending = ((await usedBytes()) - before) / count
  await store.close()
  await clear()
  return pending
}

/** The first claims of a topic behind a backlog that another topic's absent workers left. */
async function behindBacklog() {
  const store = await openStore()
  for (let at = 0; at < 20_000; at += 1_000)
    await store.put(many(1_000, () => message('others', { delayMs: 0 })))
  const claims = []
  for (let i = 0; i < 20; i += 1) {
    await store.put([message('mine', { delayMs: 0 })])
    claims.push(await spent(() => store.claim(due(['mine'], 10))))
  }
  await store.close()
  await clear()
  // The first of them move others out of the way where that is needed: no tenth stands for all.
  return claims.reduce((sum, us) => sum + us, 0) / claims.length
}

/** A claim that finds nothing; `waiting`: every topic has a message that is due in an hour. */
async function idle(topicCount, waiting) {
  const store = await openStore()
  const topics = many(topicCount, (i) => `topic-${i}`)
  if (waiting)
    for (let at = 0; at < topicCount; at += 500)
      await store.put(topics.slice(at, at + 500).map((topic) => message(topic, { delayMs: HOUR_MS })))
  const claims = []
  for (let i = 0; i < 50; i += 1) claims.push(await spent(() => store.claim(due(topics, 10))))
  await store.close()
  await clear()
  return undisturbed(claims)
}

const cell = (value) => value.toFixed(value < 10 ? 2 : 0)
const rowOf = (name, { put, claim, settle, all }) =>
  `| ${name} | ${cell(put)} | ${cell(claim)} | ${cell(settle)} | ${cell(all)} |`

const ownId = (round, i) => `order-${round}-${100_000 + i}`

async function report() {
  const lines = [
    `${DIST}, Redis ${await server.version()}`,
    '\n| server µs per message | put | claim | settle | all |\n|---|---|---|---|---|',
    rowOf('batches of 500', await rounds(500, 20_000)),
    rowOf('batches of 100', await rounds(100, 20_000)),
    rowOf('batches of 500, two producers out of step', await rounds(500, 20_000, { producers: 2 })),
    rowOf('batches of 500, own ids', await rounds(500, 20_000, { idFor: ownId })),
    rowOf('one by one', await rounds(1, 2_000)),
    '\n| bytes per pending message |  |\n|---|---|',
    `| generated ids | ${cell(await bytesPerMessage(50_000))} |`,
    `| own ids of 16 characters | ${cell(await bytesPerMessage(50_000, (i) => `order:${1_000_000_000 + i}`))} |`,
    '\n| server µs per claim |  |\n|---|---|',
    `| behind 20,000 of another topic, mean of the first 20 | ${cell(await behindBacklog())} |`,
  ]
  for (const count of [1, 10, 100, 1_000]) {
    const [empty, waiting] = [await idle(count, false), await idle(count, true)]
    lines.push(
      `| nothing due, ${count} topics: empty, with one delayed each | ${cell(empty)}, ${cell(waiting)} |`,
    )
  }
  return lines.join('\n')
}

try {
  console.log(await report())
} finally {
  admin.close()
  await server.stop()
}
