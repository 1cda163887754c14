/** A client of the package `redis` that the user has already: what is taken from it, and what is refused. */
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createClient, createClientPool, type RedisClientOptions } from 'redis'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { Punctual } from '../../../src/index.ts'
import { openRedisStore } from '../../../src/store/redis/open.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { ack, claimDue, message } from '../../../src/testing/conformance/stand.ts'
import { makeCertificates, tlsConfig } from './certificates.ts'
import { freePort } from '../../free-port.ts'
import { RedisServer } from './server.ts'
import { context } from './stores.ts'

const PASSWORD = 's3cret%/@:x'

let server: RedisServer
let certificates: string
let tlsPort: number
beforeAll(async () => {
  certificates = await makeCertificates()
  tlsPort = await freePort()
  const path = ['--unixsocket', join(certificates, 'redis.sock')]
  server = await RedisServer.start({
    config: [
      '--requirepass',
      PASSWORD,
      '--tls-auth-clients',
      'no',
      ...path,
      ...tlsConfig(certificates, tlsPort),
    ],
    login: `:${encodeURIComponent(PASSWORD)}@`,
  })
  await server.admin(['ACL', 'SETUSER', 'worker', 'on', '>pw', '~*', '&*', '+@all'])
})
afterAll(async () => {
  await server?.stop()
  await rm(certificates, { recursive: true, force: true })
})

function storeLike(options: RedisClientOptions): Store {
  const store = openRedisStore(createClient(options), context())
  onTestFinished(() => store.close())
  return store
}

async function walksThrough(store: Store): Promise<void> {
  await store.open()
  await store.put([message('a')])
  expect(await store.settle((await claimDue(store)).map(ack))).toEqual(['settled'])
}

/** How the server sees the connection of the calls. */
async function connectionOf(store: Store): Promise<string> {
  await store.open()
  const list = String(await server.admin(['CLIENT', 'LIST']))
  return list.split('\n').find((line) => line.includes('name=punctual:')) ?? ''
}

const socket = (): { host: string; port: number } => ({ host: '127.0.0.1', port: server.port })

test('lends its settings, and stays as it was', async () => {
  const client = createClient({ url: server.url, keyPrefix: 'theirs:' })
  await client.connect()
  onTestFinished(() => client.destroy())
  const store = openRedisStore(client, context())
  onTestFinished(() => store.close())
  await walksThrough(store)
  await expect(client.ping()).resolves.toBe('PONG')
  expect(String(await server.admin(['KEYS', '*']))).not.toContain('theirs:')
})

test('need not be connected', () => walksThrough(storeLike({ url: server.url })))

describe('its settings', () => {
  test('user, password and database', async () => {
    const line = await connectionOf(
      storeLike({ socket: socket(), username: 'worker', password: 'pw', database: 6 }),
    )
    expect(line).toMatch(/ db=6 .* user=worker /)
  })

  test('credentials that it asks for each time', async () => {
    const asked: string[] = []
    const credentials = async (): Promise<{ username: string; password: string }> => {
      asked.push('asked')
      return { username: 'worker', password: 'pw' }
    }
    const credentialsProvider = { type: 'async-credentials-provider' as const, credentials }
    const line = await connectionOf(storeLike({ socket: socket(), credentialsProvider }))
    expect(line).toMatch(/ user=worker /)
    expect(asked).toHaveLength(1)
  })

  test('a path instead of a port', async () => {
    const path = join(certificates, 'redis.sock')
    await walksThrough(storeLike({ socket: { path, tls: false }, password: PASSWORD }))
  })

  test.each([
    ['the authority', async () => ({ ca: await readFile(join(certificates, 'ca.pem')) })],
    ['no look at the certificate', async () => ({ rejectUnauthorized: false })],
  ])('TLS with %s', async (_what, more) => {
    const tls = { host: '127.0.0.1', port: tlsPort, tls: true as const, ...(await more()) }
    await walksThrough(storeLike({ socket: tls, password: PASSWORD }))
  })

  test('TLS without trust is refused', async () => {
    const store = storeLike({ socket: { host: '127.0.0.1', port: tlsPort, tls: true }, password: PASSWORD })
    await expect(store.open()).rejects.toMatchObject({ code: 'STORE_REFUSED' })
  })

  test('errors name its server', async () => {
    const store = openRedisStore(createClient({ socket: { host: '127.0.0.1', port: 1 } }), context(), {
      callTimeout: 200,
    })
    onTestFinished(() => store.close())
    await expect(store.open()).rejects.toThrow(/redis:\/\/127\.0\.0\.1:1/)
  })
})

const method = (): undefined => undefined

describe('is refused, with what to give instead', () => {
  const streaming = {
    type: 'streaming-credentials-provider' as const,
    subscribe: () => Promise.reject(new Error('not asked')),
    onReAuthenticationError: () => undefined,
  }
  test.each<[string, () => object]>([
    ['something else', () => ({ duplicate: 1 })],
    [
      'a client of ioredis',
      () => ({ duplicate: method, sendCommand: method, options: { host: 'h', port: 1 } }),
    ],
    ['one whose settings cannot be read', () => ({ duplicate: method, sendCommand: method, options: 1 })],
    ['one whose password comes as a stream', () => createClient({ credentialsProvider: streaming })],
    ['a pool', () => createClientPool({ url: server.url })],
  ])('%s', (_what, make) => {
    const refused = (): unknown => openRedisStore(make() as never, context())
    expect(refused).toThrow(expect.objectContaining({ code: 'STORE_INVALID', name: 'UsageError' }) as Error)
    expect(refused).toThrow(/redis:\/\/ URL/)
  })

  test('by the queue as well', async () => {
    const queue = new Punctual({ store: createClient({ credentialsProvider: streaming }), logger: false })
    await expect(queue.produce('t', 1)).rejects.toMatchObject({ code: 'STORE_INVALID' })
  })
})
