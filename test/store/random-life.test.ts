/**
 * Every engine against the model of the simulator: the same random life on both, under one clock, must give the same
 * answers, also of two queues that share a server and their ids. The two share no line of code that keeps or moves a message, so that a mistake would have to be made twice. It
 * is here for what the conformance suite cannot list: claims over several topics, parts of them extended, released, lapsed
 * and taken over by another owner, tags and remembered ids that come and go, ids that Redis must stamp beside ids that
 * it need not.
 *
 *   PUNCTUAL_FUZZ_RUNS=2000 npx vitest run test/store/random-life.test.ts      many more
 */
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ModelStore } from '../../simulation/world/model-store.ts'
import { systemClock } from '../../src/clock.ts'
import { FOREVER } from '../../src/core/controls.ts'
import { digitsOf } from '../../src/core/encoding/digits.ts'
import { assertNever } from '../../src/core/errors.ts'
import type {
  ControlChange,
  KeyState,
  Lease,
  NewMessage,
  Next,
  Settlement,
  Store,
  StoredMessage,
  TopicCounts,
} from '../../src/store/contract/store.ts'
import { takeCensus } from '../../src/testing/census.ts'
import { MemoryStore } from '../../src/store/memory/store.ts'
import { makeStore, temporaryDirectory, type TemporaryDirectory } from './file/bench.ts'
import { isMysqlThere, sharedUrl } from './mysql/server.ts'
import { storeAt as mysqlAt } from './mysql/stores.ts'
import { PostgresDatabase } from './postgres/server.ts'
import { storeAt as postgresAt } from './postgres/stores.ts'
import { RedisServer } from './redis/server.ts'
import { freshQueue, storeAt } from './redis/stores.ts'

let server: RedisServer
let postgres: PostgresDatabase
let mysqlUrl = ''
let place: TemporaryDirectory
afterAll(async () => {
  await server?.stop()
  await place?.remove()
})

const RUNS = Number(process.env.PUNCTUAL_FUZZ_RUNS ?? 60)
/** The same for every change; a long run draws others. */
const SEED = process.env.PUNCTUAL_FUZZ_RUNS === undefined ? { seed: 4711 } : {}

/** `start`: what the engine needs; not done where only others are asked for. */
type Subject = readonly [
  name: string,
  runs: number,
  start: () => Promise<void>,
  open: (now: () => number) => Store,
]

const MYSQL: Subject = [
  'mysql',
  Math.ceil(RUNS / 3),
  async () => {
    mysqlUrl = await sharedUrl()
  },
  (now) => mysqlAt(mysqlUrl, freshQueue(), { now }),
]

/** A file is dearer to open, and to examine at the end. */
const ENGINES: readonly Subject[] = [
  ['memory', RUNS, async () => {}, (now) => new MemoryStore({ ...systemClock, now })],
  [
    'file',
    Math.ceil(RUNS / 4),
    async () => {
      place = await temporaryDirectory()
    },
    (now) => makeStore(place.directory, { clock: { ...systemClock, now }, queue: freshQueue(), sync: 'off' }),
  ],
  [
    'postgres',
    Math.ceil(RUNS / 3),
    async () => {
      postgres = await PostgresDatabase.make()
    },
    (now) => postgresAt(postgres.url, freshQueue(), { now }),
  ],
  ...(isMysqlThere ? [MYSQL] : []),
  [
    'redis',
    RUNS,
    async () => {
      server = await RedisServer.start()
    },
    (now) => storeAt(server.url, freshQueue(), { now }),
  ],
]

const LEASE_MS = 50
const BEGAN_AT = Date.UTC(2030, 0, 1)
const TOPICS = ['a', 'b', 'c']

