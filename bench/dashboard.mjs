// The dashboard: how soon it is there, and what it costs to be looked at.
//   npm run bench:dashboard -- [--parts first,watched] [--engines memory,file,redis,postgres] [--pending 1000000] [--rounds 7]
// `first` is the first view, cold: from the address to the counts and the bars of the coming day, drawn, behind a long backlog.
// Each round is a browser context of its own with nothing cached, and the server is a process of its own, as users have it.
// Told are the median, and the quickest and slowest. `watched` is in watched.mjs.
import { spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import { startDashboard } from './dashboard-server.mjs'
import { startPostgres, urlFor } from './postgres-server.mjs'
import { freePort, scratchDirectory, startRedis } from './servers.mjs'
import { watched } from './watched.mjs'

const { values } = parseArgs({
  options: {
    parts: { type: 'string', default: 'first,watched' },
    engines: { type: 'string', default: 'memory,file,redis,postgres' },
    pending: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '7' },
    messages: { type: 'string', default: '20000' },
  },
})
const PENDING = Number(values.pending)
const ROUNDS = Number(values.rounds)
const QUEUE = 'orders'

/** Bars and counts, and a frame later: on the screen. The page looks itself, because a driver looks now and then. */
const TELL_WHEN_DRAWN = `new MutationObserver((_, observer) => {
  const isCounted = [...document.querySelectorAll('.counts .figure')].every(({ textContent }) => textContent !== '…')
  if (document.querySelector('.histogram .stored') === null || !isCounted) return
  observer.disconnect()
  requestAnimationFrame(() => setTimeout(() => tellDrawn(performance.now())))
}).observe(document, { childList: true, subtree: true, characterData: true })`

const executablePath = spawnSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).stdout.trim()
const browserProcess = await chromium.launchServer({ executablePath })
const browser = await chromium.connect(browserProcess.wsEndpoint())
const engines = values.engines.split(',')
const parts = values.parts.split(',')
if (parts.includes('first')) for (const engine of engines) await first(engine)
// Where the messages live in the server's own memory, no worker is in another process.
if (parts.includes('watched')) {
  // People's browsers run on their own machines: here they draw when nobody else wants the core.
  spawnSync('renice', ['-n', '19', '-g', String(browserProcess.process().pid)])
  for (const engine of engines.filter((name) => name !== 'memory'))
    await watched(browser, engine, { rounds: ROUNDS, messages: Number(values.messages) })
}
await browserProcess.close()

async function first(engine) {
  const { url, close } = await open(engine)
  const dashboard = await startDashboard({ url, queue: QUEUE, pending: PENDING })
  const times = []
  for (let round = 0; round < ROUNDS; round += 1) times.push(await firstView(dashboard.ui))
  times.sort((a, b) => a - b)
  const [quickest, median, slowest] = [times[0], times[Math.floor(times.length / 2)], times.at(-1)].map(
    Math.round,
  )
  console.log(`${engine}, ${PENDING} pending: first view ${median} ms (${quickest} to ${slowest})`)
  await dashboard.stop()
  await close()
}

async function firstView(ui) {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 900 } })
  let drawn
  const whenDrawn = new Promise((resolve) => {
    drawn = resolve
  })
  await context.exposeBinding('tellDrawn', (_, at) => drawn(at))
  await context.addInitScript(TELL_WHEN_DRAWN)
  const page = await context.newPage()
  await page.goto(ui, { waitUntil: 'commit' })
  const time = await whenDrawn
  const shown = await page.locator('.counts .figure').first().textContent()
  if (shown !== PENDING.toLocaleString('en-US'))
    throw new Error(`${shown} are shown as delayed, not ${PENDING}`)
  await context.close()
  return time
}

async function open(engine) {
  if (engine === 'memory') return { url: 'memory:', close: async () => {} }
  if (engine === 'file') {
    const { directory, stop } = scratchDirectory()
    return { url: `file:${directory}`, close: stop }
  }
  const server = engine === 'redis' ? await startRedis() : await startPostgres(freePort)
  const url = engine === 'redis' ? `redis://127.0.0.1:${server.port}` : urlFor(server)
  return { url, close: () => server.stop() }
}
