import { beforeAll, onTestFinished, test } from 'vitest'
import { expectTrueCounts } from '../sql/counts.ts'
import { expectEstimates } from '../sql/long-forecast.ts'
import { PostgresDatabase } from './server.ts'
import { storeAt } from './stores.ts'

let server: PostgresDatabase
beforeAll(async () => {
  server = await PostgresDatabase.make()
})

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
  const own = await PostgresDatabase.make()
  const store = storeAt(own.url, 'long')
  onTestFinished(() => store.close())
  await store.open()
  const query = (text: string): Promise<unknown> => own.query(text)
  await expectEstimates({ store, prefix: 'punctual.', nextSeq: "nextval('punctual.seq')", query })
})