/** Most of what happens, happens in one of them: a long life finds more. */
const queue = fc.constantFrom(0, 0, 0, 1)
const topic = fc.constantFrom(...TOPICS)
const owner = fc.constantFrom('x', 'y')
const number = fc.integer({ min: 0, max: 30 })
/** As `core/encoding/id` makes them, out of order like those of several producers; and ids of users' own. */
const id = fc.oneof(
  number.map((n) => `m${n}`),
  number.map((n) => `${digitsOf(BEGAN_AT + n, 7)}${digitsOf(n, 3)}chance`),
)
const delayMs = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 60 }))
const tag = fc.constantFrom('red', 'blue', 'x:y')
const KEYS = ['k', '{l}', 'm%']
const key = fc.constantFrom(...KEYS)
/** Most have none. */
const someKey = fc.option(key, { nil: undefined, freq: 2 })
/** 0 for none. */
const latestMs = fc.constantFrom(0, 0, 0, 20, 50)
const fate = fc.constantFrom(
  'ack',
  'complete',
  'remember',
  'forget soon',
  'retry',
  'lapse',
  'lapse later',
  'again',
  'again as another',
  'moved',
  'follow',
  'release',
  'dead',
  'hold',
)

/** Intervals that every engine counts exactly. */
const rate = fc.record({
  intervalMs: fc.constantFrom(2, 8, 32),
  burst: fc.integer({ min: 1, max: 3 }),
})
const topicOrAll = fc.constantFrom('', ...TOPICS)
const control: fc.Arbitrary<ControlChange> = fc.oneof(
  fc.record({ kind: fc.constant('pause' as const), topic: topicOrAll }),
  fc.record({
    kind: fc.constant('pause' as const),
    topic: topicOrAll,
    until: fc.record({ delayMs: fc.integer({ min: 1, max: 60 }) }),
  }),
  fc.record({ kind: fc.constant('resume' as const), topic: topicOrAll }),
  fc.record({
    kind: fc.constant('resume' as const),
    topic: topicOrAll,
    over: fc.tuple(rate, fc.integer({ min: 1, max: 100 })).map(([temporary, ms]) => ({ ...temporary, ms })),
  }),
  fc.record({
    kind: fc.constant('limit' as const),
    topic,
    limit: fc.oneof(
      rate.map((its) => ({ rate: its })),
      fc.integer({ min: 1, max: 3 }).map((concurrency) => ({ concurrency })),
      fc
        .tuple(rate, fc.integer({ min: 1, max: 3 }))
        .map(([its, concurrency]) => ({ rate: its, concurrency })),
      fc.constant(null),
    ),
  }),
)

const allowance = fc.oneof(
  fc.integer({ min: 1, max: 2 }).map((concurrency) => ({ concurrency })),
  rate.map((its) => ({ rate: its })),
  fc.tuple(rate, fc.integer({ min: 1, max: 2 })).map(([its, concurrency]) => ({ rate: its, concurrency })),
)
/** Only for engines that have keys. */
const keyControl: fc.Arbitrary<ControlChange> = fc.oneof(
  fc.record({
    kind: fc.constant('limit' as const),
    topic,
    limit: fc.oneof(
      allowance.map((perKey) => ({ perKey })),
      fc.tuple(allowance, fc.integer({ min: 1, max: 3 })).map(([perKey, concurrency]) => ({
        concurrency,
        perKey,
      })),
      fc.constant(null),
    ),
  }),
  fc.record({
    kind: fc.constant('limit' as const),
    topic,
    key,
    limit: fc.oneof(
      allowance,
      fc.integer({ min: 1, max: 3 }).map((weight) => ({ weight })),
      fc.constant(null),
    ),
  }),
)

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('put' as const),
      messages: fc.array(
        fc
          .record({
            id,
            topic,
            priority: fc.constantFrom(0, 1, 2),
            when: fc.record({ delayMs }),
            ifExists: fc.constantFrom('keep', 'replace'),
            body: fc.string({ maxLength: 5 }),
            meta: fc.constantFrom('', '{"x":1}'),
            tags: fc.uniqueArray(tag, { maxLength: 2 }),
          })
          .chain((one) =>
            fc.tuple(latestMs, someKey).map(([ms, its]): NewMessage => {
              const message: NewMessage = its === undefined ? one : { ...one, key: its }
              return ms === 0 || one.ifExists === 'keep' ? message : { ...message, latestMs: ms }
            }),
          ),
        { maxLength: 8 },
      ),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('claim' as const),
      owner,
      topics: fc.uniqueArray(topic, { minLength: 1, maxLength: 3 }),
      limit: fc.integer({ min: 1, max: 6 }),
      free: fc.integer({ min: 0, max: 6 }),
      fates: fc.array(fate, { minLength: 6, maxLength: 6 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 40 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('extend' as const, 'settle' as const),
      picks: fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
      fates: fc.array(fate, { minLength: 12, maxLength: 12 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom('lapsed' as const, 'owned' as const),
      owner,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        'cancel' as const,
        'cancel running' as const,
        'purge' as const,
        'revive' as const,
        'look' as const,
      ),
      ids: fc.uniqueArray(id, { maxLength: 5 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('reschedule' as const), id, delayMs }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('count' as const), topic }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('control' as const), change: control }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('key control' as const), change: keyControl }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('keys' as const), topic }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('tag' as const),
      tag,
      olderThanMs: fc.integer({ min: 0, max: 60 }),
    }),
  },
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

