import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Punctual, PunctualError, type ProduceOptions, type ScheduleSpec } from '../../src/index.ts'
import { takeCensus, VirtualClock } from '../../src/testing/index.ts'
import { makeWorld } from '../runtime/world.ts'

const cycle: { self?: unknown } = {}
cycle.self = cycle

describe('bad input gets a typed error with a code, and nothing is stored', () => {
  const cases: [string, unknown[], string][] = [
    ['a topic that is a number', [5, null], 'TOPIC_INVALID'],
    ['no topic', [undefined, null], 'TOPIC_INVALID'],
    ['an empty topic', ['', null], 'TOPIC_INVALID'],
    ['a topic of 201 bytes', ['x'.repeat(201), null], 'TOPIC_INVALID'],
    ['a topic of 101 two-byte letters', ['é'.repeat(101), null], 'TOPIC_INVALID'],
    ['a topic with a line break', ['a\nb', null], 'TOPIC_INVALID'],
    ['a topic with half a character', ['a\ud800', null], 'TOPIC_INVALID'],
    ['a topic that a path cannot hold', ['..', null], 'TOPIC_INVALID'],
    ['a cyclic payload', ['t', cycle], 'PAYLOAD_UNSERIALISABLE'],
    ['a bigint payload', ['t', { n: 1n }], 'PAYLOAD_UNSERIALISABLE'],
    ['a function as payload', ['t', () => 1], 'PAYLOAD_UNSERIALISABLE'],
    ['a payload above the limit', ['t', 'x'.repeat(1024 * 1024)], 'PAYLOAD_TOO_LARGE'],
    ['delay and at', ['t', 1, { delay: 5, at: new Date() }], 'DELAY_AND_AT'],
    ['a negative delay', ['t', 1, { delay: -1 }], 'DELAY_OUT_OF_RANGE'],
    ['a delay of NaN', ['t', 1, { delay: NaN }], 'DELAY_OUT_OF_RANGE'],
    ['an infinite delay', ['t', 1, { delay: Infinity }], 'DELAY_OUT_OF_RANGE'],
    ['a delay of 101 years', ['t', 1, { delay: '36890d' }], 'DELAY_OUT_OF_RANGE'],
    ['a delay in words', ['t', 1, { delay: 'tomorrow' }], 'DURATION_INVALID'],
    ['a null delay', ['t', 1, { delay: null }], 'DURATION_INVALID'],
    ['an invalid date', ['t', 1, { at: new Date('never') }], 'MOMENT_INVALID'],
    ['a date as text', ['t', 1, { at: '2030-01-01' }], 'MOMENT_INVALID'],
    ['the year 10000', ['t', 1, { at: new Date('+010000-01-01') }], 'MOMENT_OUT_OF_RANGE'],
    ['seconds where milliseconds belong, far off', ['t', 1, { at: 1e18 }], 'MOMENT_OUT_OF_RANGE'],
    ['an unknown option', ['t', 1, { delya: 5 }], 'OPTION_UNKNOWN'],
    ['options that are no object', ['t', 1, 5], 'OPTION_INVALID'],
    ['options that are an array', ['t', 1, []], 'OPTION_INVALID'],
    ['null options', ['t', 1, null], 'OPTION_INVALID'],
    ['an empty id', ['t', 1, { id: '' }], 'ID_INVALID'],
    ['an id that a path cannot hold', ['t', 1, { id: '.' }], 'ID_INVALID'],
    ['a tag that a path cannot hold', ['t', 1, { tag: ['a', '..'] }], 'TAG_INVALID'],
    ['a numeric id', ['t', 1, { id: 5 }], 'ID_INVALID'],
    ['an id of 201 bytes', ['t', 1, { id: 'x'.repeat(201) }], 'ID_INVALID'],
    ['an unknown priority', ['t', 1, { priority: 'urgent' }], 'OPTION_INVALID'],
    ['an unknown ifExists', ['t', 1, { ifExists: 'overwrite' }], 'OPTION_INVALID'],
    ['a negative ttl', ['t', 1, { ttl: -5 }], 'OPTION_INVALID'],
    ['a retry limit of -1', ['t', 1, { retry: { limit: -1 } }], 'OPTION_INVALID'],
    ['a retry limit of 1.5', ['t', 1, { retry: { limit: 1.5 } }], 'OPTION_INVALID'],
    ['both kinds of retry', ['t', 1, { retry: { delays: [1], exponential: { base: 1 } } }], 'OPTION_INVALID'],
    ['an empty list of delays', ['t', 1, { retry: { delays: [] } }], 'OPTION_INVALID'],
    ['a timeout of 0', ['t', 1, { timeout: 0 }], 'OPTION_INVALID'],
    ['a timeout beyond what timers can', ['t', 1, { timeout: '25d' }], 'OPTION_INVALID'],
  ]

  it.each(cases)('produce: %s', async (_name, args, code) => {
    const { memory, queue: make } = makeWorld()
    const queue = make()
    const call = (queue.produce as (...all: unknown[]) => Promise<string>).bind(queue)
    const error: unknown = await call(...args).catch((caught: unknown) => caught)
    expect(error).toMatchObject({ name: 'UsageError', code })
    expect((error as Error).message).toMatch(/\w+.*[.)]$/) // A sentence, with what and what to do.
    expect((await takeCensus(memory)).total).toBe(0)
  })

  const constructions: [string, unknown, string][] = [
    ['an unknown option', { stroe: 'memory:' }, 'OPTION_UNKNOWN'],
    ['an unknown engine', 'mongodb://localhost', 'STORE_URL_INVALID'],
    ['no URL', 'somewhere', 'STORE_URL_INVALID'],
    ['an empty URL', '', 'STORE_URL_INVALID'],
    ['a store that is none', { store: {} }, 'STORE_INVALID'],
    ['a store that is a number', { store: 5 }, 'STORE_INVALID'],
    ['a queue with braces', { store: 'memory:', queue: 'a{b}' }, 'OPTION_INVALID'],
    ['a queue that a path cannot hold', { store: 'memory:', queue: '..' }, 'OPTION_INVALID'],
    ['an empty queue', { store: 'memory:', queue: '' }, 'OPTION_INVALID'],
    ['no concurrency', { store: 'memory:', concurrency: 0 }, 'OPTION_INVALID'],
    ['half a concurrency', { store: 'memory:', concurrency: 1.5 }, 'OPTION_INVALID'],
    ['a lease below a second', { store: 'memory:', lease: '999ms' }, 'OPTION_INVALID'],
    ['a lease in words', { store: 'memory:', lease: 'long' }, 'DURATION_INVALID'],
    ['no fallback', { store: 'memory:', fallback: 0 }, 'OPTION_INVALID'],
    ['a payload limit of 0', { store: 'memory:', payloadLimit: 0 }, 'OPTION_INVALID'],
    ['a logger that cannot log', { store: 'memory:', logger: {} }, 'OPTION_INVALID'],
    ['topics that are no schemas', { store: 'memory:', topics: { a: {} } }, 'OPTION_INVALID'],
    ['an array', [], 'OPTION_INVALID'],
    ['a clock that is a number', { store: 'memory:', clock: 5 }, 'OPTION_INVALID'],
    ['a virtual clock in real time', { store: 'file:.never', clock: new VirtualClock() }, 'UNSUPPORTED'],
  ]

  it.each(constructions)('new Punctual: %s', (_name, options, code) => {
    const construct = Punctual as unknown as new (options: unknown) => Punctual
    expect(() => new construct(options)).toThrow(expect.objectContaining({ name: 'UsageError', code }))
  })

  it('new Punctual: an unknown option names the one that was meant, and each that there is once', () => {
    const construct = Punctual as unknown as new (options: unknown) => Punctual
    let text = ''
    try {
      void new construct({ stroe: 'memory:' }).schedules
    } catch (error) {
      text = (error as Error).message
    }
    expect(text).toContain('"stroe" (did you mean "store"?); there are: ')
    const names = text.replace(/^.*there are: |\.$/g, '').split(', ')
    expect(names).toEqual([...new Set(names)])
  })

  it('what other queues call an option leads to ours', async () => {
    const construct = Punctual as unknown as new (options: unknown) => Punctual
    expect(() => new construct({ connection: {} })).toThrow('did you mean "store"?')
    const queue = new Punctual('memory:')
    const options = { attempts: 3 } as unknown as ProduceOptions
    await expect(queue.produce('t', 1, options)).rejects.toThrow('did you mean "retry"?')
    await expect(queue.produce('t', 1, { jobId: 'x' } as unknown as ProduceOptions)).rejects.toThrow(
      'did you mean "id"?',
    )
    const spec = { topic: 't', cron: '0 9 * * *', tz: 'UTC' } as unknown as ScheduleSpec
    await expect(queue.schedules.set('daily', spec)).rejects.toThrow('did you mean "zone"?')
    await queue.stop()
  })

  it('handle: not a function, twice, and wrong options', () => {
    const queue = new Punctual('memory:')
    expect(() => queue.handle('t', 5 as never)).toThrow(expect.objectContaining({ code: 'HANDLER_INVALID' }))
    queue.handle('t', () => {})
    expect(() => queue.handle('t', () => {})).toThrow(
      expect.objectContaining({ code: 'HANDLER_EXISTS', value: 't' }),
    )
    const wrong = { concurency: 5 } as never
    expect(() => queue.handle('u', () => {}, wrong)).toThrow(
      expect.objectContaining({ code: 'OPTION_UNKNOWN' }),
    )
    expect(() => queue.handle('u', () => {}, { concurrency: -1 })).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID' }),
    )
    expect(() => queue.handle('u', () => {})).not.toThrow()
  })

  it.each(['*', 'mail.*', '*.send', 'mail:*'])('handle: %s would stand for many topics', (topic) => {
    const queue = new Punctual('memory:')
    expect(() => queue.handle(topic, () => {})).toThrow(
      expect.objectContaining({ code: 'TOPIC_INVALID', message: expect.stringContaining('no patterns') }),
    )
    expect(() => queue.handle('5*3', () => {})).not.toThrow()
  })

  it('the rest of the surface', async () => {
    const { queue: make } = makeWorld()
    const queue = make()
    const refusals: [Promise<unknown>, string][] = [
      [queue.get(''), 'ID_INVALID'],
      [queue.cancel(5 as never), 'ID_INVALID'],
      [queue.reschedule('x', {}), 'OPTION_INVALID'],
      [queue.reschedule('x', { delay: -1 }), 'DELAY_OUT_OF_RANGE'],
      [queue.reschedule('x', { soon: true } as never), 'OPTION_UNKNOWN'],
      [queue.list({ limit: 0 }), 'OPTION_INVALID'],
      [queue.list({ limit: 1001 }), 'OPTION_INVALID'],
      [queue.list({ state: 'done' as never }), 'OPTION_INVALID'],
      [queue.list({ cursor: 'rubbish' }), 'CURSOR_INVALID'],
      [queue.list({ cursor: 'delayed.rubbish' }), 'CURSOR_INVALID'],
      [queue.list({ cursor: 5 as never }), 'CURSOR_INVALID'],
      [queue.purge({} as never), 'FILTER_INVALID'],
      [queue.purge({ ids: ['a'], state: 'dead' } as never), 'FILTER_INVALID'],
      [queue.purge({ state: 'running' }), 'OPTION_INVALID'],
      [queue.purge({ ids: 'all' } as never), 'ID_INVALID'],
      [queue.revive({ state: 'ready' }), 'OPTION_INVALID'],
      [queue.revive(Array.from({ length: 10_001 }, () => 'x')), 'BATCH_TOO_LARGE'],
      [queue.produceMany(5 as never), 'OPTION_INVALID'],
      [queue.produceMany([5] as never), 'OPTION_INVALID'],
      [
        queue.produceMany(Array.from({ length: 10_001 }, () => ({ topic: 't', payload: 1 }))),
        'BATCH_TOO_LARGE',
      ],
    ]
    for (const [refused, code] of refusals)
      await expect(refused).rejects.toMatchObject({ name: 'UsageError', code })
    expect(() => queue.stop({ timeout: -1 })).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
  })

  it('whatever is thrown at produce: a typed error or a stored message, never anything else', async () => {
    const { clock, memory, queue: make } = makeWorld()
    const queue = make()
    const call = (queue.produce as (...all: unknown[]) => Promise<string>).bind(queue)
    const when = fc.oneof(fc.anything(), fc.double(), fc.date(), fc.constantFrom('5m', '1.5h', '-1s'))
    const options = fc.oneof(
      fc.anything(),
      fc.record(
        { delay: when, at: when, id: fc.anything(), priority: fc.anything(), ttl: when },
        { requiredKeys: [] },
      ),
    )
    const topic = fc.oneof({ weight: 3, arbitrary: fc.string() }, { weight: 1, arbitrary: fc.anything() })
    let stored = 0
    await fc.assert(
      fc.asyncProperty(topic, fc.anything(), options, async (...args) => {
        try {
          const id = await call(...args)
          stored += 1
          expect(await queue.cancel(id)).toBe('cancelled')
        } catch (error) {
          if (!(error instanceof PunctualError)) throw error
          expect(error.name).toBe('UsageError')
        }
        expect((await memory.count()).states).toEqual({ delayed: 0, ready: 0, running: 0, dead: 0 })
      }),
      { numRuns: 500 },
    )
    expect(stored).toBeGreaterThan(0)
    await clock.settle()
  })
})
