import { describe, expect, it } from 'vitest'
import { segmentOf } from '../../../src/core/encoding/segment.ts'
import { insidesOf } from '../../../src/queue/insides.ts'
import { makeStand, QUEUE } from './stand.ts'

const MESSAGES = `${QUEUE}/messages`

describe('messages', () => {
  it('are listed by filter, page by page, with as much of the payload as is asked for', async () => {
    const { call, queue } = await makeStand()
    const now = Date.now()
    for (let i = 0; i < 5; i += 1)
      await queue.produce(
        'a',
        { n: i, text: `word-${i}` },
        { id: `a-${i}`, at: now + 3_600_000 * (i + 1), tag: 'x' },
      )
    await queue.produce('b', undefined, { id: 'b', delay: '1h' })
    const ids = async (query: string): Promise<unknown> => {
      const { json } = await call('GET', `${MESSAGES}?${query}`)
      return (json.items as unknown as { id: string }[]).map(({ id }) => id).toSorted()
    }
    expect(await ids('topic=b')).toEqual(['b'])
    expect(await ids('tag=x&text=word-3')).toEqual(['a-3'])
    expect(await ids('state=delayed&idPrefix=a-')).toHaveLength(5)
    expect(await ids(`dueFrom=${now + 2 * 3_600_000}&dueUntil=${now + 4 * 3_600_000}`)).toEqual([
      'a-1',
      'a-2',
    ])
    expect(await ids('ids=a-1&ids=b&ids=none')).toEqual(['a-1', 'b'])

    const first = await call('GET', `${MESSAGES}?topic=a&limit=2&payload=preview`)
    expect(first.json.items).toMatchObject([{ preview: '{"n":0,"text":"word-0"}' }, { id: 'a-1' }])
    expect(first.json.items?.[0]).not.toHaveProperty('payload')
    const next = /<(.*)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1] ?? ''
    expect((await call('GET', next)).json.items).toMatchObject([{ id: 'a-2' }, { id: 'a-3' }])
    expect(await call('GET', `${MESSAGES}?cursor=nonsense`)).toMatchObject({
      status: 400,
      json: { code: 'CURSOR_INVALID' },
    })
    expect(await call('GET', `${MESSAGES}?stat=dead`)).toMatchObject({ status: 400 })
  })

  it('a page of large payloads leaves some out, and each can be asked for', async () => {
    const { call, queue } = await makeStand()
    for (let i = 0; i < 6; i += 1) await queue.produce('t', 'x'.repeat(1_000_000), { delay: '1h' })
    const { json } = await call('GET', MESSAGES)
    const items = json.items as unknown as { payload?: string; payloadBytes: number }[]
    expect(items.map(({ payloadBytes }) => payloadBytes)).toEqual(Array(6).fill(1_000_002))
    expect(items.filter(({ payload }) => payload !== undefined)).toHaveLength(4)
  })

  it('one has a tag, so that an unchanged one is not sent again', async () => {
    const { call } = await makeStand()
    await call('PUT', `${MESSAGES}/a`, { topic: 't', delay: '1h', ttl: '5m' })
    const { headers, json } = await call('GET', `${MESSAGES}/a`)
    expect(json).toMatchObject({ policy: { ttlMs: 300_000 }, payloadText: '' })
    const etag = headers.get('etag') ?? ''
    expect(
      await call('GET', `${MESSAGES}/a`, undefined, { headers: { 'if-none-match': etag } }),
    ).toMatchObject({ status: 304, text: '' })
  })

  it('are cancelled, moved, run now and revived, and a line in the audit tells who did it', async () => {
    const { call, queue } = await makeStand()
    const put = (id: string): Promise<unknown> =>
      call('PUT', `${MESSAGES}/${id}`, { topic: 't', delay: '1h', remember: 0 })
    await put('a')
    expect(await call('PATCH', `${MESSAGES}/a`, { delay: '2h' })).toMatchObject({
      status: 200,
      json: { result: 'rescheduled' },
    })
    expect(await call('PATCH', `${MESSAGES}/a`, {})).toMatchObject({ status: 400 })
    expect(await call('GET', `${MESSAGES}/a/why`)).toMatchObject({ json: { kind: 'not-due' } })
    expect(await call('POST', `${MESSAGES}/a/run-now`, {})).toMatchObject({ status: 200 })
    expect(await call('GET', `${MESSAGES}/a`)).toMatchObject({ json: { state: 'ready' } })
    expect(await call('POST', `${MESSAGES}/a/revive`, {})).toMatchObject({
      status: 404,
      json: { code: 'MESSAGE_MISSING' },
    })

    const hold = new AbortController()
    const held = new Promise<void>((resolve) => hold.signal.addEventListener('abort', () => resolve()))
    const running = new Promise<void>((resolve) =>
      queue.handle('t', () => (resolve(), held), { retry: { limit: 0 } }),
    )
    await queue.start()
    await running
    expect(await call('DELETE', `${MESSAGES}/a`)).toMatchObject({
      status: 409,
      json: { code: 'MESSAGE_RUNNING' },
    })
    expect(await call('POST', `${MESSAGES}/a/run-now`, {})).toMatchObject({ status: 409 })
    const gone = new Promise((resolve) => queue.on('cancelled', resolve))
    expect(await call('DELETE', `${MESSAGES}/a?running=true`)).toMatchObject({
      status: 200,
      json: { result: 'cancelling' },
    })
    hold.abort()
    await gone
    expect(await call('DELETE', `${MESSAGES}/a`)).toMatchObject({ status: 404 })
    expect((await call('GET', '/v1/audit')).json.items).toMatchObject([
      { action: 'cancel', result: 'missing' },
      { action: 'cancel', result: 'cancelling', about: 'a', who: 'local', queue: 'default' },
      { action: 'run now', result: 'running' },
      { action: 'cancel', result: 'running' },
      { action: 'revive', result: 'missing' },
      { action: 'run now', result: 'rescheduled' },
      { action: 'reschedule', result: 'rescheduled' },
    ])
  })

  it('names with slashes, dots and percent signs are data', async () => {
    const { call } = await makeStand()
    for (const id of ['a/b', '...', '~.', '50%', 'a?b#c', '日本', 'why']) {
      const path = `${MESSAGES}/${segmentOf(id)}`
      await call('PUT', path, { topic: 't', delay: '1h' })
      expect(await call('GET', path)).toMatchObject({ status: 200, json: { id } })
    }
    expect(await call('GET', `${MESSAGES}/%E0%A4%A`)).toMatchObject({ status: 400 })
    expect(await call('GET', `${MESSAGES}/%00`)).toMatchObject({ status: 400, json: { code: 'ID_INVALID' } })
  })

  it('`.` and `..` are no new names, and old ones can be looked at, steered and removed', async () => {
    const { call, queue } = await makeStand()
    for (const name of ['.', '..']) {
      const refused = async (method: string, path: string, body: unknown): Promise<unknown> => {
        const { status, json } = await call(method, path, body)
        return [status, json.code]
      }
      expect(await refused('POST', MESSAGES, { topic: name })).toEqual([400, 'TOPIC_INVALID'])
      expect(await refused('POST', MESSAGES, { topic: 't', id: name })).toEqual([400, 'ID_INVALID'])
      expect(await refused('POST', `${MESSAGES}:batch`, [{ topic: 't', tag: name }])).toEqual([
        400,
        'TAG_INVALID',
      ])
      expect(await refused('PUT', `${MESSAGES}/${segmentOf(name)}`, { topic: 't' })).toEqual([
        400,
        'ID_INVALID',
      ])
      const schedule = `${QUEUE}/schedules/${segmentOf(name)}`
      expect(await refused('PUT', schedule, { topic: 't', every: '1h' })).toEqual([400, 'ID_INVALID'])
      expect(await refused('PUT', `${QUEUE}/schedules/s`, { topic: name, every: '1h' })).toEqual([
        400,
        'TOPIC_INVALID',
      ])
    }
    const store = await insidesOf(queue).open()
    expect((await store.count()).states).toMatchObject({ delayed: 0, ready: 0 })
    const old = { topic: '..', body: '1', meta: '', priority: 1, when: { delayMs: 3_600_000 } } as const
    await store.put([
      { ...old, id: '..', ifExists: 'keep' },
      { ...old, id: '.', ifExists: 'keep' },
    ])
    expect(await call('GET', `${MESSAGES}/~..`)).toMatchObject({ status: 200, json: { id: '..' } })
    expect((await call('GET', `${MESSAGES}?topic=..`)).json.items).toHaveLength(2)
    // As a browser sends it: about the topic, and not about its queue.
    const url = new URL(`http://localhost${QUEUE}/topics/${segmentOf('..')}/pause`)
    expect((await call('PUT', url.pathname, {})).json.controls).toMatchObject([{ topic: '..', paused: {} }])
    expect((await queue.stats()).controls).toMatchObject([{ topic: '..' }])
    expect((await call('DELETE', url.pathname)).json.controls).toEqual([])
    expect((await call('DELETE', `${MESSAGES}/~..`)).json).toEqual({ result: 'cancelled' })
    expect((await call('DELETE', `${MESSAGES}/~.`)).json).toEqual({ result: 'cancelled' })
    expect((await call('GET', `${MESSAGES}?topic=..`)).json.items).toEqual([])
  })
})

