import { test } from 'vitest'
import { expectLeftoversGoneAt } from '../sql/leftovers.ts'
import { freshDatabase, isMysqlThere, queryAt } from './server.ts'
import { storeAt } from './stores.ts'

test.skipIf(!isMysqlThere)(
  'remembered ids and workers whose time is over leave, of their own queue only',
  async () => {
    const url = await freshDatabase()
    await expectLeftoversGoneAt({
      storeAt: (queue, now) => storeAt(url, queue, { now }),
      query: (text) => queryAt(url, text),
      prefix: 'punctual_',
    })
  },
)
