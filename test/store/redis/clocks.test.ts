/** All times are the server's: a process whose own clock is wrong changes nothing. And what the doctor says of it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock, type Clock } from '../../../src/clock.ts'
import { openRedisStore } from '../../../src/store/redis/open.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { claimDue, claimLapsed, claimReply, find, message } from '../../../src/testing/conformance/stand.ts'
import { RedisServer } from './server.ts'
import { context, freshQueue, storeAt } from './stores.ts'
import { until } from './until.ts'

const HOUR_MS = 3_600_000

let server: RedisServer
beforeAll(async () => {
  server = await RedisServer.start()
})
afterAll(() => server?.stop())

function skewed(byMs: number): Clock {
  return { ...systemClock, now: () => systemClock.now() + byMs }
}

async function serverNow(): Promise<number> {
  const [seconds, micros] = (await server.admin(['TIME'])) as [string, string]
  return Number(seconds) * 1000 + Number(micros) / 1000
}

describe.each([HOUR_MS, -HOUR_MS])('a process whose clock is %i ms off', (byMs) => {
  const opened: Store[] = []
  afterAll(async () => {
    for (const store of opened) await store.close()
  })
  const open = (queue: string): Store => {
    const store = openRedisStore(server.url, context(queue, skewed(byMs)))
    opened.push(store)
    return store
  }

  test('P1: delays count from the server’s now', async () => {
    const store = open(freshQueue())
    const before = await serverNow()
    await store.put([message('a', { when: { delayMs: 60_000 } })])
    const { dueAt } = (await find(store, 'a')) ?? { dueAt: 0 }
    expect(dueAt).toBeGreaterThanOrEqual(before + 60_000)
    expect(dueAt).toBeLessThanOrEqual((await serverNow()) + 60_001)
    expect(await claimDue(store)).toEqual([])
  })

  test('P3: its leases end when everybody else’s would', async () => {
    const queue = freshQueue()
    const [wrong, right] = [open(queue), storeAt(server.url, queue)]
    opened.push(right)
    await wrong.put([message('a')])
    expect(await claimDue(wrong)).toHaveLength(1)
    expect(await claimLapsed(right)).toEqual([])
    expect(await claimLapsed(wrong)).toEqual([])
  })

  test('the doctor mentions it', async () => {
    const findings = await open(freshQueue()).doctor()
    expect(findings.find(({ what }) => what.includes('its clock is'))).toMatchObject({ level: 'warning' })
  })
})

test('P1: with the server’s real clock, nothing is handed out early, and WAITING leads right to it', async () => {
  const store = storeAt(server.url)
  await store.put(Array.from({ length: 20 }, (_, i) => message(`m${i}`, { when: { delayMs: 10 + i * 7 } })))
  let claims = 0
  let seen = 0
  while (seen < 20) {
    const { leases, next } = await claimReply(store)
    claims += 1
    for (const lease of leases) {
      expect(lease.latenessMs).toBeGreaterThanOrEqual(0)
      expect(await serverNow()).toBeGreaterThanOrEqual(lease.dueAt)
    }
    seen += leases.length
    if (next.state !== 'WAITING') continue
    const { ms } = next
    await new Promise<void>((resolve) => systemClock.schedule(ms, resolve))
  }
  // Whoever waits as told finds something each time; a few more are granted to clocks that run apart.
  expect(claims).toBeLessThan(45)
  await store.close()
})

describe('the doctor', () => {
  test('warns about eviction, missing persistence and replicas, the worst first', async () => {
    const store = storeAt(server.url)
    await server.admin(['CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru'])
    const findings = await store.doctor()
    expect(findings[0]).toMatchObject({
      level: 'problem',
      what: expect.stringContaining('allkeys-lru') as string,
    })
    expect(findings.map(({ what }) => what).join('\n')).toMatch(/appendonly is off/)
    await server.admin(['CONFIG', 'SET', 'maxmemory-policy', 'noeviction'])
    expect((await store.doctor()).filter(({ level }) => level === 'problem')).toEqual([])
    await store.close()
  })

  test('finds nothing wrong with a server set up as docs/redis.md says', async () => {
    const store = storeAt(server.url)
    await server.admin(['CONFIG', 'SET', 'appendonly', 'yes'])
    await server.admin(['CONFIG', 'SET', 'appendfsync', 'always'])
    await until('the log is on', async () => (await store.doctor()).every(({ level }) => level === 'fine'))
    await store.close()
  })
})