describe('looking', () => {
  it('is read once a second, whoever asks', async () => {
    const { call, queue } = await makeStand()
    let reads = 0
    const stats = queue.stats.bind(queue)
    queue.stats = (...given) => {
      reads += 1
      return stats(...given)
    }
    await queue.produce('later', 1, { delay: '90m' })
    const begun = performance.now()
    const all = await Promise.all(Array.from({ length: 20 }, () => call('GET', `${QUEUE}/stats`)))
    // On a busy machine the calls themselves take longer than a second.
    expect(reads).toBeLessThanOrEqual(1 + Math.floor((performance.now() - begun) / 1_000))
    expect(all[0]?.json).toMatchObject({ counts: { delayed: 1 }, topics: { later: { waiting: 1 } } })
    expect(await call('GET', `${QUEUE}/topics/later`)).toMatchObject({ json: { topic: 'later', waiting: 1 } })
    const forecast = await call('GET', `${QUEUE}/forecast?until=2h&bars=2`)
    expect(forecast.json).toMatchObject({
      bars: [{ count: 0 }, { count: 1 }],
      before: 0,
      after: 0,
      isExact: true,
    })
    const now = Date.now()
    const edges = await call('GET', `${QUEUE}/forecast?edges=${now},${now + 7_200_000}&topic=later`)
    expect(edges.json).toMatchObject({ bars: [{ count: 1 }] })
    expect(await call('GET', `${QUEUE}/forecast?edges=2,1`)).toMatchObject({ status: 400 })
    expect(await call('GET', `${QUEUE}/workers`)).toMatchObject({ json: { workers: [] } })
    expect((await call('GET', `${QUEUE}/doctor`)).json.findings).not.toEqual([])
    expect(await call('GET', '/readyz')).toMatchObject({ status: 200 })
  })

  it('figures: what ended by step, and how late it started', async () => {
    const { call, queue } = await makeStand()
    queue.handle(
      't',
      ({ payload }) => {
        if (payload === 'bad') throw new Error('no')
      },
      { retry: { limit: 0 } },
    )
    await queue.start()
    await queue.produce('t', 'good')
    await queue.produce('t', 'bad')
    await expect
      .poll(
        async () => (await call('GET', `${QUEUE}/figures?step=1m&until=${Date.now() + 120_000}`)).json.rows,
        { timeout: 10_000 },
      )
      .toMatchObject([{ completed: 1, dead: 1 }])
    expect(await call('GET', `${QUEUE}/figures?step=90s`)).toMatchObject({ status: 400 })
  })

  it('away: 503, to be tried again, and the effect is unknown', async () => {
    const { call, queue } = await makeStand()
    await queue.stop()
    expect(await call('GET', '/readyz')).toMatchObject({ status: 503 })
    expect(await call('POST', MESSAGES, { topic: 't' })).toMatchObject({
      status: 503,
      json: { code: 'QUEUE_STOPPED', effect: 'unknown' },
    })
  })
})

