/** P4, P15: a handler completes its message in a transaction of its own: what it wrote there happens once. For every SQL engine. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { Punctual, type HandleOptions, type Message, type Punctual as Queue } from '../../../src/index.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { takeCensus } from '../../../src/testing/census.ts'
import {
  LEASE_MS,
  ack,
  claimDue,
  claimLapsed,
  idsOf,
  message,
} from '../../../src/testing/conformance/stand.ts'
import { until } from '../redis/until.ts'

/** A connection of the user's own. */
export type OwnClient = { query(text: string, values?: unknown[]): Promise<unknown> }

/** What differs between engines. `effects` is a table with a column `id`. */
export type CompletingStand = {
  readonly isMissing: boolean
  readonly url: () => string
  /** How the first value of a statement is written, and what the table of messages is called. */
  readonly first: '?' | '$1'
  readonly messages: string
  readonly freshQueue: () => string
  readonly storeAt: (queue: string, now: () => number) => Store
  /** Ends with the test. */
  readonly client: () => Promise<OwnClient>
  readonly query: (text: string, values: unknown[]) => Promise<readonly Readonly<Record<string, unknown>>[]>
}

type Told = { readonly name: string; readonly id: string; readonly error?: string }
const EVENTS = ['completed', 'failed', 'retrying', 'dead', 'lost', 'cancelled'] as const

