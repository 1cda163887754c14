/** `queue.metrics()`: what it tells is what happened, whoever asks and whatever the store does. */
import { describe, expect, it } from 'vitest'
import { Snooze, type Punctual } from '../../src/index.ts'
import { METRICS, TOPIC_LABELS_MAX, type MetricSpec } from '../../src/core/metrics/catalogue.ts'
import { Histogram } from '../../src/core/metrics/histogram.ts'
import { makeWorld, type World } from '../runtime/world.ts'
import { keyOf, readExposition, type Read } from './exposition.ts'

async function read(queue: Punctual): Promise<Read & { of: (name: string, labels?: object) => unknown }> {
  const { text, contentType } = await queue.metrics()
  expect(contentType).toBe('text/plain; version=0.0.4; charset=utf-8')
  const found = readExposition(text)
  return {
    ...found,
    of: (name, labels = {}) => found.values.get(keyOf(name, { queue: 'default', ...labels })),
  }
}

function completed({ store }: World, count: number): Promise<void> {
  return expect
    .poll(() => store.calls.filter((verb) => verb === 'settle').length)
    .toBeGreaterThanOrEqual(count)
}

describe('queue.metrics()', () => {
  it('counts what this process produced and ended, by topic and outcome', async () => {
    const world = makeWorld()
    const { clock } = world
    const queue = world.queue({ retry: { limit: 1, delays: ['1h'] } })
    let tries = 0
    queue.handle('good', () => undefined)
    queue.handle('bad', () => {
      throw new Error('no')
    })
    queue.handle('tired', () => {
      tries += 1
      if (tries === 1) throw new Snooze('1s')
    })
    await queue.start()
    await queue.produceMany([
      { topic: 'good', delay: '1s' },
      { topic: 'good', delay: '1s' },
      { topic: 'bad', delay: '1s' },
      { topic: 'tired', delay: '1s' },
      { topic: 'stale', ttl: '1s', ifExpired: 'skip' },
    ])
    await queue.produce('good', 1, { id: 'twice', delay: '1h' })
    await queue.produce('good', 1, { id: 'twice', delay: '1h' })
    await clock.advance('10s')
    queue.handle('stale', () => undefined)
    await clock.advance('2h')
    const { of } = await read(queue)
    const ended = (topic: string, outcome: string): unknown =>
      of('punctual_process_ended_messages_total', { topic, outcome })
    expect(of('punctual_process_produced_messages_total', { topic: 'good' })).toBe(3)
    expect(of('punctual_process_produced_messages_total', { topic: 'bad' })).toBe(1)
    expect(ended('good', 'completed')).toBe(3)
    expect([ended('bad', 'completed'), ended('bad', 'failed'), ended('bad', 'dead')]).toEqual([0, 1, 1])
    expect([ended('stale', 'completed'), ended('stale', 'skipped')]).toEqual([0, 1])
    expect(ended('tired', 'completed')).toBe(1)
    expect(of('punctual_process_events_total', { event: 'snoozed' })).toBe(1)
    expect(of('punctual_queue_messages', { state: 'dead' })).toBe(1)
    expect(of('punctual_queue_topic_messages', { topic: 'bad', state: 'dead' })).toBe(1)
  })

  it('tells how late handlers started and how long they took', async () => {
    const world = makeWorld()
    const { clock } = world
    const queue = world.queue({ lateAfter: '1s', timeout: '5s' })
    queue.handle('slow', async () => {
      const waited = clock.advance('200ms')
      await waited
    })
    await queue.produceMany([{ topic: 'slow' }, { topic: 'hangs' }])
    await clock.advance('3s')
    queue.handle('hangs', () => new Promise(() => undefined), { retry: { limit: 0 } })
    await queue.start()
    await completed(world, 1)
    await clock.advance('1m')
    const { of } = await read(queue)
    const late = 'punctual_process_start_lateness_seconds'
    expect(of(`${late}_bucket`, { topic: 'slow', le: '2.5' })).toBe(0)
    expect(of(`${late}_bucket`, { topic: 'slow', le: '5' })).toBe(1)
    expect(Number(of(`${late}_sum`, { topic: 'slow' }))).toBeGreaterThanOrEqual(3)
    expect(of('punctual_process_events_total', { event: 'late' })).toBe(2)
    const took = 'punctual_process_handler_duration_seconds'
    expect(of(`${took}_bucket`, { topic: 'slow', le: '0.1' })).toBe(0)
    expect(of(`${took}_bucket`, { topic: 'slow', le: '0.5' })).toBe(1)
    // It never ended: it took at least its timeout.
    expect(of(`${took}_sum`, { topic: 'hangs' })).toBe(5)
  })

  it('tells of the whole queue what the store knows, whichever process is asked', async () => {
    const { clock, queue: make } = makeWorld()
    const [worker, asker] = [make(), make()]
    await asker.produceMany([
      { topic: 'a', delay: '30s' },
      { topic: 'a', delay: '4m' },
      { topic: 'b', delay: '50m' },
      { topic: 'b', delay: '2h' },
      { topic: 'waits' },
    ])
    await asker.schedules.set('often', { topic: 'a', payload: 1, every: '10m' })
    await asker.pause('p')
    await asker.limit('l', { concurrency: 1 })
    worker.handle('a', () => undefined)
    await worker.start()
    const now = clock.now()
    await clock.advance('11s')
    const before = await read(asker)
    expect(before.of('punctual_queue_up')).toBe(1)
    expect(before.of('punctual_queue_messages', { state: 'delayed' })).toBeGreaterThanOrEqual(4)
    expect(before.of('punctual_queue_topic_messages', { topic: 'b', state: 'waiting' })).toBe(2)
    expect(before.of('punctual_queue_next_due_timestamp_seconds')).toBe(now / 1_000)
    expect(before.of('punctual_queue_overdue_messages')).toBe(1)
    expect(before.of('punctual_queue_overdue_topics')).toBe(1)
    expect(before.of('punctual_queue_overdue_seconds')).toBeCloseTo(11, 0)
    const due = (within: string): unknown => before.of('punctual_queue_due_messages', { within })
    expect([due('1m'), due('5m')]).toEqual([1, 2])
    expect(Number(due('1h'))).toBeGreaterThanOrEqual(3 + 5)
    expect(before.of('punctual_queue_workers', { state: 'alive' })).toBe(1)
    expect(before.of('punctual_queue_paused')).toBe(0)
    expect(before.of('punctual_queue_paused_topics')).toBe(1)
    expect(before.of('punctual_queue_limited_topics')).toBe(1)
    // Figures go to the store by the minute.
    await clock.advance('30s')
    await clock.advance('1m')
    const after = await read(asker)
    const minute = { topic: 'a', outcome: 'completed' }
    expect(after.of('punctual_queue_minute_ended_messages', minute)).toBe(1)
    expect(Number(after.of('punctual_queue_minute_lateness_seconds', { quantile: '0.99' }))).toBeLessThan(1)
    // That was not this process.
    expect(after.of('punctual_process_ended_messages_total', minute)).toBe(0)
    expect((await read(worker)).of('punctual_process_ended_messages_total', minute)).toBe(1)
  })

  it('counts no worker without handlers, which only fires schedules', async () => {
    const { clock, queue: make } = makeWorld()
    const [worker, server] = [make(), make()]
    const workers = async (): Promise<unknown[]> => {
      const { of } = await read(server)
      return ['alive', 'silent', 'gone'].map((state) => of('punctual_queue_workers', { state }))
    }
    await server.start()
    await clock.advance('1s')
    expect(await server.workers()).toMatchObject([{ state: 'alive', facts: { topicCount: 0 } }])
    expect(await workers()).toEqual([0, 0, 0])
    worker.handle('a', () => undefined)
    await worker.start()
    await clock.advance('1s')
    expect(await workers()).toEqual([1, 0, 0])
    await worker.stop()
    expect(await workers()).toEqual([0, 0, 1])
    await server.stop()
    expect((await make().workers()).map(({ state }) => state)).toEqual(['gone', 'gone'])
  })

  it('P10: so many topics have labels of their own, and the rest is added up without one', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make()
    const count = 3 * TOPIC_LABELS_MAX
    for (let i = 0; i < count; i += 1) queue.handle(`t${i}`, () => undefined)
    await queue.start()
    await queue.produceMany(Array.from({ length: count }, (_, i) => ({ topic: `t${i}` })))
    await queue.produceMany(
      Array.from({ length: count }, (_, i) => ({ topic: `t${i}`, delay: '1h' as const })),
    )
    await clock.advance('1m')
    const { samples, of } = await read(queue)
    const topics = new Map<string, Set<string>>()
    for (const { family, labels } of samples)
      if (labels.topic !== undefined)
        topics.set(family, (topics.get(family) ?? new Set<string>()).add(labels.topic))
    expect(topics.size).toBeGreaterThanOrEqual(5)
    for (const [family, names] of topics) expect(names.size, family).toBeLessThanOrEqual(TOPIC_LABELS_MAX)
    expect(of('punctual_queue_topic_messages', { state: 'waiting' })).toBe(count - TOPIC_LABELS_MAX)
    const all = samples.filter(({ name }) => name === 'punctual_process_produced_messages_total')
    expect(all.reduce((sum, { value }) => sum + value, 0)).toBe(2 * count)
    const ended = samples.filter(({ name }) => name === 'punctual_queue_minute_ended_messages')
    expect(ended.reduce((sum, { value }) => sum + value, 0)).toBe(count)
  })

  it('while the store is away tells that, and what this process knows', async () => {
    const { clock, store, queue: make } = makeWorld()
    const queue = make()
    await queue.produce('t', 1, { delay: '1h' })
    store.fate = () => ({ kind: 'refuse' })
    await expect(queue.produce('t', 2)).rejects.toMatchObject({ name: 'UnavailableError' })
    const { of, types } = await read(queue)
    expect(of('punctual_queue_up')).toBe(0)
    expect(types.has('punctual_queue_messages')).toBe(false)
    expect(of('punctual_process_produced_messages_total', { topic: 't' })).toBe(1)
    expect(
      Number(of('punctual_process_store_errors_total', { verb: 'put', code: 'STORE_UNAVAILABLE' })),
    ).toBe(1)
    // One that does not answer at all keeps nobody waiting.
    store.fate = () => ({ kind: 'delay', ms: 3_600_000 })
    const asked = queue.metrics()
    await clock.advance('4s')
    expect((await asked).text).toContain('punctual_queue_up{queue="default"} 0\n')
  })

  it('times every call to the store by its verb', async () => {
    const { store, clock, queue: make } = makeWorld()
    const queue = make()
    store.fate = (verb) => (verb === 'put' ? { kind: 'delay', ms: 30 } : undefined)
    const producing = queue.produce('t', 1)
    await clock.advance('1s')
    await producing
    const { of } = await read(queue)
    const took = 'punctual_process_store_call_duration_seconds'
    expect(of(`${took}_bucket`, { verb: 'put', le: '0.025' })).toBe(0)
    expect(of(`${took}_bucket`, { verb: 'put', le: '0.05' })).toBe(1)
    expect(of(`${took}_count`, { verb: 'count' })).toBe(1)
  })

  it('a topic may have any name', async () => {
    const queue = makeWorld().queue({ queue: 'a "b"' })
    const topic = 'say "hi" \\ 你好 {x="1"}'
    await queue.produce(topic, 1, { delay: '1h' })
    const { text } = await queue.metrics()
    const { values } = readExposition(text)
    expect(
      values.get(keyOf('punctual_queue_topic_messages', { queue: 'a "b"', topic, state: 'waiting' })),
    ).toBe(1)
  })

  it('every sample has the labels that the catalogue names, and no others', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make()
    queue.handle('t', () => undefined)
    await queue.start()
    await queue.produce('t', 1)
    await clock.advance('1m')
    for (const { name, samples } of (await queue.metrics()).families) {
      const { labels }: MetricSpec = METRICS[name]
      for (const sample of samples)
        expect(
          labels.filter((label) => label !== 'topic'),
          name,
        ).toEqual(Object.keys(sample.labels).filter((label) => label !== 'topic'))
    }
  })
})

it('a value that is equal to a bound belongs to it', () => {
  const histogram = new Histogram([1, 10])
  for (const ms of [0, 1, 1.001, 10, 11]) histogram.add(ms)
  expect(histogram.counts).toEqual([2, 2, 1])
  expect(histogram.sumMs).toBeCloseTo(23.001)
})
