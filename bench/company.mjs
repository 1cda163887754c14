// Punctual in company: how late another customer's message starts behind a flood of one topic.
//   npm run bench:company -- [--engines memory,file,redis,postgres,mysql] [--messages 100000] [--keys 1]
//     [--slots 100] [--ms 10]
//   npm run bench:company -- --serial 1 [--engines ...]       so many keys of 200 messages of 20 ms, each one at a time
// The flood is due at once; every 200 ms one message of another key is due. Told are its lateness (p50, max) and when the flood was
// done, without keys (all in one line, as before) and with keys, in turn.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { Punctual } from '../dist/index.js'
import { startMysql, urlFor as mysqlUrl } from './mysql-server.mjs'
import { startPostgres, urlFor } from './postgres-server.mjs'
import { freePort, startRedis } from './servers.mjs'

const { values } = parseArgs({
  options: {
    engines: { type: 'string', default: 'memory,file,redis,postgres' },
    messages: { type: 'string', default: '100000' },
    keys: { type: 'string', default: '1' },
    slots: { type: 'string', default: '100' },
    ms: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '1' },
    serial: { type: 'string' },
  },
})
const MESSAGES = Number(values.messages)
const KEYS = Number(values.keys)
const SLOTS = Number(values.slots)
const WORK_MS = Number(values.ms)
const OTHER_MS = 200
const LEAD_IN_MS = 3_000

async function open(engine) {
  if (engine === 'memory') return { url: 'memory:', close: async () => {} }
  if (engine === 'file') {
    const directory = mkdtempSync(join(tmpdir(), 'punctual-bench-'))
    return {
      url: `file:${directory}`,
      close: async () => rmSync(directory, { recursive: true, force: true }),
    }
  }
  const start = { redis: startRedis, postgres: startPostgres, mysql: startMysql }[engine]
  const server = await start(freePort)
  const url = { redis: ({ port }) => `redis://127.0.0.1:${port}`, postgres: urlFor, mysql: mysqlUrl }[engine]
  return { url: url(server), close: () => server.stop() }
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

async function run(url, isKeyed) {
  const queue = new Punctual({
    store: url,
    queue: `company-${isKeyed}-${Date.now()}`,
    concurrency: SLOTS,
    logger: false,
  })
  await queue.pause('mail')
  const chunk = 5_000
  for (let from = 0; from < MESSAGES; from += chunk) {
    const size = Math.min(chunk, MESSAGES - from)
    await queue.produceMany(
      Array.from({ length: size }, (_, i) => ({
        topic: 'mail',
        payload: { n: from + i },
        ...(isKeyed ? { key: `flood-${(from + i) % KEYS}` } : {}),
      })),
    )
  }
  const ids = Math.ceil(((MESSAGES / SLOTS) * WORK_MS * 3) / OTHER_MS)
  const lateness = []
  let [done, finishedAt, begunAt] = [0, 0, Infinity]
  let finished
  const all = new Promise((resolve) => (finished = resolve))
  queue.handle('mail', async ({ payload, latenessMs }) => {
    begunAt = Math.min(begunAt, performance.now())
    if (payload.n === undefined && finishedAt === 0) lateness.push(latenessMs)
    await sleep(WORK_MS)
    if (payload.n !== undefined && ++done === MESSAGES) {
      finishedAt = performance.now()
      finished()
    }
  })
  const base = Date.now() + LEAD_IN_MS
  await queue.produceMany(
    Array.from({ length: Math.min(10_000, ids) }, (_, i) => ({
      topic: 'mail',
      payload: {},
      at: base + 1_000 + i * OTHER_MS,
      ...(isKeyed ? { key: 'other' } : {}),
    })),
  )
  await queue.start()
  await sleep(Math.max(0, base - Date.now()))
  await queue.resume('mail')
  await all
  const seconds = (finishedAt - begunAt) / 1_000
  await queue.purge({ topic: 'mail' })
  await queue.stop({ timeout: 5_000 })
  const sorted = lateness.toSorted((a, b) => a - b)
  return { started: sorted.length, p50: sorted[Math.floor(sorted.length / 2)], max: sorted.at(-1), seconds }
}

/** Keys that run one at a time: when the last of their messages was done, from when the first was begun. */
async function runSerial(url, keys) {
  const [count, ms] = [200, 20]
  const queue = new Punctual({ store: url, queue: `serial-${Date.now()}`, concurrency: SLOTS, logger: false })
  await queue.limit('book', { perKey: { concurrency: 1 } })
  await queue.pause('book')
  for (let n = 0; n < count; n += Math.ceil(5_000 / keys)) {
    const rows = Math.min(Math.ceil(5_000 / keys), count - n)
    const entry = (i) => ({ topic: 'book', payload: n + Math.floor(i / keys), key: `key-${i % keys}` })
    await queue.produceMany(Array.from({ length: rows * keys }, (_, i) => entry(i)))
  }
  const next = new Map()
  let [done, inversions, begunAt, mostAtOnce, running] = [0, 0, Infinity, 0, 0]
  await new Promise((finished) => {
    queue.handle('book', async ({ payload, key }) => {
      begunAt = Math.min(begunAt, performance.now())
      mostAtOnce = Math.max(mostAtOnce, (running += 1))
      if (payload !== (next.get(key) ?? 0)) inversions += 1
      await sleep(ms)
      next.set(key, payload + 1)
      running -= 1
      if (++done === count * keys) finished()
    })
    void queue.start().then(() => queue.resume('book'))
  })
  const seconds = (performance.now() - begunAt) / 1_000
  await queue.stop({ timeout: 5_000 })
  const ideal = (count * ms * Math.max(1, keys / SLOTS)) / 1_000
  return `${keys} key(s) of ${count} messages of ${ms} ms, one at a time: ${seconds.toFixed(2)} s (ideal ${ideal} s), ${mostAtOnce} at once, ${inversions} out of order`
}

const show = (ms) => (ms === undefined ? 'none' : `${ms < 100 ? ms.toFixed(1) : Math.round(ms)} ms`)

if (values.serial !== undefined) {
  for (const engine of values.engines.split(',')) {
    const { url, close } = await open(engine)
    console.log(`${engine.padEnd(9)} ${await runSerial(url, Number(values.serial))}`)
    await close()
  }
  process.exit(0)
}
console.log(
  `${MESSAGES} messages of ${KEYS} key(s), ${SLOTS} slots of ${WORK_MS} ms; ideal ${((MESSAGES / SLOTS) * WORK_MS) / 1_000} s`,
)
for (const engine of values.engines.split(',')) {
  const { url, close } = await open(engine)
  for (let round = 0; round < Number(values.rounds); round += 1) {
    for (const isKeyed of [false, true]) {
      try {
        const { started, p50, max, seconds } = await run(url, isKeyed)
        console.log(
          `${engine.padEnd(9)} ${isKeyed ? 'keys   ' : 'no keys'}  other: ${started} started, p50 ${show(p50)}, max ${show(max)}; flood done in ${seconds.toFixed(2)} s`,
        )
      } catch (error) {
        console.log(
          `${engine.padEnd(9)} ${isKeyed ? 'keys   ' : 'no keys'}  ${error.code ?? ''} ${error.message}`,
        )
      }
    }
  }
  await close()
}
