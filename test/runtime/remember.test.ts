/** P5 after the end: what a user sees of an id that stays taken. */
import { expect, it } from 'vitest'
import { makeWorld, record } from './world.ts'

it('P5: while it is remembered, the same id is not done again; then it is', async () => {
  const { clock, queue: make } = makeWorld()
  const queue = make()
  const done: unknown[] = []
  queue.handle('invoice', ({ payload }) => {
    done.push(payload)
    return { number: 7 }
  })
  await queue.start()
  const produce = (payload: unknown, options = {}): Promise<string> =>
    queue.produce('invoice', payload, { id: 'invoice-42', remember: '24h', ...options })
  await produce(1)
  await clock.advance('1s')
  expect(await produce(2)).toBe('invoice-42')
  await expect(produce(3, { ifExists: 'fail' })).rejects.toMatchObject({ code: 'ID_EXISTS' })
  await clock.advance('23h')
  expect(done).toEqual([1])
  expect(await queue.get('invoice-42')).toMatchObject({
    state: 'completed',
    topic: 'invoice',
    payload: undefined,
    outcome: 'completed',
    result: { number: 7 },
    attempt: 1,
    rememberedUntil: expect.any(Number) as number,
  })
  expect(await queue.why('invoice-42')).toMatchObject({ kind: 'completed', outcome: 'completed' })
  await clock.advance('1h')
  expect(await queue.get('invoice-42')).toBeUndefined()
  await produce(4)
  await clock.advance('1s')
  expect(done).toEqual([1, 4])
})

it('P5: what is skipped is remembered as skipped', async () => {
  const { clock, queue: make } = makeWorld()
  const queue = make()
  const options = { id: 'x', remember: '1h', ttl: '1m', ifExpired: 'skip' } as const
  await queue.produce('remind', 'late', options)
  await clock.advance('2m')
  const ran: unknown[] = []
  queue.handle('remind', ({ payload }) => void ran.push(payload))
  await queue.start()
  await clock.advance('1s')
  expect(await queue.get('x')).toMatchObject({ state: 'completed', outcome: 'skipped' })
  expect(await queue.why('x')).toMatchObject({ kind: 'completed', outcome: 'skipped' })
  await queue.produce('remind', 'again', options)
  await clock.advance('59m')
  expect([ran, await queue.get('x')]).toEqual([[], expect.objectContaining({ outcome: 'skipped' })])
  await clock.advance('1m')
  await queue.produce('remind', 'anew', options)
  await clock.advance('1s')
  expect(ran).toEqual(['anew'])
})

it('P5: replace does it again at once, and forgets the first', async () => {
  const { clock, queue: make } = makeWorld()
  const queue = make()
  let runs = 0
  queue.handle('t', () => (runs += 1))
  await queue.start()
  await queue.produce('t', 1, { id: 'a', remember: '24h' })
  await clock.advance('1s')
  await queue.produce('t', 2, { id: 'a', ifExists: 'replace' })
  await clock.advance('1s')
  expect(runs).toBe(2)
  expect(await queue.get('a')).toBeUndefined()
})

it('P5: cancel answers the truth about a message that is done, and frees its id; purge counts it', async () => {
  const { clock, queue: make } = makeWorld()
  const queue = make()
  queue.handle('t', () => undefined)
  await queue.start()
  for (const id of ['a', 'b']) await queue.produce('t', 1, { id, remember: '24h' })
  await clock.advance('1s')
  expect((await queue.get('a'))?.result).toBeUndefined()
  expect((await queue.list({ ids: ['a', 'b'] })).items).toEqual([])
  expect(await queue.cancel('a')).toBe('missing')
  expect(await queue.purge({ ids: ['b'] })).toBe(1)
  expect([await queue.get('a'), await queue.get('b')]).toEqual([undefined, undefined])
  expect(await queue.stats()).toMatchObject({ counts: { delayed: 0, ready: 0, running: 0, dead: 0 } })
})

it('P5: failures, dead letters and releases are not remembered; the attempt that completes is', async () => {
  const { clock, queue: make } = makeWorld()
  const queue = make({ retry: { delays: ['1s'] } })
  queue.handle('t', ({ attempt }) => {
    if (attempt === 1) throw new Error('not yet')
    return attempt
  })
  queue.handle('never', () => {
    throw new Error('no')
  })
  await queue.start()
  await queue.produce('t', 1, { id: 'a', remember: '1h' })
  await queue.produce('never', 1, { id: 'b', remember: '1h', retry: { limit: 0 } })
  await clock.advance('500ms')
  expect((await queue.get('a'))?.state).toBe('delayed')
  await clock.advance('1s')
  expect(await queue.get('a')).toMatchObject({ state: 'completed', result: 2, attempt: 2 })
  expect((await queue.get('b'))?.state).toBe('dead')
  await queue.revive(['b'])
  await clock.advance('1s')
  expect((await queue.get('b'))?.state).toBe('dead')
})

it('P5: complete() is remembered however the handler ends, with what it returned', async () => {
  const { clock, queue: make } = makeWorld()
  const queue = make({ timeout: '1s' })
  queue.handle('throws', ({ complete }) => {
    complete()
    throw new Error('too late to matter')
  })
  queue.handle('returns', async ({ complete, signal }) => {
    complete()
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    return 'after its time'
  })
  await queue.start()
  queue.on('error', () => undefined)
  await queue.produce('throws', 1, { id: 'a', remember: '1h' })
  await queue.produce('returns', 1, { id: 'b', remember: '1h' })
  await clock.advance('5s')
  expect(await queue.get('a')).toMatchObject({ state: 'completed' })
  expect(await queue.get('a')).not.toHaveProperty('result')
  expect(await queue.get('b')).toMatchObject({ state: 'completed', result: 'after its time' })
})

it.each([
  [
    'too large',
    'x'.repeat(16 * 1024),
    /result has 16386 bytes as JSON; allowed: 16384\. .* return its key\.$/,
  ],
  ['no JSON', { n: 5n }, /result cannot be written as JSON \(result\.n is a bigint\)/],
  ['a function', () => 5, /result is .*, which JSON cannot carry/],
  ['a map inside', { seen: new Map() }, /result\.seen is a Map, which JSON cannot carry/],
])('a result that is %s costs nothing but itself', async (_what, result, complaint) => {
  const { clock, queue: make } = makeWorld()
  const queue = make()
  const seen = record(queue)
  queue.handle('t', async () => result)
  await queue.start()
  await queue.produce('t', 1, { id: 'a', remember: '1h' })
  await queue.produce('t', 1, { id: 'plain' })
  await clock.advance('1s')
  expect(await queue.get('a')).toMatchObject({ state: 'completed', outcome: 'completed' })
  expect(await queue.get('a')).not.toHaveProperty('result')
  expect(seen.filter(({ name }) => name === 'completed').length).toBe(2)
  const errors = seen
    .filter(({ name }) => name === 'error')
    .map(({ event }) => (event instanceof Error ? event.message : ''))
  expect(errors).toEqual([expect.stringMatching(complaint)])
})

it('a result of 16 KiB is kept', async () => {
  const { clock, queue: make } = makeWorld()
  const queue = make()
  const result = 'x'.repeat(16 * 1024 - 2)
  queue.handle('t', () => result)
  await queue.start()
  const id = await queue.produce('t', 1, { remember: '1h' })
  await clock.advance('1s')
  expect((await queue.get(id))?.result).toBe(result)
})
