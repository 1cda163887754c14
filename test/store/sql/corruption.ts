/**
 * Columns of a queue changed behind its back. Whatever they hold afterwards: only typed errors, no hang, no spinning, nothing
 * early; what was not touched is handled once, and new messages are as well. For every SQL engine.
 */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Punctual, PunctualError } from '../../../src/index.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { ack, claimDue, dead, message, retry } from '../../../src/testing/conformance/stand.ts'
import { until } from '../redis/until.ts'

const RUNS = Number(process.env.PUNCTUAL_FUZZ_RUNS ?? 15)
const SEED = process.env.PUNCTUAL_FUZZ_RUNS === undefined ? { seed: 4711 } : {}
const TOPICS = ['t', 'u', 'v'] as const
const PAGES_MAX = 50
const HOUR_MS = 3_600_000

/** What differs between engines. */
export type CorruptionStand = {
  readonly isMissing: boolean
  readonly url: () => string
  readonly freshQueue: () => string
  readonly storeAt: (queue: string) => Store
  /** The number under which the tables know a queue. */
  readonly numberOf: (queue: string) => Promise<number>
  readonly query: (text: string) => Promise<unknown>
  readonly messages: string
  /** What each column may be set to, as SQL; the key of a row stays. */
  readonly columns: Readonly<Record<string, readonly string[]>>
  /** In the tables beside the messages; QUEUE stands for the number of the queue. */
  readonly elsewhere: readonly string[]
}

const NUMBERS = ['null', '-9000000000000000000', '-1', '0', '1', '2147483647', '9000000000000000000']
const INTEGERS = ['-2147483648', '-1', '0', '2147483647']
const JSONS = [
  'null',
  "'{}'",
  "'[]'",
  "'5'",
  `'{"topic":"t"}'`,
  `'{"topic":5,"priority":99,"due_at":"x","tags":7}'`,
]

/** Those that have the same values on every engine. */
export const COLUMNS = {
  due_at: NUMBERS.slice(1),
  produced_at: NUMBERS.slice(1),
  first_due_at: NUMBERS,
  until: NUMBERS,
  leased_at: NUMBERS,
  token: NUMBERS,
  attempt: INTEGERS,
  successor: JSONS,
} as const

type Damage = { readonly column: string; readonly value: string; readonly id: string }

const IDS = TOPICS.flatMap((topic) => ['now', 'soon', 'later', 'held'].map((when) => `${topic}-${when}`))

function damageTo(columns: CorruptionStand['columns']): fc.Arbitrary<Damage> {
  return fc.constantFrom(...Object.keys(columns)).chain((column) =>
    fc.record({
      column: fc.constant(column),
      value: fc.constantFrom(...(columns[column] ?? [])),
      id: fc.constantFrom(...IDS),
    }),
  )
}

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

  constructor(store: string, queue: string) {
    const write = (line: string): void => void this.log.push(line)
    this.queue = new Punctual({
      store,
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

type Scene = { readonly damages: readonly Damage[]; readonly elsewhere: string | undefined }

async function live(stand: CorruptionStand, { damages, elsewhere }: Scene): Promise<void> {
  const name = stand.freshQueue()
  const store = stand.storeAt(name)
  await store.open()
  await fill(store)
  await store.close()
  const number = await stand.numberOf(name)
  for (const { column, value, id } of damages)
    await stand.query(
      `update ${stand.messages} set ${column} = ${value} where queue = ${number} and id = '${id}'`,
    )
  if (elsewhere !== undefined) await stand.query(elsewhere.replaceAll('QUEUE', String(number)))

  const witness = new Witness(stand.url(), name)
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

export function corruption(stand: CorruptionStand): void {
  const scene = fc.record({
    damages: fc.array(damageTo(stand.columns), { minLength: 1, maxLength: 3 }),
    elsewhere: fc.option(fc.constantFrom(...stand.elsewhere), { nil: undefined, freq: 3 }),
  })
  it.skipIf(stand.isMissing)(
    'rows changed behind the back: typed errors, and the rest is handled',
    { timeout: 3_600_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(scene, (one) => live(stand, one)),
        { numRuns: RUNS, endOnFailure: true, ...SEED },
      )
    },
  )
}
