/**
 * What speaks Redis' protocol and is neither Redis nor Valkey is refused by name before anything is stored, by a stand-in that
 * answers as that server does. What none of them can show: that a queue would work there.
 */
import { describe, expect, onTestFinished, test } from 'vitest'
import { openingAt } from '../opening.ts'
import { FakeServer, HELLO } from './fake-server.ts'
import { RedisServer } from './server.ts'

/** The lines of INFO by which they are known, among those that all have. */
const SERVERS = {
  Dragonfly: ['# Server', 'redis_version:7.4.0', 'dragonfly_version:df-v1.40.1', 'redis_mode:standalone'],
  KeyDB: [
    '# Server',
    'redis_version:6.3.4',
    'executable:/usr/bin/keydb-server',
    '',
    '# KeyDB',
    'mvcc_depth:0',
  ],
  Upstash: ['# Server', 'upstash_version:1.20.4', 'redis_version:6.2.6', 'redis_mode:standalone'],
  MemoryDB: ['# Server', 'redis_version:7.1.1', 'redis_mode:cluster', 'os:Amazon MemoryDB'],
  Garnet: ['# Server', 'garnet_version:1.0.84', 'os:Unix 6.8.0.60', 'redis_version:7.4.3'],
} as const

/** Of the last two: where only a part of it is said. */
const KEYDB_BY_ITS_PROGRAM = ['# Server', 'redis_version:6.3.4', 'executable:/data/keydb-server']
const REDIS = ['# Server', 'redis_version:8.0.6', 'os:Linux 6.8 x86_64', 'executable:/usr/bin/redis-server']

async function standIn(lines: readonly string[], isCluster = false): Promise<FakeServer> {
  const info = `${lines.join('\r\n')}\r\n`
  const server = await FakeServer.start(([command = '', argument = '']) => {
    if (command === 'HELLO') return HELLO
    if (command === 'INFO') return `$${Buffer.byteLength(info)}\r\n${info}\r\n`
    if (command === 'TYPE') return '+none\r\n'
    if (isCluster && command === 'CLUSTER' && argument === 'SLOTS')
      return `*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:${server.port}\r\n`
    return '-ERR no such command\r\n'
  })
  onTestFinished(() => server.stop())
  return server
}

describe.each(Object.entries(SERVERS))('%s', (name, lines) => {
  test('is refused by its name, with the reason', async () => {
    const server = await standIn(lines)
    const refusal = await openingAt(server.url)
    expect(refusal).toMatchObject({ name: 'UsageError', code: 'STORE_UNSUITED', value: name })
    expect(String(refusal)).toContain(`this server is ${name}: `)
  })

  test('is refused as a cluster, before the number of its partitions is kept there', async () => {
    const server = await standIn(lines, true)
    const refusal = await openingAt(server.url.replace('redis:', 'redis+cluster:'))
    expect(refusal).toMatchObject({ code: 'STORE_UNSUITED', value: name })
    const sent = new Set(server.commands.map(([command]) => command))
    expect([...sent].filter((one) => one !== 'HELLO' && one !== 'CLUSTER' && one !== 'INFO')).toEqual([])
  })

  test('unproved=true lets it in', async () => {
    expect(await openingAt(`${(await standIn(lines)).url}?unproved=true`)).toBeUndefined()
  })
})

test('KeyDB is known by its program alone', async () => {
  expect(await openingAt((await standIn(KEYDB_BY_ITS_PROGRAM)).url)).toMatchObject({ value: 'KeyDB' })
})

test('a Redis is not refused, nor a server that tells nothing', async () => {
  expect(await openingAt((await standIn(REDIS)).url)).toBeUndefined()
  const silent = await FakeServer.start(([command]) => {
    if (command === 'HELLO') return HELLO
    return command === 'TYPE' ? '+none\r\n' : '-NOPERM this user has no permissions to run it\r\n'
  })
  onTestFinished(() => silent.stop())
  expect(await openingAt(silent.url)).toBeUndefined()
})

test('a real server is not refused', async () => {
  const server = await RedisServer.start()
  onTestFinished(() => server.stop())
  expect(await openingAt(server.url)).toBeUndefined()
})
