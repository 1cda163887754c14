/**
 * A random life of messages with keys, on Redis and on the model of the simulator, under one clock. Each claim has room for
 * everything, so that what it brings follows from the promises alone, and not from who of several goes first. After each
 * step the server's places of keys must agree with each other, and in the end nothing of any key may be left.
 *
 *   PUNCTUAL_FUZZ_RUNS=2000 npx vitest run test/store/redis/keys-life.test.ts      many more
 */
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ModelStore } from '../../../simulation/world/model-store.ts'
import { assertNever } from '../../../src/core/errors.ts'
import type {
  ControlChange,
  Lease,
  NewMessage,
  Settlement,
  Store,
} from '../../../src/store/contract/store.ts'
import { takeCensus } from '../../../src/testing/census.ts'
import { connect, disagreements, type Client } from './keys-agree.ts'
import { RedisServer } from './server.ts'
import { freshQueue, storeAt } from './stores.ts'

const RUNS = Number(process.env['PUNCTUAL_FUZZ_RUNS'] ?? 60)
const SEED = process.env['PUNCTUAL_FUZZ_RUNS'] === undefined ? { seed: 4711 } : {}
const BEGAN_AT = Date.UTC(2030, 0, 1)
const LEASE_MS = 50
/** `one`: always some concurrency of each key; `rated`: sometimes a rate; `free`: weights, and no limits. */
const TOPICS = ['one', 'rated', 'free'] as const
const KEYS = ['k', 'l', 'm n', undefined] as const

let server: RedisServer
let client: Client
beforeAll(async () => {
  server = await RedisServer.start()
  client = await connect(server.url)
})
afterAll(async () => {
  client?.destroy()
  await server?.stop()
})

const topic = fc.constantFrom(...TOPICS)
const key = fc.constantFrom(...KEYS)
const id = fc.integer({ min: 0, max: 25 }).map((n) => `m${n}`)
const delayMs = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 30 }))
const fate = fc.constantFrom('ack', 'ack', 'retry', 'lapse', 'again', 'release', 'dead', 'follow', 'hold')
const concurrency = fc.integer({ min: 1, max: 3 })
const rate = fc.record({ intervalMs: fc.constantFrom(2, 8, 32), burst: fc.integer({ min: 1, max: 3 }) })

const perKey: fc.Arbitrary<ControlChange> = fc.oneof(
  concurrency.map((most): ControlChange => ({
    kind: 'limit',
    topic: 'one',
    limit: { perKey: { concurrency: most } },
  })),
  fc.tuple(concurrency, rate).map(([most, its]): ControlChange => ({
    kind: 'limit',
    topic: 'one',
    limit: { perKey: { concurrency: most, rate: its } },
  })),
  fc.option(rate).map((its): ControlChange => ({
    kind: 'limit',
    topic: 'rated',
    limit: its === null ? null : { perKey: { rate: its } },
  })),
)
const own: fc.Arbitrary<ControlChange> = fc.oneof(
  fc.option(concurrency).map((most): ControlChange => ({
    kind: 'limit',
    topic: 'one',
    key: 'k',
    limit: most === null ? null : { concurrency: most },
  })),
  fc.option(concurrency).map((weight): ControlChange => ({
    kind: 'limit',
    topic: 'free',
    key: 'l',
    limit: weight === null ? null : { weight },
  })),
)

