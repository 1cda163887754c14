/** Tokens, sessions and confirmations that go away: whoever has one loses what is open, too. */
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { TokenRecord } from '../../../src/doors/http/access/tokens.ts'
import { listen, named } from './listening.ts'
import { makeStand, QUEUE, tokenFor, type Stand } from './stand.ts'

const CLAIM = { topics: ['t'], wait: '60s' }
const PATIENT = { timeout: 30_000 }

/** Tokens that a test can change, and a parked claim and an event stream that were begun with one of them. */
async function withOpenCalls(before: TokenRecord): Promise<{
  readonly stand: Stand
  readonly change: (records: readonly TokenRecord[]) => void
  readonly claim: Promise<{ readonly status: number }>
  readonly events: Awaited<ReturnType<typeof listen>>
}> {
  let records: readonly TokenRecord[] = [before, tokenFor('looker', ['read'])]
  const stand = await makeStand({ tokens: () => records })
  const events = await listen(stand, undefined, undefined, { token: 'ops' })
  const claim = stand.call('POST', `${QUEUE}/leases`, CLAIM, { token: 'ops' })
  const parked = async (): Promise<unknown> =>
    (await stand.call('GET', '/v1/server', undefined, { token: 'looker' })).json.waitingCalls
  await expect.poll(parked, PATIENT).toBe(1)
  const change = (changed: readonly TokenRecord[]): void =>
    void (records = [...changed, tokenFor('looker', ['read'])])
  return { stand, change, claim, events }
}

describe('what is open ends with 401, and nothing more is sent', () => {
  const OPS = tokenFor('ops', ['read', 'work'])
  it.each([
    ['taken back', []],
    ['with fewer scopes', [tokenFor('ops', ['work'])]],
    ['bound to a topic prefix', [{ ...OPS, topicPrefix: 'other.' }]],
    ['expired', [{ ...OPS, expiresAt: 1 }]],
  ])('when its token was %s', async (_, changed) => {
    const { stand, change, claim, events } = await withOpenCalls(OPS)
    change(changed)
    expect(await claim).toMatchObject({ status: 401, json: { code: 'UNAUTHORIZED' } })
    await expect.poll(() => named(events, 'end'), PATIENT).toHaveLength(1)
    expect(named(events, 'refused')).toMatchObject([{ data: { status: 401 } }])
    // A message that comes due is not handed to a call that has ended.
    await stand.queue.produce('t', 1, { id: 'm' })
    expect(await stand.queue.get('m')).toMatchObject({ state: 'ready', attempt: 0 })
  })

  it('also when a message comes due before anybody has looked again: it goes back as it was', async () => {
    // A clock whose timers of half a second never come: only what is about to be sent is looked at.
    const clock = {
      ...systemClock,
      schedule: (ms: number, run: () => void) => systemClock.schedule(ms === 500 ? 2 ** 30 : ms, run),
    }
    let records: readonly TokenRecord[] = [tokenFor('ops', ['work']), tokenFor('looker', ['read'])]
    const { call, queue } = await makeStand({ tokens: () => records, clock })
    const claim = call('POST', `${QUEUE}/leases`, CLAIM, { token: 'ops' })
    const parked = async (): Promise<unknown> =>
      (await call('GET', '/v1/server', undefined, { token: 'looker' })).json.waitingCalls
    await expect.poll(parked, PATIENT).toBe(1)
    records = [tokenFor('looker', ['read'])]
    await queue.produce('t', { secret: 1 }, { id: 'm' })
    expect(await claim).toMatchObject({ status: 401 })
    await expect.poll(() => queue.get('m'), PATIENT).toMatchObject({ state: 'ready', attempt: 0 })
  })

  it('an unchanged token goes on, though its list was read anew', async () => {
    const { stand, change, claim, events } = await withOpenCalls(OPS)
    change([tokenFor('ops', ['read', 'work'])])
    await expect.poll(() => named(events, 'stats').length, PATIENT).toBeGreaterThan(0)
    await stand.queue.produce('t', 1)
    expect(await claim).toMatchObject({ status: 200 })
    expect(named(events, 'refused')).toEqual([])
  })
})

