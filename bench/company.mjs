// Punctual in company: how late another customer's message starts behind a flood of one topic.
//   npm run bench:company -- [--engines memory,file,redis,postgres] [--messages 100000] [--keys 1]
//     [--slots 100] [--ms 10]
// The flood is due at once; every 200 ms one message of another key is due. Told are its lateness (p50, max) and when the flood was
// done, without keys (all in one line, as before) and with keys, in turn.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { Punctual } from '../dist/index.js'
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
  const server = engine === 'redis' ? await startRedis() : await startPostgres(freePort)
  const url = engine === 'redis' ? `redis://127.0.0.1:${server.port}` : urlFor(server)
  return { url, close: () => server.stop() }
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

const show = (ms) => (ms === undefined ? 'none' : `${ms < 100 ? ms.toFixed(1) : Math.round(ms)} ms`)

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
