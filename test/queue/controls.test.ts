/** What people hold of pauses and limits: the calls, what refuses them, and where they are shown. */
import { describe, expect, it } from 'vitest'
import { encodeFacts } from '../../src/core/owner.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { makeWorld } from '../runtime/world.ts'

const SHARED = { shared: true } as const

async function claim(store: Store, owner: string, topics: readonly string[], limit = 10): Promise<void> {
  const facts = { version: '0.1.0', host: 'oak', pid: 1, startedAt: 0, running: 1, slots: 4 }
  await store.claim({
    from: 'due',
    owner,
    facts: encodeFacts({ ...facts, topics, topicCount: topics.length }),
    wants: topics.map((topic) => ({ topic, limit })),
    limit,
    bytesMax: 1_000_000,
    leaseMs: 15_000,
    leadMs: 0,
  })
}

describe('pauses and limits are shown', () => {
  it('by stats, in the words in which they were said', async () => {
    const { clock, queue: make } = makeWorld(SHARED)
    const queue = make()
    await queue.pause('a')
    await queue.limit('a', { rate: '100/1m', concurrency: 3 })
    await queue.pause(undefined, { until: '1h' })
    await queue.produceMany(Array.from({ length: 600 }, () => ({ topic: 'b' })))
    await queue.resume('b', { over: '10m' })
    const now = clock.now()
    expect((await queue.stats()).controls).toEqual([
      { paused: { until: now + 3_600_000 } },
      { topic: 'a', paused: {}, limit: { rate: '100/1m', burst: 1, concurrency: 3 } },
      { topic: 'b', over: { rate: '1/1s', until: now + 600_000 } },
    ])
    expect((await queue.stats({ topics: ['b'] })).controls.map(({ topic }) => topic)).toEqual([
      undefined,
      'b',
    ])
    await clock.advance('1h')
    await queue.resume('a')
    await queue.limit('a', null)
    expect((await queue.stats()).controls).toEqual([])
  })

  it('by why: paused, by whom, until when; limited, and by what', async () => {
    const { clock, memory, queue: make } = makeWorld(SHARED)
    const queue = make()
    await claim(memory, 'w', ['t'])
    await queue.produceMany([1, 2].map((i) => ({ topic: 't', id: `x${i}` })))
    await queue.pause('t')
    expect(await queue.why('x1')).toMatchObject({
      kind: 'paused',
      isWholeQueue: false,
      handlers: { workers: 1 },
    })
    await queue.resume('t')
    await queue.pause(undefined, { until: '1m' })
    expect(await queue.why('x1')).toMatchObject({
      kind: 'paused',
      isWholeQueue: true,
      until: clock.now() + 60_000,
    })
    await queue.resume()
    await queue.limit('t', { concurrency: 1 })
    await claim(memory, 'w', ['t'])
    expect(await queue.why('x2')).toMatchObject({
      kind: 'limited',
      running: 1,
      limits: [{ topic: 't', limit: { concurrency: 1 } }],
    })
    await queue.limit('t', null)
    expect(await queue.why('x2')).toMatchObject({ kind: 'in-line' })
  })

  it('a message that is not due is not due, paused or not; a pause is told beside it', async () => {
    const { clock, queue: make } = makeWorld(SHARED)
    const queue = make()
    await queue.produce('t', 1, { id: 'x', delay: '1h' })
    await queue.pause('t')
    expect(await queue.why('x')).toMatchObject({ kind: 'not-due', paused: { isWholeQueue: false } })
    await queue.resume('t')
    expect(await queue.why('x')).not.toHaveProperty('paused')
    await queue.pause(undefined, { until: '2h' })
    expect(await queue.why('x')).toMatchObject({
      kind: 'not-due',
      paused: { isWholeQueue: true, until: clock.now() + 7_200_000 },
    })
  })

  it('by workers: topics of theirs that are paused', async () => {
    const { memory, queue: make } = makeWorld(SHARED)
    const queue = make()
    await claim(memory, 'w', ['a', 'b'])
    await queue.pause('b')
    expect(await queue.workers()).toMatchObject([{ pausedTopics: ['b'] }])
    await queue.pause()
    expect(await queue.workers()).toMatchObject([{ pausedTopics: ['a', 'b'] }])
    await queue.resume()
    await queue.resume('b')
    expect((await queue.workers())[0]).not.toHaveProperty('pausedTopics')
  })

  it('by the doctor: a pause is a warning, and what waits for it is no problem', async () => {
    const { clock, memory, queue: make } = makeWorld(SHARED)
    const queue = make()
    await queue.produceMany([{ topic: 't' }, { topic: 't' }, { topic: 'u' }])
    await queue.pause('t')
    await queue.limit('u', { rate: '1/1h' })
    await clock.advance('10m')
    const overdue = async (): Promise<string | undefined> =>
      (await queue.doctor()).find(({ what }) => what.includes('"u" is overdue'))?.what
    // A limit delays nothing where nobody asks.
    expect(await overdue()).toContain('and no living worker handles it')
    await claim(memory, 'w', ['u', 'v'])
    await queue.produce('u')
    await clock.advance('1m')
    expect(await overdue()).toContain('and it has a limit')
    const findings = await queue.doctor()
    expect(findings).toContainEqual({
      level: 'warning',
      what: 'topic "t" is paused until somebody resumes it: 2 messages due',
      remedy: '"punctual resume TOPIC" lets it go on, with "--over 10m" spread over that time',
    })
    expect(findings.filter(({ what }) => what.includes('"t" is overdue'))).toEqual([])
    await queue.pause(undefined, { until: '2h' })
    expect((await queue.doctor()).map(({ what }) => what)).toContain(
      'the whole queue is paused for another 2h: 3 messages due',
    )
  })
})

describe('pauses and limits are checked', () => {
  it.each([
    ['a topic that is none', 'TOPIC_INVALID', (queue) => queue.pause('\u0001ours')],
    ['an empty topic', 'TOPIC_INVALID', (queue) => queue.resume('')],
    [
      'a limit of the whole queue',
      'TOPIC_INVALID',
      (queue) => queue.limit(undefined as never, { concurrency: 1 }),
    ],
    [
      'an end that is no moment',
      'DURATION_INVALID',
      (queue) => queue.pause('t', { until: 'tomorrow' as never }),
    ],
    ['a resume over nothing', 'OPTION_INVALID', (queue) => queue.resume('t', { over: 0 })],
    ['a limit without a limit', 'OPTION_INVALID', (queue) => queue.limit('t', {})],
    ['an unknown option', 'OPTION_UNKNOWN', (queue) => queue.limit('t', { rates: 1 } as never)],
  ] satisfies [
    string,
    string,
    (queue: ReturnType<ReturnType<typeof makeWorld>['queue']>) => Promise<void>,
  ][])('%s is refused', async (_, code, call) => {
    const queue = makeWorld().queue()
    await expect(call(queue)).rejects.toMatchObject({ code })
  })

  it('a pause of a thousand topics is one too many, and says so', async () => {
    const queue = makeWorld().queue()
    for (let i = 0; i < 1_000; i += 1) await queue.pause(`t${i}`)
    await expect(queue.pause('one more')).rejects.toMatchObject({
      code: 'CONTROLS_TOO_MANY',
      value: 'one more',
    })
  })
})