describe('logging out', () => {
  it('ends the session itself: a copy of its cookie is good no longer, nor is what it has open', async () => {
    const stand = await makeStand({ tokens: [tokenFor('ops', ['read'])] })
    const begin = async (): Promise<string> =>
      (await stand.call('POST', '/v1/session', {}, { token: 'ops' })).headers
        .get('set-cookie')
        ?.split(';')[0] ?? ''
    const [one, other] = [await begin(), await begin()]
    const status = async (cookie: string): Promise<number> =>
      (await stand.call('GET', '/v1/session', undefined, { headers: { cookie } })).status
    const events = await listen(stand, undefined, undefined, { cookie: one })
    expect([await status(one), await status(other)]).toEqual([200, 200])
    await stand.call('DELETE', '/v1/session', undefined, { headers: { cookie: one } })
    expect([await status(one), await status(other)]).toEqual([401, 200])
    await expect.poll(() => named(events, 'refused'), PATIENT).toHaveLength(1)
  })
})

describe('wrong tokens', () => {
  it('are slowed after ten from one address; the right one is let in all the same', async () => {
    const { call } = await makeStand({ tokens: [tokenFor('ops', ['read'])] })
    const answers = []
    for (let i = 0; i < 12; i += 1)
      answers.push(await call('GET', '/v1/queues', undefined, { token: `guess-${i}` }))
    expect(answers.map(({ status }) => status)).toEqual([...Array.from({ length: 10 }, () => 401), 429, 429])
    expect(Number(answers.at(-1)?.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await call('GET', '/v1/queues', undefined, { token: 'ops' })).toMatchObject({ status: 200 })
    // No token at all is no guess.
    expect(await call('GET', '/v1/queues')).toMatchObject({ status: 401 })
  })
})

describe('confirmations', () => {
  it('belong to who asked, and are good once', async () => {
    const { call, queue } = await makeStand({
      tokens: [tokenFor('ann', ['operate']), tokenFor('bob', ['operate'])],
    })
    await queue.produce('t', 1, { delay: '1h' })
    const asked = { action: 'cancel', filter: { topic: 't' } }
    const { json } = await call('POST', `${QUEUE}/bulk`, { ...asked, dryRun: true }, { token: 'ann' })
    const confirm = async (token: string): Promise<number> =>
      (await call('POST', `${QUEUE}/bulk`, { ...asked, confirm: json.confirm }, { token })).status
    expect([await confirm('bob'), await confirm('ann'), await confirm('ann')]).toEqual([409, 202, 409])
  })
})

describe('payloads without the scope "read"', () => {
  it('a dry run tells which messages, and nothing of what is in them; text is no question', async () => {
    const { call, queue } = await makeStand({
      tokens: [tokenFor('ops', ['operate']), tokenFor('both', ['operate', 'read'])],
    })
    await queue.produce('t', { secret: 'word' }, { id: 'm', delay: '1h' })
    const ask = (filter: object, token: string): ReturnType<Stand['call']> =>
      call('POST', `${QUEUE}/bulk`, { action: 'cancel', filter, dryRun: true }, { token })
    const blind = await ask({ topic: 't' }, 'ops')
    expect(blind.json.sample).toMatchObject([{ id: 'm', topic: 't', state: 'delayed' }])
    expect(blind.text).not.toContain('word')
    expect((await ask({ topic: 't' }, 'both')).text).toContain('word')
    expect(await ask({ topic: 't', text: 'word' }, 'ops')).toMatchObject({
      status: 403,
      json: { code: 'FORBIDDEN' },
    })
    expect(await ask({ topic: 't', text: 'word' }, 'both')).toMatchObject({ status: 200 })
  })
})

it('the audit shows a token with a topic prefix what was done to its topics, and nothing else', async () => {
  const { call, queue } = await makeStand({
    tokens: [
      tokenFor('ops', ['operate', 'read']),
      tokenFor('mail', ['operate', 'read'], { topicPrefix: 'mail.' }),
    ],
  })
  await queue.produce('mail.a', 1, { id: 'mine', delay: '1h' })
  const put = (path: string): ReturnType<Stand['call']> =>
    call('PUT', `${QUEUE}${path}`, {}, { token: 'ops' })
  await put('/topics/mail.a/pause')
  await put('/topics/shop.a/pause')
  await put('/pause')
  await call('DELETE', `${QUEUE}/messages/mine`, undefined, { token: 'mail' })
  const seen = async (token: string): Promise<unknown[]> => {
    const { json } = await call('GET', '/v1/audit', undefined, { token })
    return (json.items as unknown as { about: string }[]).map(({ about }) => about)
  }
  expect(await seen('mail')).toEqual(['mine', 'mail.a'])
  expect(await seen('ops')).toEqual(['mine', 'the whole queue', 'shop.a', 'mail.a'])
})