const message = fc
  .record({ id, topic, key, priority: fc.constantFrom(0, 1, 2), delayMs, isReplaced: fc.boolean() })
  .map(({ key: its, delayMs: ms, isReplaced, ...rest }): NewMessage => ({
    ...rest,
    ...(its === undefined ? {} : { key: its }),
    when: { delayMs: ms },
    ifExists: isReplaced ? 'replace' : 'keep',
    body: '{}',
    meta: '',
  }))

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('put' as const),
      messages: fc.array(message, { maxLength: 8 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('claim' as const), fates: fc.array(fate, { minLength: 9 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('settle' as const), fates: fc.array(fate, { minLength: 9 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 40 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('lapsed' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        'cancel' as const,
        'cancel running' as const,
        'purge' as const,
        'revive' as const,
      ),
      ids: fc.uniqueArray(id, { maxLength: 5 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('move' as const), id, delayMs }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('control' as const), change: fc.oneof(perKey, own) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('look' as const) }) },
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

class Side {
  readonly store: Store
  #held: Lease[] = []

  constructor(store: Store) {
    this.store = store
  }

  async take(one: Step): Promise<unknown> {
    const { store } = this
    switch (one.kind) {
      case 'put':
        return store.put(one.messages)
      case 'claim': {
        const { leases, next, limited } = await this.claim()
        this.#held.push(...leases)
        return { ids: leases.map(inWords), next, limited }
      }
      case 'settle': {
        const held = this.#held.splice(0, 9)
        const ends = held.flatMap((lease, index) => settlement(lease, one.fates[index] ?? 'hold'))
        return store.settle(ends)
      }
      case 'lapsed': {
        const { leases } = await store.claim({ from: 'lapsed', owner: 'y', limit: 100, leaseMs: LEASE_MS })
        const inOrder = leases.toSorted((a, b) => (a.id < b.id ? -1 : 1))
        this.#held.push(...inOrder)
        return inOrder.map(inWords)
      }
      case 'cancel':
        return store.remove(one.ids, 'waiting')
      case 'cancel running':
        return store.remove(one.ids, 'waiting', { isRunningToo: true })
      case 'purge':
        return store.remove(one.ids, 'dead')
      case 'revive':
        return store.revive(one.ids)
      case 'move':
        return store.reschedule([{ id: one.id, when: { delayMs: one.delayMs } }])
      case 'control':
        return store.control(one.change)
      case 'look':
        return { counts: await store.count(), keys: await this.keys() }
      case 'advance':
        return undefined
      default:
        return assertNever(one)
    }
  }

  async claim() {
    const { leases, ...reply } = await this.store.claim({
      from: 'due',
      owner: 'x',
      bytesMax: 2 ** 30,
      wants: TOPICS.map((name) => ({ topic: name, limit: 100 })),
      limit: 100,
      leaseMs: LEASE_MS,
      leadMs: 0,
    })
    return { ...reply, leases: leases.toSorted((a, b) => (a.id < b.id ? -1 : 1)) }
  }

  /** What both say in the same way: turns are stamps of the engine's own. */
  async keys(): Promise<unknown> {
    const page = await this.store.keys({ topic: 'one', keys: ['k', 'l', 'm n'] })
    return page.keys.map(({ turnAt, ...rest }) => ({ ...rest, hasTurn: turnAt !== undefined }))
  }
}

function inWords({
  id: its,
  key: whose = '',
  topic: where,
  attempt,
  lapses,
  dueAt,
  firstDueAt,
}: Lease): string {
  return [where, whose, its, attempt, lapses, dueAt - BEGAN_AT, firstDueAt - BEGAN_AT].join(' ')
}

function settlement(lease: Lease, kind: string): Settlement[] {
  switch (kind) {
    case 'ack':
      return [{ ...lease, kind: 'ack' }]
    case 'follow':
      return [{ ...lease, kind: 'ack', followUps: [following('m5'), following('m6')] }]
    case 'retry':
      return [{ ...lease, kind: 'retry', delayMs: 7, error: 'again' }]
    case 'lapse':
      return [{ ...lease, kind: 'lapse', error: 'lapsed' }]
    case 'again':
      return [{ ...lease, kind: 'again', when: { delayMs: 9 } }]
    case 'release':
      return [{ ...lease, kind: 'release' }]
    case 'dead':
      return [{ ...lease, kind: 'dead', reason: 'enough', error: '' }]
    default:
      return []
  }
}

function following(its: string): NewMessage {
  return {
    id: its,
    topic: 'one',
    key: 'k',
    priority: 1,
    when: { delayMs: 4 },
    ifExists: 'keep',
    body: '{}',
    meta: '',
  }
}

it(
  'P16, P17, P18: keys live as in the model, whatever happens, and leave nothing',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
        await server.admin(['FLUSHALL'])
        let now = BEGAN_AT
        const queue = freshQueue()
        const real = new Side(storeAt(server.url, queue, { now: () => now }))
        const model = new Side(new ModelStore(() => now, { batchMax: 1_000, leadMs: 10 }))
        await real.store.open()
        try {
          const limited: Step = {
            kind: 'control',
            change: { kind: 'limit', topic: 'one', limit: { perKey: { concurrency: 1 } } },
          }
          for (const one of [limited, ...steps]) {
            if (one.kind === 'advance') now += one.ms
            const [answer, expected] = [await real.take(one), await model.take(one)]
            expect(answer, JSON.stringify(one)).toEqual(expected)
            expect(await disagreements(client, queue)).toEqual([])
          }
          await takeCensus(real.store)
          expect(await leftAfter(real.store, () => (now += 1_000), queue)).toEqual([])
        } finally {
          await real.store.close()
        }
      }),
      { numRuns: RUNS, ...SEED },
    )
  },
  60_000 + RUNS * 500,
)

/** Names of keys about keys that stay after everything was done, and limits taken back. */
async function leftAfter(store: Store, advance: () => void, queue: string): Promise<string[]> {
  for (const topicName of TOPICS) {
    await store.control({ kind: 'limit', topic: topicName, limit: null })
    for (const name of ['k', 'l'])
      await store.control({ kind: 'limit', topic: topicName, key: name, limit: null })
  }
  const side = new Side(store)
  for (let round = 0; round < 20; round += 1) {
    advance()
    const taken = await store.claim({ from: 'lapsed', owner: 'z', limit: 100, leaseMs: LEASE_MS })
    await store.settle(taken.leases.map((lease) => ({ ...lease, kind: 'ack' })))
    const { leases } = await side.claim()
    await store.settle(leases.map((lease) => ({ ...lease, kind: 'ack' })))
  }
  const names = await client.keys('*')
  return names
    .map((name) => name.slice(`punctual:2:{${queue}}:`.length))
    .filter((name) => /^(?:line|turns|keys|counts|held|limits|keyed|resting)/.test(name))
}
