/** P17 with real processes: one that holds a serial key dies or stands still, and the key goes on when its lease has ended. */
import { describe, expect, it } from 'vitest'
import { Punctual, UsageError } from '../../src/index.ts'
import { until } from '../store/redis/until.ts'
import { Child } from './child.ts'
import { SHARED_ENGINES } from './engines.ts'

const QUEUE = 'serial'
const LEASE_MS = 2_000

type Start = { readonly id: unknown; readonly at: number }

function startsOf({ lines }: Child): Start[] {
  return lines
    .filter((line) => 'start' in line)
    .map((line) => ({ id: line['start'], at: Number(line['at']) }))
}

/** False where the engine has no keys. */
async function allowOneEach(queue: Punctual): Promise<boolean> {
  try {
    await queue.limit('t', { perKey: { concurrency: 1 } })
    return true
  } catch (error) {
    if (error instanceof UsageError && error.code === 'UNSUPPORTED') return false
    throw error
  }
}

describe.each(SHARED_ENGINES)('P17: a worker on $name that holds a serial key', ({ name, open }) => {
  it.for(['SIGKILL', 'SIGSTOP'] as const)(
    'gets %s: what it ran, and then the next of the key, start elsewhere when its lease has ended',
    { timeout: 120_000 },
    async (signal, { skip }) => {
      const store = await open()
      const queue = new Punctual({ store, queue: QUEUE, logger: false })
      const options = { lease: LEASE_MS, concurrency: 4 }
      try {
        if (!(await allowOneEach(queue))) skip('it has no keys')
        const holder = new Child('controlled.mjs', { store, queue: QUEUE, slowMs: 600_000, options })
        await holder.said('ready')
        await queue.produce('t', {}, { id: 'held', key: 'k' })
        await holder.said('start')
        const other = new Child('controlled.mjs', { store, queue: QUEUE, slowMs: 1, options })
        await other.said('ready')
        // Its last extension may have put this off further, never nearer.
        const endsAt = (await queue.get('held'))?.leaseEndsAt ?? Infinity
        const killedAt = Date.now()
        holder.signal(signal)
        await queue.produce('t', {}, { id: 'next', key: 'k' })
        await until('the next of the key was started', () => startsOf(other).some(({ id }) => id === 'next'))
        const starts = startsOf(other)
        expect(starts.map(({ id }) => id)).toEqual(['held', 'next'])
        // On files a process that is proved dead has no lease any more.
        const isProvedDead = name === 'file' && signal === 'SIGKILL'
        expect(starts[0]?.at).toBeGreaterThanOrEqual(isProvedDead ? killedAt : endsAt)
        holder.signal('SIGCONT')
        await until('all is done', async () => (await queue.get('next')) === undefined)
        expect(await queue.get('held')).toBeUndefined()
      } finally {
        await queue.stop()
      }
    },
  )
})
