// What it costs to be looked at: W2 (messages due evenly over ten seconds, a worker in another process) alone, and beside five
// dashboards in a browser and 200 listeners, in turn. Every message is handled exactly once and every dashboard ends with the
// right count, or there is no figure. Calls of the server's store are counts, and right on a busy machine as well; lateness is
// worth something on a quiet one only. The browser has the lowest priority there: it draws five pages on the worker's cores.
import { get } from 'node:http'
import { load } from './contestants/index.mjs'
import { startDashboard } from './dashboard-server.mjs'
import { urlFor as postgresUrl } from './postgres-server.mjs'
import { openStage, pause } from './stage.mjs'

const DASHBOARDS = 5
const LISTENERS = 200
/** Not due for days: what the dashboards must show as delayed in the end. */
const LATER = 7
const OVER_MS = 10_000
const HEADSTART_MS = 1_500
const PATIENCE_MS = 60_000

const URLS = {
  redis: ({ port }) => `redis://127.0.0.1:${port}`,
  postgres: postgresUrl,
  file: ({ directory }) => `file:${directory}`,
}

export async function watched(browser, engine, { rounds, messages }) {
  const stage = await openStage(await load(`punctual-${engine}`))
  const about = { url: URLS[engine](stage.server), queue: stage.queue, pending: LATER }
  const dashboard = await startDashboard(about)
  await stage.openWorkers()
  const results = { none: [], watched: [] }
  for (let round = 0; round < rounds; round += 1) {
    results.none.push(await onTime(stage, dashboard, messages))
    results.watched.push(await whileWatched(browser, dashboard, () => onTime(stage, dashboard, messages)))
  }
  for (const [name, all] of Object.entries(results)) tell(`${engine}, ${name}`, all)
  await dashboard.stop()
  await stage.close()
}

async function onTime(stage, dashboard, size) {
  const at = Math.ceil(Date.now() / 1_000) * 1_000 + HEADSTART_MS + size / 20
  const due = { kind: 'spread', at, overMs: OVER_MS, count: size }
  await stage.producer.ask('produceBulk', { from: 0, size, due })
  const [before, startedAt] = [await dashboard.calls(), performance.now()]
  const { lateness } = await stage.account(size)
  const seconds = (performance.now() - startedAt) / 1_000
  const after = await dashboard.calls()
  const perSecond = Object.entries(after).map(([verb, calls]) => [
    verb,
    (calls - (before[verb] ?? 0)) / seconds,
  ])
  return { ...lateness, perSecond: new Map(perSecond.filter(([, calls]) => calls > 0)) }
}

async function whileWatched(browser, dashboard, work) {
  // A browser opens six connections to a server, and each dashboard holds one: five people have a browser each.
  const people = await Promise.all(
    Array.from({ length: DASHBOARDS }, () => browser.newContext({ viewport: { width: 1_280, height: 900 } })),
  )
  const pages = await Promise.all(people.map((person) => person.newPage()))
  for (const page of pages) {
    await page.goto(dashboard.ui)
    await page.locator('.histogram').first().waitFor()
  }
  const listeners = Array.from({ length: LISTENERS }, () => listen(dashboard.events))
  try {
    const result = await work()
    for (const page of pages)
      await page
        .locator('.counts .figure', { hasText: new RegExp(`^${LATER}$`) })
        .first()
        .waitFor({ timeout: PATIENCE_MS })
    if (listeners.some(({ bytes }) => bytes === 0)) throw new Error('a listener heard nothing')
    return result
  } finally {
    for (const { request } of listeners) request.destroy()
    await Promise.all(people.map((person) => person.close()))
    await pause(500)
  }
}

function listen(url) {
  const listener = { bytes: 0 }
  listener.request = get(url, { agent: false }, (response) => {
    response.on('data', (chunk) => {
      listener.bytes += chunk.length
    })
    response.on('error', () => {})
  })
  listener.request.on('error', () => {})
  return listener
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]

function tell(name, results) {
  const [p50, p99] = ['p50', 'p99'].map((share) => results.map((result) => result[share]))
  const verbs = new Set(results.flatMap(({ perSecond }) => [...perSecond.keys()]))
  const rates = [...verbs].map((verb) => [
    verb,
    median(results.map(({ perSecond }) => perSecond.get(verb) ?? 0)),
  ])
  const all = median(results.map(({ perSecond }) => [...perSecond.values()].reduce((a, b) => a + b, 0)))
  const spread = `${Math.min(...p99).toFixed(2)} to ${Math.max(...p99).toFixed(2)}`
  console.log(
    `${name}: late p50 ${median(p50).toFixed(2)} ms, p99 ${median(p99).toFixed(2)} ms (${spread}); store calls ${all.toFixed(2)}/s ` +
      `(${rates.map(([verb, rate]) => `${verb} ${rate.toFixed(2)}`).join(', ')})`,
  )
}
