/** What older versions would not keep as it was meant keeps them out of these tables from then on. */
import { expect, it, onTestFinished } from 'vitest'
import { Punctual } from '../../../src/index.ts'
import { PostgresDatabase } from './server.ts'

const WITHIN = { from: '08:00', to: '20:00', zone: 'UTC' } as const
const DAILY = { topic: 't', cron: '0 9 * * *' } as const

type Case = readonly [what: string, act: (queue: Punctual) => Promise<unknown>, oldest: number]

it.each<Case>([
  ['plain messages and schedules', plain, 1],
  ['a key', (queue) => queue.produce('t', 1, { key: 'k' }), 3],
  ['a window', (queue) => queue.produce('t', 1, { within: WITHIN }), 3],
  ['a follow-up with a window', followUp, 3],
  ['a schedule of some days', (queue) => queue.schedules.set('s', { ...DAILY, days: 'mon-fri' }), 3],
  ['a schedule with exceptions', (queue) => queue.schedules.set('s', { ...DAILY, except: '12-25' }), 3],
  ['occurrences with a window', (queue) => queue.schedules.set('s', { ...DAILY, within: WITHIN }), 3],
])('the oldest version that may open them, after %s', async (_, act, oldest) => {
  const server = await PostgresDatabase.make()
  const queue = new Punctual({ store: server.url, logger: false })
  onTestFinished(async () => void (await queue.stop()))
  await act(queue)
  const [row] = await server.query('select max(oldest)::int as oldest from punctual.migration')
  expect(row?.['oldest']).toBe(oldest)
})

/** What looks like ours inside a payload is none of it. */
async function plain(queue: Punctual): Promise<void> {
  await queue.produce('t', { within: [WITHIN] }, { ttl: '1h' })
  const payload = { rhythm: { days: 'mon', except: [] }, meta: '{"within":[1]}' }
  await queue.schedules.set('s', { ...DAILY, payload })
}

async function followUp(queue: Punctual): Promise<void> {
  const done = new Promise((resolve) => queue.on('completed', resolve))
  queue.handle('t', ({ followUp: attach }) => void attach('t', 2, { delay: '1h', within: WITHIN }))
  await queue.produce('t', 1)
  await queue.start()
  await done
}
