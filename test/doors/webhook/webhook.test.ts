import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Punctual, type FoundMessage } from '../../../src/index.ts'
import { AddressGuard } from '../../../src/doors/shared/webhook/addresses.ts'
import { parseSecrets, webhookId } from '../../../src/doors/shared/webhook/signature.ts'
import { webhookHandler } from '../../../src/doors/shared/webhook/webhook.ts'

const load = createRequire(join(resolve(import.meta.dirname, '../../..'), 'bench/package.json'))
const OLD = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
const NEW = `whsec_${Buffer.alloc(32, 2).toString('base64')}`

async function receive(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
}

type Delivered = { readonly queue: Punctual; readonly found: () => Promise<FoundMessage | undefined> }

/** One message, delivered until something has become of it. */
async function deliver(url: string, payload: unknown, timeout: '1s' | '10s' = '10s'): Promise<Delivered> {
  const queue = new Punctual({ store: 'memory:', logger: false, retry: { limit: 1, delays: ['1h'] } })
  onTestFinished(async () => void (await queue.stop({ timeout: 0 })))
  const options = {
    queue: 'default',
    guard: new AddressGuard(['127.0.0.1']),
    secrets: parseSecrets(`${OLD} ${NEW}`),
    headers: {},
    now: Date.now,
  }
  queue.handle('t', webhookHandler(url, options), { timeout })
  const settled = new Promise<void>((done) => {
    for (const name of ['completed', 'retrying', 'dead'] as const) queue.on(name, () => done())
  })
  await queue.produce('t', payload, { id: 'a.b/c' })
  await queue.start()
  await settled
  return { queue, found: () => queue.get('a.b/c') }
}

describe('a webhook', () => {
  it('is signed so that the reference library accepts it, with the old secret and with the new one', async () => {
    const { Webhook } = load('standardwebhooks') as {
      Webhook: new (secret: string) => {
        verify: (body: string, headers: IncomingMessage['headers']) => unknown
      }
    }
    const seen: { body: string; headers: IncomingMessage['headers'] }[] = []
    const url = await receive((request, response) => {
      let body = ''
      request.on('data', (chunk: Buffer) => (body += chunk.toString()))
      request.on('end', () => {
        seen.push({ body, headers: request.headers })
        response.end()
      })
    })
    const { found } = await deliver(url, { n: 1, text: 'grün' })
    expect(await found()).toBeUndefined()
    const [{ body, headers } = { body: '', headers: {} }] = seen
    for (const secret of [OLD, NEW])
      expect(new Webhook(secret).verify(body, headers)).toEqual({ n: 1, text: 'grün' })
    const other = `whsec_${Buffer.alloc(32, 3).toString('base64')}`
    expect(() => new Webhook(other).verify(body, headers)).toThrow()
    expect(() => new Webhook(OLD).verify(`${body} `, headers)).toThrow()
    expect(headers['webhook-id']).toBe(webhookId('default', 'a.b/c'))
    expect(headers['webhook-id']).not.toContain('.')
    expect(headers['punctual-id']).toBe('a.b%2Fc')
  })

  it.each([
    ['410 is dead at once', 410, {}, { state: 'dead' }],
    [
      '500 is retried by policy',
      500,
      {},
      { state: 'delayed', attempt: 1, error: expect.stringContaining('500 Internal Server Error') },
    ],
    [
      'a redirect is a failure, and not followed',
      302,
      { location: 'http://169.254.169.254/' },
      { state: 'delayed', error: expect.stringContaining('302') },
    ],
  ] as const)('%s', async (_, status, headers, expected) => {
    const url = await receive((_request, response) => void response.writeHead(status, headers).end('because'))
    expect(await (await deliver(url, 1)).found()).toMatchObject(expected)
  })

  it.each([
    ['seconds', '7200'],
    ['a date', new Date(Date.now() + 7_200_000).toUTCString()],
  ])('Retry-After in %s says when to come again', async (_, value) => {
    const url = await receive(
      (_request, response) => void response.writeHead(503, { 'retry-after': value }).end(),
    )
    const found = await (await deliver(url, 1)).found()
    expect(Math.abs((found?.dueAt ?? 0) - Date.now() - 7_200_000)).toBeLessThan(60_000)
  })

  it.each([
    ['hangs', () => undefined],
    ['resets the connection', (request: IncomingMessage) => void request.socket.destroy()],
    [
      'trickles',
      (_request: IncomingMessage, response: ServerResponse) => {
        response.writeHead(200)
        const timer = setInterval(() => response.write('x'), 50)
        response.on('close', () => clearInterval(timer))
      },
    ],
  ] as const)('a receiver that %s is a failed attempt, and keeps nothing', async (_, listener) => {
    const url = await receive(listener)
    expect(await (await deliver(url, 1, '1s')).found()).toMatchObject({ state: 'delayed', attempt: 1 })
  })

  it('an answer without end is read up to a limit', async () => {
    let sent = 0
    const url = await receive((_request, response) => {
      response.writeHead(200)
      const chunk = Buffer.alloc(64 * 1024)
      const write = (): void => {
        while (!response.destroyed && response.write(chunk)) sent += chunk.length
      }
      response.on('drain', write)
      write()
    })
    expect(await (await deliver(url, 1)).found()).toBeUndefined()
    expect(sent).toBeLessThan(64 * 1024 * 1024)
  })

  it('a secret that is none is refused', () => {
    for (const wrong of ['secret', 'whsec_', 'whsec_YWJj'])
      expect(() => parseSecrets(wrong)).toThrow(/whsec_/)
    expect(parseSecrets('')).toEqual([])
  })
})
