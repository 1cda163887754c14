import { createHash, createHmac } from 'node:crypto'
import { systemClock } from '../../../src/clock.ts'
import { request } from 'node:http'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Punctual } from '../../../src/index.ts'
import { SCOPES, type Scope } from '../../../src/doors/http/access/caller.ts'
import { OpenCalls } from '../../../src/doors/http/access/open-calls.ts'
import { CallRates } from '../../../src/doors/http/access/rates.ts'
import { Signer } from '../../../src/doors/http/access/signing.ts'
import { watchTokenFile, writeTokenFile } from '../../../src/doors/http/access/token-file.ts'
import { HttpServer } from '../../../src/doors/http/server.ts'
import { ROUTES } from '../../../src/doors/http/table/table.ts'
import { systemRandom } from '../../../src/random.ts'
import { VirtualClock } from '../../../src/testing/index.ts'
import { DOCUMENT, makeStand, QUEUE, tokenFor, type Stand } from './stand.ts'

const TOKENS = SCOPES.map((scope) => tokenFor(scope, [scope]))

function filled(path: string): string {
  return path
    .replace('{queue}', 'default')
    .replace('{rest*}', 'x')
    .replace(/\{\w+\}/g, 'x')
}

const BODIES: Readonly<Record<string, unknown>> = {
  'POST /v1/queues/{queue}/leases': { topics: ['t'], wait: 0 },
}

/** Only the status: some answers never end. */
async function statusOf(
  { base }: Stand,
  method: string,
  path: string,
  token: string | undefined,
): Promise<number> {
  const over = new AbortController()
  const hasBody = method !== 'GET' && method !== 'DELETE'
  const response = await fetch(base + filled(path), {
    method,
    signal: over.signal,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(hasBody ? { 'content-type': 'application/json' } : {}),
    },
    ...(hasBody ? { body: JSON.stringify(BODIES[`${method} ${path}`] ?? {}) } : {}),
  })
  over.abort()
  return response.status
}

describe('every route and every scope', () => {
  it.each(ROUTES.map(({ method, path, scope }) => [method, path, scope] as const))(
    '%s %s needs %s',
    async (method, path, scope) => {
      const stand = await makeStand({ tokens: TOKENS })
      const statuses: Record<string, number> = {
        nobody: await statusOf(stand, method, path, undefined),
        wrong: await statusOf(stand, method, path, 'guess'),
      }
      for (const name of SCOPES) statuses[name] = await statusOf(stand, method, path, name)
      const isOpen = scope === 'none'
      for (const [name, status] of Object.entries(statuses)) {
        if (name === 'nobody' || name === 'wrong') {
          if (isOpen) expect(status, name).not.toBe(401)
          else expect(status, name).toBe(401)
        } else if (isOpen || scope === 'any' || scope === name) expect([401, 403], name).not.toContain(status)
        else expect(status, name).toBe(403)
      }
    },
  )
})

