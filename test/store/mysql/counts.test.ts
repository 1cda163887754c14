import { onTestFinished, test } from 'vitest'
import type { Statement } from '../../../src/store/mysql/sql/statement.ts'
import type { Rows } from '../../../src/store/mysql/transactions.ts'
import { fold } from '../../../src/store/mysql/upkeep.ts'
import { expectTrueCounts } from '../sql/counts.ts'
import { expectEstimates } from '../sql/long-forecast.ts'
import { connectionTo, freshDatabase, isMysqlThere, queryAt } from './server.ts'
import { storeAt } from './stores.ts'

const DEADLOCK = 1213

/** As a process of its own does it: a transaction that met another in the wrong order begins again. */
async function foldAt(url: string, size: number): Promise<number> {
  try {
    return await foldOnce(url, size)
  } catch (error) {
    if ((error as { errno?: number }).errno !== DEADLOCK) throw error
    return foldAt(url, size)
  }
}

async function foldOnce(url: string, size: number): Promise<number> {
  const connection = await connectionTo(url)
  const send = async (...statements: readonly Statement[]): Promise<Rows[]> => {
    const replies: Rows[] = []
    for (const { text, values } of statements) replies.push(await connection.query(text, values))
    return replies
  }
  try {
    await connection.beginTransaction()
    const folded = await fold({ send, commit: send }, size)
    await connection.commit()
    return folded
  } finally {
    await connection.end()
  }
}

test.skipIf(!isMysqlThere)(
  'counts: folded or not, whatever happened, and whoever folds at the same time',
  async () => {
    const url = await freshDatabase()
    const store = storeAt(url, 'counts')
    onTestFinished(() => store.close())
    await store.open()
    await expectTrueCounts({
      store,
      prefix: 'punctual_',
      afterOwn: '0x02',
      query: (text) => queryAt(url, text),
      fold: (size) => foldAt(url, size),
    })
  },
)

test.skipIf(!isMysqlThere)('a forecast of a very long queue is an estimate', async () => {
  const url = await freshDatabase()
  const store = storeAt(url, 'long')
  onTestFinished(() => store.close())
  await store.open()
  const query = (text: string): Promise<unknown> => queryAt(url, text)
  await expectEstimates({ store, prefix: 'punctual_', nextSeq: undefined, query })
})
