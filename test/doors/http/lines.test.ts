/** Batches as JSON lines: each line is stored and answered for itself, while the rest is still on its way. */
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http'
import { createInterface } from 'node:readline'
import { describe, expect, it, onTestFinished } from 'vitest'
import { serve } from '../../../src/doors/http/server.ts'
import { Punctual } from '../../../src/index.ts'
import { systemClock } from '../../../src/clock.ts'
import { MemoryStore } from '../../../src/store/memory/store.ts'
import { FaultyStore } from '../../../src/testing/index.ts'
import { makeStand, QUEUE, tokenFor, type Stand } from './stand.ts'
import { mismatches } from './validate.ts'
import { DOCUMENT } from './stand.ts'

const BATCH = `${QUEUE}/messages:batch`
const LINES = { 'content-type': 'application/x-ndjson' }

type Line = { line?: number; id?: string; outcome?: string; code?: string; lines?: number; stored?: number }

/** Each line is also held against the OpenAPI document. */
function parseLines(text: string): Line[] {
  const content = DOCUMENT.paths['/v1/queues/{queue}/messages:batch']?.post?.responses['200']?.content
  const { schema } = content?.['application/x-ndjson'] ?? { schema: {} }
  return text.split('\n').flatMap((line) => {
    if (line === '') return []
    const value = JSON.parse(line) as Line
    expect(mismatches(schema, value, DOCUMENT.components.schemas), line).toEqual([])
    return [value]
  })
}

async function send({ call }: Stand, raw: string, token?: string): Promise<Line[]> {
  const asking = { raw, headers: LINES, ...(token === undefined ? {} : { token }) }
  const { status, text, headers } = await call('POST', BATCH, undefined, asking)
  expect([status, headers.get('content-type')]).toEqual([200, 'application/x-ndjson'])
  return parseLines(text)
}

const message = (id: string, more: object = {}): string =>
  JSON.stringify({ topic: 't', id, delay: '1h', ...more })

describe('JSON lines', () => {
  it('a line that is wrong is answered, and keeps no other from being stored', async () => {
    const stand = await makeStand()
    const long = JSON.stringify({ topic: 't', id: 'é', payload: 'ü'.repeat(50_000), delay: '1h' })
    const raw = [message('a'), '', '{"topic":', message('a', { ifExists: 'fail' }), '{"delay":1}', long].join(
      '\n',
    )
    expect(await send(stand, raw)).toMatchObject([
      { line: 1, id: 'a', outcome: 'stored' },
      { line: 3, code: 'BODY_INVALID' },
      { line: 4, code: 'ID_EXISTS' },
      { line: 5, code: 'CALL_INVALID' },
      { line: 6, id: 'é', outcome: 'stored' },
      { lines: 6, stored: 2 },
    ])
    expect(await stand.queue.get('é')).toMatchObject({ payload: 'ü'.repeat(50_000) })
    expect(await send(stand, '')).toEqual([{ lines: 0, stored: 0 }])
  })

  it('a token for some topics stores those alone', async () => {
    const stand = await makeStand({ tokens: [tokenFor('shop', ['produce'], { topicPrefix: 'a.' })] })
    const raw = ['{"topic":"a.x"}', '{"topic":"b.x"}'].join('\n')
    expect(await send(stand, raw, 'shop')).toMatchObject([
      { line: 1, outcome: 'stored' },
      { line: 2, code: 'FORBIDDEN' },
      { lines: 2, stored: 1 },
    ])
  })

  it('an answer comes before the next line is sent, and what was answered stays when the client goes', async () => {
    const stand = await makeStand()
    const { call, next, response } = begin(stand)
    for (const id of ['a', 'b', 'c']) {
      // In two pieces, cut in the middle of a line.
      const text = `${message(id)}\n`
      call.write(text.slice(0, 10))
      call.write(text.slice(10))
      expect(await next()).toMatchObject({ id, outcome: 'stored' })
    }
    call.write(message('half').slice(0, 12))
    call.destroy()
    await expect.poll(async () => (await response).destroyed, { timeout: 20_000 }).toBe(true)
    expect((await stand.queue.list({ state: 'delayed' })).items.map(({ id }) => id).toSorted()).toEqual([
      'a',
      'b',
      'c',
    ])
  })

  it('P10: a line without an end, and lines without an end, are refused', async () => {
    const stand = await makeStand({}, { store: 'memory:', payloadLimit: 1_000 })
    const endless = `${message('a')}\n${'x'.repeat(100_000)}`
    expect((await send(stand, endless)).at(-1)).toMatchObject({ line: 2, code: 'BODY_TOO_LARGE' })
    const many = `${message('b')}\n`.repeat(20_001)
    const answers = await send(stand, many)
    expect(answers.at(-1)).toMatchObject({ code: 'BODY_TOO_LARGE' })
    expect(answers.length).toBeGreaterThan(20_000)
  })

  it('a store that does not answer ends it, and the last line says from where on', async () => {
    const store = new FaultyStore(new MemoryStore(systemClock), systemClock)
    const stand = await makeStand({}, { store })
    const { call, next } = begin(stand)
    call.write(`${message('a')}\n`)
    expect(await next()).toMatchObject({ line: 1, outcome: 'stored' })
    store.fate = (verb) => (verb === 'put' ? { kind: 'refuse' } : undefined)
    call.write(`${message('b')}\n`)
    expect(await next()).toMatchObject({ line: 2, code: 'STORE_UNAVAILABLE', effect: 'unknown' })
    call.destroy()
  })

  it('10,000 lines in one call are all there, also through the fetch shell', async () => {
    const stand = await makeStand()
    const ids = Array.from({ length: 10_000 }, (_, i) => `m${i}`)
    const raw = ids.map((id) => message(id)).join('\n')
    const answers = await send(stand, raw)
    expect(answers.at(-1)).toEqual({ lines: 10_000, stored: 10_000 })
    expect(answers.slice(0, -1).map(({ id }) => id)).toEqual(ids)
    expect((await stand.queue.stats()).counts.delayed).toBe(10_000)
    const queue = new Punctual({ store: 'memory:', logger: false })
    const server = serve({ queues: [queue], access: () => ['produce'] })
    onTestFinished(async () => {
      await server.close()
      await queue.stop({ timeout: 0 })
    })
    const response = await server.fetch(
      new Request(`http://host${BATCH}`, { method: 'POST', headers: LINES, body: raw }),
    )
    expect(parseLines(await response.text()).at(-1)).toEqual({ lines: 10_000, stored: 10_000 })
  })
})

type Open = {
  readonly call: ClientRequest
  readonly response: Promise<IncomingMessage>
  readonly next: () => Promise<Line>
}

/** A call whose body is not over yet. */
function begin({ base }: Stand): Open {
  const call = httpRequest(base + BATCH, { method: 'POST', headers: LINES })
  call.on('error', () => undefined)
  const response = new Promise<IncomingMessage>((resolve) => call.once('response', resolve))
  onTestFinished(() => void call.destroy())
  const answers = response.then((got) => {
    got.on('error', () => undefined)
    return createInterface({ input: got })[Symbol.asyncIterator]()
  })
  const next = async (): Promise<Line> => parseLines(String((await (await answers).next()).value))[0] ?? {}
  return { call, response, next }
}
