import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { MemoryStore } from '../../../src/store/memory/store.ts'
import { FaultyStore } from '../../../src/testing/index.ts'
import type { Punctual } from '../../../src/index.ts'
import { HttpServer } from '../../../src/doors/http/server.ts'
import { makeStand, QUEUE, type Answered, type Stand } from './stand.ts'

const LEASES = `${QUEUE}/leases`

type LeasedMessage = {
  readonly lease: string
  readonly id: string
  readonly attempt: number
  readonly payload?: unknown
}

const leasesOf = ({ json }: Answered): readonly LeasedMessage[] => json.leases as unknown as LeasedMessage[]
const resultsOf = ({ json }: Answered): readonly string[] => json.results as unknown as string[]

async function leaseOne({ call }: Stand, more: object = {}): Promise<LeasedMessage> {
  const answer = await call('POST', LEASES, { topics: ['t'], wait: '10s', ...more })
  const [first] = leasesOf(answer)
  if (first === undefined) throw new Error(`nothing was leased: ${answer.status} ${answer.text}`)
  return first
}

async function settle({ call }: Stand, ...settlements: readonly object[]): Promise<readonly string[]> {
  return resultsOf(await call('POST', `${LEASES}:settle`, { settlements }))
}

describe('leasing', () => {
  it('a call waits until a message is due, and gets its payload as it is stored', async () => {
    const stand = await makeStand()
    const waiting = stand.call('POST', LEASES, { worker: 'w', topics: ['t'], wait: '30s' })
    const raw = '{"n":12345678901234567890}'
    const headers = { 'punctual-topic': 't', 'punctual-delay': '100ms' }
    await stand.call('PUT', `${QUEUE}/messages/a`, undefined, { raw, headers })
    const answer = await waiting
    expect(answer).toMatchObject({ status: 200, json: { control: 'go', leases: [{ id: 'a', attempt: 1 }] } })
    expect(answer.text).toContain(`"payload":${raw}`)
    expect(await stand.call('GET', `${QUEUE}/messages/a`)).toMatchObject({ json: { state: 'running' } })
    expect(
      await settle(stand, { lease: leasesOf(answer)[0]?.lease, outcome: 'completed', result: { ok: 1 } }),
    ).toEqual(['settled'])
    // PUT remembers for a day, and what the worker returned with it.
    expect(await stand.call('GET', `${QUEUE}/messages/a`)).toMatchObject({
      json: { state: 'completed', result: { ok: 1 } },
    })
  })

  it('P1: nothing is handed out before its moment', async () => {
    const stand = await makeStand()
    for (let i = 0; i < 20; i += 1) await stand.queue.produce('t', i, { delay: 20 * i })
    for (let got = 0; got < 20; got += 1) {
      const { lease, ...leased } = await leaseOne(stand)
      expect(Date.now()).toBeGreaterThanOrEqual((leased as unknown as { dueAt: number }).dueAt)
      await settle(stand, { lease, outcome: 'completed' })
    }
  })

  it('what is due at one moment goes to the call that has waited longest, in one answer', async () => {
    const stand = await makeStand()
    const ask = { topics: ['t'], limit: 10, wait: '30s' }
    const first = stand.call('POST', LEASES, ask)
    await expect.poll(stand.parked).toBe(1)
    const second = stand.call('POST', LEASES, ask)
    await expect.poll(stand.parked).toBe(2)
    const at = Date.now() + 200
    await stand.queue.produceMany([1, 2, 3, 4, 5, 6].map((n) => ({ topic: 't', id: `m${n}`, at })))
    expect(leasesOf(await first).map(({ id }) => id)).toEqual(['m1', 'm2', 'm3', 'm4', 'm5', 'm6'])
    await stand.queue.produce('t', undefined, { id: 'm7' })
    expect(leasesOf(await second).map(({ id }) => id)).toEqual(['m7'])
  })

  it('nothing in time is 204; several at once come together; a topic has a limit of its own', async () => {
    const stand = await makeStand()
    expect(await stand.call('POST', LEASES, { topics: ['t'], wait: 10 })).toMatchObject({ status: 204 })
    await stand.queue.produceMany(
      [1, 2, 3, 4, 5, 6].map((n) => ({ topic: n % 2 === 0 ? 't' : 'u', payload: n })),
    )
    const answer = await stand.call('POST', LEASES, {
      topics: ['t', { topic: 'u', limit: 1 }],
      limit: 10,
      wait: '5s',
    })
    const leased = leasesOf(answer)
    expect(leased.length).toBeGreaterThan(0)
    expect(
      leased.filter((one) => (one as unknown as { topic: string }).topic === 'u').length,
    ).toBeLessThanOrEqual(1)
    expect(await stand.call('POST', LEASES, { topics: [] })).toMatchObject({ status: 400 })
    expect(await stand.call('POST', LEASES, { topics: ['t'], wait: '2m' })).toMatchObject({ status: 400 })
  })

  it('P3: of many calls that wait, one gets a message, and those that waited longest come first', async () => {
    const stand = await makeStand()
    const over = new AbortController()
    const calls = Array.from({ length: 20 }, () =>
      stand.call('POST', LEASES, { topics: ['t'], wait: '20s' }, { signal: over.signal }),
    )
    for (const call of calls) call.catch(() => undefined)
    await stand.queue.produceMany([1, 2, 3].map((payload) => ({ topic: 't', payload })))
    expect(leasesOf(await Promise.race(calls))).toHaveLength(1)
    await expect.poll(async () => (await stand.queue.stats()).counts).toMatchObject({ running: 3, ready: 0 })
    over.abort()
  })

  it('1,000 calls that wait cost the store nothing', async () => {
    const store = new FaultyStore(new MemoryStore(systemClock), systemClock)
    let calls = 0
    store.fate = () => {
      calls += 1
      return undefined
    }
    const stand = await makeStand({}, { store })
    const over = new AbortController()
    const waiting = Array.from({ length: 1_000 }, () =>
      stand.call('POST', LEASES, { topics: ['t'], wait: '60s' }, { signal: over.signal }),
    )
    for (const one of waiting) one.catch(() => undefined)
    await expect.poll(() => stand.parked(), { timeout: 20_000 }).toBe(1_000)
    const before = calls
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    expect(calls - before).toBeLessThanOrEqual(1)
    expect(await stand.call('POST', LEASES, { topics: ['t'], wait: 0 })).toMatchObject({ status: 429 })
    over.abort()
    await expect.poll(() => stand.parked(), { timeout: 20_000 }).toBe(0)
  })
})

