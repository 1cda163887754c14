/**
 * Bytes, members, scores and whole keys of a queue changed behind its back. Whatever they hold afterwards: only typed
 * errors, no hang, no spinning, nothing early; what was not touched is handled once, and new messages are as well.
 * The seed of a failing run is in its message, with what was done to which key.
 *
 *   PUNCTUAL_FUZZ_RUNS=2000 npx vitest run test/store/redis/corruption.test.ts      many more
 */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { decodePolicy } from '../../../src/core/encoding/codec.ts'
import { makeId } from '../../../src/core/encoding/id.ts'
import { Punctual, PunctualError } from '../../../src/index.ts'
import type { ClaimDue, NewMessage, Store } from '../../../src/store/contract/store.ts'
import { RedisServer } from './server.ts'
import { freshQueue, storeAt } from './stores.ts'
import { until } from './until.ts'
import { vandalise, type Damage, type Done } from './vandal.ts'

const RUNS = Number(process.env.PUNCTUAL_FUZZ_RUNS ?? 25)
/** Always the same, unless many runs are asked for: those are to find something new. */
const SEED = process.env.PUNCTUAL_FUZZ_RUNS === undefined ? { seed: 4711 } : {}
const TOPICS = ['t', 'u', 'v'] as const
const HOUR_MS = 3_600_000
/** What a worker may ask of the server while nothing goes on but damage: looks, fallbacks, pauses after failures. */
const CALLS_PER_SECOND_MAX = 400
const PAGES_MAX = 50
/** Long enough that a loop without a pause would show in the number of calls. */
const LOOK_ON_MS = 150

let server: RedisServer
beforeAll(async () => {
  server = await RedisServer.start()
})
afterAll(() => server?.stop())

const DAMAGE: fc.Arbitrary<Damage> = fc.record({
  key: share(),
  entry: share(),
  deed: share(),
  detail: share(),
  garbage: fc.uint8Array({ minLength: 2, maxLength: 40 }),
})

const DAMAGES = fc.array(DAMAGE, { minLength: 1, maxLength: 2 })

function share(): fc.Arbitrary<number> {
  return fc.integer({ min: 0, max: 999 }).map((thousandths) => thousandths / 1_000)
}

/** Messages in every place there is. Answers who must still come, unless they are damaged. */
async function fill(store: Store): Promise<{ all: string[]; due: string[] }> {
  const messages: NewMessage[] = TOPICS.flatMap((topic) =>
    ([0, 1, 2] as const).flatMap((priority) =>
      (['now', 'soon', 'later'] as const).map((when) => ({
        id: `${topic}-${priority}-${when}-id`,
        topic,
        body: JSON.stringify({ topic }),
        meta: priority === 2 ? '{"timeoutMs":5000}' : '',
        priority,
        when: { delayMs: { now: 0, soon: 40, later: HOUR_MS }[when] },
        ifExists: 'keep' as const,
        ...(priority === 0 ? { tags: ['all', `of ${topic}`] } : {}),
      })),
    ),
  )
  await store.put(messages)
  const claim = (topic: string, limit: number, leaseMs: number) =>
    store.claim({
      from: 'due',
      owner: 'test',
      bytesMax: 2 ** 30,
      wants: [{ topic, limit }],
      limit,
      leaseMs,
      leadMs: 0,
    })
  const failed = (await claim('t', 2, HOUR_MS)).leases
  await store.settle(
    failed.map(({ id, token, topic }, index) =>
      index === 0
        ? { kind: 'retry', id, token, topic, delayMs: 0, error: 'again' }
        : { kind: 'dead', id, token, topic, reason: 'failed', error: 'no' },
    ),
  )
  const done = (await claim('t', 1, HOUR_MS)).leases
  const remember = { ms: HOUR_MS, outcome: 'completed', result: '1' } as const
  await store.settle(done.map(({ id, token, topic }) => ({ kind: 'ack', id, token, topic, remember })))
  const held = (await claim('u', 2, HOUR_MS)).leases // Running for long: one with a successor, one to be cancelled.
  const [first, second] = held
  await store.put(
    messages
      .filter(({ id }) => id === first?.id)
      .map((one) => ({ ...one, ifExists: 'replace', tags: ['new'] })),
  )
  await store.remove([second?.id ?? ''], 'waiting', { isRunningToo: true })
  await claim('v', 1, 1) // Running, and over at once.
  const still = new Set([...failed.slice(1), ...done, ...held].map(({ id }) => id))
  const all = messages.map(({ id }) => id)
  return { all, due: all.filter((id) => !id.includes('later') && !still.has(id)) }
}

