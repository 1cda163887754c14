/**
 * Columns of a queue changed behind its back. Whatever they hold afterwards: only typed errors, no hang, no spinning, nothing
 * early; what was not touched is handled once, and new messages are as well.
 *
 *   PUNCTUAL_FUZZ_RUNS=500 npx vitest run test/store/postgres/corruption.test.ts      many more
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Punctual, PunctualError } from '../../../src/index.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { ack, claimDue, dead, message, retry } from '../../../src/testing/conformance/stand.ts'
import { until } from '../redis/until.ts'
import { PostgresServer } from './server.ts'
import { freshQueue, storeAt } from './stores.ts'

const RUNS = Number(process.env.PUNCTUAL_FUZZ_RUNS ?? 15)
const SEED = process.env.PUNCTUAL_FUZZ_RUNS === undefined ? { seed: 4711 } : {}
const TOPICS = ['t', 'u', 'v'] as const
const PAGES_MAX = 50
const HOUR_MS = 3_600_000

let server: PostgresServer
beforeAll(async () => {
  server = await PostgresServer.start({ settings: ['fsync = off'] })
})
afterAll(() => server?.stop())

const NUMBERS = ['null', '-9000000000000000000', '-1', '0', '1', '2147483647', '9000000000000000000']
const INTEGERS = ['-2147483648', '-1', '0', '2147483647']
const SMALL = ['-32768', '-1', '7', '32767']
const JSONS = [
  'null',
  "'{}'",
  "'[]'",
  "'5'",
  `'{"topic":"t"}'`,
  `'{"topic":5,"priority":99,"due_at":"x","tags":7}'`,
]
const TEXTS = ["''", "'{'", "'null'", "'5'", "E'\\x01x'", `'{"retry":5,"ttlMs":"x"}'`]

/** What each column may be set to; the key of a row stays. */
const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  seq: NUMBERS.slice(1),
  due_at: NUMBERS.slice(1),
  produced_at: NUMBERS.slice(1),
  first_due_at: NUMBERS,
  until: NUMBERS,
  leased_at: NUMBERS,
  token: NUMBERS,
  attempt: INTEGERS,
  priority: SMALL,
  state: [...SMALL, '0', '1', '2', '3'],
  lapses: SMALL,
  is_taken: ['null', 'true', 'false'],
  is_cancelling: ['null', 'true'],
  topic: ["''", "'u'", "E'\\x01schedules'"],
  owner: ['null', "''", "'nobody'"],
  meta: TEXTS,
  body: TEXTS,
  error: ['null', ...TEXTS],
  reason: ['null', ...TEXTS],
  tags: ['null', "'{}'", "'{NULL,x}'", "array['all']"],
  successor: JSONS,
}

type Damage = { readonly column: string; readonly value: string; readonly id: string }
type Elsewhere = { readonly statement: string }

const IDS = TOPICS.flatMap((topic) => ['now', 'soon', 'later', 'held'].map((when) => `${topic}-${when}`))

const DAMAGE: fc.Arbitrary<Damage> = fc.constantFrom(...Object.keys(COLUMNS)).chain((column) =>
  fc.record({
    column: fc.constant(column),
    value: fc.constantFrom(...(COLUMNS[column] ?? [])),
    id: fc.constantFrom(...IDS),
  }),
)

/** In the tables beside the messages; `$1` is the queue. */
const ELSEWHERE: fc.Arbitrary<Elsewhere> = fc
  .constantFrom(
    "insert into punctual.delta values ($1, 't', -2147483648, 5, -5)",
    "insert into punctual.total values ($1, 't', -5, 9000000000000000000, 0) on conflict do nothing",
    "insert into punctual.worker values ($1, 'ghost', '{', -1, 9000000000000000000, null)",
    "insert into punctual.figure values ($1, 0, 't', -1, 0, 0, 0, '5')",
    `insert into punctual.control values ($1, 't', '5') on conflict do nothing`,
    `insert into punctual.control values ($1, 'u', '{"limit":5,"over":"x","pausedUntil":[]}') on conflict do nothing`,
    'delete from punctual.control_revision where queue = $1',
  )
  .map((statement) => ({ statement }))

const SCENE = fc.record({
  damages: fc.array(DAMAGE, { minLength: 1, maxLength: 3 }),
  elsewhere: fc.option(ELSEWHERE, { nil: undefined, freq: 3 }),
})

/** Messages in every place there is. */
async function fill(store: Store): Promise<void> {
  await store.put(
    IDS.map((id) => {
      const [topic = '', when = ''] = id.split('-')
      const delayMs = { soon: 40, later: HOUR_MS }[when] ?? 0
      return message(id, {
        topic: when === 'held' ? `${topic}-held` : topic,
        when: { delayMs },
        tags: ['all', topic],
      })
    }),
  )
  const [first, second, third] = await claimDue(
    store,
    3,
    TOPICS.map((topic) => `${topic}-held`),
  )
  if (first === undefined || second === undefined || third === undefined)
    throw new Error('nothing was handed out')
  await store.settle([dead(first), retry(second, HOUR_MS)])
  await store.put([message(third.id, { ifExists: 'replace', topic: 'later', when: { delayMs: HOUR_MS } })])
  await store.put([message('done', { topic: 'done' })])
  const done = await claimDue(store, 1, ['done'])
  const remember = { ms: HOUR_MS, outcome: 'completed', result: '1' } as const
  await store.settle(done.map((lease) => ({ ...ack(lease), remember })))
}