export function completing(stand: CompletingStand): void {
  function open(lease = 15_000): { queue: Queue; told: Told[]; names: (id: string) => string[] } {
    const made = new Punctual({ store: stand.url(), queue: stand.freshQueue(), lease, logger: false })
    onTestFinished(async () => void (await made.stop()))
    const told: Told[] = []
    for (const name of EVENTS)
      made.on(name, (event) =>
        told.push({ name, id: event.id, ...('error' in event ? { error: String(event.error) } : {}) }),
      )
    return { queue: made, told, names: (id) => told.filter((one) => one.id === id).map(({ name }) => name) }
  }

  async function effectsOf(id: string): Promise<number> {
    return (await stand.query(`select 1 from effects where id = ${stand.first}`, [id])).length
  }

  /** Runs one message of a fresh queue through the handler, and waits until nothing of it is left to do. */
  async function run(
    handler: (message: Message, db: OwnClient) => unknown,
    { id, lease = 15_000, ...options }: HandleOptions & { id: string; lease?: number },
  ): Promise<{ queue: Queue; names: string[]; told: Told[] }> {
    const { queue, names, told } = open(lease)
    const db = await stand.client()
    queue.handle('t', (given) => handler(given, db), { retry: { limit: 0 }, ...options })
    await queue.start()
    await queue.produce('t', 1, { id })
    await until('it has ended', () => names(id).some((name) => ['completed', 'dead', 'lost'].includes(name)))
    return { queue, names: names(id), told }
  }

  describe.skipIf(stand.isMissing)('complete({ transaction })', () => {
    it('the message is done with the commit, together with what the handler wrote', async () => {
      const { queue, names } = await run(
        async ({ id, complete }, db) => {
          await db.query('begin')
          await db.query(`insert into effects values (${stand.first})`, [id])
          await complete({ transaction: db })
          expect((await queueOf(id))?.state, 'not before').toBe('running')
          await db.query('commit')
          expect(await queueOf(id), 'and then at once').toBeUndefined()
        },
        { id: 'commit' },
      )
      expect(names).toEqual(['completed'])
      expect(await effectsOf('commit')).toBe(1)
      expect(await queue.get('commit')).toBeUndefined()
    })

    it('after a rollback nothing is done: a return is a failed attempt, and says why', async () => {
      const { told, names } = await run(
        async ({ id, complete }, db) => {
          await db.query('begin')
          await db.query(`insert into effects values (${stand.first})`, [id])
          await complete({ transaction: db })
          await db.query('rollback')
        },
        { id: 'rollback' },
      )
      expect(names).toEqual(['failed', 'dead'])
      expect(told[0]?.error).toContain('was not committed')
      expect(await effectsOf('rollback')).toBe(0)
    })

    it('what is thrown after the commit changes nothing: the message is done', async () => {
      const { names } = await run(
        async ({ complete }, db) => {
          await db.query('begin')
          await complete({ transaction: db })
          await db.query('commit')
          throw new Error('late')
        },
        { id: 'thrown' },
      )
      expect(names).toEqual(['completed'])
    })

    it('a handler that goes on for longer than its lease after the commit is not disturbed', async () => {
      const { names } = await run(
        async ({ complete, extend, signal }, db) => {
          await db.query('begin')
          await complete({ transaction: db })
          await db.query('commit')
          // The store says that the lease is gone, as it is, so that it ends by our clock.
          await until('its lease is over', async () => !(await extend()))
          expect(signal.aborted).toBe(false)
        },
        { id: 'long', lease: 3000 },
      )
      expect(names).toEqual(['completed'])
    })

    it.each(['commit', 'rollback'])('a transaction that outlives its handler decides: %s', async (end) => {
      const { queue, told, names } = open()
      const errors: string[] = []
      queue.on('error', (error) => errors.push(String(error)))
      const db = await stand.client()
      queue.handle(
        't',
        async ({ complete }) => {
          await db.query('begin')
          await complete({ transaction: db })
        },
        { retry: { limit: 0 } },
      )
      await queue.start()
      await queue.produce('t', 1, { id: end })
      await until('the worker says so', () => errors.some((error) => error.includes('still open')))
      expect(told).toEqual([])
      await db.query(end)
      await until('it has ended', () => names(end).length > (end === 'commit' ? 0 : 1))
      expect(names(end)).toEqual(end === 'commit' ? ['completed'] : ['failed', 'dead'])
      expect(errors).toHaveLength(1)
    })

    it('P4, P6: somebody has the message locked while its handler ends: it runs once, and is done when the lock is gone', async () => {
      const { queue, names } = open(1000)
      const db = await stand.client()
      let ran = 0
      let ended = 0
      queue.handle('t', async ({ id }) => {
        ran += 1
        await db.query('begin')
        await db.query(`select 1 from ${stand.messages} where id = ${stand.first} for update`, [id])
        ended += 1
      })
      await queue.start()
      await queue.produce('t', 1, { id: 'held' })
      await until('its handler ended', () => ended > 0)
      await new Promise((resolve) => setTimeout(resolve, 2_500)) // Longer than its lease: that it lapses is the point.
      expect(names('held')).toEqual([])
      await db.query('rollback')
      await until('it is done', () => names('held').length > 0)
      expect(names('held')).toEqual(['completed'])
      expect(ran).toBe(1)
    })

    it('P15: follow-ups join the transaction; remember keeps the id', async () => {
      const { queue, names } = open()
      const db = await stand.client()
      const ran: string[] = []
      queue.handle('child', ({ id }) => void ran.push(id))
      queue.handle(
        't',
        async ({ id, complete, followUp }) => {
          await followUp('child', id, { id: `child of ${id}` })
          await db.query('begin')
          await complete({ transaction: db })
          await db.query(id === 'undone' ? 'rollback' : 'commit')
        },
        { retry: { limit: 0 }, concurrency: 1 },
      )
      await queue.start()
      await queue.produce('t', 1, { id: 'undone' })
      await until('the first is dead', () => names('undone').includes('dead'))
      await queue.produce('t', 1, { id: 'done', remember: '1h' })
      await until('the second is done', () => names('done').includes('completed'))
      await until('its follow-up ran', () => ran.length > 0)
      expect(ran).toEqual(['child of done'])
      expect(await queue.get('done')).toMatchObject({ state: 'completed' })
      await until('the follow-up is settled', async () => (await queue.stats()).counts.running === 0)
      expect((await queue.stats()).counts).toMatchObject({ running: 0, ready: 0, delayed: 0, dead: 1 })
    })

    it('a successor takes the place with the commit', async () => {
      const { queue, names } = open()
      const db = await stand.client()
      const seen: unknown[] = []
      queue.handle('t', async ({ payload, id, complete }) => {
        seen.push(payload)
        if (payload === 'second') return
        await queue.produce('t', 'second', { id, ifExists: 'replace' })
        await db.query('begin')
        await complete({ transaction: db })
        await db.query('commit')
      })
      await queue.start()
      await queue.produce('t', 'first', { id: 'x' })
      await until('both ran', () => names('x').filter((name) => name === 'completed').length === 2)
      expect(seen).toEqual(['first', 'second'])
    })

    it('without a transaction that is open it rejects, and the attempt goes on', async ({ skip }) => {
      const [row] = await stand.query('select version() as version', [])
      if (!/PostgreSQL|MariaDB/.test(String(row?.['version']))) skip('MySQL cannot tell')
      const codes: unknown[] = []
      const { names } = await run(
        async ({ id, complete }, db) => {
          await complete({ transaction: db }).catch((error: { code?: string }) => codes.push(error.code))
          expect((await queueOf(id))?.state).toBe('running')
        },
        { id: 'outside' },
      )
      expect(codes).toEqual(['TRANSACTION_MISSING'])
      expect(names).toEqual(['completed'])
    })

    it('P4: after the lease was lost it rejects with LEASE_LOST, and nothing of the transaction need be kept', async () => {
      const codes: unknown[] = []
      const { names } = await run(
        async ({ id, complete }, db) => {
          await stand.query(`update ${stand.messages} set token = 7 where id = ${stand.first}`, [id])
          await db.query('begin')
          await complete({ transaction: db }).catch((error: { code?: string }) => codes.push(error.code))
          await db.query('rollback')
        },
        { id: 'taken' },
      )
      expect(codes).toEqual(['LEASE_LOST'])
      expect(names).toEqual(['lost'])
    })

    it('a second call after the commit says that it is done; after a rollback it may try again', async () => {
      const codes: unknown[] = []
      const { names } = await run(
        async ({ complete }, db) => {
          for (const end of ['rollback', 'commit', 'rollback']) {
            await db.query('begin')
            await complete({ transaction: db }).catch((error: { code?: string }) => codes.push(error.code))
            await db.query(end)
          }
        },
        { id: 'twice' },
      )
      expect(codes).toEqual(['ATTEMPT_OVER'])
      expect(names).toEqual(['completed'])
    })

    it('a message that another worker took over after the rollback is lost, not completed', async () => {
      const { names } = await run(
        async ({ id, complete }, db) => {
          await db.query('begin')
          await complete({ transaction: db })
          await db.query('rollback')
          await stand.query(
            `update ${stand.messages} set token = 7, owner = 'another' where id = ${stand.first}`,
            [id],
          )
        },
        { id: 'over' },
      )
      expect(names).toEqual(['lost'])
    })

    it('one that is to be cancelled is done all the same: the handler has given its word', async () => {
      const { queue, names } = open()
      const db = await stand.client()
      queue.handle('t', async ({ id, complete, signal }) => {
        expect(await queue.cancel(id, { running: true })).toBe('cancelling')
        await until('it was told', () => signal.aborted)
        await db.query('begin')
        await complete({ transaction: db })
        await db.query('commit')
      })
      await queue.start()
      await queue.produce('t', 1, { id: 'c' })
      await until('it is over', () => names('c').length > 0)
      expect(names('c')).toEqual(['completed'])
    })

    it('wrong options, an attempt that is over and another engine are refused before a statement is sent', async () => {
      const sent: string[] = []
      const transaction = { query: async (text: string) => void sent.push(text) }
      const codes: unknown[] = []
      const note = (error: { code?: string }): unknown => codes.push(error.code)
      let kept: Message['complete'] | undefined
      await run(
        async ({ complete }) => {
          kept = complete
          await complete({ transaction: 5 as never }).catch(note)
          await complete({ transactoin: transaction } as never).catch(note)
        },
        { id: 'wrong' },
      )
      await kept?.({ transaction }).catch(note)
      const memory = new Punctual({ store: 'memory:', logger: false })
      onTestFinished(async () => void (await memory.stop()))
      memory.handle('t', ({ complete }) => complete({ transaction }).catch(note))
      await memory.start()
      await memory.produce('t')
      await until('all were refused', () => codes.length === 4)
      expect(codes).toEqual(['OPTION_INVALID', 'OPTION_UNKNOWN', 'ATTEMPT_OVER', 'UNSUPPORTED'])
      expect(sent).toEqual([])
    })
  })

  describe.skipIf(stand.isMissing)('while the transaction of one handler is open', () => {
    it('P3, P12: nobody else waits: claims, extensions and settlements of others go on, and nobody takes it over', async () => {
      let now = Date.UTC(2030, 0, 1)
      const store = stand.storeAt(stand.freshQueue(), () => now)
      onTestFinished(() => store.close())
      await store.open()
      await store.put([message('a'), message('b'), message('c')])
      const [a, b, c] = await claimDue(store, 3)
      if (a === undefined || b === undefined || c === undefined) throw new Error('nothing was handed out')
      const db = await stand.client()
      await db.query('begin')
      const joined = await store.join(db)
      expect(await joined.complete(ack(a) as Parameters<typeof joined.complete>[0])).toBe('settled')
      expect(await store.extend([a, b, c], LEASE_MS)).toEqual(['extended', 'extended', 'extended'])
      expect(await store.settle([ack(b)])).toEqual(['settled'])
      await store.put([message('d')])
      expect(idsOf(await claimDue(store))).toEqual(['d'])
      now += 2 * LEASE_MS
      expect(idsOf(await claimLapsed(store)).toSorted()).toEqual(['c', 'd'])
      await db.query('commit')
      expect(idsOf(await claimLapsed(store))).toEqual([])
      expect((await takeCensus(store)).places.has('a')).toBe(false)
    })
  })

  /** Looks past the queue under test, which may be the one that runs the handler. */
  async function queueOf(id: string): Promise<{ state: string } | undefined> {
    const [row] = await stand.query(`select state from ${stand.messages} where id = ${stand.first}`, [id])
    return row === undefined
      ? undefined
      : { state: Number(row['state']) === 1 ? 'running' : String(row['state']) }
  }
}
