/**
 * One message of a crowd ends every process that runs it. All that were in hand with it lapse together; the more often a
 * message lapsed, the fewer of its like run beside it, so that the poison dies nearly alone.
 */
import { describe, expect, it } from 'vitest'
import { Punctual } from '../../src/index.ts'
import { until } from '../store/redis/until.ts'
import { Child } from './child.ts'
import { SHARED_ENGINES } from './engines.ts'

const QUEUE = 'poisoned'
const CROWD = 80
const OPTIONS = { lease: '2s', fallback: '500ms', concurrency: 100, retry: { delays: [1_000, 1_500, 2_000] } }

describe.each(SHARED_ENGINES)('a poison on $name', ({ open }) => {
  it.each([1, 3])(
    'P6: dies by its own limit, and takes at most two of eighty with it: %i workers',
    async (workers) => {
      const store = await open()
      const queue = new Punctual({ store, queue: QUEUE, logger: false })
      const messages = Array.from({ length: CROWD + 1 }, (_, i) => ({
        topic: 'crowd',
        id: i === CROWD / 2 ? 'poison' : `innocent-${i}`,
        payload: i === CROWD / 2 ? 'poison' : i,
      }))
      await queue.produceMany(messages)
      const over = new AbortController()
      let crashes = -workers
      const live = async (): Promise<void> => {
        while (!over.signal.aborted) {
          crashes += 1
          const child = new Child('crowd.mjs', { store, queue: QUEUE, slowMs: 2_000, options: OPTIONS })
          children.add(child)
          await child.exited()
          children.delete(child)
        }
      }
      const children = new Set<Child>()
      const lives = Array.from({ length: workers }, live)
      await until('all have ended', async () => {
        const { dead, ...others } = (await queue.stats()).counts
        return dead > 0 && Object.values(others).every((n) => n === 0)
      })
      const dead = (await queue.list({ state: 'dead', limit: 100 })).items
      over.abort()
      for (const child of children) child.signal('SIGTERM')
      await Promise.all(lives)
      await queue.stop()
      expect(dead.find(({ id }) => id === 'poison')).toMatchObject({ attempt: 4 })
      expect(dead.length).toBeLessThanOrEqual(1 + 2)
      expect(crashes).toBe(4)
    },
    180_000,
  )
})
