/** One connection: the login in both protocols, pipelining, subscriptions, and servers that break the protocol. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { createConnection, createServer, type AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { connectTo, type Connection } from '../../../src/store/redis/link/connection.ts'
import { ErrorReply, ProtocolError } from '../../../src/store/redis/link/parser.ts'
import { parseRedisUrl } from '../../../src/store/redis/address/url.ts'
import { ack, claimDue, message } from '../../../src/testing/conformance/stand.ts'
import { FakeServer, HELLO, type Answer } from './fake-server.ts'
import { RedisServer } from './server.ts'
import { freshQueue, storeAt } from './stores.ts'
import { until } from './until.ts'

type Subject = { readonly connection: Connection; readonly losses: unknown[] }

function connect(url: string): Subject {
  const losses: unknown[] = []
  const connection = connectTo(parseRedisUrl(url).address)('punctual:test', (error) => losses.push(error))
  onTestFinished(() => connection.destroy())
  return { connection, losses }
}

async function opened(url: string): Promise<Subject> {
  const subject = connect(url)
  await subject.connection.open()
  return subject
}

async function fake(answer: Answer): Promise<FakeServer> {
  const server = await FakeServer.start(answer)
  onTestFinished(() => server.stop())
  return server
}

/** Greets, and answers the rest as told. */
const greeting =
  (answer: Answer): Answer =>
  (command, socket) =>
    command[0] === 'HELLO' ? HELLO : answer(command, socket)

/** Everything that a person may see of an error, its causes too. */
const shown = (error: unknown): string => inspect(error, { depth: 10 }).replace(/\n +at .*/g, '')

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => expect.fail('it resolved'),
    (error: unknown) => error,
  )
}

describe('a real server', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await RedisServer.start()
  })
  afterAll(() => server?.stop())

  test('knows the name, the database and the protocol from the first command on', async () => {
    const { connection } = await opened(`${server.url}/7`)
    const info = String(await connection.send(['CLIENT', 'INFO']))
    expect(info).toMatch(/ name=punctual:test /)
    expect(info).toMatch(/ db=7 /)
    expect(info).toMatch(/ resp=3[ \n]/)
  })

  test('a database that does not exist is a refusal', async () => {
    await expect(connect(`${server.url}/9999`).connection.open()).rejects.toBeInstanceOf(ErrorReply)
  })

  test('replies come back to those who asked, refusals among them', async () => {
    const { connection } = await opened(server.url)
    const replies = await Promise.allSettled(
      Array.from({ length: 5000 }, (_, i) =>
        connection.send(i % 3 === 0 ? ['NO-SUCH', 'x'] : ['ECHO', `${i}`]),
      ),
    )
    for (const [i, reply] of replies.entries()) {
      if (i % 3 === 0) expect(reply).toMatchObject({ status: 'rejected' })
      else expect(reply).toEqual({ status: 'fulfilled', value: String(i) })
    }
  })

  test('long texts and every type come back as they are', async () => {
    const { connection } = await opened(server.url)
    const long = 'äb€'.repeat(700_000)
    const script =
      'redis.setresp(3) return {1, false, true, {map={a=1}}, {double=1.5}, redis.status_reply("fine"), ARGV[1]}'
    const reply = await connection.send(['EVAL', script, '0', long])
    expect(reply).toEqual([1, 0, 1, ['a', 1], '1.5', 'fine', long])
  })

  test('a subscription hears its channel, and other commands are answered on it', async () => {
    const { connection } = await opened(server.url)
    const heard: string[] = []
    await connection.subscribe('channel', (text) => void heard.push(text))
    const others = [connection.send(['PING']), connection.send(['ECHO', 'x'])]
    await server.admin(['PUBLISH', 'channel', 'one'])
    await server.admin(['PUBLISH', 'channel', 'two'])
    await until('both were heard', () => heard.length === 2)
    expect(heard).toEqual(['one', 'two'])
    await expect(Promise.all(others)).resolves.toEqual(['PONG', 'x'])
  })

  test('behind a network that cuts its bytes anywhere: all goes as ever', async () => {
    let pieces = 0
    const network = createServer((outer) => {
      const inner = createConnection(server.port, '127.0.0.1')
      outer.on('data', (data) => inner.write(data))
      inner.on('data', (data) => {
        for (let at = 0, size = 1; at < data.length; at += size) {
          size = 1 + (pieces % 13)
          pieces += 1
          outer.write(data.subarray(at, at + size))
        }
      })
      for (const [one, other] of [[outer, inner] as const, [inner, outer] as const]) {
        one.on('error', () => undefined)
        one.on('close', () => other.destroy())
      }
    })
    network.listen(0, '127.0.0.1')
    await once(network, 'listening')
    onTestFinished(() => void network.close())
    const { port } = network.address() as AddressInfo
    const store = storeAt(`redis://127.0.0.1:${port}`, freshQueue(), { callTimeout: '30s' })
    onTestFinished(() => store.close())
    const body = JSON.stringify('€\r\n'.repeat(200))
    await store.put(Array.from({ length: 50 }, (_, i) => message(`m${i}`, { body })))
    const leases = await claimDue(store, 50)
    expect(leases.map((lease) => lease.body)).toEqual(Array.from({ length: 50 }, () => body))
    expect(await store.settle(leases.map(ack))).toEqual(Array.from({ length: 50 }, () => 'settled'))
    expect(pieces).toBeGreaterThan(1000)
  })

  test('a server that is full says so', async () => {
    const full = await RedisServer.start({ config: ['--maxclients', '1'] })
    onTestFinished(() => full.stop())
    await until('the last test client is gone', () => opened(full.url).then(() => true))
    const failure = await failureOf(connect(full.url).connection.open())
    expect(shown(failure)).toContain('max number of clients reached')
    expect(failure).not.toBeInstanceOf(ErrorReply)
  })
})