describe('tokens', () => {
  it('expire, and are bound to queues and topics', async () => {
    const all: readonly Scope[] = SCOPES
    const stand = await makeStand({
      tokens: [
        tokenFor('old', all, { expiresAt: 1 }),
        tokenFor('other', all, { queues: ['other'] }),
        tokenFor('mail', all, { topicPrefix: 'mail.' }),
      ],
    })
    const { call, queue } = stand
    const messages = `${QUEUE}/messages`
    expect(await call('GET', messages, undefined, { token: 'old' })).toMatchObject({ status: 401 })
    expect(await call('GET', messages, undefined, { token: 'other' })).toMatchObject({ status: 403 })
    expect(await call('GET', '/v1/queues', undefined, { token: 'other' })).toMatchObject({
      json: { queues: [] },
    })
    await queue.produce('order.close', 1, { id: 'o', delay: '1h' })
    await queue.produce('mail.send', 1, { id: 'm', delay: '1h' })
    const token = 'mail'
    const status = async (...[method, path, body]: Parameters<Stand['call']>): Promise<number> =>
      (await call(method, path, body, { token })).status
    expect(await status('POST', messages, { topic: 'mail.send' })).toBe(201)
    expect(await status('POST', messages, { topic: 'order.close' })).toBe(403)
    expect(await status('PUT', `${messages}/o`, { topic: 'mail.send', ifExists: 'replace' })).toBe(403)
    expect(await status('POST', `${messages}:batch`, [{ topic: 'mail.a' }, { topic: 'order.a' }])).toBe(403)
    expect(await status('GET', `${messages}?topic=order.close`)).toBe(403)
    expect(await status('GET', `${messages}?topic=mail.send`)).toBe(200)
    expect(await status('GET', `${messages}/o`)).toBe(403)
    expect(await status('GET', `${messages}/m`)).toBe(200)
    expect(await status('DELETE', `${messages}/o`)).toBe(403)
    expect(await status('DELETE', `${messages}/m`)).toBe(200)
    expect(await status('PUT', `${QUEUE}/pause`, {})).toBe(403)
    expect(await status('PUT', `${QUEUE}/topics/mail.send/pause`, {})).toBe(200)
    expect(await status('POST', `${QUEUE}/leases`, { topics: ['order.close'], wait: 0 })).toBe(403)
    expect(
      await status('POST', `${QUEUE}/bulk`, { action: 'purge', filter: { ids: ['o'] }, dryRun: true }),
    ).toBe(403)
    expect(await queue.get('o')).toBeDefined()
  })

  it('are read again when their file changes, and a broken file leaves them as they were', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'punctual-tokens-'))
    onTestFinished(() => rmSync(directory, { recursive: true }))
    const file = join(directory, 'tokens.json')
    const clock = new VirtualClock()
    const warnings: string[] = []
    writeTokenFile(file, [tokenFor('a', ['read'])])
    const read = watchTokenFile(file, clock, { warn: (line) => warnings.push(line), error: () => undefined })
    writeTokenFile(file, [tokenFor('a', ['read']), tokenFor('b', ['read'])])
    expect(read()).toHaveLength(1)
    await clock.advance(3_000)
    expect(read()).toHaveLength(2)
    rmSync(file)
    await clock.advance(3_000)
    expect(read()).toHaveLength(2)
    expect(warnings).toHaveLength(1)
  })

  it('taken out of their file end what is open within a second, whenever somebody looked before', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'punctual-tokens-'))
    onTestFinished(() => rmSync(directory, { recursive: true }))
    const file = join(directory, 'tokens.json')
    for (const lookedMs of [0, 110, 410, 610, 810, 990]) {
      const clock = new VirtualClock()
      writeTokenFile(file, [tokenFor('a', ['read'])])
      const read = watchTokenFile(file, clock, { warn: () => undefined, error: () => undefined })
      const told: string[] = []
      new OpenCalls(clock).open(() => read().length === 0).whenOver(() => told.push('over'))
      await clock.advance(lookedMs)
      expect(read()).toHaveLength(1)
      writeTokenFile(file, [])
      await clock.advance(1_000)
      expect({ lookedMs, told }).toEqual({ lookedMs, told: ['over'] })
    }
  })

  it('become a cookie for a browser, which the server signed', async () => {
    const { call } = await makeStand({ tokens: [tokenFor('ops', ['read'])] })
    const { status, headers } = await call('POST', '/v1/session', {}, { token: 'ops' })
    const [cookie = '', ...flags] = (headers.get('set-cookie') ?? '').split('; ')
    expect({ status, flags }).toMatchObject({
      status: 200,
      flags: expect.arrayContaining(['HttpOnly', 'SameSite=Strict']),
    })
    expect(await call('GET', '/v1/session', undefined, { headers: { cookie } })).toMatchObject({
      json: { name: 'ops', isOpen: false },
    })
    for (let at = cookie.indexOf('=') + 1; at < cookie.length; at += 7) {
      const flipped = cookie.slice(0, at) + (cookie[at] === 'A' ? 'B' : 'A') + cookie.slice(at + 1)
      expect((await call('GET', '/v1/session', undefined, { headers: { cookie: flipped } })).status).toBe(401)
    }
  })

  it('may make so many calls a second', async () => {
    const { call } = await makeStand({ tokens: [tokenFor('ops', ['read'])], rate: 1 })
    const statuses = await Promise.all(
      Array.from(
        { length: 30 },
        async () => (await call('GET', '/v1/queues', undefined, { token: 'ops' })).status,
      ),
    )
    expect(new Set(statuses)).toEqual(new Set([200, 429]))
    expect((await call('GET', '/healthz')).status).toBe(200)
  })

  it('as many at once as in a second, then one by one, each token for itself', async () => {
    const clock = new VirtualClock()
    const rates = new CallRates(clock, { burst: 5, intervalMs: 200 })
    const taken = (name: string, tries: number): number =>
      Array.from({ length: tries }, () => rates.take(name)).filter((waitMs) => waitMs === 0).length
    expect(taken('a', 20)).toBe(5)
    expect(taken('b', 1)).toBe(1)
    expect(rates.take('a')).toBeGreaterThan(0)
    await clock.advance(400)
    expect(taken('a', 20)).toBe(2)
  })
})

