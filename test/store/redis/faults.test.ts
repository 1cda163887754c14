/** Broken connections and stopped servers: calls fail in time, nothing hangs, everything comes back by itself. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createClient } from 'redis'
import { UnavailableError } from '../../../src/core/errors.ts'
import { openRedisStore } from '../../../src/store/redis/open.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { claimDue, message } from '../../../src/testing/conformance/stand.ts'
import { Proxy } from './proxy.ts'
import { RedisServer } from './server.ts'
import { context, freshQueue, storeAt } from './stores.ts'
import { until } from './until.ts'

let server: RedisServer
const open = new Set<Store | Proxy>()
beforeAll(async () => {
  server = await RedisServer.start({ config: ['--enable-debug-command', 'local'] })
})
afterEach(async () => {
  for (const one of open) await one.close()
  open.clear()
})
afterAll(() => server?.stop())

const PATIENT = { callTimeout: '5s', connectTimeout: '1s' } as const
const HASTY = { callTimeout: '400ms', connectTimeout: '300ms' } as const

async function openStore(url: string, settings: typeof PATIENT | typeof HASTY = PATIENT): Promise<Store> {
  const store = storeAt(url, freshQueue(), settings)
  open.add(store)
  await store.open()
  return store
}

async function openProxy(): Promise<Proxy> {
  const proxy = await Proxy.before(server.port)
  open.add(proxy)
  return proxy
}

async function serverStat(name: string): Promise<number> {
  return Number(new RegExp(`${name}:(\\d+)`).exec(String(await server.admin(['INFO', 'stats'])))?.[1])
}

async function works(store: Store): Promise<boolean> {
  try {
    await store.put([message(`probe-${Math.random()}`)])
    return true
  } catch {
    return false
  }
}

/** Counts wake-ups; `first` has come when the subscription stands. */
async function listen(store: Store): Promise<{ readonly count: () => number }> {
  let count = 0
  store.onWake(() => (count += 1))
  await until('the subscription stands', () => count > 0)
  return { count: () => count }
}

describe('connections', () => {
  test('carry names that CLIENT LIST shows', async () => {
    const store = await openStore(server.url)
    await listen(store)
    const list = String(await server.admin(['CLIENT', 'LIST']))
    expect(list).toMatch(/name=punctual:test-\S+ /)
    expect(list).toMatch(/name=punctual:test-\S+:wakeups /)
  })

  test.each(['a URL', 'a client'])('P11: closed while connecting to %s, none stays', async (kind) => {
    const client = createClient({ url: server.url })
    for (let turns = 0; turns < 12; turns += 1) {
      const store = kind === 'a URL' ? storeAt(server.url) : openRedisStore(client, context())
      const opening = store.open().catch((error: unknown) => error)
      for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve))
      await store.close()
      await opening
    }
    await until('only who asks is connected', async () => {
      const clients = String(await server.admin(['CLIENT', 'LIST']))
        .trim()
        .split('\n')
      return clients.length === 1
    })
  })

  test('when all are killed, calls go on by themselves and listeners read the head again', async () => {
    const store = await openStore(server.url)
    const { count } = await listen(store)
    const before = count()
    await server.admin(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'])
    await server.admin(['CLIENT', 'KILL', 'TYPE', 'pubsub'])
    await until('calls work again', () => works(store))
    await until('listeners were called', () => count() > before)
  })

  test('P9: after CLIENT KILL TYPE pubsub the next message wakes again', async () => {
    const store = await openStore(server.url)
    const { count } = await listen(store)
    const before = count()
    await server.admin(['CLIENT', 'KILL', 'TYPE', 'pubsub'])
    await until('it subscribed again', () => count() > before)
    const subscribed = count()
    await store.put([message('a', { when: { delayMs: 60_000 } })])
    await until('the wake-up came', () => count() > subscribed)
  })

  test('cut in the middle of calls: each settles, none is sent twice', async () => {
    const proxy = await openProxy()
    const store = await openStore(proxy.url)
    const calls = Array.from({ length: 200 }, (_, i) =>
      store.put([message(`m${i}`)]).then(
        ([word]) => word,
        (error: unknown) => error,
      ),
    )
    proxy.cut()
    for (const result of await Promise.all(calls)) {
      if (result !== 'stored') expect(result).toBeInstanceOf(UnavailableError)
    }
    await until('calls work again', () => works(store))
    // A call sent twice would answer 'duplicate', and show up above.
  })

  test('half-open: calls fail in time, and the next connection is used', async () => {
    const proxy = await openProxy()
    const store = await openStore(proxy.url, HASTY)
    proxy.fallSilent()
    await expect(store.put([message('a')])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    proxy.speakAgain()
    await until('calls work again', () => works(store))
  })

  test('P9: a subscription that went silent is noticed by its pings', async () => {
    const proxy = await openProxy()
    const store = await openStore(proxy.url)
    const { count } = await listen(store)
    const connections = proxy.accepted
    proxy.fallSilent()
    await until('the proxy saw a new attempt', () => proxy.accepted > connections)
    const before = count()
    proxy.speakAgain()
    await until('listeners were called after it subscribed again', () => count() > before)
  })
})

