/** Who may connect, and how: passwords, ACL users, TLS. */
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { UsageError } from '../../../src/core/errors.ts'
import { redis } from '../../../src/store/redis/engine.ts'
import { openRedisStore } from '../../../src/store/redis/open.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { ack, claim, claimDue, dead, message } from '../../../src/testing/conformance/stand.ts'
import { makeCertificates, tlsConfig } from './certificates.ts'
import { FakeServer, HELLO } from './fake-server.ts'
import { SentinelServer } from './sentinel-server.ts'
import { freePort } from '../../free-port.ts'
import { RedisServer } from './server.ts'
import { context, freshQueue, storeAt } from './stores.ts'
import { until } from './until.ts'

const PASSWORD = 's3cret%/@:x'
const ENCODED = encodeURIComponent(PASSWORD)
const HASTY = { callTimeout: '2s', connectTimeout: '2s' } as const

let server: RedisServer
let certificates: string
let tlsPort: number
beforeAll(async () => {
  certificates = await makeCertificates()
  tlsPort = await freePort()
  server = await RedisServer.start({
    config: ['--requirepass', PASSWORD, '--tls-auth-clients', 'no', ...tlsConfig(certificates, tlsPort)],
    login: `:${ENCODED}@`,
  })
})
afterAll(async () => {
  await server?.stop()
  await rm(certificates, { recursive: true, force: true })
})

function file(name: string): string {
  return join(certificates, name)
}

async function walksThrough(store: Store): Promise<void> {
  try {
    await store.open()
    await store.put([message('a'), message('b')])
    const { leases } = await claim(store, { facts: '{}' })
    await store.extend(leases.slice(0, 1), 60_000)
    expect(await store.settle(leases.map((lease) => dead(lease)))).toEqual(['settled', 'settled'])
    await store.revive(['a', 'b'])
    await store.reschedule([{ id: 'b', when: { delayMs: 60_000 } }])
    expect(await store.settle((await claimDue(store)).map(ack))).toEqual(['settled'])
    await store.record([{ topic: 't', completed: 1, failed: 0, dead: 0, skipped: 0, lateness: [] }])
    await store.figures({ from: 0, until: 8e15 })
    await store.forecast({ edges: [0, 8e15] })
    await store.countTopics({ limit: 10 })
    await store.inspect({ state: 'delayed', limit: 10 })
    await store.claim({ from: 'lapsed', owner: 'reaper', limit: 10, leaseMs: 1000 })
    await store.owned('test')
    await store.leave('test')
    expect((await store.workers()).workers).toHaveLength(1)
    expect(await store.remove(['b'], 'waiting')).toEqual(['removed'])
  } finally {
    await store.close()
  }
}

describe('passwords and users', () => {
  test('a password in the URL', () => walksThrough(storeAt(server.url)))

  test('without one, open says what is missing, at once', async () => {
    const store = storeAt(`redis://127.0.0.1:${server.port}`)
    await expect(store.open()).rejects.toMatchObject({ code: 'STORE_REFUSED', name: 'UsageError' })
    await store.close()
  })

  test('a wrong one is told at once, and never printed', async () => {
    const store = storeAt(`redis://:wrong-password@127.0.0.1:${server.port}`)
    const refused = store.open()
    await expect(refused).rejects.toBeInstanceOf(UsageError)
    await expect(refused).rejects.not.toThrow(/wrong-password/)
    await store.close()
  })

  test('an ACL user with only the rights that docs/redis.md lists', async () => {
    const rights = [
      '~punctual:*',
      '&punctual:*',
      '+@connection',
      '+@scripting',
      '+@sortedset',
      '+@hash',
      '+@string',
    ]
    const more = ['+@pubsub', '+type', '+exists', '+expire', '+time', '+info', '+scan']
    await server.admin(['ACL', 'SETUSER', 'worker', 'on', `>${PASSWORD}`, ...rights, ...more])
    const url = `redis://worker:${ENCODED}@127.0.0.1:${server.port}`
    await walksThrough(storeAt(url))
    const store = storeAt(url)
    let wakes = 0
    store.onWake(() => (wakes += 1))
    await until('it may subscribe', () => wakes > 0)
    const findings = await store.doctor()
    expect(findings.map(({ what }) => what).join()).toContain('may not ask for CONFIG')
    await store.close()
    expect(await redis.queues(url, context())).toMatchObject({ isComplete: true })
  })

  test('P9: without the right to the channel messages still flow', async () => {
    const rights = ['resetchannels', '~punctual:*', '+@all', '-@admin']
    await server.admin(['ACL', 'SETUSER', 'deaf', 'on', `>${PASSWORD}`, ...rights])
    const log: string[] = []
    const url = `redis://deaf:${ENCODED}@127.0.0.1:${server.port}`
    const store = openRedisStore(url, context(freshQueue(), systemClock, log))
    store.onWake(() => undefined)
    await until('the log tells why there are no wake-ups', () => log.some((line) => line.includes('NOPERM')))
    await walksThrough(store)
  })

  test('a missing right is named', async () => {
    await server.admin([
      'ACL',
      'SETUSER',
      'reader',
      'on',
      `>${PASSWORD}`,
      '~*',
      '+@read',
      '+@connection',
      '+type',
    ])
    const store = storeAt(`redis://reader:${ENCODED}@127.0.0.1:${server.port}`)
    await store.open()
    const refused = store.put([message('a')])
    await expect(refused).rejects.toMatchObject({ code: 'STORE_REFUSED' })
    await expect(refused).rejects.toThrow(/right/)
    await store.close()
  })

  test('databases are apart', async () => {
    const queue = freshQueue()
    const [first, second] = [storeAt(`${server.url}/0`, queue), storeAt(`${server.url}/3`, queue)]
    await first.put([message('a')])
    expect((await second.count()).states.ready).toBe(0)
    await first.close()
    await second.close()
  })
})

