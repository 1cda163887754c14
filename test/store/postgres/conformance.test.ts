/**
 * The whole contract on the newest PostgreSQL that is here. Where there is another, the oldest has it behind PgBouncer
 * (`pgbouncer.long.test.ts`), or here where that is missing.
 */
import { beforeAll, describe, it } from 'vitest'
import type { Store } from '../../../src/store/contract/store.ts'
import { conformance } from '../../../src/testing/conformance/index.ts'
import { isPgBouncerThere } from './pgbouncer.ts'
import { GIVEN_URL, PostgresDatabase, PostgresServer, VERSIONS } from './server.ts'
import { freshQueue, storeAt } from './stores.ts'

const newest = VERSIONS[0]
const older = VERSIONS.slice(1).slice(-1)
const versions = [newest, ...(isPgBouncerThere || GIVEN_URL !== undefined ? [] : older)]

describe.each(versions)('PostgreSQL %s', (version) => {
  let url: string
  beforeAll(async () => {
    if (version === undefined || version === newest) {
      url = (await PostgresDatabase.make()).url
      return undefined
    }
    const server = await PostgresServer.start({ version, settings: ['fsync = off'] })
    url = server.url
    return () => server.stop()
  })

  conformance(
    'postgres',
    async () => {
      const queue = freshQueue()
      let now = Date.UTC(2030, 0, 1)
      const open = async (): Promise<Store> => {
        const store = storeAt(url, queue, { now: () => now })
        await store.open()
        stores.push(store)
        return store
      }
      const stores: Store[] = []
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
    { describe, it: it.concurrent },
  )
})
