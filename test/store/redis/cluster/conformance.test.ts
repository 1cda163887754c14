/** Each partition keeps the whole contract, through the router of a real cluster. */
import { afterAll, beforeAll, describe, it } from 'vitest'
import { conformance } from '../../../../src/testing/conformance/index.ts'
import type { Store } from '../../../../src/store/contract/store.ts'
import { freshQueue, storeAt } from '../stores.ts'
import { RedisCluster } from './servers.ts'

let cluster: RedisCluster
beforeAll(async () => {
  cluster = await RedisCluster.start()
})
afterAll(() => cluster?.stop())

let tests = 0

conformance(
  'a partition of a redis cluster',
  async () => {
    const queue = freshQueue()
    tests += 1
    const partition = tests % 3
    let now = Date.UTC(2030, 0, 1)
    const stores: Store[] = []
    const open = async (): Promise<Store> => {
      const store = storeAt(cluster.url('?partitions=3'), queue, { now: () => now })
      stores.push(store)
      await store.open()
      return store.partitions?.stores[partition] as Store
    }
    return {
      store: await open(),
      advance: async (ms) => {
        now += ms
      },
      another: open,
      close: async () => {
        await Promise.all(stores.map((one) => one.close()))
      },
    }
  },
  { describe, it },
)
