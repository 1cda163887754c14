/** Who may connect, and how: passwords, ACL users, TLS, and clients that the user has already. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createClient } from 'redis'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { UsageError } from '../../../src/core/errors.ts'
import { openRedisStore } from '../../../src/store/redis/open.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { ack, claimDue, message } from '../../../src/testing/conformance/stand.ts'
import { SentinelServer } from './sentinel-server.ts'
import { RedisServer, freePort } from './server.ts'
import { context, freshQueue, storeAt } from './stores.ts'
import { until } from './until.ts'

const PASSWORD = 's3cret%/@:x'
const ENCODED = encodeURIComponent(PASSWORD)

let server: RedisServer
let certificates: string
let tlsPort: number
beforeAll(async () => {
  certificates = await makeCertificates()
  tlsPort = await freePort()
  server = await RedisServer.start({
    config: [
      '--requirepass',
      PASSWORD,
      '--tls-port',
      String(tlsPort),
      '--tls-cert-file',
      file('server.pem'),
      '--tls-key-file',
      file('server.key'),
      '--tls-ca-cert-file',
      file('ca.pem'),
      '--tls-auth-clients',
      'no',
    ],
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

/** An authority, and a certificate for localhost that it signed. */
async function makeCertificates(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'punctual-tls-'))
  const openssl = (...args: string[]) => promisify(execFile)('openssl', args, { cwd: directory })
  const key = ['-newkey', 'rsa:2048', '-nodes', '-days', '2']
  await openssl(
    'req',
    '-x509',
    ...key,
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
    '-subj',
    '/CN=punctual test authority',
  )
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1']
  await openssl(
    'req',
    '-x509',
    ...key,
    '-keyout',
    'server.key',
    '-out',
    'server.pem',
    ...names,
    '-CA',
    'ca.pem',
    '-CAkey',
    'ca.key',
  )
  return directory
}

async function walksThrough(store: Store): Promise<void> {
  try {
    await store.open()
    await store.put([message('a')])
    expect(await store.settle((await claimDue(store)).map(ack))).toEqual(['settled'])
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
    const more = ['+@pubsub', '+type', '+exists', '+time', '+info']
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

  test('TLS to a port that speaks none is refused, not retried for ever', async () => {
    const store = storeAt(`rediss://:${ENCODED}@127.0.0.1:${server.port}`, freshQueue(), {
      callTimeout: '2s',
    })
    await expect(store.open()).rejects.toMatchObject({ code: expect.stringMatching(/^STORE_/) as string })
    await store.close()
  })
})

describe('a client that the user has already', () => {
  test('lends its settings, and stays as it was', async () => {
    const client = createClient({ url: server.url, keyPrefix: 'theirs:' })
    await client.connect()
    await walksThrough(openRedisStore(client, context()))
    await expect(client.ping()).resolves.toBe('PONG')
    client.destroy()
  })

  test('need not be connected', () =>
    walksThrough(openRedisStore(createClient({ url: server.url }), context())))

  test('something else is refused', () => {
    expect(() => openRedisStore({ duplicate: 1 } as never, context())).toThrow(UsageError)
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
