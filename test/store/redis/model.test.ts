/**
 * The Redis engine against the memory engine: the same random life on both, under one clock, must give the same
 * answers. The two share no line of code, so that a mistake would have to be made twice. It is here for what the
 * conformance suite cannot list: messages set aside, merged back in order, cancelled in line, released, revived.
 */
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { assertNever } from '../../../src/core/errors.ts'
import { MemoryStore } from '../../../src/store/memory/store.ts'
import type { Lease, NewMessage, Next, Settlement, Store } from '../../../src/store/contract/store.ts'
import { takeCensus } from '../../../src/testing/census.ts'
import { VirtualClock } from '../../../src/testing/virtual-clock.ts'
import { RedisServer } from './server.ts'
import { freshQueue, storeAt } from './stores.ts'

let server: RedisServer
beforeAll(async () => {
  server = await RedisServer.start()
})
afterAll(() => server?.stop())

const LEASE_MS = 50

const topic = fc.constantFrom('a', 'b', 'c')
const id = fc.integer({ min: 0, max: 30 }).map((n) => `m${n}`)
const delayMs = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 60 }))

const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('put' as const),
      messages: fc.array(
        fc.record({
          id,
          topic,
          priority: fc.constantFrom(0, 1, 2),
          when: fc.record({ delayMs }),
          ifExists: fc.constantFrom('keep', 'replace'),
          body: fc.string({ maxLength: 5 }),
          meta: fc.constantFrom('', '{"x":1}'),
        }) satisfies fc.Arbitrary<NewMessage>,
        { maxLength: 8 },
      ),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('claim' as const),
      topic,
      limit: fc.integer({ min: 1, max: 6 }),
      settle: fc.array(fc.constantFrom('ack', 'retry', 'release', 'dead', 'hold'), {
        minLength: 6,
        maxLength: 6,
      }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 40 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('lapsed' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('cancel' as const, 'purge' as const, 'revive' as const, 'look' as const),
      ids: fc.uniqueArray(id, { maxLength: 5 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('reschedule' as const), id, delayMs }),
  },
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

/** What a store answered, without the tokens, which are its own. */
async function take(store: Store, one: Step): Promise<unknown> {
  switch (one.kind) {
    case 'put':
      return store.put(one.messages)
    case 'claim': {
      const wants = [{ topic: one.topic, limit: one.limit }]
      const request = {
        from: 'due',
        owner: 'test',
        bytesMax: 2 ** 30,
        wants,
        limit: one.limit,
        leaseMs: LEASE_MS,
        leadMs: 0,
      } as const
      const { leases, next } = await store.claim(request)
      const settled = await store.settle(settlements(leases, one.settle))
      return { leases: withoutTokens(leases), settled, next }
    }
    case 'lapsed': {
      // All of them: which of several that end together goes first is the engine's own choice.
      const { leases } = await store.claim({ from: 'lapsed', owner: 'reaper', limit: 100, leaseMs: LEASE_MS })
      await store.settle(leases.map((lease) => ({ ...lease, kind: 'retry', delayMs: 5, error: 'lapsed' })))
      return leases.length
    }
    case 'cancel':
      return store.remove(one.ids, 'waiting')
    case 'purge':
      return store.remove(one.ids, 'dead')
    case 'revive':
      return store.revive(one.ids)
    case 'look':
      return store.inspect({ ids: one.ids })
    case 'reschedule':
      return store.reschedule([{ id: one.id, when: { delayMs: one.delayMs } }])
    case 'advance':
      return undefined
    default:
      return assertNever(one)
  }
}

function settlements(leases: readonly Lease[], kinds: readonly string[]): Settlement[] {
  return leases.flatMap((lease, index): Settlement[] => {
    switch (kinds[index]) {
      case 'ack':
        return [{ ...lease, kind: 'ack' }]
      case 'retry':
        return [{ ...lease, kind: 'retry', delayMs: 7, error: 'again' }]
      case 'release':
        return [{ ...lease, kind: 'release' }]
      case 'dead':
        return [{ ...lease, kind: 'dead', reason: 'enough', error: 'ü' }]
      default:
        return []
    }
  })
}

function withoutTokens(leases: readonly Lease[]): unknown[] {
  return leases.map(({ token, ...rest }) => ({ ...rest, hasToken: token.length > 0 }))
}

/**
 * Redis looks at a few messages at a time, so that it may say EXPIRED, ask at once, where memory knows that nothing
 * is there; never the other way round.
 */
function withNextOf(actual: unknown, expected: unknown): unknown {
  const isCautious = isClaim(actual) && isClaim(expected) && actual.next.state === 'EXPIRED'
  return isCautious ? { ...expected, next: actual.next } : expected
}

function isClaim(answer: unknown): answer is { readonly next: Next } {
  return typeof answer === 'object' && answer !== null && 'next' in answer
}

test('P1 to P8: a random life goes the same way in Redis as in memory', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
      const clock = new VirtualClock()
      const memory = new MemoryStore(clock)
      const redis = storeAt(server.url, freshQueue(), { now: () => clock.now() })
      await redis.open()
      try {
        for (const one of steps) {
          if (one.kind === 'advance') await clock.advance(one.ms)
          const [expected, actual] = [await take(memory, one), await take(redis, one)]
          expect(actual).toEqual(withNextOf(actual, expected))
        }
        const [expected, actual] = [await takeCensus(memory), await takeCensus(redis)]
        expect(actual.places).toEqual(expected.places)
      } finally {
        await redis.close()
      }
    }),
    { numRuns: 60 },
  )
})
