/** The whole contract on the MariaDB of this machine, or on what PUNCTUAL_TEST_MYSQL names. */
import { beforeAll, describe, it } from 'vitest'
import type { Store } from '../../../src/store/contract/store.ts'
import { conformance } from '../../../src/testing/conformance/index.ts'
import { isMysqlThere, sharedUrl } from './server.ts'
import { freshQueue, storeAt } from './stores.ts'

describe.skipIf(!isMysqlThere)('MySQL', () => {
  let url: string
  beforeAll(async () => {
    url = await sharedUrl()
  })

  conformance(
    'mysql',
    async () => {
      const queue = freshQueue()
      let now = Date.UTC(2030, 0, 1)
      const stores: Store[] = []
      const open = async (): Promise<Store> => {
        const store = storeAt(url, queue, { now: () => now })
        await store.open()
        stores.push(store)
        return store
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
})
