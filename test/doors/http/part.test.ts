/** A token with a topic prefix sees its part of a queue: its topics, totals of those alone, and nothing of the others. */
import { expect, it } from 'vitest'
import { listen, named } from './listening.ts'
import { makeStand, QUEUE, tokenFor, type Answered, type Stand } from './stand.ts'

const PATIENT = { timeout: 30_000 }

/** Names and payloads of others all contain "shop". */
async function fill({ queue }: Stand): Promise<void> {
  queue.handle('mail.bad', () => Promise.reject(new Error('mailbox full')), { retry: { limit: 0 } })
  queue.handle('shop.bad', () => Promise.reject(new Error('shop closed')), { retry: { limit: 0 } })
  queue.handle('mail.ok', () => undefined)
  queue.handle('shop.ok', () => undefined)
  await queue.start()
  await queue.produceMany([
    ...Array.from({ length: 3 }, (_, i) => ({ topic: 'mail.a', payload: i, delay: '1h' as const })),
    ...Array.from({ length: 70 }, (_, i) => ({ topic: 'shop.a', payload: i, delay: '30m' as const })),
    // Overdue, which is told by topic.
    ...['mail.late', 'shop.late'].map((topic) => ({ topic, payload: 1, at: Date.now() - 3_600_000 })),
    ...['mail.bad', 'shop.bad', 'mail.ok', 'shop.ok'].map((topic) => ({ topic, payload: 1 })),
  ])
  await queue.schedules.set('mails', { topic: 'mail.a', every: '1h', timeout: '5s', retry: { limit: 2 } })
  await queue.schedules.set('shops', { topic: 'shop.a', every: '1h' })
  await queue.pause('shop.a')
  await expect.poll(async () => (await queue.stats()).counts.dead, PATIENT).toBe(2)
}

it('in counts, lists, forecasts, figures, workers, dead letters, schedules and live events', async () => {
  const stand = await makeStand({
    tokens: [tokenFor('mail', ['read', 'operate'], { topicPrefix: 'mail.' }), tokenFor('all', ['read'])],
  })
  await fill(stand)
  const ask = (path: string): Promise<Answered> =>
    stand.call('GET', `${QUEUE}${path}`, undefined, { token: 'mail' })
  const { json } = await ask('/stats')
  expect(json).toMatchObject({ counts: { delayed: 3, ready: 1, running: 0, dead: 1 }, controls: [] })
  expect(json.overdue).toMatchObject([{ topic: 'mail.late' }])
  expect(Object.keys(json.topics ?? {}).toSorted()).toEqual(['mail.a', 'mail.bad', 'mail.late'])
  const answers = [
    await ask('/stats'),
    await ask('/messages'),
    await ask('/messages?order=due&limit=50'),
    await ask('/forecast?until=2h&bars=4'),
    await ask('/figures?step=1h'),
    await ask('/workers'),
    await ask('/dead'),
    await ask('/schedules'),
  ]
  for (const { status, text } of answers)
    expect({ status, told: text.includes('shop') }).toEqual({ status: 200, told: false })
  expect(answers[3]?.json).toMatchObject({
    before: 1,
    bars: [{ count: 0 }, { count: 3 }, { count: 0 }, { count: 0 }],
  })
  expect(answers[5]?.json.workers).toMatchObject([
    { facts: { topics: ['mail.bad', 'mail.ok'], topicCount: 2 } },
  ])
  expect(answers[6]?.json).toMatchObject({ groups: [{ topic: 'mail.bad', count: 1 }] })
  // What others have been told a moment ago is not what it is told.
  const whole = await stand.call('GET', `${QUEUE}/stats`, undefined, { token: 'all' })
  expect(whole.json.counts).toMatchObject({ delayed: 73 })
  expect(await ask('/forecast?until=2h&topic=shop.a')).toMatchObject({ status: 403 })
  expect(await ask('/schedules/shops')).toMatchObject({ status: 403 })
  expect(await ask('/topics/shop.a/keys')).toMatchObject({ status: 403 })
  expect(await ask('/topics/mail.a/keys')).toMatchObject({ status: 200 })

  const events = await listen(stand, undefined, undefined, { token: 'mail' })
  await expect
    .poll(() => named(events, 'stats'), PATIENT)
    .toMatchObject([{ data: { counts: { delayed: 3 } } }])
  await expect.poll(() => named(events, 'topics').length, PATIENT).toBe(1)
  await stand.call('PUT', `${QUEUE}/topics/mail.a/pause`, {}, { token: 'mail' })
  await expect.poll(() => named(events, 'audit'), PATIENT).toMatchObject([{ data: { topic: 'mail.a' } }])
  expect(JSON.stringify(events)).not.toContain('shop')
  const refused = await stand.call(
    'PUT',
    `${QUEUE}/schedules/shops`,
    { topic: 'mail.a', every: '1h' },
    { token: 'mail' },
  )
  expect(refused.status).toBe(403)
})

it('a schedule is shown as it was told, so that setting it again changes nothing, and can be fired out of turn', async () => {
  const { call, queue } = await makeStand()
  const spec = {
    topic: 'digest',
    payload: { to: 'all' },
    cron: '0 9 * * *',
    zone: 'Europe/Berlin',
    times: 9,
    catchUp: { all: '2h', max: 3 },
    overlap: 'skip',
    spread: '1m',
    priority: 'high',
    ttl: '1h',
    ifExpired: 'skip',
    timeout: '5s',
    remember: '1d',
    retry: { limit: 2, delays: ['1s', '2s'] },
  }
  const one = `${QUEUE}/schedules/daily`
  await call('PUT', one, spec)
  const shown = (await call('GET', one)).json.spec
  expect(shown).toMatchObject({ timeout: 5_000, remember: 86_400_000, catchUp: { all: 7_200_000, max: 3 } })
  expect(await call('PUT', one, shown)).toMatchObject({ json: { result: 'unchanged' } })
  const fired = await call('POST', `${one}/fire`, {})
  expect(fired.status).toBe(201)
  expect(await queue.get(fired.json.id as unknown as string)).toMatchObject({
    topic: 'digest',
    payload: { to: 'all' },
    state: 'ready',
    priority: 'high',
    ttlMs: 3_600_000,
    timeoutMs: 5_000,
  })
  expect((await queue.schedules.get('daily'))?.fired).toBe(0)
  expect(await call('POST', `${QUEUE}/schedules/none/fire`, {})).toMatchObject({ status: 404 })
})

it('what became of the last occurrence of a schedule', async () => {
  const { call, queue } = await makeStand()
  queue.handle('tick', () => Promise.reject(new Error('no ink')), { retry: { limit: 0 } })
  await queue.start()
  await queue.schedules.set('often', { topic: 'tick', every: '1s', times: 1 })
  const last = async (): Promise<unknown> => (await call('GET', `${QUEUE}/schedules/often`)).json.last
  await expect
    .poll(last, PATIENT)
    .toMatchObject({ state: 'dead', error: expect.stringContaining('no ink') as string })
})
