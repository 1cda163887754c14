import { onTestFinished, test } from 'vitest'
import { expectLeftoversGone } from '../sql/leftovers.ts'
import { PostgresServer } from './server.ts'
import { storeAt } from './stores.ts'

test('remembered ids and workers whose time is over leave, of their own queue only', async () => {
  const server = await PostgresServer.start()
  onTestFinished(() => server.stop())
  let now = Date.now()
  const stores = ['a', 'b'].map((queue) => storeAt(server.url, queue, { now: () => now }))
  for (const store of stores) {
    onTestFinished(() => store.close())
    await store.open()
  }
  await expectLeftoversGone({
    stores,
    advance: async (ms) => void (now += ms),
    rows: async (text) =>
      (await server.query(text)).map((row) => `${String(row['queue_name'])} ${String(row['its'])}`),
    prefix: 'punctual.',
    workers: 'worker',
    worker: 'owner',
  })
})
