import { afterAll, beforeAll, test } from 'vitest'
import { expectTrueCounts } from '../sql/counts.ts'
import { PostgresServer } from './server.ts'
import { storeAt } from './stores.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await PostgresServer.start({ settings: ['fsync = off'] })
})
afterAll(() => server?.stop())

test('counts: folded or not, whatever happened, and whoever folds at the same time', async () => {
  const store = storeAt(server.url, 'counts')
  await store.open()
  await expectTrueCounts({
    store,
    prefix: 'punctual.',
    afterOwn: "E'\\x02'",
    query: (text) => server.query(text),
    fold: async (size) => Number((await server.query(`select punctual.fold_1(${size}) as n`))[0]?.['n']),
  })
  await store.close()
})
