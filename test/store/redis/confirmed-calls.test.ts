import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { ConfirmedCalls } from '../../../src/store/redis/replicated/confirmed-calls.ts'
import { connectTo } from '../../../src/store/redis/link/connection.ts'
import { CALLS_MAX, Link } from '../../../src/store/redis/link/link.ts'
import { parseRedisUrl } from '../../../src/store/redis/address/url.ts'
import { RedisServer } from './server.ts'
import { context } from './stores.ts'

const TIMEOUT_MS = 30_000
const FENCE_AND_WAIT = 2

let server: RedisServer
beforeAll(async () => {
  server = await RedisServer.start()
})
afterAll(() => server?.stop())

test('P10: of more calls than there is room for, those that are too many are refused, and the others confirmed', async () => {
  const timeouts = { connectTimeoutMs: TIMEOUT_MS, callTimeoutMs: TIMEOUT_MS }
  const connect = connectTo(parseRedisUrl(server.url).address)
  const common = { ...context(), ...timeouts, server: server.url }
  const link = new Link({ ...common, name: 'test', connect })
  // No replica is needed to confirm it: this is about numbers.
  const calls = new ConfirmedCalls(link, {
    ...common,
    fencesMax: 1,
    replicas: 0,
    timeoutMs: 1000,
  })
  onTestFinished(() => calls.close())
  const answers = await Promise.allSettled(
    Array.from({ length: CALLS_MAX }, () => calls.call(['INCR', 'number'], ['fence', 'fences'])),
  )
  const refused = answers.filter(({ status }) => status === 'rejected')
  expect(refused).toHaveLength(FENCE_AND_WAIT)
  expect(refused[0]).toMatchObject({
    reason: { code: 'STORE_UNAVAILABLE', message: expect.stringContaining('wait for replicas') as string },
  })
  expect(await server.admin(['GET', 'number'])).toBe(String(CALLS_MAX - FENCE_AND_WAIT))
})
