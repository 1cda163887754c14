import { onTestFinished, test } from 'vitest'
import { expectLeftoversGone } from '../sql/leftovers.ts'
import { freshDatabase, isMysqlThere, queryAt } from './server.ts'
import { storeAt } from './stores.ts'

test.skipIf(!isMysqlThere)(
  'remembered ids and workers whose time is over leave, of their own queue only',
  async () => {
    const url = await freshDatabase()
    let now = Date.now()
    const stores = ['a', 'b'].map((queue) => storeAt(url, queue, { now: () => now }))
    for (const store of stores) {
      onTestFinished(() => store.close())
      await store.open()
    }
    await expectLeftoversGone({
      stores,
      advance: async (ms) => void (now += ms),
      rows: async (text) =>
        (await queryAt(url, text)).map((row) => `${String(row['queue_name'])} ${String(row['its'])}`),
      prefix: 'punctual_',
      workers: 'worker',
      worker: 'owner',
    })
  },
)
