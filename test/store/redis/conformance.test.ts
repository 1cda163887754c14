import { afterAll, beforeAll, describe, it } from 'vitest'
import { conformance } from '../../../src/testing/conformance/index.ts'
import { RedisServer } from './server.ts'
import { freshQueue, storeAt } from './stores.ts'

let server: RedisServer
beforeAll(async () => {
  server = await RedisServer.start()
})
afterAll(() => server?.stop())

conformance(
  'redis',
  async () => {
    const queue = freshQueue()
    let now = Date.UTC(2030, 0, 1)
    const open = async () => {
      const store = storeAt(server.url, queue, { now: () => now })
      await store.open()
      return store
    }
    const stores = [await open()]
    const [store] = stores
    if (store === undefined) throw new Error('unreachable')
    return {
      store,
      advance: async (ms) => {
        now += ms
      },
      another: async () => {
        const another = await open()
        stores.push(another)
        return another
      },
      close: async () => {
        await Promise.all(stores.map((one) => one.close()))
      },
    }
  },
  { describe, it },
)
