/** Our own process stands still, not the server: what was answered meanwhile is heard, and nothing is given up. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { Punctual } from '../../../src/index.ts'
import { message } from '../../../src/testing/conformance/stand.ts'
import { RedisServer } from './server.ts'
import { freshQueue, storeAt } from './stores.ts'

let server: RedisServer
beforeAll(async () => {
  server = await RedisServer.start()
})
afterAll(() => server?.stop())

const CALL_TIMEOUT_MS = 500

/** The whole thread: no timer fires, no socket is read. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

/** What was begun has left the process. */
async function underWay(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

async function connections(): Promise<number> {
  const stats = String(await server.admin(['INFO', 'stats']))
  return Number(/total_connections_received:(\d+)/.exec(stats)?.[1])
}

// Late by less than a second: the sockets are read first. By more: the calls have that time again.
test.each([800, 1_800])(
  'P2: %d ms of it during 50 produce: all are told that they are stored',
  async (ms) => {
    const queue = new Punctual({
      store: `${server.url}?callTimeout=${CALL_TIMEOUT_MS}ms`,
      queue: freshQueue(),
      logger: false,
    })
    onTestFinished(async () => void (await queue.stop()))
    await queue.stats()
    const before = await connections()
    // So that no answer comes before the standstill.
    await server.admin(['CLIENT', 'PAUSE', '300', 'ALL'])
    const calls = Array.from({ length: 50 }, (_, i) => queue.produce('t', i, { id: `m${i}`, delay: '1h' }))
    await underWay()
    standStill(ms)
    await expect(Promise.all(calls)).resolves.toHaveLength(50)
    expect((await queue.stats()).counts.delayed).toBe(50)
    // The two that asked the server are new; the connection of the calls is the old one.
    expect(await connections()).toBe(before + 2)
  },
)

test('the time of a standstill is given again to a server that needs it', async () => {
  const store = storeAt(server.url, freshQueue(), { callTimeout: CALL_TIMEOUT_MS })
  onTestFinished(() => store.close())
  await store.open()
  await server.admin(['CLIENT', 'PAUSE', '2500', 'ALL'])
  const call = store.put([message('a')])
  await underWay()
  standStill(2_300)
  await expect(call).resolves.toEqual(['stored'])
})

test('a connection that came about meanwhile is not made again', async () => {
  const before = await connections()
  const store = storeAt(server.url, freshQueue(), {
    connectTimeout: CALL_TIMEOUT_MS,
    callTimeout: CALL_TIMEOUT_MS,
  })
  onTestFinished(() => store.close())
  const opening = store.open()
  await new Promise((resolve) => setImmediate(resolve))
  standStill(1_800)
  await opening
  expect(await connections()).toBe(before + 2)
})

test('P11: a server that stands still itself is given up as ever', async () => {
  const store = storeAt(server.url, freshQueue(), { callTimeout: CALL_TIMEOUT_MS })
  onTestFinished(() => store.close())
  await store.open()
  server.signal('SIGSTOP')
  onTestFinished(() => server.signal('SIGCONT'))
  const call = store.put([message('a')])
  await underWay()
  standStill(1_800)
  await expect(call).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
})