/** A store, and the leases that its workers hold or once held, in an order that is the same on both sides. */
class Side {
  readonly store: Store
  /** Whether the engine has keys: where it has none, both sides live without. */
  readonly #hasKeys: boolean
  #held: Lease[] = []

  constructor(store: Store, hasKeys: boolean) {
    this.store = store
    this.#hasKeys = hasKeys
  }

  /** What the store answered, without the tokens, which are its own. */
  async take(one: Step): Promise<unknown> {
    const { store } = this
    switch (one.kind) {
      case 'put':
        return store.put(this.#hasKeys ? one.messages : one.messages.map(withoutKey))
      case 'claim': {
        const {
          leases,
          next,
          limited = [],
        } = await store.claim({
          from: 'due',
          owner: one.owner,
          bytesMax: 2 ** 30,
          wants: one.topics.map((name) => ({ topic: name, limit: one.limit })),
          limit: one.limit,
          free: Math.min(one.free, one.limit),
          leaseMs: LEASE_MS,
          leadMs: 0,
        })
        this.#hold(leases)
        const settled = await this.#settle(leases, one.fates)
        return {
          leases: leases.map(withoutToken),
          settled,
          next,
          limited: await this.#notPaused(limited),
          hasKeys: this.#hasKeys,
        }
      }
      case 'extend': {
        // All that is still held of a claim, but for what is not picked: that keeps its end.
        const picked = this.#held.slice(-12).filter((_, index) => one.picks[index])
        return store.extend(picked, LEASE_MS)
      }
      case 'settle':
        return this.#settle(
          this.#held.slice(-12).filter((_, index) => one.picks[index]),
          one.fates,
        )
      case 'lapsed': {
        // All of them: which of several that end together goes first is the engine's own choice.
        const reply = await store.claim({ from: 'lapsed', owner: one.owner, limit: 100, leaseMs: LEASE_MS })
        const leases = reply.leases.toSorted((a, b) => (a.id < b.id ? -1 : 1))
        this.#hold(leases)
        const { next, isOwnLapsed = false } = reply
        return { leases: leases.map(withoutToken), next, isOwnLapsed }
      }
      case 'owned': {
        const ids: string[] = []
        let cursor: string | undefined
        do {
          const page = await store.owned(one.owner, cursor)
          ids.push(...page.leases.map((lease) => `${lease.topic} ${lease.id}`))
          cursor = page.cursor
        } while (cursor !== undefined)
        return ids.toSorted()
      }
      case 'cancel':
        return store.remove(one.ids, 'waiting')
      case 'cancel running':
        return store.remove(one.ids, 'waiting', { isRunningToo: true })
      case 'purge':
        return store.remove(one.ids, 'dead')
      case 'revive':
        return store.revive(one.ids)
      case 'look':
        return store.inspect({ ids: one.ids })
      case 'reschedule':
        return store.reschedule([{ id: one.id, when: { delayMs: one.delayMs } }])
      case 'count': {
        const edges = [0, 20, 40, 60, 200, 5_000].map((ms) => BEGAN_AT + ms)
        const [counts, forecast] = [await store.count(), await store.forecast({ edges, topic: one.topic })]
        const { controls } = await store.controls()
        const named = await store.countTopics({ topics: TOPICS }).then(populated)
        return {
          counts: this.#hasKeys ? { ...counts, nextDueAt: undefined } : counts,
          forecast,
          // Of messages with a key an engine may leave out some; the census at the end knows which.
          named: this.#hasKeys ? named.map(([name, its]) => [name, { ...its, nextDueAt: undefined }]) : named,
          controls: controls.toSorted((a, b) => (a.topic < b.topic ? -1 : 1)),
        }
      }
      case 'control':
        return store.control(one.change)
      case 'key control':
        return this.#hasKeys ? store.control(one.change) : undefined
      case 'keys':
        return this.#hasKeys ? this.#keysOf(one.topic) : undefined
      case 'tag':
        return this.#tagged(one.tag, one.olderThanMs)
      case 'advance':
        return undefined
      default:
        return assertNever(one)
    }
  }

