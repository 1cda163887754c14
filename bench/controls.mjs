// What pauses and limits cost, and whether limits hold. Each part checks its own counts, and the command fails if they are wrong.
//
//   node scripts/build.mjs && node bench/controls.mjs cost [--million]    server time of a claim on Redis, µs per message
//   node scripts/build.mjs && node bench/controls.mjs rate [--seconds 60] starts at saturation, by 1 and by 8 processes
//
// cost   the same claims without controls, with a limit that is not reached, and beside 50 paused topics with a backlog;
//        `--million`: 1,000,000 messages of a paused topic as well. The variants take turns; the quickest tenth is told.
// rate   95 to 100 % of rate x time + burst must start, and in no window more than burst + rate x window + 1.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { systemClock } from '../dist/clock.js'
import { makeId } from '../dist/core/encoding/id.js'
import { Punctual } from '../dist/index.js'
import { systemRandom } from '../dist/random.js'
import { openRedisStore } from '../dist/store/redis/open.js'
import { openBare } from './bare-redis.mjs'
import { startRedis } from './servers.mjs'

const BATCH = 100
const ROUNDS = 300
const PAUSED = 50
const silent = { debug() {}, info() {}, warn() {}, error() {} }
const body = JSON.stringify({ pad: 'x'.repeat(190) })

const { values, positionals } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, million: { type: 'boolean', default: false } },
  allowPositionals: true,
})

const message = (topic) => ({
  id: makeId(Date.now(), Math.random(), Math.random()),
  topic,
  body,
  meta: '',
  priority: 1,
  when: { delayMs: 0 },
  ifExists: 'keep',
})

const fill = async (store, topic, count) => {
  for (let at = 0; at < count; at += 1_000)
    await store.put(Array.from({ length: Math.min(1_000, count - at) }, () => message(topic)))
}

function verify(isTrue, what) {
  if (!isTrue) throw new Error(`the benchmark's own count is wrong: ${what}`)
}

function undisturbed(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 10)]
}

async function cost() {
  const server = await startRedis()
  const admin = await openBare(server.port)
  const open = async (queue) => {
    const store = openRedisStore(`redis://127.0.0.1:${server.port}`, {
      queue,
      clock: systemClock,
      random: systemRandom,
      logger: silent,
    })
    await store.open()
    return store
  }
  const others = Array.from({ length: PAUSED }, (_, i) => `paused-${i}`)
  const names = ['t']
  const variants = [
    { name: 'no controls', topics: names },
    {
      name: 'a limit that is not reached',
      topics: names,
      prepare: (store) =>
        store.control({
          kind: 'limit',
          topic: 't',
          limit: { rate: { intervalMs: 0.001, burst: 1_000_000 }, concurrency: 1_000_000 },
        }),
    },
    { name: `no controls, ${PAUSED + 1} topics wanted`, topics: [...names, ...others] },
    {
      name: `${PAUSED} of the ${PAUSED + 1} paused, with a backlog`,
      topics: [...names, ...others],
      prepare: async (store) => {
        for (const topic of others) {
          await store.control({ kind: 'pause', topic })
          await fill(store, topic, 1_000)
        }
      },
    },
    ...(values.million
      ? [
          {
            name: '1,000,000 messages of a paused topic',
            topics: [...names, 'million'],
            prepare: async (store) => {
              await store.control({ kind: 'pause', topic: 'million' })
              await fill(store, 'million', 1_000_000)
            },
          },
        ]
      : []),
  ]
  for (const [i, variant] of variants.entries()) {
    variant.store = await open(`cost-${i}`)
    await variant.prepare?.(variant.store)
    variant.us = { claim: [], settle: [] }
  }
  const spent = async (work) => {
    await admin.call('CONFIG', 'RESETSTAT')
    const result = await work()
    const stats = await admin.call('INFO', 'commandstats')
    const us = [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=\d+,usec=(\d+)/g)].reduce(
      (sum, [, n]) => sum + Number(n),
      0,
    )
    return [result, us]
  }
  for (let round = 0; round < ROUNDS; round += 1)
    for (const { store, topics, us } of variants) {
      await fill(store, 't', BATCH)
      const wants = topics.map((topic) => ({ topic, limit: BATCH, free: BATCH }))
      const request = { from: 'due', owner: 'bench', wants, limit: BATCH, free: BATCH, bytesMax: 2 ** 30 }
      const [{ leases }, claimUs] = await spent(() =>
        store.claim({ ...request, leaseMs: 60_000, leadMs: 10 }),
      )
      verify(leases.length === BATCH && leases.every(({ topic }) => topic === 't'), `${leases.length} leases`)
      const acks = leases.map(({ id, token, topic }) => ({ kind: 'ack', id, token, topic }))
      const [results, settleUs] = await spent(() => store.settle(acks))
      verify(
        results.every((word) => word === 'settled'),
        'a settlement was lost',
      )
      if (round >= ROUNDS / 10) {
        us.claim.push(claimUs / BATCH)
        us.settle.push(settleUs / BATCH)
      }
    }
  console.log(`server µs per message, batches of ${BATCH}`.padEnd(44), 'claim', ' settle')
  for (const { name, us, store } of variants) {
    console.log(
      name.padEnd(44),
      undisturbed(us.claim).toFixed(2).padStart(5),
      undisturbed(us.settle).toFixed(2).padStart(7),
    )
    await store.close()
  }
  admin.close?.()
  await server.stop()
}

