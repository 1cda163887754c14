// What the memory engine costs: bytes and time per pending message, and messages per second through the whole queue.
//   npm run bench:memory              a million messages
//   npm run bench:memory -- 200000    fewer
// Verifies its own counts before it prints a figure. Run it with a quiet machine; figures are for comparison only.
import { cpus, totalmem } from 'node:os'
import { Punctual } from '../dist/index.js'
import { systemClock } from '../dist/clock.js'
import { MemoryStore } from '../dist/store/memory/store.js'

const COUNT = Number(process.argv[2] ?? 1_000_000)
const BATCH = 1_000
const PAYLOAD = { orderId: 42, customer: 'c-81723', note: 'x'.repeat(140) }
const BODY_BYTES = Buffer.byteLength(JSON.stringify(PAYLOAD))

function verify(isTrue, what) {
  if (!isTrue) throw new Error(`the benchmark's own count is wrong: ${what}`)
}

function usedBytes() {
  global.gc?.()
  global.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

async function timed(work) {
  const startedAt = performance.now()
  await work()
  return (performance.now() - startedAt) / 1000
}

/** Spread over an hour, in no order. */
function delayOf(i) {
  return 3_600_000 + ((i * 7_919) % 3_600_000)
}

async function placeBulk(queue, optionsFor) {
  for (let from = 0; from < COUNT; from += BATCH) {
    const size = Math.min(BATCH, COUNT - from)
    await queue.produceMany(
      Array.from({ length: size }, (_, i) => ({ topic: 't', payload: PAYLOAD, ...optionsFor(from + i) })),
    )
  }
}

async function placeSingle(queue) {
  for (let from = 0; from < COUNT; from += 100) {
    await Promise.all(
      Array.from({ length: Math.min(100, COUNT - from) }, () => queue.produce('t', PAYLOAD, { delay: '1h' })),
    )
  }
}

const rows = []
const perSecond = (seconds) => `${Math.round(COUNT / seconds).toLocaleString('en')} /s`

{
  const queue = new Punctual('memory:')
  await queue.stats()
  const before = usedBytes()
  const seconds = await timed(() => placeBulk(queue, (i) => ({ delay: 3_600_000 + (i % 3_600_000) })))
  const bytes = (usedBytes() - before) / COUNT
  const { counts } = await queue.stats()
  verify(counts.delayed === COUNT, `${counts.delayed} delayed, ${COUNT} placed`)
  rows.push([
    'placed with produceMany',
    perSecond(seconds),
    `${((seconds * 1e6) / COUNT).toFixed(2)} µs each`,
  ])
  rows.push([
    'bytes per pending message',
    `${Math.round(bytes)}`,
    `${Math.round(bytes - BODY_BYTES)} beyond the body of ${BODY_BYTES}${global.gc ? '' : ' (run with --expose-gc)'}`,
  ])
  await queue.stop()
}
{
  const queue = new Punctual('memory:')
  await queue.stats()
  const seconds = await timed(() => placeSingle(queue))
  const { counts } = await queue.stats()
  verify(counts.delayed === COUNT, `${counts.delayed} delayed, ${COUNT} placed`)
  rows.push([
    'placed by single calls, 100 in flight',
    perSecond(seconds),
    `${((seconds * 1e6) / COUNT).toFixed(2)} µs each`,
  ])
  await queue.stop()
}
{
  const queue = new Punctual('memory:')
  await placeBulk(queue, () => ({}))
  const seen = new Uint8Array(COUNT)
  let started = 0
  const seconds = await timed(
    () =>
      new Promise((resolve) => {
        queue.handle('t', async () => {
          seen[started] += 1
          started += 1
          if (started === COUNT) resolve()
        })
        void queue.start()
      }),
  )
  const report = await queue.stop()
  verify(started === COUNT && report.abandoned === 0, `${started} of ${COUNT} handled`)
  rows.push([
    'delivered to a no-op handler',
    perSecond(seconds),
    `${((seconds * 1e6) / COUNT).toFixed(2)} µs each`,
  ])
}

{
  const store = new MemoryStore(systemClock)
  for (let from = 0; from < COUNT; from += BATCH) {
    const size = Math.min(BATCH, COUNT - from)
    const fields = { topic: 't', body: '', meta: '', priority: 1, ifExists: 'keep' }
    await store.put(
      Array.from({ length: size }, (_, i) => ({
        id: `m${from + i}`,
        when: { delayMs: delayOf(from + i) },
        ...fields,
      })),
    )
  }
  const beganAt = systemClock.now()
  const edges = Array.from({ length: 1_001 }, (_, i) => beganAt + i * 7_300)
  const looks = {
    'totals (count)': () => store.count(),
    'forecast of 1,000 bars': () => store.forecast({ edges }),
  }
  for (const [name, look] of Object.entries(looks)) {
    const times = []
    for (let i = 0; i < 9; i += 1) times.push(1_000 * (await timed(look)))
    const [first] = times
    const median = times.toSorted((a, b) => a - b)[4]
    rows.push([name, `${median.toFixed(2)} ms`, `the first ${first.toFixed(2)} ms`])
  }
  const { counts } = await store.forecast({ edges })
  const sum = counts.reduce((total, bar) => total + bar, 0)
  verify(Math.abs(sum - COUNT) <= COUNT / 50, `${sum} in the bars of ${COUNT}`)
}

const [{ model }] = cpus()
console.log(
  `\nmemory engine, ${COUNT.toLocaleString('en')} messages, ${cpus().length} x ${model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}\n`,
)
console.log('| | | |\n|---|---:|---|')
for (const row of rows) console.log(`| ${row.join(' | ')} |`)
