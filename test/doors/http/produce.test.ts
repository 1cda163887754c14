import { describe, expect, it } from 'vitest'
import { HttpServer } from '../../../src/doors/http/server.ts'
import { makeStand, QUEUE } from './stand.ts'

const MESSAGES = `${QUEUE}/messages`

describe('POST', () => {
  it('stores a message, says where it is, and tells stored from kept and replaced', async () => {
    const { call } = await makeStand()
    const message = { topic: 'order.close', payload: { n: 1 }, delay: '1h', id: 'order/42' }
    const stored = await call('POST', MESSAGES, message)
    expect(stored).toMatchObject({ status: 201, json: { id: 'order/42', outcome: 'stored' } })
    expect(stored.headers.get('location')).toBe(`${MESSAGES}/order%2F42`)
    expect(await call('POST', MESSAGES, message)).toMatchObject({ status: 200, json: { outcome: 'kept' } })
    const replaced = await call('POST', MESSAGES, { ...message, ifExists: 'replace' })
    expect(replaced).toMatchObject({ status: 200, json: { outcome: 'replaced' } })
    const failed = await call('POST', MESSAGES, { ...message, ifExists: 'fail' })
    expect(failed).toMatchObject({ status: 409, json: { code: 'ID_EXISTS', effect: 'none' } })
  })

  it('an Idempotency-Key becomes the id and is remembered for a day', async () => {
    const { call, queue } = await makeStand()
    const headers = { 'idempotency-key': 'key-1' }
    expect(await call('POST', MESSAGES, { topic: 't' }, { headers })).toMatchObject({
      json: { id: 'key-1', outcome: 'stored' },
    })
    const ran: string[] = []
    const done = new Promise((resolve) => queue.on('completed', resolve))
    queue.handle('t', ({ id }) => void ran.push(id))
    await queue.start()
    await done
    expect(await call('POST', MESSAGES, { topic: 't' }, { headers })).toMatchObject({
      status: 200,
      json: { outcome: 'kept' },
    })
    expect(await call('GET', `${MESSAGES}/key-1`)).toMatchObject({ json: { state: 'completed' } })
    expect(ran).toEqual(['key-1'])
  })

  it('moments: epoch milliseconds and RFC 3339 with an offset; a bare local time is refused', async () => {
    const { call } = await makeStand()
    const at = Date.UTC(2030, 0, 1, 9)
    for (const [id, given] of Object.entries({
      a: at,
      b: '2030-01-01T09:00:00Z',
      c: '2030-01-01T10:00:00+01:00',
    })) {
      await call('POST', MESSAGES, { topic: 't', id, at: given })
      expect(await call('GET', `${MESSAGES}/${id}`)).toMatchObject({ json: { dueAt: at } })
    }
    expect(await call('POST', MESSAGES, { topic: 't', at: '2030-01-01T09:00' })).toMatchObject({
      status: 400,
    })
  })

  it('P19: local times, windows and working days, as objects and as texts', async () => {
    const { call } = await makeStand({}, { store: 'memory:', calendars: { de: ['01-01'] } })
    const within = { from: '08:00', to: '20:00', zone: 'Europe/Berlin' }
    const local = { local: '2090-01-02 09:00', zone: 'Europe/Berlin' }
    const after = { workdays: 3, at: '09:00', except: ['de'], zone: 'Europe/Berlin' }
    const asked = {
      object: { topic: 't', at: local, within },
      text: { topic: 't', at: '2090-01-02 09:00 Europe/Berlin', within: ['08:00-20:00,Europe/Berlin'] },
      days: { topic: 't', after },
      words: { topic: 't', after: '3 workdays,09:00,except de,Europe/Berlin' },
    }
    for (const [id, message] of Object.entries(asked))
      expect((await call('PUT', `${MESSAGES}/${id}`, message)).status).toBe(201)
    const headers = {
      'punctual-topic': 't',
      'punctual-at': encodeURIComponent('2090-01-02 09:00 Europe/Berlin'),
      'punctual-within': encodeURIComponent('08:00-20:00,Europe/Berlin'),
    }
    expect((await call('PUT', `${MESSAGES}/header`, 1, { headers })).status).toBe(201)
    for (const id of ['object', 'text', 'header'])
      expect(await call('GET', `${MESSAGES}/${id}`)).toMatchObject({
        json: { dueAt: Date.UTC(2090, 0, 2, 8), within: [within], said: { at: local } },
      })
    for (const id of ['days', 'words'])
      expect(await call('GET', `${MESSAGES}/${id}`)).toMatchObject({ json: { said: { after } } })
    for (const bad of [
      { within: { zone: 'UTC', form: '08:00' } },
      { within: 'UTC,UTC' },
      { at: '09:00 Nowhere/Here' },
    ])
      expect((await call('POST', MESSAGES, { topic: 't', ...bad })).status).toBe(400)
  })

  it.each([
    ['not JSON', '{"topic":', 'BODY_INVALID', 400],
    ['too deep', `{"topic":"t","payload":${'['.repeat(200)}${']'.repeat(200)}}`, 'BODY_INVALID', 400],
    ['no topic', '{}', 'CALL_INVALID', 400],
    ['an option that does not exist', '{"topic":"t","dealy":"1h"}', 'CALL_INVALID', 400],
    ['delay and at', '{"topic":"t","delay":1,"at":1}', 'DELAY_AND_AT', 400],
    ['a duration that is none', '{"topic":"t","delay":"soon"}', 'DURATION_INVALID', 400],
    ['too large', JSON.stringify({ topic: 't', payload: 'x'.repeat(2_000_000) }), 'BODY_TOO_LARGE', 413],
  ])('refuses %s', async (_, raw, code, status) => {
    const { call } = await makeStand()
    expect(await call('POST', MESSAGES, undefined, { raw })).toMatchObject({
      status,
      json: { code, effect: 'none' },
    })
  })

  it('refuses what a form of another site could send', async () => {
    const { call } = await makeStand()
    const raw = '{"topic":"t"}'
    const asForm = { raw, headers: { 'content-type': 'text/plain' } }
    expect(await call('POST', MESSAGES, undefined, asForm)).toMatchObject({ status: 415 })
    const fromPage = { raw, headers: { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' } }
    expect(await call('POST', MESSAGES, undefined, fromPage)).toMatchObject({
      status: 403,
      json: { code: 'ORIGIN_REFUSED' },
    })
  })
})

describe('PUT', () => {
  it('is safe to repeat, and If-None-Match: * makes it new or nothing', async () => {
    const { call } = await makeStand()
    const body = { topic: 't', delay: '1h' }
    expect(await call('PUT', `${MESSAGES}/a%3Ab`, body)).toMatchObject({ status: 201, json: { id: 'a:b' } })
    expect(await call('PUT', `${MESSAGES}/a%3Ab`, body)).toMatchObject({
      status: 200,
      json: { outcome: 'kept' },
    })
    const headers = { 'if-none-match': '*' }
    expect(await call('PUT', `${MESSAGES}/a%3Ab`, body, { headers })).toMatchObject({ status: 412 })
    expect(await call('PUT', `${MESSAGES}/x`, { ...body, id: 'y' })).toMatchObject({ status: 400 })
    expect(await call('PUT', `${MESSAGES}/x`, body, { headers: { 'if-match': '"1"' } })).toMatchObject({
      status: 501,
    })
  })

  it('keeps a payload that is sent alone byte by byte, and the rest comes in headers', async () => {
    const { call } = await makeStand()
    const raw = '{ "n": 12345678901234567890, "x": 1.10 }'
    const headers = { 'punctual-topic': 'caf%C3%A9', 'punctual-delay': '1h', 'punctual-priority': 'high' }
    expect(await call('PUT', `${MESSAGES}/big`, undefined, { raw, headers })).toMatchObject({ status: 201 })
    const { json, text } = await call('GET', `${MESSAGES}/big`)
    expect(json).toMatchObject({ topic: 'café', priority: 'high', payloadText: raw })
    expect(text).toContain(`"payload":${raw}`)
    expect((await call('GET', MESSAGES)).text).toContain(raw)
    const broken = await call('PUT', `${MESSAGES}/no`, undefined, { raw: '{"n":', headers })
    expect(broken).toMatchObject({ status: 400, json: { code: 'BODY_INVALID' } })
  })
})

describe('batch', () => {
  const BATCH = `${QUEUE}/messages:batch`

  it('takes an array, and answers each', async () => {
    const { call } = await makeStand()
    const entries = [
      { topic: 't', id: 'a', delay: '1h' },
      { topic: 't', delay: '1h' },
      { topic: 't', id: 'a', ifExists: 'fail' },
    ]
    const { json } = await call('POST', BATCH, entries)
    expect(json.results).toMatchObject([
      { id: 'a', outcome: 'stored' },
      { outcome: 'stored' },
      { code: 'ID_EXISTS', status: 409 },
    ])
  })

  it('stores nothing if one of them is wrong, and says which', async () => {
    const { call, queue } = await makeStand()
    const { status, json } = await call('POST', BATCH, [{ topic: 't' }, { topic: 't', delay: 'soon' }])
    expect({ status, detail: json.detail }).toMatchObject({
      status: 400,
      detail: expect.stringContaining('message 1'),
    })
    expect((await queue.stats()).counts.ready).toBe(0)
    const many = Array.from({ length: 1_001 }, () => ({ topic: 't' }))
    expect(await call('POST', BATCH, many)).toMatchObject({ status: 413 })
  })
})

describe('bytes that are not UTF-8', () => {
  const BAD = Buffer.from([0x22, 0xff, 0xfe, 0x22])
  const bad = (before: string, after: string): Buffer =>
    Buffer.concat([Buffer.from(before), BAD, Buffer.from(after)])
  const JSON_TYPE = { 'content-type': 'application/json' }

  it.each([
    ['in a message', 'POST', MESSAGES, JSON_TYPE, bad('{"topic":"t","payload":', '}')],
    ['in a payload alone', 'PUT', `${MESSAGES}/a`, { ...JSON_TYPE, 'punctual-topic': 't' }, BAD],
    ['in an array', 'POST', `${MESSAGES}:batch`, JSON_TYPE, bad('[{"topic":"t","payload":', '}]')],
    ['in a header', 'PUT', `${MESSAGES}/a`, { ...JSON_TYPE, 'punctual-topic': 't%FF' }, Buffer.from('1')],
    [
      'in a header, not encoded',
      'PUT',
      `${MESSAGES}/a`,
      { ...JSON_TYPE, 'punctual-topic': 'caf\u00e9' },
      Buffer.from('1'),
    ],
    [
      'in a key',
      'POST',
      MESSAGES,
      { ...JSON_TYPE, 'idempotency-key': 'caf\u00e9' },
      Buffer.from('{"topic":"t"}'),
    ],
    ['in a query', 'GET', `${MESSAGES}?topic=%FF`, {}, undefined],
  ])(
    '%s are refused, and nothing is stored; through either shell',
    async (_, method, path, headers, body) => {
      const { base, queue } = await makeStand()
      const asked = { method, headers, ...(body === undefined ? {} : { body: new Uint8Array(body) }) }
      const answers = [
        await fetch(base + path, asked),
        await new HttpServer({ queues: [queue], access: () => ['read', 'produce'], logger: false }).fetch(
          new Request(base + path, asked),
        ),
      ]
      for (const answer of answers) {
        expect(answer.status).toBe(400)
        expect(await answer.json()).toMatchObject({ code: 'ENCODING_INVALID', effect: 'none' })
      }
      expect((await queue.stats()).counts).toMatchObject({ delayed: 0, ready: 0 })
    },
  )

  it('in a JSON line keep no other line from being stored', async () => {
    const { base, queue } = await makeStand()
    const body = Buffer.concat([
      bad('{"topic":"t","id":"a","payload":', '}\n'),
      Buffer.from('{"topic":"t","id":"b","payload":"\u00fc"}\n'),
    ])
    const answer = await fetch(`${base}${MESSAGES}:batch`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson' },
      body: new Uint8Array(body),
    })
    const lines = (await answer.text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object)
    expect(lines).toMatchObject([{ line: 1, code: 'ENCODING_INVALID' }, { line: 2, id: 'b' }, { stored: 1 }])
    expect(await queue.get('b')).toMatchObject({ payload: '\u00fc' })
  })
})

it('an Idempotency-Key beside an id is refused, not ignored', async () => {
  const { call, queue } = await makeStand()
  const headers = { 'idempotency-key': 'key' }
  expect(await call('POST', MESSAGES, { topic: 't', id: 'id', delay: '1h' }, { headers })).toMatchObject({
    status: 400,
    json: { code: 'CALL_INVALID' },
  })
  expect((await queue.stats()).counts.delayed).toBe(0)
})
