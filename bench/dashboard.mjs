// The first view of the dashboard, cold: from the address to the bars of the coming day, behind a long backlog.
//   node scripts/build.mjs && node bench/dashboard.mjs [--pending 1000000] [--engines memory,file,redis] [--rounds 7]
// Each round is a browser context of its own, with nothing cached. Told is the median, and the quickest and slowest.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import { serve } from '../dist/doors/http/index.js'
import { Punctual } from '../dist/index.js'
import { startRedis } from './servers.mjs'

const { values } = parseArgs({
  options: {
    pending: { type: 'string', default: '1000000' },
    engines: { type: 'string', default: 'memory,file,redis' },
    rounds: { type: 'string', default: '7' },
  },
})
const PENDING = Number(values.pending)
const DAY_MS = 86_400_000
const BATCH = 10_000

const executablePath = spawnSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).stdout.trim()
const browser = await chromium.launch({ executablePath })
for (const engine of values.engines.split(',')) await measure(engine)
await browser.close()

async function measure(engine) {
  const { store, close } = await open(engine)
  const queue = new Punctual({ store, queue: 'orders', logger: false })
  const now = Date.now()
  for (let from = 0; from < PENDING; from += BATCH)
    await queue.produceMany(
      Array.from({ length: Math.min(BATCH, PENDING - from) }, (_, i) => ({
        topic: `topic-${i % 5}`,
        payload: { number: from + i },
        at: now + 60_000 + Math.floor(Math.random() * 30 * DAY_MS),
      })),
    )
  const server = serve({ queues: [queue], logger: false })
  const { port } = await server.listen({ port: 0 })
  const times = []
  for (let round = 0; round < Number(values.rounds); round += 1) times.push(await firstView(port))
  const sorted = times.toSorted((a, b) => a - b).map(Math.round)
  console.log(
    `${engine}, ${PENDING} pending: first view ${sorted[Math.floor(sorted.length / 2)]} ms (${sorted[0]} to ${sorted.at(-1)})`,
  )
  await server.close()
  await queue.stop()
  await close()
}

async function firstView(port) {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 900 } })
  const page = await context.newPage()
  await page.goto(`http://127.0.0.1:${port}/ui/orders`, { waitUntil: 'commit' })
  await page.locator('.histogram .stored').first().waitFor()
  const time = await page.evaluate('performance.now()')
  await context.close()
  return time
}

async function open(engine) {
  if (engine === 'memory') return { store: 'memory:', close: async () => {} }
  if (engine === 'file') {
    const directory = mkdtempSync(join(tmpdir(), 'punctual-bench-'))
    return {
      store: `file:${directory}`,
      close: async () => rmSync(directory, { recursive: true, force: true }),
    }
  }
  const server = await startRedis()
  return { store: `redis://127.0.0.1:${server.port}`, close: () => server.stop() }
}
