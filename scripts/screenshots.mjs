// The pictures in docs/images, of a real server and a real browser: npm run docs:screenshots
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { ROOT, buildIfStale, installDependencies, installPrograms } from './setup.mjs'

installDependencies()
installPrograms()
buildIfStale()
const { Punctual } = await import('../dist/index.js')
const { serve } = await import('../dist/doors/http/index.js')

const HOUR = 3_600_000
const IMAGES = join(ROOT, 'docs', 'images')
const queue = new Punctual({ store: 'memory:', queue: 'orders', logger: false })
const server = serve({ queues: [queue], logger: false })
await fill()
const { port } = await server.listen({ port: 0 })
const ui = `http://127.0.0.1:${port}/ui/orders`
const executablePath = spawnSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).stdout.trim()
const browser = await chromium.launch({ executablePath })
mkdirSync(IMAGES, { recursive: true })
await shoot('now', '?zone=utc', { width: 1_280, height: 900 })
await shoot('message', '/messages/mail-lonely?zone=utc', { width: 1_280, height: 900 })
await shoot('dead-narrow', '/dead?zone=utc', { width: 360, height: 700 })
await browser.close()
await server.close()
await queue.stop()

async function shoot(name, path, { width, height }) {
  const page = await browser.newPage({ viewport: { width, height } })
  await page.goto(ui + path)
  await page.locator('h1').first().waitFor()
  await page.waitForTimeout(2_500)
  await page.screenshot({ path: join(IMAGES, `${name}.png`) })
  await page.close()
  console.log(`docs/images/${name}.png`)
}

/** Days have quiet and busy hours. */
function waves(hours) {
  return 1.2 + Math.sin((hours / 24) * 2 * Math.PI - 2)
}

async function fill() {
  const now = Date.now()
  const nine = Math.ceil(now / HOUR) * HOUR + 9 * HOUR
  const messages = []
  for (let i = 0; messages.length < 60_000; i += 1) {
    const hours = ((i * 7_919) % 24_000) / 1_000
    if (((i * 104_729) % 1_000) / 455 > waves(hours)) continue
    const topic = ['mail.send', 'mail.send', 'order.close', 'invoice.remind'][i % 4]
    messages.push({ topic, payload: { order: i }, at: now + 60_000 + hours * HOUR })
  }
  for (let i = 0; i < 40_112; i += 1)
    messages.push({ topic: 'mail.send', payload: { digest: i }, at: nine + (i % 240_000) })
  for (let from = 0; from < messages.length; from += 10_000)
    await queue.produceMany(messages.slice(from, from + 10_000))
  queue.handle('order.ship', () => Promise.resolve(), { concurrency: 200 })
  queue.handle('mail.bounce', () => Promise.reject(new Error('connect ETIMEDOUT 10.0.0.7:25')), {
    retry: { limit: 0 },
  })
  queue.handle('invoice.print', () => Promise.reject(new Error('the printer is out of paper')), {
    retry: { limit: 0 },
  })
  await queue.start()
  await queue.produceMany([
    ...Array.from({ length: 9_000 }, (_, i) => ({ topic: 'order.ship', payload: { i }, delay: i })),
    ...Array.from({ length: 9 }, (_, i) => ({
      topic: 'mail.bounce',
      id: `mail-${i}`,
      payload: { i },
      delay: i,
    })),
    ...Array.from({ length: 3 }, (_, i) => ({
      topic: 'invoice.print',
      id: `inv-${i}`,
      payload: { i },
      delay: i,
    })),
    {
      topic: 'mail.urgent',
      id: 'mail-lonely',
      tag: ['order-42', 'customer-7'],
      payload: {
        to: 'ann@acme.example',
        subject: 'Your order 42 is on its way',
        items: [{ sku: 'A-1', n: 2 }],
      },
      ttl: '1h',
      retry: { limit: 3, delays: ['1m', '5m'] },
      delay: 0,
    },
  ])
  await queue.schedules.set('digest', {
    topic: 'mail.digest',
    cron: '0 9 * * mon-fri',
    zone: 'Europe/Berlin',
  })
  await queue.schedules.set('sweep', { topic: 'order.sweep', every: '5m' })
  await queue.pause('order.close')
  await queue.limit('invoice.remind', { rate: '100/1m', concurrency: 4 })
  await new Promise((resolve) => setTimeout(resolve, 13_000))
}
