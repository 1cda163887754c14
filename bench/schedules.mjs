// Schedules under load: many that fire once a minute, beside as many plain messages, on one worker in this process.
//   node scripts/build.mjs && node bench/schedules.mjs redis --count 10000 --minutes 10
//   node scripts/build.mjs && node bench/schedules.mjs file --count 10000 --minutes 10
//
// First as many plain messages, due at random moments within a minute (as workload W2); then the schedules, each with a
// moment of its own within the minute. Ends with code 1 unless every occurrence fired exactly once. Tells the lateness of
// both, and, on Redis, what an idle schedule costs the server.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Punctual } from '../dist/index.js'
import { openBare } from './bare-redis.mjs'
import { startRedis } from './servers.mjs'

const MINUTE_MS = 60_000
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { count: { type: 'string', default: '10000' }, minutes: { type: 'string', default: '10' } },
})
const [engine = 'redis'] = positionals
const [count, minutes] = [Number(values.count), Number(values.minutes)]
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

const server = engine === 'redis' ? await startRedis() : undefined
const directory = engine === 'redis' ? undefined : mkdtempSync(join(tmpdir(), 'punctual-schedules-'))
const store = server === undefined ? `file:${directory}` : `redis://127.0.0.1:${server.port}`
const queue = new Punctual({ store, concurrency: 200, logger: false })
const lateness = { plain: [], tick: [] }
const fired = new Map()
queue.handle('plain', ({ latenessMs }) => void lateness.plain.push(latenessMs))
queue.handle('tick', ({ id, latenessMs }) => {
  lateness.tick.push(latenessMs)
  fired.set(id, (fired.get(id) ?? 0) + 1)
})
await queue.start()

const begin = Date.now() + 20_000
for (let from = 0; from < count; from += 1_000)
  await queue.produceMany(
    Array.from({ length: Math.min(1_000, count - from) }, () => ({
      topic: 'plain',
      at: begin + Math.floor(Math.random() * MINUTE_MS),
    })),
  )
await sleep(begin + MINUTE_MS + 5_000 - Date.now())

// The first occurrence of each lies beyond the time that setting all of them takes.
const start = Date.now() + 30_000 + count * 2
const end = start + minutes * MINUTE_MS - 1
for (let from = 0; from < count; from += 200)
  await Promise.all(
    Array.from({ length: Math.min(200, count - from) }, (_, i) => {
      const offset = Math.floor(((from + i) / count) * MINUTE_MS)
      return queue.schedules.set(`s${from + i}`, { topic: 'tick', every: '1m', start: start + offset, end })
    }),
  )
const usBefore = await serverMicros()
await sleep(start - Date.now())
await sleep(end + 5_000 - Date.now())
const usAfter = await serverMicros()

const doubles = [...fired.values()].filter((times) => times > 1).length
const expected = count * minutes
const p = (list, share) =>
  list.toSorted((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * share))] ?? NaN
const show = (name, list) =>
  console.log(
    `${name}: ${list.length} started, lateness p50 ${p(list, 0.5).toFixed(1)} p99 ${p(list, 0.99).toFixed(1)} max ${p(list, 1).toFixed(1)} ms`,
  )
show('plain messages', lateness.plain)
show('occurrences', lateness.tick)
console.log(`p99 of occurrences / plain: ${(p(lateness.tick, 0.99) / p(lateness.plain, 0.99)).toFixed(2)}`)
if (usBefore !== undefined)
  console.log(
    `server: ${((usAfter - usBefore) / expected).toFixed(1)} µs of scripts per occurrence, its schedule and its run included`,
  )
console.log(`${fired.size} of ${expected} occurrences fired, ${doubles} of them twice`)
await queue.stop({ timeout: 0 })
await server?.stop?.()
if (directory !== undefined) rmSync(directory, { recursive: true, force: true })
process.exit(fired.size === expected && doubles === 0 && lateness.plain.length === count ? 0 : 1)

async function serverMicros() {
  if (server === undefined) return undefined
  const admin = await openBare(server.port)
  const stats = await admin.call('INFO', 'commandstats')
  admin.close?.()
  return [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=\d+,usec=(\d+)/g)].reduce(
    (sum, [, us]) => sum + Number(us),
    0,
  )
}
