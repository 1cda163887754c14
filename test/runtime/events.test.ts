/** Events, field by field: what listeners build on. An event with one field too many, too few or wrong fails here. */
import { expect, it } from 'vitest'
import { DeadLetter, Punctual, Snooze, type EventName } from '../../src/index.ts'
import { makeWorld } from './world.ts'

const NAMES = [
  'completed',
  'failed',
  'retrying',
  'snoozed',
  'postponed',
  'skipped',
  'dead',
  'cancelled',
  'late',
  'lost',
  'paused',
  'resumed',
  'error',
] as const satisfies readonly EventName[]

type Told = readonly [name: EventName, event: unknown]

function listen(queue: Punctual): Told[] {
  const told: Told[] = []
  for (const name of NAMES) queue.on(name, (event) => told.push([name, event]))
  return told
}

it('completed: how late it began, and how long it took', async () => {
  const { clock, queue: make } = makeWorld()
  const queue = make({ lateAfter: '10s' })
  const told = listen(queue)
  queue.handle('t', () => new Promise<void>((done) => void clock.schedule(40, done)))
  await queue.produce('t', 1, { id: 'x', delay: '5s' })
  await clock.advance('7s')
  await queue.start()
  await clock.advance('1s')
  expect(told).toEqual([
    ['completed', { id: 'x', topic: 't', attempt: 1, latenessMs: 2_000, durationMs: 40 }],
  ])
})

it('failed and retrying, then failed and dead: the error as thrown, and as stored', async () => {
  const { clock, queue: make } = makeWorld()
  const queue = make({ retry: { limit: 1, delays: ['3s'] } })
  const told = listen(queue)
  const thrown = new RangeError('no such order')
  queue.handle('t', () => {
    throw thrown
  })
  await queue.start()
  await queue.produce('t', 1, { id: 'x' })
  await clock.advance('10s')
  const stored = expect.stringMatching(/^RangeError: no such order\n +at /) as string
  expect(told).toEqual([
    ['failed', { id: 'x', topic: 't', attempt: 1, error: thrown }],
    ['retrying', { id: 'x', topic: 't', attempt: 1, delayMs: 3_000, error: stored }],
    ['failed', { id: 'x', topic: 't', attempt: 2, error: thrown }],
    ['dead', { id: 'x', topic: 't', attempt: 2, reason: 'failed', error: stored }],
  ])
  expect(told[0]?.[1]).toHaveProperty('error', thrown) // The very object, for whoever reports errors elsewhere.
})

it('dead at once, for the reason that its handler gave', async () => {
  const { clock, queue: make } = makeWorld()
  const queue = make()
  const told = listen(queue)
  const thrown = new DeadLetter('the account is closed')
  queue.handle('t', () => {
    throw thrown
  })
  await queue.start()
  await queue.produce('t', 1, { id: 'x' })
  await clock.advance('1s')
  expect(told).toEqual([
    ['failed', { id: 'x', topic: 't', attempt: 1, error: thrown }],
    [
      'dead',
      {
        id: 'x',
        topic: 't',
        attempt: 1,
        reason: 'the account is closed',
        error: expect.stringMatching(/^DeadLetter: the account is closed\n +at /) as string,
      },
    ],
  ])
})

it('snoozed: for how long; it does not count as an attempt', async () => {
  const { clock, queue: make } = makeWorld()
  const queue = make()
  const told = listen(queue)
  let runs = 0
  queue.handle('t', () => {
    runs += 1
    if (runs === 1) throw new Snooze('30s')
  })
  await queue.start()
  await queue.produce('t', 1, { id: 'x' })
  await clock.advance('1m')
  expect(told).toEqual([
    ['snoozed', { id: 'x', topic: 't', attempt: 1, delayMs: 30_000 }],
    ['completed', { id: 'x', topic: 't', attempt: 1, latenessMs: 0, durationMs: 0 }],
  ])
})

