/**
 * Two customers on one topic: acme imports 10,000 contacts, and zoe sends a mail every 100 ms. Each mail takes 10 ms, and a hundred
 * are sent at once, so acme's take a second. How late is each customer's mail, without keys and with?
 *
 *   npm run example tenants
 *
 * Seconds pass in milliseconds here: the clock is virtual. Leave it out, and it is real.
 */
import { Punctual, type ProduceEntry } from 'punctual'
import { VirtualClock } from 'punctual/testing'

type Topics = { 'mail.send': { from: 'acme' | 'zoe' } }
type Mail = ProduceEntry<'mail.send', Topics['mail.send']>
type Late = Record<'acme' | 'zoe', number[]>

const FLOOD = 10_000
const mailOf = (from: 'acme' | 'zoe', delay: number, isKeyed: boolean): Mail => ({
  topic: 'mail.send',
  payload: { from },
  delay,
  ...(isKeyed ? { key: from } : {}),
})

async function play(isKeyed: boolean): Promise<Late> {
  const clock = new VirtualClock()
  const queue = new Punctual<Topics>({ store: 'memory:', clock, concurrency: 100 })
  const late: Late = { acme: [], zoe: [] }
  queue.handle('mail.send', async ({ payload, latenessMs }) => {
    late[payload.from].push(latenessMs)
    await new Promise<void>((done) => void clock.schedule(10, done))
  })
  await queue.produceMany(Array.from({ length: FLOOD }, () => mailOf('acme', 1_000, isKeyed)))
  await queue.produceMany(Array.from({ length: 10 }, (_, i) => mailOf('zoe', 1_005 + i * 100, isKeyed)))
  await queue.start()
  await clock.advance('6s')
  const stopping = queue.stop()
  await clock.advance('1s')
  await stopping
  return late
}

const WIDTH = 40
const WIDEST_MS = 1_000
function show(name: string, late: readonly number[]): void {
  const sorted = late.toSorted((a, b) => a - b)
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0
  const latest = sorted.at(-1) ?? 0
  const cells = (ms: number): number => Math.min(WIDTH, Math.ceil((ms / WIDEST_MS) * WIDTH))
  const bar = `${'█'.repeat(cells(median))}${'░'.repeat(cells(latest) - cells(median))}`.padEnd(WIDTH)
  console.log(`  ${name}  ${bar}  ${late.length} mails: half within ${median} ms, all within ${latest} ms`)
}

for (const [title, isKeyed] of [
  ['without keys: zoe waits behind all that acme imported', false],
  ['with { key: customer }: they take turns', true],
] as const) {
  const { acme, zoe } = await play(isKeyed)
  console.log(title)
  show('acme', acme)
  show('zoe ', zoe)
}