  /** Page by page, and by name. What an engine need not say of a key is left out. */
  async #keysOf(name: string): Promise<unknown> {
    const pages: KeyState[] = []
    let cursor: string | undefined
    do {
      const page = await this.store.keys({
        topic: name,
        limit: 2,
        ...(cursor === undefined ? {} : { cursor }),
      })
      pages.push(...page.keys)
      cursor = page.cursor
    } while (cursor !== undefined)
    const { keys: named } = await this.store.keys({ topic: name, keys: KEYS })
    const told = pages.toSorted((a, b) => (a.key < b.key ? -1 : 1))
    return [told, named].map((states) =>
      states.map(({ key: its, waiting, held, rateAt, limit }) => ({
        key: its,
        waiting,
        held,
        rateAt,
        limit,
      })),
    )
  }

  /** In an order that is the same on both sides. */
  async #tagged(name: string, olderThanMs: number): Promise<unknown> {
    const items: StoredMessage[] = []
    let cursor: string | undefined
    do {
      const rest = cursor === undefined ? {} : { cursor }
      const page = await this.store.inspect({ tag: name, olderThanMs, limit: 4, ...rest })
      items.push(...page.items)
      cursor = page.cursor
    } while (cursor !== undefined)
    return items.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  }

  /** Of topics that are paused until a resume, limits need not be told. */
  async #notPaused(limited: readonly string[]): Promise<string[]> {
    if (limited.length === 0) return []
    const { controls } = await this.store.controls()
    const paused = controls.filter(({ pausedUntil }) => pausedUntil === FOREVER).map((one) => one.topic)
    return limited.filter((name) => !paused.includes(name) && !paused.includes('')).toSorted()
  }

  #hold(leases: readonly Lease[]): void {
    this.#held.push(...leases)
  }

  async #settle(leases: readonly Lease[], fates: readonly string[]): Promise<unknown> {
    return this.store.settle(
      leases.flatMap((lease, index) => settlement(lease, fates[index] ?? 'hold', this.#hasKeys)),
    )
  }
}

function settlement(lease: Lease, kind: string, hasKeys: boolean): Settlement[] {
  switch (kind) {
    case 'ack':
      return [{ ...lease, kind: 'ack' }]
    case 'complete':
      return [{ ...lease, kind: 'ack', isOwnWord: true }]
    case 'remember':
      return [{ ...lease, kind: 'ack', remember: { ms: 1_000, outcome: 'completed', result: 'ü' } }]
    case 'forget soon':
      return [{ ...lease, kind: 'ack', remember: { ms: 15, outcome: 'skipped', result: '' } }]
    case 'retry':
      return [{ ...lease, kind: 'retry', delayMs: 7, error: 'again' }]
    case 'lapse later':
      return [{ ...lease, kind: 'retry', delayMs: 3, error: 'lapsed', isLapse: true }]
    case 'again':
      return [{ ...lease, kind: 'again', when: { delayMs: 9 }, followUps: [following('m5')] }]
    case 'again as another':
      return [{ ...lease, kind: 'again', when: { delayMs: 0 }, content: { body: 'new', meta: '{"y":2}' } }]
    case 'moved':
      return [{ ...lease, kind: 'again', when: { delayMs: 5 }, keepsLapses: true }]
    case 'follow':
      return [{ ...lease, kind: 'ack', followUps: [following(lease.id, hasKeys), following('m5')] }]
    case 'lapse':
      return [{ ...lease, kind: 'lapse', error: 'lapsed' }]
    case 'release':
      return [{ ...lease, kind: 'release' }]
    case 'dead':
      return [{ ...lease, kind: 'dead', reason: 'enough', error: 'ü' }]
    default:
      return []
  }
}

