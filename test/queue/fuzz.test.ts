/**
 * Whatever is thrown at the public API: a typed error or an answer, nothing stored that was refused, nothing thrown
 * that is not ours, no hang. The seed of a failing run is in its message.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Punctual, PunctualError } from '../../src/index.ts'
import { takeCensus } from '../../src/testing/index.ts'
import { makeWorld } from '../runtime/world.ts'

const ANYTHING = fc.anything({
  withBigInt: true,
  withBoxedValues: true,
  withDate: true,
  withMap: true,
  withNullPrototype: true,
  withObjectString: true,
  withSet: true,
  withSparseArray: true,
  withTypedArray: true,
})

/** Close to what is right, and so past the first checks more often. */
const DURATION = fc.oneof(
  fc.double(),
  fc.constantFrom('5m', '0ms', '1.5h', '-1s', '99999999d', '٣s'),
  ANYTHING,
)
const NAME = fc.oneof(fc.string({ unit: 'binary', maxLength: 250 }), ANYTHING)
const RETRY = fc.oneof(
  fc.record(
    {
      limit: fc.oneof(fc.integer(), ANYTHING),
      delays: fc.oneof(fc.array(DURATION), ANYTHING),
      exponential: fc.record(
        { base: DURATION, factor: fc.double(), cap: DURATION, jitter: fc.double() },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: [] },
  ),
  ANYTHING,
)
const STATE = fc.oneof(fc.constantFrom('delayed', 'ready', 'running', 'dead'), ANYTHING)
const FILTER = fc.oneof(
  fc.record({ ids: fc.array(NAME), state: STATE, topic: NAME }, { requiredKeys: [] }),
  fc.array(NAME),
  ANYTHING,
)
const WHEN = fc.oneof(fc.record({ delay: DURATION, at: DURATION }, { requiredKeys: [] }), ANYTHING)
const LIST = fc.oneof(
  fc.record(
    { state: STATE, topic: NAME, limit: fc.oneof(fc.integer(), ANYTHING), cursor: NAME },
    { requiredKeys: [] },
  ),
  ANYTHING,
)
const ENTRY = fc.oneof(
  fc.record(
    {
      topic: NAME,
      payload: ANYTHING,
      id: NAME,
      delay: DURATION,
      at: DURATION,
      ifExists: fc.oneof(fc.constantFrom('keep', 'replace', 'fail'), ANYTHING),
      priority: fc.oneof(fc.constantFrom('high', 'normal', 'low'), ANYTHING),
      ttl: DURATION,
      retry: RETRY,
      timeout: DURATION,
    },
    { requiredKeys: ['topic'] },
  ),
  ANYTHING,
)
const HANDLE = fc.oneof(
  fc.record({ concurrency: ANYTHING, timeout: DURATION, retry: RETRY }, { requiredKeys: [] }),
  ANYTHING,
)

/** A method, and what it is called with. */
const CALL = fc.oneof(
  fc.tuple(fc.constant('produceMany'), fc.tuple(fc.oneof(fc.array(ENTRY, { maxLength: 4 }), ANYTHING))),
  fc.tuple(fc.constantFrom('cancel', 'get'), fc.tuple(NAME)),
  fc.tuple(fc.constant('reschedule'), fc.tuple(NAME, WHEN)),
  fc.tuple(fc.constantFrom('revive', 'purge'), fc.tuple(FILTER)),
  fc.tuple(fc.constant('list'), fc.tuple(LIST)),
  fc.tuple(fc.constant('handle'), fc.tuple(NAME, ANYTHING, HANDLE)),
)

/** What a call comes to: its answer, or its error, however it was thrown. */
async function outcomeOf(call: () => unknown): Promise<unknown> {
  try {
    return await call()
  } catch (error) {
    if (!(error instanceof PunctualError)) throw error
    expect(error.name).toBe('UsageError')
    expect(error.message).toMatch(/\w.*[.)]$/s)
    return error
  }
}

describe('a fuzzer at the doors', () => {
  it('the constructor: a queue, or a typed error', async () => {
    const value = fc.oneof(DURATION, RETRY, NAME)
    const options = fc.record(
      Object.fromEntries(
        ['queue', 'concurrency', 'lease', 'fallback', 'retry', 'timeout', 'stopTimeout', 'lateAfter']
          .concat(['payloadLimit', 'topics', 'logger', 'clock', 'random', 'store'])
          .map((name) => [name, value]),
      ),
      { requiredKeys: [] },
    )
    await fc.assert(
      fc.asyncProperty(fc.oneof(options, ANYTHING), async (given) => {
        const made = await outcomeOf(() => new Punctual(given as never))
        if (made instanceof Punctual) await made.stop()
      }),
      { numRuns: 1_000 },
    )
  })

  it('every method: an answer, or a typed error with nothing stored', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(CALL, { minLength: 1, maxLength: 10 }), async (calls) => {
        const { memory, queue: make } = makeWorld()
        const queue = make()
        for (const [method, args] of calls) {
          const before = (await takeCensus(memory)).total
          const outcome = await outcomeOf(() =>
            (queue[method as keyof typeof queue] as (...all: unknown[]) => unknown).apply(queue, args),
          )
          const { total } = await takeCensus(memory)
          // Ids that exist are refused one by one (`produceMany`); every other refusal leaves all as it was.
          const isPartial = outcome instanceof PunctualError && outcome.code === 'ID_EXISTS'
          if (outcome instanceof PunctualError && !isPartial) expect(total).toBe(before)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('whatever a handler throws or returns, the message is settled and the worker goes on', async () => {
    const { clock, memory, queue: make } = makeWorld()
    const queue = make({ retry: { limit: 0 } })
    const deeds: (() => unknown)[] = []
    queue.handle('t', () => deeds.pop()?.())
    await queue.start()
    await fc.assert(
      fc.asyncProperty(ANYTHING, fc.boolean(), async (value, isThrown) => {
        deeds.push(() => {
          // oxlint-disable-next-line typescript/only-throw-error -- users throw anything.
          if (isThrown) throw value
          return value
        })
        await queue.produce('t')
        await clock.advance('1s')
        const { states } = await memory.count()
        expect([states.ready, states.running]).toEqual([0, 0])
        await queue.purge({ state: 'dead' })
      }),
      { numRuns: 200 },
    )
  })
})