type Start = { readonly id: string; readonly topic: string; readonly asked: string; readonly earlyMs: number }

/** A queue on damaged keys, and what came of it. */
class Witness {
  readonly starts: Start[] = []
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
    for (const topic of [...TOPICS, 'new']) {
      this.queue.handle(topic, ({ id, topic: its, dueAt }) => {
        const earlyMs = dueAt - Date.now()
        this.starts.push({ id, topic: its, asked: topic, earlyMs })
      })
    }
  }

  /** An answer, or a typed error, which is noted. */
  async try(what: string, call: () => Promise<unknown>): Promise<unknown> {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof PunctualError)) throw error
      this.log.push(`${what}: ${error.code} ${error.message}`)
      return error
    }
  }

  started(id: string): number {
    return this.starts.filter((start) => start.id === id).length
  }
}

async function callsOf(): Promise<number> {
  const info = String(await server.admin(['INFO', 'commandstats']))
  return [...info.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce(
    (sum, [, calls]) => sum + Number(calls),
    0,
  )
}

/** Every verb on every id, and every page; whatever they say, they say it in a typed way, and end. */
async function tryVerbs(witness: Witness, ids: readonly string[]): Promise<void> {
  const { queue } = witness
  const call = witness.try.bind(witness)
  for (const state of ['delayed', 'ready', 'running', 'dead'] as const) {
    for (const topic of [undefined, 't']) {
      await call(`list ${state}`, async () => {
        let cursor: string | undefined
        let pages = 0
        do {
          const options = { state, limit: 5, ...(topic === undefined ? {} : { topic }) }
          cursor = (await queue.list(cursor === undefined ? options : { ...options, cursor })).cursor
          pages += 1
        } while (cursor !== undefined && pages < PAGES_MAX)
        expect(pages).toBeLessThan(PAGES_MAX)
      })
    }
  }
  for (const tag of ['all', 'of t', 'new', 'nobody']) {
    await call(`list ${tag}`, () => queue.list({ tag, limit: 5 }))
    await call(`count ${tag}`, () => queue.cancel({ tag }, { dryRun: true }))
  }
  await call('stats', () => queue.stats())
  await call('doctor', () => queue.doctor())
  for (const [index, id] of ids.entries()) {
    await call('get', () => queue.get(id))
    if (index % 3 === 0) await call('reschedule', () => queue.reschedule(id, { delay: '2h' }))
    if (index % 3 === 1) await call('cancel', () => queue.cancel(id))
    if (index % 3 === 2)
      await call('replace', () => queue.produce('t', 1, { id, ifExists: 'replace', delay: '2h' }))
  }
  await call('revive', () => queue.revive({ state: 'dead' }))
  await call('purge', () => queue.purge({ state: 'delayed' }))
}

type Scene = {
  readonly queue: string
  readonly filled: { readonly all: string[]; readonly due: string[] }
  readonly damages: readonly Damage[]
  /** Before the worker starts, or while it works. */
  readonly when: 'before' | 'meanwhile'
}

async function live({ queue, filled, damages, when }: Scene): Promise<void> {
  const witness = new Witness(queue)
  const done: Done[] = []
  const damage = async (): Promise<void> => {
    for (const one of damages) done.push(await vandalise(server.url, queue, one))
  }
  try {
    if (when === 'before') await damage()
    const opened = await witness.try('start', () => witness.queue.start())
    if (when === 'meanwhile') await damage()
    if (done.some((one) => one.isWrongType)) return await liveRefused(witness, opened, when)
    const before = await callsOf()
    const begunAt = performance.now()
    const fresh = [...TOPICS, 'new'].map((topic) => ({ topic, id: `fresh-${topic}` }))
    for (const { topic, id } of fresh) await witness.queue.produce(topic, 1, { id })
    const expected = [...fresh.map(({ id }) => id), ...untouched(filled.due, done)]
    await until(`all of ${expected.join(', ')} started`, () =>
      expected.every((id) => witness.started(id) > 0),
    )
    await rateCheck(before, begunAt)
    await tryVerbs(witness, filled.all)
    for (const id of expected) expect({ id, started: witness.started(id) }).toEqual({ id, started: 1 })
    for (const { id, asked, topic, earlyMs } of witness.starts) {
      expect(asked).toBe(topic)
      if (id.startsWith('fresh')) expect(id).toBe(`fresh-${topic}`)
      expect(earlyMs).toBeLessThan(2)
    }
    expect(witness.log.filter((line) => /INVARIANT|user_script/.test(line))).toEqual([])
  } catch (error) {
    const story = [when, ...done.map(({ what }) => what), ...witness.log.slice(-20)].join('\n')
    throw new Error(`${story}\n${error instanceof Error ? error.message : String(error)}`, { cause: error })
  } finally {
    const report = await witness.queue.stop()
    expect(report.durationMs).toBeLessThan(40_000)
  }
}

/**
 * A key of another type is somebody else's: nothing can be done, and that is said, at an easy pace. At once where every
 * queue has the key; a line or a claim is met when it is used.
 */
async function liveRefused(witness: Witness, opened: unknown, when: Scene['when']): Promise<void> {
  if (when === 'before' && opened !== undefined)
    return expect(opened).toMatchObject({ code: 'STORE_REFUSED' })
  const [before, begunAt] = [await callsOf(), performance.now()]
  await tryVerbs(witness, ['t-0-now-id'])
  await rateCheck(before, begunAt)
  expect(witness.log.filter((line) => /INVARIANT/.test(line))).toEqual([])
}

async function rateCheck(before: number, begunAt: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, LOOK_ON_MS))
  const seconds = (performance.now() - begunAt) / 1_000
  expect((await callsOf()) - before).toBeLessThan(100 + seconds * CALLS_PER_SECOND_MAX)
}