it('skipped: how late it would have been; late: only beyond what lateAfter allows', async () => {
  const { clock, queue: make } = makeWorld()
  const queue = make({ lateAfter: '10s' })
  const told = listen(queue)
  queue.handle('t', () => undefined)
  await queue.produce('t', 1, { id: 'too-late', ttl: '20s', ifExpired: 'skip' })
  await queue.produce('t', 1, { id: 'late' })
  await queue.produce('t', 1, { id: 'in-time', delay: '25s' })
  await clock.advance('30s')
  await queue.start()
  await clock.advance('1s')
  expect(told).toHaveLength(4)
  expect(told).toEqual(
    expect.arrayContaining([
      ['skipped', { id: 'too-late', topic: 't', attempt: 1, latenessMs: 30_000 }],
      ['late', { id: 'late', topic: 't', attempt: 1, latenessMs: 30_000 }],
      ['completed', { id: 'late', topic: 't', attempt: 1, latenessMs: 30_000, durationMs: 0 }],
      ['completed', { id: 'in-time', topic: 't', attempt: 1, latenessMs: 5_000, durationMs: 0 }],
    ]),
  )
})

it('lost: the lease could not be kept; the attempt is given back uncounted, and only its repetition is completed', async () => {
  const { clock, store, queue: make } = makeWorld()
  const queue = make({ lease: '6s' })
  const told = listen(queue)
  queue.handle('t', () => new Promise<void>((done) => void clock.schedule(60_000, done)))
  await queue.start()
  await queue.produce('t', 1, { id: 'x' })
  await clock.settle()
  store.fate = (verb) => (verb === 'extend' ? { kind: 'refuse' } : undefined)
  await clock.advance('20s')
  store.fate = () => undefined
  await clock.advance('2m')
  const lease = told.filter(([name]) => name === 'lost')
  expect(lease).toEqual([['lost', { id: 'x', topic: 't', attempt: 1, maybeSettled: false }]])
  const ends = told.filter(([name]) => name === 'completed')
  expect(ends).toMatchObject([['completed', { id: 'x', attempt: 1 }]])
})

it('paused and resumed: which topic, until when; the whole queue without a topic', async () => {
  const { clock, queue: make } = makeWorld()
  const queue = make()
  const told = listen(queue)
  queue.handle('t', () => undefined)
  await queue.start()
  await clock.advance('1s')
  const until = clock.now() + 10_000
  await queue.pause('t', { until })
  await clock.advance('20s')
  await queue.pause()
  await clock.advance('1s')
  await queue.resume()
  await clock.advance('1s')
  expect(told).toEqual([
    ['paused', { topic: 't', until }],
    ['resumed', { topic: 't' }],
    ['paused', {}],
    ['resumed', {}],
  ])
})

it('an event that does not exist is refused, with the one that was meant', () => {
  const queue = new Punctual('memory:')
  const hear = (name: string, listener: unknown): unknown => queue.on(name as never, listener as never)
  expect(() => hear('complete', () => {})).toThrow(
    expect.objectContaining({
      code: 'OPTION_INVALID',
      message: expect.stringContaining(
        '"complete" (did you mean "completed"?); there are: completed, failed,',
      ) as string,
    }),
  )
  expect(() => hear('toString', () => {})).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
  expect(() => hear('completed', 5)).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
})

it('tags and key: in the handler, and in each event of a message that has them', async () => {
  const { clock, queue: make } = makeWorld()
  const queue = make({ retry: { delays: ['1s'] } })
  const told = listen(queue)
  const seen: unknown[] = []
  queue.handle('t', async ({ attempt, followUp, tags, key }) => {
    seen.push([tags, key])
    await followUp('next', 1, { tag: 'child' })
    if (attempt === 1) throw new Error('no')
  })
  queue.handle('next', ({ tags, key }) => void seen.push([tags, key]))
  await queue.start()
  await queue.produceMany([{ topic: 't', id: 'x', tag: ['order-42', 'ada'], key: 'customer-7' }])
  await clock.advance('10s')
  const whose = [['order-42', 'ada'], 'customer-7']
  expect(seen).toEqual([whose, whose, [['child'], undefined]])
  const about = { id: 'x', topic: 't', tags: ['order-42', 'ada'], key: 'customer-7' }
  for (const [name, attempt] of [
    ['failed', 1],
    ['retrying', 1],
    ['completed', 2],
  ] as const)
    expect(told).toContainEqual([name, expect.objectContaining({ ...about, attempt })])
  expect(told).toContainEqual(['completed', expect.objectContaining({ topic: 'next', tags: ['child'] })])
})