describe('a real server without HELLO', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await RedisServer.start({
      config: ['--rename-command', 'HELLO', '', '--requirepass', 's3cret'],
      login: ':s3cret@',
      protocol: 2,
    })
  })
  afterAll(() => server?.stop())

  test('is spoken to in RESP2: messages flow, wake-ups too', async () => {
    const { connection } = await opened(`${server.url}/5`)
    const info = String(await connection.send(['CLIENT', 'INFO']))
    expect(info).toMatch(/ name=punctual:test .* db=5 .* resp=2[ \n]/)
    const store = storeAt(server.url, freshQueue())
    onTestFinished(() => store.close())
    let wakes = 0
    store.onWake(() => (wakes += 1))
    await until('the subscription stands', () => wakes > 0)
    await store.put([message('a')])
    await until('the wake-up came', () => wakes > 1)
    expect(await store.settle((await claimDue(store)).map(ack))).toEqual(['settled'])
    expect((await store.doctor()).filter(({ what }) => what.includes('could not be checked'))).toEqual([])
  })

  test('its pings are answered while it is subscribed', async () => {
    const { connection } = await opened(server.url)
    await connection.subscribe('channel', () => undefined)
    await expect(connection.send(['PING'])).resolves.toEqual(['pong', ''])
  })

  test('a wrong password is a refusal', async () => {
    const failure = await failureOf(connect(server.url.replace('s3cret', 'wr0ng')).connection.open())
    expect(failure).toBeInstanceOf(ErrorReply)
    expect(shown(failure)).toMatch(/WRONGPASS/)
  })
})

test('a real server that knows neither HELLO nor AUTH quotes the password, and we do not', async () => {
  const server = await RedisServer.start({
    config: ['--rename-command', 'HELLO', '', '--rename-command', 'AUTH', ''],
    protocol: 2,
  })
  onTestFinished(() => server.stop())
  await expect(server.admin(['AUTH', 's3cret'])).rejects.toThrow(/s3cret/)
  const failure = await failureOf(connect(server.url.replace('//', '//user:s3cret@')).connection.open())
  expect(failure).toBeInstanceOf(ErrorReply)
  expect(shown(failure)).not.toMatch(/s3c/)
  const store = storeAt(server.url.replace('//', '//user:s3cret@'))
  onTestFinished(() => store.close())
  const refused = await failureOf(store.open())
  expect(refused).toMatchObject({ code: 'STORE_REFUSED' })
  expect(shown(refused)).not.toMatch(/s3c/)
})

describe('writing', () => {
  test('the calls of one turn leave together', async () => {
    const server = await fake(greeting(() => '+OK\r\n'))
    const { connection } = await opened(server.url)
    const before = server.chunks.length
    await Promise.all(Array.from({ length: 100 }, () => connection.send(['PING'])))
    expect(server.chunks).toHaveLength(before + 1)
  })

  test('many bytes do not wait for the end of the turn', async () => {
    const server = await RedisServer.start()
    onTestFinished(() => server.stop())
    const { connection } = await opened(server.url)
    const call = connection.send(['SET', 'key', 'x'.repeat(20_000)])
    // Still in the same turn.
    const length = execFileSync('redis-cli', ['-p', String(server.port), 'STRLEN', 'key'])
    expect(Number(length)).toBe(20_000)
    await expect(call).resolves.toBe('OK')
  })
})