describe('controls and schedules', () => {
  it('pause, resume over a time, limit', async () => {
    const { call, queue } = await makeStand()
    const topic = `${QUEUE}/topics/mail%2Fsend`
    expect(await call('PUT', `${topic}/pause`, {})).toMatchObject({
      json: { controls: [{ topic: 'mail/send', paused: {} }] },
    })
    expect(await call('PUT', `${QUEUE}/pause`, { until: '1h' })).toMatchObject({
      json: { controls: [{ paused: { until: expect.any(Number) } }] },
    })
    expect(await call('DELETE', `${QUEUE}/pause`)).toMatchObject({ json: { controls: [] } })
    await queue.produce('mail/send')
    expect(await call('DELETE', `${topic}/pause?over=10m`)).toMatchObject({
      json: { controls: [{ over: { rate: expect.any(String) } }] },
    })
    expect(await call('PUT', `${topic}/limit`, { rate: '100/1m', concurrency: 3 })).toMatchObject({
      json: { controls: [{ limit: { rate: '100/1m', concurrency: 3 } }] },
    })
    expect(await call('PUT', `${topic}/limit`, { rate: 'fast' })).toMatchObject({ status: 400 })
    const { json } = await call('DELETE', `${topic}/limit`)
    expect(json.controls?.[0]).not.toHaveProperty('limit')
  })

  it('keys: produced, found, paged, limited', async () => {
    const { call } = await makeStand()
    const topic = `${QUEUE}/topics/mail`
    for (const key of ['a/b', 'a/b', 'c'])
      expect(await call('POST', MESSAGES, { topic: 'mail', key })).toMatchObject({ status: 201 })
    const { json: found } = await call('GET', `${MESSAGES}?topic=mail&key=a%2Fb`)
    expect(found.items).toMatchObject([{ key: 'a/b' }, { key: 'a/b' }])
    expect(await call('PUT', `${topic}/limit`, { perKey: { concurrency: 1 } })).toMatchObject({
      json: { controls: [{ limit: { perKey: { concurrency: 1 } } }] },
    })
    expect(await call('PUT', `${topic}/keys/a%2Fb/limit`, { weight: 3 })).toMatchObject({
      json: { keys: [{ key: 'a/b', waiting: 2, limit: { weight: 3 } }] },
    })
    const first = await call('GET', `${topic}/keys?limit=1`)
    expect(first.json.keys).toHaveLength(1)
    const { cursor } = first.json as unknown as { cursor: string }
    const rest = await call('GET', `${topic}/keys?limit=9&cursor=${encodeURIComponent(cursor)}`)
    const all = [first, rest].flatMap(({ json }) => json.keys as unknown as { key: string }[])
    expect(all.map(({ key }) => key).toSorted()).toEqual(['a/b', 'c'])
    expect(await call('DELETE', `${topic}/keys/a%2Fb/limit`)).toMatchObject({
      json: { keys: [{ key: 'a/b' }] },
    })
    expect(await call('POST', MESSAGES, { topic: 'mail', key: 'a\n' })).toMatchObject({
      status: 400,
      json: { code: 'KEY_INVALID' },
    })
    expect(
      await call('POST', `${QUEUE}/bulk`, { action: 'cancel', filter: { key: 'a/b' }, dryRun: true }),
    ).toMatchObject({
      json: { matches: 2 },
    })
  })

  it('schedules are set, seen, paused and removed', async () => {
    const { call } = await makeStand()
    const path = `${QUEUE}/schedules/daily`
    const spec = { topic: 'report', payload: { n: 1 }, cron: '0 9 * * *', zone: 'Europe/Berlin' }
    expect(await call('PUT', path, spec)).toMatchObject({ status: 201, json: { result: 'created' } })
    expect(await call('PUT', path, spec)).toMatchObject({ status: 200, json: { result: 'unchanged' } })
    const { json } = await call('GET', `${path}?next=3`)
    expect(json).toMatchObject({ state: 'active', cron: '0 9 * * *', payload: { n: 1 } })
    expect(json.next).toHaveLength(3)
    expect((await call('GET', `${QUEUE}/schedules`)).json.items).toHaveLength(1)
    expect(
      (await call('POST', `${QUEUE}/schedules:next`, { spec: { topic: 't', every: '1h' }, count: 2 })).json
        .next,
    ).toHaveLength(2)
    expect(await call('PUT', `${path}/pause`, {})).toMatchObject({ json: { result: 'paused' } })
    expect(await call('DELETE', `${path}/pause`)).toMatchObject({ json: { result: 'resumed' } })
    expect(await call('DELETE', path)).toMatchObject({ json: { result: 'removed' } })
    expect(await call('DELETE', path)).toMatchObject({ status: 404, json: { code: 'SCHEDULE_MISSING' } })
    expect(await call('PUT', path, { topic: 't', cron: 'x' })).toMatchObject({
      status: 400,
      json: { code: 'CRON_INVALID' },
    })
  })
})