function following(its: string, hasKey = false): NewMessage {
  return {
    id: its,
    topic: 'b',
    priority: 1,
    when: { delayMs: 4 },
    ifExists: 'keep',
    body: 'follows',
    meta: '',
    tags: ['red'],
    ...(hasKey ? { key: 'k' } : {}),
  }
}

function withoutKey({ key: _key, ...message }: NewMessage): NewMessage {
  return message
}

function withoutToken({ token, ...rest }: Lease): unknown {
  return { ...rest, hasToken: token.length > 0 }
}

/** An answer of the engine, and of the model. Of what a key holds back an engine may say too early that it is due. */
function expectSame(actual: unknown, expected: unknown): void {
  if (!isKeyedClaim(actual) || !isKeyedClaim(expected)) return expect(actual).toEqual(expected)
  expect({ ...actual, next: undefined }).toEqual({ ...expected, next: undefined })
  const isEmpty = actual.leases.length === 0
  const least = isEmpty && expected.next.state !== 'EXPIRED' ? 1 : 0
  expect([actual.next, expected.next, msOf(actual.next) <= msOf(expected.next)]).toContainEqual(true)
  expect(msOf(actual.next)).toBeGreaterThanOrEqual(least)
}

type KeyedClaim = { readonly leases: readonly unknown[]; readonly next: Next; readonly hasKeys: true }

function isKeyedClaim(answer: unknown): answer is KeyedClaim {
  return typeof answer === 'object' && answer !== null && 'hasKeys' in answer && answer.hasKeys === true
}

function msOf(next: Next): number {
  if (next.state === 'EXPIRED') return 0
  return next.state === 'NO_TASK' ? Infinity : next.ms
}

function populated({ topics }: Awaited<ReturnType<Store['countTopics']>>): [string, TopicCounts][] {
  return Object.entries(topics)
    .filter(([, { waiting, running, dead }]) => waiting + running + dead > 0)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
}

describe.each(ENGINES)('a random life in %s', (name, numRuns, start, open) => {
  beforeAll(start)

  test(
    'P1 to P8, P14: two queues with the same ids, side by side: each goes the same way as in the model',
    { timeout: 3_600_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.tuple(step, queue), { minLength: 10, maxLength: 90 }), async (steps) => {
          let now = BEGAN_AT
          const lives = [0, 1].map(() => {
            const store = open(() => now)
            // On Redis those with the very same turn go by their names, not as they were produced: `redis/keys-life.test.ts`.
            const hasKeys = name !== 'redis' && store.capabilities.features.includes('keys')
            return {
              model: new Side(new ModelStore(() => now, { batchMax: 1_000, leadMs: 10 }), hasKeys),
              engine: new Side(store, hasKeys),
            }
          })
          try {
            for (const { engine } of lives) await engine.store.open()
            for (const [one, which] of steps) {
              // Stamps of services are the engine's own: how they compare with what comes in the same moment is not said.
              now += one.kind === 'advance' ? one.ms : one.kind === 'claim' ? 1 : 0
              const life = lives[which]
              expectSame(await life?.engine.take(one), await life?.model.take(one))
            }
            for (const { model, engine } of lives) {
              const [expected, actual] = [await takeCensus(model.store), await takeCensus(engine.store)]
              expect(actual.places).toEqual(expected.places)
              const findings = await engine.store.doctor()
              expect(findings.filter(({ level }) => level === 'problem')).toEqual([])
            }
          } finally {
            for (const { engine } of lives) await engine.store.close()
          }
        }),
        { numRuns, ...SEED },
      )
    },
  )
})