describe('settling', () => {
  it('says how it ended in every way', async () => {
    const stand = await makeStand({}, { store: 'memory:', retry: { limit: 3, delays: ['1h'] } })
    const outcomes: readonly [object, object | undefined][] = [
      [{ outcome: 'completed' }, undefined],
      [
        { outcome: 'failed', error: 'boom' },
        { state: 'delayed', attempt: 1, error: 'boom' },
      ],
      [
        { outcome: 'retry', in: '5m', error: 'later' },
        { state: 'delayed', attempt: 1, error: 'later' },
      ],
      [
        { outcome: 'snooze', in: '5m' },
        { state: 'delayed', attempt: 0 },
      ],
      [
        { outcome: 'dead', reason: 'no use' },
        { state: 'dead', reason: 'no use' },
      ],
      [{ outcome: 'released' }, { state: 'ready', attempt: 0 }],
    ]
    for (const [told, expected] of outcomes) {
      await stand.queue.produce('t', 1, { id: 'm' })
      const { lease } = await leaseOne(stand)
      expect(await settle(stand, { lease, ...told })).toEqual(['settled'])
      const found = await stand.queue.get('m')
      if (expected === undefined) expect(found).toBeUndefined()
      else expect(found).toMatchObject(expected)
      expect(found?.error ?? '').not.toContain('node:')
      expect(await settle(stand, { lease, outcome: 'completed' })).toEqual(['lost'])
      await stand.queue.purge({ ids: ['m'] })
    }
    expect(
      await stand.call('POST', `${LEASES}:settle`, { settlements: [{ lease: 'x', outcome: 'retry' }] }),
    ).toMatchObject({ status: 400 })
  })

  it('a forged handle is refused, whichever byte was changed, and one of another queue too', async () => {
    const stand = await makeStand()
    await stand.queue.produce('t', 1, { id: 'm' })
    const { lease } = await leaseOne(stand)
    const forged = Array.from(
      lease,
      (char, at) => lease.slice(0, at) + (char === 'A' ? 'B' : 'A') + lease.slice(at + 1),
    )
    const results = await settle(stand, ...forged.map((handle) => ({ lease: handle, outcome: 'completed' })))
    expect(new Set(results)).toEqual(new Set(['invalid']))
    expect(resultsOf(await stand.call('POST', `${LEASES}:extend`, { leases: forged.slice(0, 5) }))).toEqual(
      Array(5).fill('invalid'),
    )
    expect(await stand.queue.get('m')).toMatchObject({ state: 'running' })
    expect(await settle(stand, { lease, outcome: 'completed' })).toEqual(['settled'])
  })

  it('ttl and attempt limits are decided before a message is handed out', async () => {
    const stand = await makeStand({}, { store: 'memory:', retry: { limit: 0 } })
    await stand.queue.produce('t', 'too late', { id: 'late', at: Date.now() - 60_000, ttl: '1s' })
    await stand.queue.produce('t', 'fine', { id: 'fine' })
    const { lease, id } = await leaseOne(stand)
    expect(id).toBe('fine')
    await settle(stand, { lease, outcome: 'failed' })
    expect(await stand.queue.get('late')).toMatchObject({ state: 'dead', reason: 'expired' })
    expect(await stand.queue.get('fine')).toMatchObject({ state: 'dead', reason: 'failed' })
  })
})

