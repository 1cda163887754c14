import { afterAll, beforeAll, test } from 'vitest'
import { assertRandomLives } from '../random-life.ts'
import { RedisServer } from './server.ts'
import { freshQueue, storeAt } from './stores.ts'

let server: RedisServer
beforeAll(async () => {
  server = await RedisServer.start()
})
afterAll(() => server?.stop())

test('P1 to P8: a random life goes the same way in Redis as in the model', { timeout: 3_600_000 }, () =>
  assertRandomLives(async (now) => {
    const store = storeAt(server.url, freshQueue(), { now })
    await store.open()
    return store
  }),
)
