/** What older versions would not keep as it was meant keeps them out of the store from then on. */
import { expect, it, onTestFinished } from 'vitest'
import { Punctual } from '../../src/index.ts'

const WITHIN = { from: '08:00', to: '20:00', zone: 'UTC' } as const
const DAILY = { topic: 't', cron: '0 9 * * *' } as const

/** A store of its own; whether versions without keys and windows are kept out of it. */
export type MarkedStore = { readonly url: string; readonly isMarked: () => Promise<boolean> }

type Act = (queue: Punctual) => Promise<unknown>

const MARKING: Readonly<Record<string, Act>> = {
  'a key': (queue) => queue.produce('t', 1, { key: 'k' }),
  'a window': (queue) => queue.produce('t', 1, { within: WITHIN }),
  'a follow-up with a window': followUp,
  'a schedule of some days': (queue) => queue.schedules.set('s', { ...DAILY, days: 'mon-fri' }),
  'a schedule with exceptions': (queue) => queue.schedules.set('s', { ...DAILY, except: '12-25' }),
  'occurrences with a window': (queue) => queue.schedules.set('s', { ...DAILY, within: WITHIN }),
}

export function testMarking(open: () => Promise<MarkedStore>): void {
  it.each(Object.entries(MARKING))('the store is marked by %s', async (_, act) => {
    const { url, isMarked } = await open()
    const queue = new Punctual({ store: url, logger: false })
    onTestFinished(async () => void (await queue.stop()))
    await plain(queue)
    expect(await isMarked()).toBe(false)
    await act(queue)
    expect(await isMarked()).toBe(true)
  })
}

/** What looks like ours inside a payload is none of it. */
async function plain(queue: Punctual): Promise<void> {
  await queue.produce('plain', { within: [WITHIN] }, { ttl: '1h' })
  const payload = { rhythm: { days: 'mon', except: [] }, meta: '{"within":[1]}' }
  await queue.schedules.set('plain', { ...DAILY, payload })
}

async function followUp(queue: Punctual): Promise<void> {
  const done = new Promise((resolve) => queue.on('completed', resolve))
  queue.handle('t', ({ followUp: attach }) => void attach('t', 2, { delay: '1h', within: WITHIN }))
  await queue.produce('t', 1)
  await queue.start()
  await done
}
