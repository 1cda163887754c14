/**
 * The whole contract on the newest PostgreSQL that is here. Where there is another, the oldest has it behind PgBouncer
 * (`pgbouncer.long.test.ts`), or here where that is missing.
 */
import { afterAll, beforeAll, describe, it } from 'vitest'
import type { Store } from '../../../src/store/contract/store.ts'
import { conformance } from '../../../src/testing/conformance/index.ts'
import { isPgBouncerThere } from './pgbouncer.ts'
import { GIVEN_URL, VERSIONS, startOrUse } from './server.ts'
import { freshQueue, storeAt } from './stores.ts'

const own = isPgBouncerThere ? [VERSIONS[0]] : [...new Set([VERSIONS[0], VERSIONS.at(-1)])]
const versions = GIVEN_URL === undefined ? own : [undefined]

describe.each(versions)('PostgreSQL %s', (version) => {
  let server: Awaited<ReturnType<typeof startOrUse>>
  beforeAll(async () => {
    server = await startOrUse(version)
  })
  afterAll(() => server?.stop())

  conformance(
    'postgres',
    async () => {
      const queue = freshQueue()
      let now = Date.UTC(2030, 0, 1)
      const open = async (): Promise<Store> => {
        const store = storeAt(server.url, queue, { now: () => now })
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
    { describe, it },
  )
})
