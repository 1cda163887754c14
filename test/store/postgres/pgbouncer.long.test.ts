/** Behind a real PgBouncer in transaction mode, on the oldest PostgreSQL that is here: everything but wake-ups, and those past it. */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Punctual } from '../../../src/index.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { DEAF_LOOK_MS } from '../../../src/store/sql/wakeups/hearing.ts'
import { takeCensus } from '../../../src/testing/census.ts'
import { CONFORMANCE_TESTS } from '../../../src/testing/conformance/index.ts'
import { message } from '../../../src/testing/conformance/stand.ts'
import { until } from '../redis/until.ts'
import { PgBouncer, isPgBouncerThere } from './pgbouncer.ts'
import { PostgresServer, VERSIONS } from './server.ts'
import { context, freshQueue, storeAt } from './stores.ts'
import { openPostgresStore } from '../../../src/store/postgres/open.ts'

describe.skipIf(!isPgBouncerThere)('behind PgBouncer (needs the program pgbouncer)', () => {
  let server: PostgresServer
  let pooler: PgBouncer
  let pooled: string
  beforeAll(async () => {
    const oldest = VERSIONS.at(-1)
    server = await PostgresServer.start({
      settings: ['fsync = off'],
      ...(oldest === undefined ? {} : { version: oldest }),
    })
    pooler = await PgBouncer.before(server.port)
    pooled = `${pooler.url}?pooler=transaction`
  })
  afterAll(async () => {
    await pooler?.stop()
    await server?.stop()
  })

  const queues = (): Punctual[] => {
    const queue = freshQueue()
    return [pooled, pooled].map((store) => {
      const made = new Punctual({ store, queue, logger: false })
      onTestFinished(async () => void (await made.stop()))
      return made
    })
  }

  // Who hears nothing is called every 500 ms instead, so that even the cases about wake-ups pass.
  it.each(CONFORMANCE_TESTS.map(({ name, run }) => ({ name, run })))('$name', async ({ run }) => {
    const queue = freshQueue()
    let now = Date.UTC(2030, 0, 1)
    const stores: Store[] = []
    const open = async (): Promise<Store> => {
      const store = storeAt(pooled, queue, { now: () => now })
      stores.push(store)
      await store.open()
      return store
    }
    onTestFinished(async () => void (await Promise.all(stores.map((store) => store.close()))))
    const advance = async (ms: number): Promise<void> => {
      now += ms
    }
    await run({ store: await open(), advance, another: open, isDeaf: true, close: async () => undefined })
  })

  it('a transaction of the user’s own through the pooler is told from none', async () => {
    const [queue] = queues()
    const db = new pg.Client({ connectionString: pooler.url })
    await db.connect()
    onTestFinished(() => db.end())
    const refused = { code: 'TRANSACTION_MISSING' }
    await expect(queue?.produce('t', 1, { id: 'none', transaction: db })).rejects.toMatchObject(refused)
    await db.query('begin')
    await queue?.produce('t', 1, { id: 'one', delay: '1h', transaction: db })
    await db.query('commit')
    await expect(queue?.cancel('one', { transaction: db })).rejects.toMatchObject(refused)
    expect((await queue?.list({ topic: 't' }))?.items.map(({ id }) => id)).toEqual(['one'])
  })

  it('the doctor says that wake-ups do not arrive, and what to do', async () => {
    const store = storeAt(pooled)
    onTestFinished(() => store.close())
    await store.open()
    store.onWake(() => undefined)
    const found = await store.doctor()
    expect(found).toContainEqual(
      expect.objectContaining({
        level: 'warning',
        what: expect.stringContaining(`up to ${DEAF_LOOK_MS} ms late`) as string,
        remedy: expect.stringContaining('?listen=') as string,
      }),
    )
  })

  it('P9: without wake-ups a worker finds what is due at once by looking', async () => {
    const [producer, worker] = queues()
    if (producer === undefined || worker === undefined) throw new Error('no queues')
    const started: string[] = []
    worker.handle('t', ({ id }) => void started.push(id))
    await worker.start()
    const ids = await producer.produceMany(Array.from({ length: 50 }, () => ({ topic: 't' })))
    await until('all ran', () => started.length === ids.length)
    expect(new Set(started).size).toBe(ids.length)
  })

  it('with ?listen= of the server itself wake-ups arrive', async () => {
    const queue = freshQueue()
    const direct = encodeURIComponent(server.url)
    const [sleeper, other] = [storeAt(`${pooled}&listen=${direct}`, queue), storeAt(pooled, queue)]
    onTestFinished(() => sleeper.close())
    onTestFinished(() => other.close())
    await Promise.all([sleeper.open(), other.open()])
    let calls = 0
    sleeper.onWake(() => (calls += 1))
    await until('it hears', async () =>
      (await sleeper.doctor()).some(({ what }) => what === 'wake-ups arrive'),
    )
    const before = calls
    await other.put([message('a')])
    await until('the ring of the other was heard', () => calls > before)
  })

  it('where nobody said that there is a pooler, the echo finds out, a warning is logged, and looking begins', async () => {
    const log: string[] = []
    const store = openPostgresStore(pooler.url, context(freshQueue(), undefined, log))
    onTestFinished(() => store.close())
    await store.open().catch(() => undefined) // Prepared statements may already be in each other's way.
    let calls = 0
    store.onWake(() => (calls += 1))
    await until('it is called again and again', () => calls > 2)
    expect(log.join('\n')).toMatch(/wake-ups do not arrive/)
  })

  it('P2, P8: four workers share three sessions of the server: each message runs once', async () => {
    const name = freshQueue()
    const ran = new Map<string, number>()
    const workers = Array.from({ length: 4 }, () => {
      const made = new Punctual({
        store: `${pooled}&callTimeout=60s&connectTimeout=60s`,
        queue: name,
        logger: false,
      })
      onTestFinished(async () => void (await made.stop()))
      return made.handle('t', ({ id }) => void ran.set(id, (ran.get(id) ?? 0) + 1))
    })
    const [first] = workers
    if (first === undefined) throw new Error('no worker')
    const ids = await first.produceMany(Array.from({ length: 2_000 }, () => ({ topic: 't' })))
    await Promise.all(workers.map((worker) => worker.start()))
    await until('all ran', () => ran.size === ids.length)
    expect([...ran.values()].every((times) => times === 1)).toBe(true)
    const store = storeAt(pooled, name)
    onTestFinished(() => store.close())
    await store.open()
    await until('all are settled', async () => (await takeCensus(store)).total === 0)
  })
})