describe('who is answered', () => {
  it('without tokens, others cannot be reached: it refuses to start', async () => {
    const queue = new Punctual({ store: 'memory:', logger: false })
    const server = new HttpServer({ queues: [queue], logger: false })
    await expect(server.listen({ host: '0.0.0.0', port: 0 })).rejects.toMatchObject({
      code: 'OPTION_INVALID',
    })
    await queue.stop()
  })

  it('without tokens, only to loopback names: a rebound page has another', async () => {
    const { base } = await makeStand()
    const status = (host: string): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        request(`${base}/v1/queues`, { headers: { host } }, (response) => {
          response.resume()
          resolve(response.statusCode)
        })
          .on('error', reject)
          .end()
      })
    expect(await status('localhost:7780')).toBe(200)
    expect(await status('[::1]:7780')).toBe(200)
    expect(await status('evil.example')).toBe(421)
    expect(await status('127.0.0.1.evil.example')).toBe(421)
  })

  it('mounted without access and without tokens, nobody', async () => {
    const queue = new Punctual({ store: 'memory:', logger: false })
    const server = new HttpServer({ queues: [queue], logger: false })
    const response = await server.fetch(new Request('http://localhost/v1/queues'))
    expect(response.status).toBe(403)
    await queue.stop()
  })

  it('pages of an allowed origin, and of no other', async () => {
    const { base, call } = await makeStand({ cors: ['https://ops.example'] })
    const from = async (origin: string): Promise<string | null> =>
      (await call('GET', '/v1/queues', undefined, { headers: { origin } })).headers.get(
        'access-control-allow-origin',
      )
    expect(await from('https://ops.example')).toBe('https://ops.example')
    expect(await from('https://evil.example')).toBeNull()
    const asked = await fetch(`${base}${QUEUE}/messages/a`, {
      method: 'OPTIONS',
      headers: { origin: 'https://ops.example' },
    })
    const listed = (name: string): readonly string[] => asked.headers.get(name)?.split(', ') ?? []
    const heeded = Object.values(DOCUMENT.paths)
      .flatMap((operations) => Object.values(operations))
      .flatMap(({ parameters = [] }) => parameters.filter((one) => one.in === 'header'))
      .map(({ name }) => name.toLowerCase())
    expect(heeded).toEqual(expect.arrayContaining(['idempotency-key', 'punctual-key', 'if-none-match']))
    expect(heeded.filter((name) => !listed('access-control-allow-headers').includes(name))).toEqual([])
    // The rest is the browser's own.
    const told = Object.keys(DOCUMENT.components.headers)
      .filter((name) => !['Set-Cookie', 'WWW-Authenticate'].includes(name))
      .map((name) => name.toLowerCase())
    expect(listed('access-control-expose-headers').toSorted()).toEqual(told.toSorted())
  })

  it('errors of our own tell nothing of the inside, and the log does', async () => {
    const { call, queue, log } = await makeStand()
    queue.stats = () => Promise.reject(new TypeError('secret inside'))
    const { status, text } = await call('GET', `${QUEUE}/stats`)
    expect({ status, hidden: text.includes('secret') }).toEqual({ status: 500, hidden: false })
    expect(log.join('\n')).toContain('secret inside')
  })
})

it('a token that was right before is refused as soon as it is taken back, or has expired', async () => {
  let records = [
    tokenFor('shop', ['read']),
    tokenFor('brief', ['read'], { expiresAt: Date.now() + 3_600_000 }),
  ]
  let now = Date.now()
  const clock = { ...systemClock, now: () => now }
  const { call } = await makeStand({ tokens: () => records, clock })
  const status = async (token: string): Promise<number> =>
    (await call('GET', '/v1/session', undefined, { token })).status
  for (const token of ['shop', 'brief'])
    expect([await status(token), await status(token)]).toEqual([200, 200])
  now += 3_600_001
  expect([await status('shop'), await status('brief')]).toEqual([200, 401])
  records = []
  expect(await status('shop')).toBe(401)
  expect(await status('shoq')).toBe(401)
})

it('what is signed is sealed by HMAC-SHA256, with a key for each purpose', () => {
  const signer = new Signer('secret', systemRandom)
  const signed = signer.sign('lease', ['default', 'a', 't', '1'])
  const [body = '', seal] = signed.split('.')
  const key = createHash('sha256').update('punctual lease secret').digest()
  expect(seal).toBe(createHmac('sha256', key).update(body).digest('base64url'))
  expect(signer.read('lease', signed)).toEqual(['default', 'a', 't', '1'])
  expect(signer.read('session', signed)).toBeUndefined()
  expect(signer.read('lease', `${signed.slice(0, -2)}AA`)).toBeUndefined()
})
