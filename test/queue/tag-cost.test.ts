/** P10: what a tag costs does not depend on what else is in the queue. Counted, not timed. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { Punctual } from '../../src/index.ts'
import type { Page, Store } from '../../src/store/contract/store.ts'
import { StoreWrapper, type StoreVerb } from '../../src/store/contract/verbs.ts'
import { MemoryStore } from '../../src/store/memory/store.ts'
import { RedisServer } from '../store/redis/server.ts'
import { freshQueue, storeAt } from '../store/redis/stores.ts'

const MILLION = 1_000_000

/** Counts the calls, and the messages that they looked at. */
class CountingStore extends StoreWrapper {
  calls: StoreVerb[] = []
  looked = 0

  override async around<T>(verb: StoreVerb, _args: readonly unknown[], call: () => Promise<T>): Promise<T> {
    this.calls.push(verb)
    const answer = await call()
    if (verb === 'inspect') this.looked += (answer as Page).scanned
    return answer
  }
}

async function fill(store: Store, count: number): Promise<void> {
  const size = 1_000
  for (let from = 0; from < count; from += 10 * size) {
    const batches = Array.from({ length: Math.min(10, Math.ceil((count - from) / size)) }, (_, batch) =>
      store.put(
        Array.from({ length: size }, (__, i) => ({
          id: `other ${from + batch * size + i}`,
          topic: 'mail.send',
          body: '{}',
          meta: '',
          priority: 1,
          when: { delayMs: 3_600_000 },
          ifExists: 'keep',
        })),
      ),
    )
    await Promise.all(batches)
  }
}

/** What `cancel({ tag })` of three messages asks of the store. */
async function costOfThree(store: Store): Promise<{ calls: readonly StoreVerb[]; looked: number }> {
  const counting = new CountingStore(store)
  const queue = new Punctual({ store: counting, logger: false })
  await queue.produceMany(
    [1, 2, 3].map((n) => ({ topic: 'order.close', payload: n, tag: 'order-42', delay: '1h' })),
  )
  counting.calls = []
  expect(await queue.cancel({ tag: 'order-42' })).toEqual({ cancelled: 3, running: 0 })
  const { calls, looked } = counting
  await queue.stop()
  return { calls, looked }
}

const COST = { calls: ['inspect', 'remove'], looked: 3 }

describe('cancelling a tag of three messages', () => {
  it('memory: behind a million others it looks at three, and at no more slots', async () => {
    const store = new MemoryStore(systemClock)
    await fill(store, MILLION)
    expect(await costOfThree(store)).toEqual(COST)
    await store.close()
  }, 300_000)

  describe('redis', () => {
    let server: RedisServer
    beforeAll(async () => {
      server = await RedisServer.start()
    })
    afterAll(() => server?.stop())

    async function commandsOf(store: Store): Promise<Record<string, number>> {
      await costOfThree(store) // The server knows the scripts afterwards.
      await server.admin(['CONFIG', 'RESETSTAT'])
      expect(await costOfThree(store)).toEqual(COST)
      const info = String(await server.admin(['INFO', 'commandstats']))
      const found = [...info.matchAll(/cmdstat_(\w+):calls=(\d+)/g)]
      return Object.fromEntries(found.map(([, name = '', calls]) => [name, Number(calls)]))
    }

    it('the server runs the same commands, as often, behind a million others as behind none', async () => {
      const [few, many] = [storeAt(server.url, freshQueue()), storeAt(server.url, freshQueue())]
      onTestFinished(async () => {
        await few.close()
        await many.close()
      })
      for (const store of [few, many]) await store.open()
      await fill(many, MILLION)
      expect(await commandsOf(many)).toEqual(await commandsOf(few))
    }, 300_000)
  })
})
