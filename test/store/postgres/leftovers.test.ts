import { test } from 'vitest'
import { expectLeftoversGoneAt } from '../sql/leftovers.ts'
import { PostgresDatabase } from './server.ts'
import { storeAt } from './stores.ts'

test('remembered ids and workers whose time is over leave, of their own queue only', async () => {
  const server = await PostgresDatabase.make()
  await expectLeftoversGoneAt({
    storeAt: (queue, now) => storeAt(server.url, queue, { now }),
    query: (text) => server.query(text),
    prefix: 'punctual.',
  })
})
