/** Finding the primary through sentinels: the whole contract, sentinels that are away or wrong, and their passwords. */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, test } from 'vitest'
import { createSentinel } from 'redis'
import { Punctual } from '../../../src/index.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { conformance } from '../../../src/testing/conformance/index.ts'
import { message } from '../../../src/testing/conformance/stand.ts'
import { makePlace } from '../../cli/punctual.ts'
import { ReplicationGroup } from './replication-group.ts'
import { SentinelServer } from './sentinel-server.ts'
import { freePort } from '../../free-port.ts'
import { RedisServer } from './server.ts'
import { freshQueue, storeAt } from './stores.ts'
import { until } from './until.ts'

let group: ReplicationGroup
beforeAll(async () => {
  // Nobody dies here, and a machine that is merely busy must not look like it.
  group = await ReplicationGroup.start({ downAfterMs: 60_000 })
})
afterAll(() => group?.stop())

function open(url: string): Store {
  const store = storeAt(url, freshQueue())
  onTestFinished(() => store.close())
  return store
}

conformance(
  'redis+sentinel, replicated',
  async () => {
    const queue = freshQueue()
    let now = Date.UTC(2030, 0, 1)
    const openOne = async () => {
      const store = storeAt(group.url('?durability=replicated&replicationTimeout=20s'), queue, {
        now: () => now,
      })
      await store.open()
      return store
    }
    const store = await openOne()
    const stores = [store]
    return {
      store,
      advance: async (ms) => {
        now += ms
      },
      another: async () => {
        const another = await openOne()
        stores.push(another)
        return another
      },
      close: async () => {
        await Promise.all(stores.map((one) => one.close()))
      },
    }
  },
  { describe, it },
)

describe('sentinels', () => {
  test('that are gone or stand still are passed over', async () => {
    const [first, second, third] = group.sentinels
    if (first === undefined || second === undefined || third === undefined) throw new Error('three sentinels')
    second.signal('SIGSTOP')
    onTestFinished(() => second.signal('SIGCONT'))
    const hosts = [await freePort(), second.port, third.port].map((port) => `127.0.0.1:${port}`).join(',')
    // Each search begins with another sentinel; three stores have begun with each of them.
    for (let i = 0; i < 3; i += 1) {
      const store = open(`redis+sentinel://${hosts}/mymaster`)
      await expect(store.put([message('a')])).resolves.toEqual(['stored'])
    }
  })

  test('that are slow have their share of connectTimeout', async () => {
    const { port: target } = group.sentinels[0] ?? { port: 0 }
    const proxy = createServer((outer) => {
      const inner = connect(target, '127.0.0.1')
      outer.on('data', (data) => setTimeout(() => inner.write(data), 400))
      inner.on('data', (data) => outer.write(data))
      for (const [one, other] of [[outer, inner] as const, [inner, outer] as const]) {
        one.on('error', () => undefined)
        one.on('close', () => other.destroy())
      }
    })
    proxy.listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    onTestFinished(() => void proxy.close())
    const { port } = proxy.address() as AddressInfo
    const store = open(`redis+sentinel://127.0.0.1:${port}/mymaster?connectTimeout=20s&callTimeout=20s`)
    await expect(store.put([message('a')])).resolves.toEqual(['stored'])
  })

  test('a switch that was announced while nobody listened is noticed by the next subscription', async () => {
    const [old, other] = [await RedisServer.start(), await RedisServer.start()]
    onTestFinished(async () => void (await Promise.all([old.stop(), other.stop()])))
    const sentinel = await SentinelServer.start({ name: 'm', port: old.port, quorum: 1 })
    onTestFinished(() => sentinel.stop())
    const store = open(`redis+sentinel://127.0.0.1:${sentinel.port}/m`)
    await store.put([message('a')])
    const listeners = async (): Promise<string> => String(await sentinel.admin(['CLIENT', 'LIST']))
    await until('it listens', async () => /name=punctual:failovers .*sub=1/.test(await listeners()))
    // Announced to nobody at all.
    await sentinel.admin(['SENTINEL', 'REMOVE', 'm'])
    await sentinel.admin(['SENTINEL', 'MONITOR', 'm', '127.0.0.1', String(other.port), '1'])
    await sentinel.admin(['CLIENT', 'KILL', 'TYPE', 'pubsub'])
    await until('calls go to the new one', async () => (await store.put([message('a')]))[0] === 'stored')
  })

  test('all gone: calls fail in time, and say whom they asked', async () => {
    const port = await freePort()
    const store = open(`redis+sentinel://127.0.0.1:${port}/mymaster?callTimeout=300ms`)
    await expect(store.put([message('a')])).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(`no sentinel names a primary.*${port}`) as string,
    })
  })

  test('that know no such primary: an error that waiting would not mend', async () => {
    const store = open(group.url().replace('mymaster', 'nobody'))
    await expect(store.put([message('a')])).rejects.toMatchObject({
      name: 'UsageError',
      code: 'STORE_REFUSED',
      message: expect.stringContaining('watches no primary called "nobody"') as string,
    })
  })

  test('that call a replica the primary are not believed', async () => {
    const [replica] = await group.replicas()
    if (replica === undefined) throw new Error('a replica')
    const sentinel = await SentinelServer.start({ name: 'wrong', port: replica.server.port, quorum: 2 })
    onTestFinished(() => sentinel.stop())
    const store = open(`redis+sentinel://127.0.0.1:${sentinel.port}/wrong?callTimeout=500ms`)
    await expect(store.count()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('says that its role is "slave"') as string,
    })
  })

  test('with a password of their own', async () => {
    const server = await RedisServer.start()
    onTestFinished(() => server.stop())
    const sentinel = await SentinelServer.start({ name: 'm', port: server.port, quorum: 1 }, [
      'requirepass s3cret',
    ])
    onTestFinished(() => sentinel.stop())
    const url = `redis+sentinel://127.0.0.1:${sentinel.port}/m`
    await expect(open(`${url}?sentinelPassword=s3cret`).put([message('a')])).resolves.toEqual(['stored'])
    for (const wrong of [url, `${url}?sentinelPassword=wrong`]) {
      await expect(open(wrong).put([message('b')])).rejects.toMatchObject({
        name: 'UsageError',
        code: 'STORE_REFUSED',
      })
    }
  })

  test('the doctor names those that are away, and says when they are too few', async () => {
    const [first] = group.sentinels
    const gone = await freePort()
    const findings = await open(
      `redis+sentinel://127.0.0.1:${gone},127.0.0.1:${first?.port}/mymaster`,
    ).doctor()
    expect(findings).toContainEqual(
      expect.objectContaining({ level: 'problem', what: expect.stringContaining(String(gone)) as string }),
    )
    expect(findings).toContainEqual(
      expect.objectContaining({
        level: 'warning',
        what: expect.stringContaining('names 2 sentinel') as string,
      }),
    )
  })

  test('closing while the sentinels are being asked ends at once', async () => {
    for (const sentinel of group.sentinels) sentinel.signal('SIGSTOP')
    onTestFinished(() => {
      for (const sentinel of group.sentinels) sentinel.signal('SIGCONT')
    })
    const store = open(group.url())
    const call = store.put([message('a')])
    await Promise.all([
      expect(call).rejects.toMatchObject({ code: 'STORE_CLOSED' }),
      new Promise((resolve) => setImmediate(resolve)).then(() => store.close()),
    ])
  })
})