describe('workers that go away', () => {
  it('P6: a lease that is not extended ends, counted, and the message is handed out again', async () => {
    const stand = await makeStand()
    await stand.queue.produce('t', 1, { id: 'm' })
    const { lease } = await leaseOne(stand, { lease: '1s' })
    const again = await leaseOne(stand, { lease: '1s' })
    expect(again).toMatchObject({ id: 'm', attempt: 2 })
    expect(await settle(stand, { lease, outcome: 'completed' })).toEqual(['lost'])
    expect(await settle(stand, { lease: again.lease, outcome: 'completed' })).toEqual(['settled'])
  })

  it('one that is extended stays', async () => {
    const stand = await makeStand()
    await stand.queue.produce('t', 1, { id: 'm' })
    const { lease } = await leaseOne(stand, { lease: '1s' })
    const until = performance.now() + 2_500
    while (performance.now() < until) {
      expect(resultsOf(await stand.call('POST', `${LEASES}:extend`, { leases: [lease], by: '1s' }))).toEqual([
        'extended',
      ])
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
    expect(await settle(stand, { lease, outcome: 'completed' })).toEqual(['settled'])
  })

  it('what is cancelled while it runs elsewhere is told with the next extension', async () => {
    const stand = await makeStand()
    await stand.queue.produce('t', 1, { id: 'm' })
    const { lease } = await leaseOne(stand)
    await stand.call('DELETE', `${QUEUE}/messages/m?running=true`)
    await expect
      .poll(async () => resultsOf(await stand.call('POST', `${LEASES}:extend`, { leases: [lease] }))[0])
      .toMatch(/cancelling|lost/)
    await settle(stand, { lease, outcome: 'completed' })
    await expect.poll(() => stand.queue.get('m')).toBeUndefined()
  })

  it('a client that went away before its answer leaves nothing behind', async () => {
    const stand = await makeStand()
    const over = new AbortController()
    const gone = stand.call('POST', LEASES, { topics: ['t'], wait: '20s' }, { signal: over.signal })
    gone.catch(() => undefined)
    await expect.poll(() => stand.parked()).toBe(1)
    over.abort()
    await expect.poll(() => stand.parked()).toBe(0)
    await stand.queue.produce('t', 1, { id: 'm' })
    expect(await leaseOne(stand)).toMatchObject({ id: 'm', attempt: 1 })
  })

  it('an operator tells a worker to be quiet, or to stop', async () => {
    const stand = await makeStand()
    await stand.queue.produce('t', 1)
    const control = (word: string): Promise<Answered> =>
      stand.call('PUT', `${QUEUE}/remote-workers/w%2F1/control`, { control: word })
    await control('quiet')
    const ask = { worker: 'w/1', topics: ['t'], wait: 50 }
    expect(await stand.call('POST', LEASES, ask)).toMatchObject({
      status: 200,
      json: { leases: [], control: 'quiet' },
    })
    await control('stop')
    expect(await stand.call('POST', LEASES, { ...ask, wait: '20s' })).toMatchObject({
      json: { control: 'stop' },
    })
    await control('go')
    expect(await stand.call('POST', LEASES, ask)).toMatchObject({ json: { control: 'go' } })
    expect((await stand.call('GET', `${QUEUE}/remote-workers`)).json.items).toMatchObject([{ name: 'w/1' }])
  })
})

describe('servers that go away', () => {
  it('a lease outlives its server: another with the same secret settles it', async () => {
    const secret = 'the same for both servers'
    const first = await makeStand({ secret })
    await first.queue.produce('t', 1, { id: 'm' })
    await first.queue.produce('t', 2, { id: 'n', retry: { limit: 0 } })
    const leased = [await leaseOne(first), await leaseOne(first)]
    await first.server.close()
    expect((await first.queue.stats()).counts).toMatchObject({ running: 2 })
    const second = await serverOn(first.queue, secret)
    const settlements = leased.map(({ lease, id }) => ({
      lease,
      outcome: id === 'm' ? 'completed' : 'failed',
    }))
    const extended = await second(`${LEASES}:extend`, { leases: leased.map(({ lease }) => lease) })
    expect(extended).toMatchObject({ results: ['extended', 'extended'] })
    expect(await second(`${LEASES}:settle`, { settlements })).toMatchObject({
      results: ['settled', 'settled'],
    })
    expect(await first.queue.get('m')).toBeUndefined()
    expect(await first.queue.get('n')).toMatchObject({ state: 'dead' })
  })

  it('with another secret it is a stranger', async () => {
    const first = await makeStand({ secret: 'the first of two secrets' })
    await first.queue.produce('t', 1, { id: 'm' })
    const { lease } = await leaseOne(first)
    const second = await serverOn(first.queue, 'another one of two secrets')
    expect(
      await second(`${LEASES}:settle`, { settlements: [{ lease, outcome: 'completed' }] }),
    ).toMatchObject({ results: ['invalid'] })
  })

  it('P11: a stop answers those who wait', async () => {
    const stand = await makeStand()
    const waiting = stand.call('POST', LEASES, { topics: ['t'], wait: '60s' })
    await expect.poll(() => stand.parked()).toBe(1)
    const begun = performance.now()
    await stand.server.close()
    expect(performance.now() - begun).toBeLessThan(40_000)
    expect(await waiting).toMatchObject({ status: 204 })
  })
})

async function serverOn(
  queue: Punctual,
  secret: string,
): Promise<(path: string, body: object) => Promise<unknown>> {
  const server = new HttpServer({ queues: [queue], logger: false, secret, access: () => ['work'] })
  return async (path, body) => {
    const headers = { 'content-type': 'application/json' }
    const response = await server.fetch(
      new Request(`http://localhost${path}`, { method: 'POST', headers, body: JSON.stringify(body) }),
    )
    return response.json()
  }
}