describe('a server that stands still', () => {
  test('SIGSTOP: calls fail in time, close does not hang, and afterwards all goes on', async () => {
    const store = await openStore(server.url, HASTY)
    const other = await openStore(server.url, HASTY)
    await listen(other)
    server.signal('SIGSTOP')
    try {
      await expect(store.put([message('a')])).rejects.toBeInstanceOf(UnavailableError)
      await expect(claimDue(store)).rejects.toBeInstanceOf(UnavailableError)
      await other.close()
    } finally {
      server.signal('SIGCONT')
    }
    await until('calls work again', () => works(store))
  })

  test('CLIENT PAUSE: calls wait, and are answered once', async () => {
    const store = await openStore(server.url)
    await server.admin(['CLIENT', 'PAUSE', '300', 'ALL'])
    await expect(store.put([message('a')])).resolves.toEqual(['stored'])
  })

  test('DEBUG SLEEP: calls wait, and are answered once', async () => {
    const store = await openStore(server.url)
    const asleep = server.admin(['DEBUG', 'SLEEP', '0.5'])
    await expect(store.put([message('a')])).resolves.toEqual(['stored'])
    await asleep
  })

  test('close rejects the calls under way with STORE_CLOSED', async () => {
    const store = await openStore(server.url)
    await server.admin(['CLIENT', 'PAUSE', '500', 'ALL'])
    const calls = [store.put([message('a')]), store.count()]
    const settled = Promise.allSettled(calls)
    await store.close()
    for (const result of await settled) {
      expect(result).toMatchObject({ status: 'rejected', reason: { code: 'STORE_CLOSED' } })
    }
  })
})

describe('a server that is away', () => {
  test('open fails in time, says where, and may be called again', async () => {
    const away = await RedisServer.start()
    const url = away.url
    await away.kill()
    const store = storeAt(url, freshQueue(), HASTY)
    open.add(store)
    await expect(store.open()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining(`127.0.0.1:${away.port}`) as string,
    })
    await away.resume()
    await until('open succeeds', async () => {
      await store.open()
      return true
    })
    await expect(store.put([message('a')])).resolves.toEqual(['stored'])
    await away.stop()
  })

  test('attempts to connect are paced, not a storm', async () => {
    const proxy = await openProxy()
    const store = await openStore(proxy.url, HASTY)
    await listen(store)
    const before = await serverStat('total_connections_received')
    proxy.fallSilent()
    const started = proxy.accepted
    await expect(store.put([message('a')])).rejects.toBeInstanceOf(UnavailableError)
    await expect(store.put([message('b')])).rejects.toBeInstanceOf(UnavailableError)
    expect(proxy.accepted - started).toBeLessThan(20)
    expect((await serverStat('total_connections_received')) - before).toBeLessThan(25)
  })

  test('a killed and restarted server is found again', async () => {
    const brief = await RedisServer.start()
    const store = await openStore(brief.url, HASTY)
    const { count } = await listen(store)
    await brief.kill()
    await expect(store.count()).rejects.toBeInstanceOf(UnavailableError)
    const before = count()
    await brief.resume()
    await until('calls work again', () => works(store))
    await until('listeners were called', () => count() > before)
    await store.close()
    await brief.stop()
  })
})