/** Those whose id stands in no entry that was touched; nobody, once a whole key or what is no message's was. */
function untouched(ids: readonly string[], done: readonly Done[]): readonly string[] {
  const isAboutMessages = done.every(
    ({ bytes }) => bytes !== undefined && ids.some((id) => bytes.includes(id)),
  )
  return isAboutMessages ? ids.filter((id) => !done.some(({ bytes }) => bytes?.includes(id))) : []
}

async function openFresh(): Promise<{ store: Store; key: (name: string) => string }> {
  const queue = freshQueue()
  const store = storeAt(server.url, queue)
  await store.open()
  onTestFinished(() => store.close())
  return { store, key: (name) => `punctual:2:{${queue}}:${name}` }
}

function due(topic: string, limit = 9): ClaimDue {
  return {
    from: 'due',
    owner: 'test',
    bytesMax: 2 ** 30,
    wants: [{ topic, limit }],
    limit,
    leaseMs: 60_000,
    leadMs: 0,
  }
}

function message(id: string, topic = 't'): NewMessage {
  return { id, topic, body: '1', meta: '', priority: 1, when: { delayMs: 0 }, ifExists: 'keep' }
}

describe('keys of a queue changed behind its back', () => {
  it('typed errors, no spinning, and the rest is handled', { timeout: 3_600_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(DAMAGES, fc.constantFrom('before', 'meanwhile'), async (damages, when) => {
        const queue = freshQueue()
        const store = storeAt(server.url, queue)
        await store.open()
        const filled = await fill(store)
        await store.close()
        await live({ queue, filled, damages, when })
      }),
      { numRuns: RUNS, endOnFailure: true, ...SEED },
    )
  })

  it('P2: one note of a failure that cannot be read does not cost those claimed with it', async () => {
    const { store, key } = await openFresh()
    await store.put([message('failed'), message('sound')])
    const [first] = (await store.claim(due('t', 1))).leases
    if (first === undefined) throw new Error('nothing was handed out')
    await store.settle([{ ...first, kind: 'retry', delayMs: 0, error: 'no' }])
    await server.admin(['HSET', key('failures'), 'failed', ''])
    const { leases } = await store.claim(due('t'))
    expect(leases.map(({ id, attempt }) => `${id} ${attempt}`).toSorted()).toEqual(['failed 1', 'sound 1'])
  })

  it('P2: a payload whose head is gone is one unreadable message; those claimed with it are handed out', async () => {
    const { store, key } = await openFresh()
    await store.put([message('a'), message('broken'), message('c')])
    const payload = String(await server.admin(['HGET', key('payload'), 'broken']))
    await server.admin(['HSET', key('payload'), 'broken', payload.slice(0, 12)])
    const { leases } = await store.claim(due('t'))
    expect(leases.map(({ id, topic, body }) => [id, topic, body])).toEqual([
      ['a', 't', '1'],
      ['broken', 't', ''],
      ['c', 't', '1'],
    ])
    expect(decodePolicy(leases[1]?.meta ?? '')).toBeUndefined()
    expect(await store.settle(leases.map((lease) => ({ ...lease, kind: 'release' as const })))).toEqual(
      leases.map(() => 'settled'),
    )
    expect((await store.claim(due('t'))).leases.map(({ id }) => id)).toEqual(['a', 'broken', 'c'])
  })

  it('P1: an id that is used again after its payload was deleted is not handed out at the old moment', async () => {
    const { store, key } = await openFresh()
    const generated = makeId(Date.now(), 0.5, 0.5)
    for (const id of ['a', generated]) {
      await store.put([message(id)])
      await server.admin(['HDEL', key('payload'), id])
      await store.put([{ ...message(id), when: { delayMs: HOUR_MS } }])
    }
    await store.put([message('b')])
    const { leases } = await store.claim(due('t'))
    expect(leases.map(({ id }) => id)).toEqual(['b'])
    expect((await store.count()).states).toMatchObject({ delayed: 2, ready: 0 })
  })

  it('without the key `heads`, the next message of a line brings it back', async () => {
    const { store, key } = await openFresh()
    await store.put([message('a'), message('b')])
    await server.admin(['DEL', key('heads')])
    const [worst] = await store.doctor()
    expect(worst).toMatchObject({
      level: 'problem',
      what: expect.stringContaining('1 lines have 0 heads') as string,
    })
    await store.put([message('c')])
    expect((await store.claim(due('t'))).leases.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
    expect((await store.doctor()).filter(({ level }) => level === 'problem')).toEqual([])
  })

  it('without the key `lines`, messages are handed out all the same', async () => {
    const { store, key } = await openFresh()
    await store.put([message('a'), message('b')])
    await server.admin(['DEL', key('lines')])
    expect((await store.doctor())[0]).toMatchObject({ level: 'problem' })
    expect((await store.claim(due('t'))).leases.map(({ id }) => id)).toEqual(['a', 'b'])
    expect((await store.doctor()).filter(({ level }) => level === 'problem')).toEqual([])
  })

  it('P8: a claim without its record still settles: the payload says where a message belongs', async () => {
    const { store, key } = await openFresh()
    await store.put([message('a'), message('b'), message('c')])
    const { leases } = await store.claim(due('t'))
    const claim = (await keysLike(key('claim:*')))[0] ?? ''
    await server.admin(['HDEL', claim, ''])
    const [a, b, c] = leases
    if (a === undefined || b === undefined || c === undefined) throw new Error('three were due')
    const owned = (await store.owned('test')).leases.map(({ id, topic }) => `${topic} ${id}`)
    expect(owned.toSorted()).toEqual(['t a', 't b', 't c'])
    expect(
      await store.settle([
        { ...a, kind: 'release' },
        { ...b, kind: 'retry', delayMs: 0, error: 'no' },
        { ...c, kind: 'ack' },
      ]),
    ).toEqual(['settled', 'settled', 'settled'])
    expect((await store.claim(due('t'))).leases.map(({ id }) => id).toSorted()).toEqual(['a', 'b'])
  })

  it('P8: what is no claim any more does not keep others from being taken over', async () => {
    const { store, key } = await openFresh()
    await store.put([message('a'), message('b')])
    await store.claim({ ...due('t', 1), leaseMs: 1 })
    const [broken = ''] = await keysLike(key('claim:*'))
    await server.admin(['DEL', broken])
    await server.admin(['SET', broken, 'mine'])
    await store.claim({ ...due('t', 1), leaseMs: 1 })
    await until('the other one was taken over', async () => {
      const reply = await store.claim({ from: 'lapsed', owner: 'reaper', limit: 9, leaseMs: HOUR_MS })
      return reply.leases.some(({ id }) => id === 'b')
    })
  })

  it('the doctor says that keys disagree', async () => {
    const { store, key } = await openFresh()
    await store.put([message('a'), message('b')])
    await store.claim(due('t', 1))
    const problems = async (): Promise<string[]> =>
      (await store.doctor()).filter(({ level }) => level === 'problem').map(({ what }) => what)
    expect(await problems()).toEqual([])
    await server.admin(['HDEL', key('payload'), 'b'])
    await server.admin(['DEL', key('running')])
    await server.admin(['HSET', key('died'), 't', '7'])
    expect(await problems()).toEqual([
      expect.stringContaining('1 payloads for 2 messages') as string,
      expect.stringContaining('1 messages run, and 0 are counted') as string,
      expect.stringContaining('0 messages are dead, and 7 are counted') as string,
    ])
    for (const name of ['heads', 'lines']) await server.admin(['ZADD', key(name), '0', key('line:none:1')])
    expect((await problems()).at(-1)).toContain('2 lines have 2 heads, and 1 of them are empty')
  })
})

async function keysLike(pattern: string): Promise<string[]> {
  // Braces are no pattern of KEYS.
  return (await server.admin(['KEYS', pattern])) as string[]
}