describe('the door', () => {
  test('new Punctual takes the URL, and durability in code or in the URL', async () => {
    const queue = new Punctual({
      store: group.url(),
      queue: freshQueue(),
      durability: { replicas: 1, timeout: '20s' },
    })
    onTestFinished(async () => void (await queue.stop()))
    await expect(queue.produce('t', 1, { id: 'a' })).resolves.toBe('a')
    const findings = await queue.doctor()
    expect(findings.map(({ what }) => what).join('\n')).toMatch(/each write is confirmed by all 1 connected/)
    expect(findings.map(({ what }) => what).join('\n')).toMatch(/OK 3 usable Sentinels/)
  })

  test('the command line takes the URL', async () => {
    const place = await makePlace(group.url('?durability=replicated&replicationTimeout=20s'))
    const queue = ['--queue', freshQueue()]
    expect(await place.run(['produce', 't', '--delay', '1h', ...queue])).toMatchObject({ code: 0 })
    expect(await place.json(['stats', ...queue])).toMatchObject({ counts: { delayed: 1 } })
    const { code, stdout } = await place.run(['doctor', ...queue])
    expect(code).toBe(0)
    expect(stdout).toMatch(/OK 3 usable Sentinels/)
  })

  test('a client made by createSentinel is refused, with what to give instead', () => {
    const client = createSentinel({ name: 'mymaster', sentinelRootNodes: [{ host: '127.0.0.1', port: 1 }] })
    expect(() => new Punctual({ store: client as never })).toThrow(
      expect.objectContaining({
        code: 'STORE_INVALID',
        message: expect.stringContaining('redis+sentinel://') as string,
      }) as Error,
    )
  })

  test.each([
    ['memory:', 'replicated'],
    ['file:.punctual', 'primary'],
    ['redis://h', 'disk'],
    ['redis://h', { replicas: 0 }],
    ['redis://h', { timeout: 1 }],
  ])('store %s with durability %j is refused', (store, durability) => {
    expect(() => new Punctual({ store, durability: durability as never })).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID' }) as Error,
    )
  })
})