class Witness {
  readonly starts: { readonly id: string; readonly earlyMs: number }[] = []
  readonly log: string[] = []
  readonly queue: Punctual

  constructor(queue: string) {
    const write = (line: string): void => void this.log.push(line)
    this.queue = new Punctual({
      store: server.url,
      queue,
      lease: '1s',
      fallback: '100ms',
      stopTimeout: '1s',
      retry: { limit: 2, delays: ['1ms'] },
      logger: { info: write, warn: write, error: write },
    })
    this.queue.on('error', (error) => write(error.message))
    for (const topic of [...TOPICS, 'new'])
      this.queue.handle(topic, ({ id, dueAt }) => void this.starts.push({ id, earlyMs: dueAt - Date.now() }))
  }

  /** An answer, or a typed error, which is noted. */
  async try(what: string, call: () => Promise<unknown>): Promise<void> {
    try {
      await call()
    } catch (error) {
      if (!(error instanceof PunctualError)) throw error
      this.log.push(`${what}: ${error.code} ${error.message}`)
    }
  }

  started(id: string): number {
    return this.starts.filter((start) => start.id === id).length
  }
}

async function tryVerbs(witness: Witness): Promise<void> {
  const { queue } = witness
  for (const state of ['delayed', 'ready', 'running', 'dead'] as const)
    await witness.try(`list ${state}`, async () => {
      let [cursor, pages]: [string | undefined, number] = [undefined, 0]
      do {
        const page = await queue.list({ state, limit: 5, ...(cursor === undefined ? {} : { cursor }) })
        cursor = page.cursor
        pages += 1
      } while (cursor !== undefined && pages < PAGES_MAX)
      expect(pages).toBeLessThan(PAGES_MAX)
    })
  await witness.try('list tag', () => queue.list({ tag: 'all', limit: 5 }))
  await witness.try('stats', () => queue.stats())
  await witness.try('workers', () => queue.workers())
  await witness.try('doctor', () => queue.doctor())
  for (const [i, id] of IDS.entries()) {
    await witness.try('get', () => queue.get(id))
    if (i % 3 === 0) await witness.try('reschedule', () => queue.reschedule(id, { delay: '2h' }))
    if (i % 3 === 1) await witness.try('cancel', () => queue.cancel(id))
    if (i % 3 === 2)
      await witness.try('replace', () => queue.produce('t', 1, { id, ifExists: 'replace', delay: '2h' }))
  }
  await witness.try('revive', () => queue.revive({ state: 'dead' }))
  await witness.try('purge', () => queue.purge({ state: 'delayed' }))
}

type Scene = { readonly damages: readonly Damage[]; readonly elsewhere: Elsewhere | undefined }

async function live({ damages, elsewhere }: Scene): Promise<void> {
  const name = freshQueue()
  const store = storeAt(server.url, name)
  await store.open()
  await fill(store)
  await store.close()
  const [row] = await server.query('select queue from punctual.queue where name = $1', [name])
  const number = row?.['queue']
  for (const { column, value, id } of damages)
    await server.query(`update punctual.message set ${column} = ${value} where queue = $1 and id = $2`, [
      number,
      id,
    ])
  if (elsewhere !== undefined) await server.query(elsewhere.statement, [number])

  const witness = new Witness(name)
  try {
    await witness.queue.start()
    const fresh = [...TOPICS, 'new'].map((topic) => ({ topic, id: `fresh-${topic}` }))
    for (const { topic, id } of fresh) await witness.queue.produce(topic, 1, { id })
    const touched = new Set(damages.map(({ id }) => id))
    const untouched = IDS.filter((id) => /now|soon/.test(id) && !touched.has(id))
    const expected = [...fresh.map(({ id }) => id), ...untouched]
    await until(`all of ${expected.join(', ')} started`, () =>
      expected.every((id) => witness.started(id) > 0),
    )
    await tryVerbs(witness)
    for (const id of expected) expect({ id, started: witness.started(id) }).toEqual({ id, started: 1 })
    for (const { earlyMs } of witness.starts) expect(earlyMs).toBeLessThan(2)
  } catch (error) {
    const story = [JSON.stringify({ damages, elsewhere }), ...witness.log.slice(-20)].join('\n')
    throw new Error(`${story}\n${error instanceof Error ? error.message : String(error)}`, { cause: error })
  } finally {
    expect((await witness.queue.stop()).durationMs).toBeLessThan(40_000)
  }
}

it(
  'rows changed behind the back: typed errors, and the rest is handled',
  { timeout: 3_600_000 },
  async () => {
    await fc.assert(fc.asyncProperty(SCENE, live), { numRuns: RUNS, endOnFailure: true, ...SEED })
  },
)