/** The most starts above burst + rate x window, over all windows. */
function excess(starts, perMs, burst) {
  let [worst, lowest] = [-Infinity, Infinity]
  for (const [i, at] of starts.entries()) {
    lowest = Math.min(lowest, i - at * perMs)
    worst = Math.max(worst, i + 1 - at * perMs - lowest - burst)
  }
  return worst
}

async function rateWith(engine, processes, seconds) {
  const [perSecond, burst] = [100, 10]
  const server = engine === 'redis' ? await startRedis() : undefined
  const directory = mkdtempSync(join(tmpdir(), 'punctual-bench-'))
  const store = server === undefined ? `file:${directory}` : `redis://127.0.0.1:${server.port}`
  const queue = new Punctual({ store, queue: 'limits', logger: false })
  await queue.limit('t', { rate: `${perSecond}/1s`, burst })
  await queue.pause('t')
  const count = perSecond * (seconds + 5) + burst
  for (let at = 0; at < count; at += 1_000)
    await queue.produceMany(Array.from({ length: Math.min(1_000, count - at) }, () => ({ topic: 't' })))
  const starts = []
  const children = Array.from({ length: processes }, () => {
    const options = JSON.stringify({ store, concurrency: 20 })
    const child = spawn(
      process.execPath,
      [new URL('controls-worker.mjs', import.meta.url).pathname, options],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    const ready = new Promise((resolve) => {
      createInterface({ input: child.stdout }).on('line', (line) =>
        line === 'ready' ? resolve() : starts.push(Number(line)),
      )
    })
    return { child, ready }
  })
  await Promise.all(children.map(({ ready }) => ready))
  await queue.resume('t')
  const from = performance.timeOrigin + performance.now()
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000 + 500))
  for (const { child } of children) {
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
  await queue.stop()
  await server?.stop()
  rmSync(directory, { recursive: true, force: true })
  starts.sort((a, b) => a - b)
  const within = starts.filter((at) => at <= from + seconds * 1_000)
  const most = perSecond * seconds + burst
  const share = within.length / most
  const over = excess(starts, perSecond / 1_000, burst)
  console.log(
    `${engine}, ${processes} process${processes === 1 ? '' : 'es'}:`.padEnd(22),
    `${within.length} of ${most} starts (${(share * 100).toFixed(1)} %) in ${seconds} s;`,
    `at most ${over.toFixed(2)} above burst + rate x window`,
  )
  return share >= 0.95 && share <= 1 + 1 / most && over <= 1
}

async function rate() {
  const seconds = Number(values.seconds)
  let isRight = true
  for (const engine of ['redis', 'file'])
    for (const processes of [1, 8]) isRight = (await rateWith(engine, processes, seconds)) && isRight
  if (!isRight) {
    console.error(
      'a limit did not hold, or was not used: on a busy machine handlers start late; try again on a quiet one',
    )
    process.exitCode = 1
  }
}

const commands = { cost, rate }
const command = commands[positionals[0]]
if (command === undefined) {
  console.error('usage: node bench/controls.mjs cost [--million] | rate [--seconds 60]')
  process.exitCode = 2
} else await command()
