import { afterAll, beforeAll, onTestFinished, test } from 'vitest'
import { expectTrueCounts } from '../sql/counts.ts'
import { expectEstimates } from '../sql/long-forecast.ts'
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

test('a forecast of a very long queue is an estimate', async () => {
  const own = await PostgresServer.start({ settings: ['fsync = off'] })
  onTestFinished(() => own.stop())
  const store = storeAt(own.url, 'long')
  onTestFinished(() => store.close())
  await store.open()
  const query = (text: string): Promise<unknown> => own.query(text)
  await expectEstimates({ store, prefix: 'punctual.', nextSeq: "nextval('punctual.seq')", query })
})