function echo(command: readonly string[]): string {
  const parts = command.map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`)
  return `*${command.length}\r\n${parts.join('')}`
}

describe('what breaks the protocol condemns the connection', () => {
  test.each<[string, string]>([
    ['garbage', 'garbage\r\n'],
    ['lists without end', '*1\r\n'.repeat(100)],
    ['a reply to SUBSCRIBE that is none', '+OK\r\n+OK\r\n'],
    ['a subscription confirmed out of turn', '>3\r\n+subscribe\r\n+channel\r\n:1\r\n'],
  ])('%s', async (_what, bytes) => {
    const server = await fake(greeting(([word]) => (word === 'BREAK' ? bytes : undefined)))
    const { connection, losses } = await opened(server.url)
    const broken = connection.send(['BREAK']).catch(() => undefined)
    const calls = [connection.subscribe('channel', () => undefined), connection.send(['PING'])]
    for (const { status } of await Promise.allSettled(calls)) expect(status).toBe('rejected')
    await broken
    expect(losses).toEqual([expect.any(ProtocolError)])
    await expect(connection.send(['PING'])).rejects.toBeInstanceOf(ProtocolError)
  })

  test('a reply to no command', async () => {
    const server = await fake(greeting(() => '+OK\r\n+OK\r\n'))
    const { connection, losses } = await opened(server.url)
    await expect(connection.send(['A'])).resolves.toBe('OK')
    await until('it was told', () => losses.length > 0)
    expect(losses).toEqual([expect.any(ProtocolError)])
  })

  test('what a server pushes by itself, and nobody here knows, is passed over', async () => {
    const server = await fake(greeting(() => '>2\r\n+invalidate\r\n*0\r\n+OK\r\n'))
    const { connection } = await opened(server.url)
    await expect(connection.send(['A'])).resolves.toBe('OK')
  })

  test('calls fail with a code of their own, and go on over the next connection', async () => {
    let isBroken = true
    const server = await fake(
      greeting(([word]) => {
        if (word === 'INFO') return '$0\r\n\r\n'
        if (word === 'TYPE') return '+none\r\n'
        if (word === 'TIME') return '*2\r\n$1\r\n1\r\n$1\r\n0\r\n'
        return isBroken ? 'garbage\r\n' : '*0\r\n'
      }),
    )
    const store = storeAt(server.url)
    onTestFinished(() => store.close())
    await store.open()
    await expect(store.put([message('a')])).rejects.toMatchObject({
      name: 'UnavailableError',
      code: 'STORE_PROTOCOL',
    })
    isBroken = false
    await until('calls work again', async () => (await store.put([message('a')]))[0] === 'stored')
    expect(server.accepted).toBeGreaterThan(1)
  })

  test.each([
    ['HTTP', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
    ['an echo', undefined],
  ])('whoever answers HELLO with %s is not Redis: told at once', async (_what, answer) => {
    const server = await fake((command) => answer ?? echo(command))
    const store = storeAt(server.url.replace('//', '//user:s3cret@'))
    onTestFinished(() => store.close())
    const refused = await failureOf(store.open())
    expect(refused).toMatchObject({ name: 'UsageError', code: 'STORE_REFUSED' })
    expect(shown(refused)).not.toMatch(/s3c/)
  })
})

describe('an end', () => {
  test('by the server rejects all that wait, and is told once', async () => {
    const server = await fake(greeting((_, socket) => void socket.destroy()))
    const { connection, losses } = await opened(server.url)
    const results = await Promise.allSettled([connection.send(['A']), connection.send(['B'])])
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(losses).toHaveLength(1)
    connection.destroy()
    expect(losses).toHaveLength(1)
  })

  test('with the reason, where the server gives one unasked', async () => {
    const server = await fake(greeting((_, socket) => void socket.end('+OK\r\n-ERR shutting down\r\n')))
    const { connection, losses } = await opened(server.url)
    await connection.send(['A'])
    await until('it was told', () => losses.length > 0)
    expect(String(losses[0])).toContain('ERR shutting down')
    expect(losses[0]).not.toBeInstanceOf(ErrorReply)
  })

  test('by ourselves rejects all that wait, and nobody is told of a loss', async () => {
    const server = await fake(greeting(() => undefined))
    const { connection, losses } = await opened(server.url)
    const call = connection.send(['A'])
    connection.destroy()
    await expect(call).rejects.toThrow(/given up/)
    await expect(connection.send(['B'])).rejects.toThrow(/given up/)
    expect(losses).toEqual([])
  })

  test.each([0, 1, 2, 3, 4, 5])('while it opens, after %d turns: open rejects', async (turns) => {
    const server = await fake(() => undefined)
    const { connection } = connect(server.url)
    const opening = failureOf(connection.open())
    for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    connection.destroy()
    expect(String(await opening)).toMatch(/given up/)
  })
})