const at = (query: string): string => `rediss://:${ENCODED}@127.0.0.1:${tlsPort}${query}`

describe('TLS', () => {
  test('with the authority given, all goes over TLS', () =>
    walksThrough(storeAt(at(`?tlsCa=${encodeURIComponent(join(certificates, 'ca.pem'))}`))))

  test('an unknown authority is refused, and the remedy named', async () => {
    const store = storeAt(at(''))
    const refused = store.open()
    await expect(refused).rejects.toMatchObject({ code: 'STORE_REFUSED' })
    await expect(refused).rejects.toThrow(/tlsCa/)
    await store.close()
  })

  test('a file that is not there is told by name', async () => {
    const store = storeAt(at('?tlsCa=/nowhere/ca.pem'))
    await expect(store.open()).rejects.toThrow(/nowhere/)
    await store.close()
  })

  test('a file that holds no certificate is refused, not tried for ever', async () => {
    const store = storeAt(
      at(`?tlsCa=${file('server.key')}&tlsCert=${file('server.key')}&tlsKey=${file('ca.pem')}`),
    )
    await expect(store.open()).rejects.toMatchObject({ code: 'STORE_REFUSED', name: 'UsageError' })
    await store.close()
  })

  test('a server that asks for our certificate gets it', async () => {
    const port = await freePort()
    const strict = await RedisServer.start({ config: tlsConfig(certificates, port) })
    onTestFinished(() => strict.stop())
    const ours = `tlsCa=${file('ca.pem')}&tlsCert=${file('server.pem')}&tlsKey=${file('server.key')}`
    await walksThrough(storeAt(`rediss://127.0.0.1:${port}?${ours}`))
    const without = storeAt(`rediss://127.0.0.1:${port}?tlsCa=${file('ca.pem')}`, freshQueue(), HASTY)
    await expect(without.open()).rejects.toMatchObject({ code: expect.stringMatching(/^STORE_/) as string })
    await without.close()
  })

  test.each([
    ['localhost', '', 'localhost'],
    ['127.0.0.1', '&tlsServername=localhost', 'localhost'],
    ['127.0.0.1', '', undefined],
  ])('the server at %s with "%s" is called %s', async (host, option, name) => {
    const asked: (string | undefined)[] = []
    const [key, cert] = await Promise.all([readFile(file('server.key')), readFile(file('server.pem'))])
    const listener = createServer({ key, cert }, (socket) => asked.push(socket.servername || undefined))
    const fake = await FakeServer.start(([word]) => (word === 'HELLO' ? HELLO : '+none\r\n'), listener)
    onTestFinished(() => fake.stop())
    const store = storeAt(`rediss://${host}:${fake.port}?tlsCa=${file('ca.pem')}${option}`)
    await store.open()
    await store.close()
    expect(asked).toEqual([name])
  })

  test('a certificate for another name is refused', async () => {
    const store = storeAt(at(`?tlsCa=${file('ca.pem')}&tlsServername=example.com`))
    await expect(store.open()).rejects.toMatchObject({ code: 'STORE_REFUSED' })
    await store.close()
  })

  test('TLS to a port that speaks none is refused, not retried for ever', async () => {
    const store = storeAt(`rediss://:${ENCODED}@127.0.0.1:${server.port}`, freshQueue(), {
      callTimeout: '2s',
    })
    await expect(store.open()).rejects.toMatchObject({ code: expect.stringMatching(/^STORE_/) as string })
    await store.close()
  })
})

test('rediss+sentinel: TLS and a password each, to the sentinel and to the primary', async () => {
  const port = await freePort()
  const sentinel = await SentinelServer.start({ name: 'm', port: tlsPort, quorum: 1 }, [
    `tls-port ${port}`,
    `tls-cert-file ${file('server.pem')}`,
    `tls-key-file ${file('server.key')}`,
    `tls-ca-cert-file ${file('ca.pem')}`,
    'tls-auth-clients no',
    'tls-replication yes',
    `sentinel auth-pass m ${PASSWORD}`,
    'requirepass other',
  ])
  onTestFinished(() => sentinel.stop())
  const url = `rediss+sentinel://:${ENCODED}@127.0.0.1:${port}/m/1?tlsCa=${file('ca.pem')}`
  await walksThrough(storeAt(`${url}&sentinelPassword=other`))
  const stranger = storeAt(`rediss+sentinel://:${ENCODED}@127.0.0.1:${port}/m?sentinelPassword=other`)
  await expect(stranger.open()).rejects.toMatchObject({
    code: 'STORE_REFUSED',
    message: expect.stringContaining('no trusted TLS connection') as string,
  })
  await stranger.close()
})
