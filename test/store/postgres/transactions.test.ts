/** Messages that belong to a transaction of the user's own: with its commit, or not at all. */
import pg from 'pg'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { Punctual } from '../../../src/index.ts'
import { until } from '../redis/until.ts'
import { expectManyKinds } from '../sql/many-kinds.ts'
import { PostgresDatabase } from './server.ts'
import { freshQueue } from './stores.ts'

let server: PostgresDatabase
beforeAll(async () => {
  server = await PostgresDatabase.make()
  await server.query('create table orders (id int primary key)')
})

function open(queue = freshQueue()): Punctual {
  const made = new Punctual({ store: server.url, queue, logger: false })
  onTestFinished(async () => void (await made.stop()))
  return made
}

async function client(): Promise<pg.Client> {
  const made = new pg.Client({ connectionString: server.url })
  await made.connect()
  onTestFinished(() => made.end())
  return made
}

/** Everything that a user can see of a message. */
async function isThere(queue: Punctual, id: string): Promise<boolean> {
  return (await queue.get(id)) !== undefined
}

describe('a transaction of the user’s own', () => {
  it('P8: what is produced in it is there with its commit, and not before', async () => {
    const [queue, db] = [open(), await client()]
    await db.query('begin')
    await db.query('insert into orders values (1)')
    const id = await queue.produce('order.close', { order: 1 }, { delay: '30m', transaction: db })
    expect(await isThere(queue, id)).toBe(false)
    expect((await queue.stats()).counts.delayed).toBe(0)
    await db.query('commit')
    expect(await queue.get(id)).toMatchObject({
      topic: 'order.close',
      payload: { order: 1 },
      state: 'delayed',
    })
    expect((await queue.stats()).counts.delayed).toBe(1)
  })

  it('P8: after a rollback nothing of it is there, and nobody was woken', async () => {
    const [queue, db] = [open(), await client()]
    const started: string[] = []
    queue.handle('t', ({ id }) => void started.push(id))
    await queue.start()
    await db.query('begin')
    const ids = await queue.produceMany([{ topic: 't' }, { topic: 't', id: 'own' }], { transaction: db })
    expect(ids[1]).toBe('own')
    await db.query('rollback')
    await queue.produce('t', undefined, { id: 'after' })
    await until('the one that counts ran', () => started.length > 0)
    expect(started).toEqual(['after'])
    await until('nothing is left', async () =>
      Object.values((await queue.stats()).counts).every((count) => count === 0),
    )
  })

  it('P9: the commit wakes a sleeping worker', async () => {
    const queueName = freshQueue()
    const [producer, worker, db] = [open(queueName), open(queueName), await client()]
    const started: string[] = []
    worker.handle('t', ({ id }) => void started.push(id))
    await worker.start()
    await until('the worker claims', async () => (await producer.workers()).length > 0)
    await db.query('begin')
    const id = await producer.produce('t', 1, { transaction: db })
    await db.query('commit')
    await until('it ran', () => started.includes(id))
  })

  it('P2: many of different kinds: each is stored as it was given', async () => {
    await expectManyKinds(open(), await client())
  })

  it('its own settings stay as they are', async () => {
    const [queue, db] = [open(), await client()]
    const settings = async (): Promise<unknown> =>
      (
        await db.query(
          "select name, setting from pg_settings where name in ('lock_timeout', 'synchronous_commit')",
        )
      ).rows
    await db.query('begin')
    const before = await settings()
    await queue.produce('t', 1, { id: 'x', delay: '1h', transaction: db })
    await queue.reschedule('x', { delay: '2h', transaction: db })
    await queue.cancel('x', { transaction: db })
    expect(await settings()).toEqual(before)
    await db.query('commit')
  })

  it('cancel and reschedule take effect with the commit, or not at all', async () => {
    const [queue, db] = [open(), await client()]
    for (const id of ['a', 'b']) await queue.produce('t', 1, { id, delay: '1h' })
    await db.query('begin')
    expect(await queue.cancel('a', { transaction: db })).toBe('cancelled')
    expect(await queue.cancel('nobody', { transaction: db })).toBe('missing')
    expect(await queue.reschedule('b', { delay: '2h', transaction: db })).toBe('rescheduled')
    expect(await isThere(queue, 'a')).toBe(true)
    await db.query('rollback')
    expect(await isThere(queue, 'a')).toBe(true)
    await db.query('begin')
    await queue.cancel('a', { transaction: db })
    await queue.reschedule('b', { at: new Date('2040-01-01'), transaction: db })
    await db.query('commit')
    expect(await isThere(queue, 'a')).toBe(false)
    expect((await queue.get('b'))?.dueAt).toBe(Date.UTC(2040, 0, 1))
  })

  it('P5: ifExists holds inside it, and a refusal leaves it usable', async () => {
    const [queue, db] = [open(), await client()]
    await queue.produce('t', 'old', { id: 'x', delay: '1h' })
    await db.query('begin')
    expect(await queue.produce('t', 'new', { id: 'x', transaction: db })).toBe('x')
    await expect(queue.produce('t', 1, { id: 'x', ifExists: 'fail', transaction: db })).rejects.toMatchObject(
      {
        code: 'ID_EXISTS',
      },
    )
    expect(
      await queue.produce('t', 'newer', { id: 'x', ifExists: 'replace', delay: '2h', transaction: db }),
    ).toBe('x')
    await db.query('commit')
    expect((await queue.get('x'))?.payload).toBe('newer')
  })

  it('everything is checked before a statement is sent, so that a mistake does not end it', async () => {
    const db = await client()
    const queue = new Punctual({
      store: server.url,
      queue: freshQueue(),
      topics: { 'order.close': z.object({ order: z.number() }) },
      logger: false,
    })
    onTestFinished(async () => void (await queue.stop()))
    await db.query('begin')
    await db.query('insert into orders values (2)')
    const bad = [
      queue.produce('order.close', { order: 'x' as never }, { transaction: db }),
      queue.produce('order.close', { order: 1 }, { transaction: db, delay: -1 }),
      queue.produce('nowhere' as never, { order: 1 } as never, { transaction: db }),
      queue.produce('order.close', { order: 1 }, { transaction: 5 as never }),
      queue.produce('order.close', { order: 1 }, { transaction: {} as never }),
      queue.produce('order.close', { order: 1 }, { transaction: new pg.Pool() }),
      queue.cancel('', { transaction: db }),
      queue.cancel('a', { transactoin: db } as never),
      queue.reschedule('a', { transaction: db }),
    ]
    for (const one of await Promise.allSettled(bad)) expect(one.status).toBe('rejected')
    await db.query('commit')
    expect(await server.query('select 1 from orders where id = 2')).toHaveLength(1)
  })

  it('without one that is open nothing is done, and it says so', async () => {
    const [queue, db] = [open(), await client()]
    const pool = new pg.Pool({ connectionString: server.url })
    onTestFinished(() => pool.end())
    await queue.produce('t', 1, { id: 'there', delay: '1h' })
    const { dueAt } = (await queue.get('there')) ?? {}
    const throughPool = (text: string, values: string[]): Promise<unknown> => pool.query(text, values)
    for (const transaction of [db, throughPool]) {
      const refused = { code: 'TRANSACTION_MISSING', name: 'UsageError' }
      await expect(queue.produce('t', 1, { id: 'new', transaction })).rejects.toMatchObject(refused)
      const many = Array.from({ length: 3 }, (_, i) => ({ topic: 't', id: `m${i}` }))
      await expect(queue.produceMany(many, { transaction })).rejects.toMatchObject(refused)
      await expect(queue.cancel('there', { transaction })).rejects.toMatchObject(refused)
      await expect(queue.reschedule('there', { delay: 0, transaction })).rejects.toMatchObject(refused)
    }
    expect((await queue.stats()).counts).toMatchObject({ delayed: 1, ready: 0 })
    expect((await queue.get('there'))?.dueAt).toBe(dueAt)
    // As the first statement of a transaction, in one after it, and not after those.
    for (const [id, end] of [
      ['first', 'commit'],
      ['second', 'rollback'],
      ['third', 'commit'],
    ] as const) {
      await db.query('begin')
      await queue.produce('t', 1, { id, delay: '1h', transaction: db })
      await db.query(end)
      await expect(queue.produce('t', 1, { transaction: db })).rejects.toMatchObject({
        code: 'TRANSACTION_MISSING',
      })
    }
    expect((await queue.list({ topic: 't' })).items.map(({ id }) => id).toSorted()).toEqual([
      'first',
      'there',
      'third',
    ])
  })

  it('a transaction that is open blocks no other producer, worker or count', async () => {
    const [queue, db] = [open(), await client()]
    await queue.produce('t', 1, { delay: '1h' })
    await db.query('begin')
    await queue.produceMany(
      Array.from({ length: 50 }, (_, i) => ({ topic: 't', id: `in${i}`, delay: '1h' })),
      { transaction: db },
    )
    await queue.produceMany(
      Array.from({ length: 50 }, (_, i) => ({ topic: 't', id: `out${i}`, delay: '1h' })),
    )
    expect((await queue.stats()).counts.delayed).toBe(51)
    await db.query('commit')
    expect((await queue.stats()).counts.delayed).toBe(101)
  })

  it('a client that is not pg: a function of text and values', async () => {
    const [queue, db] = [open(), await client()]
    const texts: string[] = []
    const transaction = async (text: string, values: string[]): Promise<unknown> => {
      texts.push(text)
      expect(values.every((value) => typeof value === 'string')).toBe(true)
      return (await db.query(text, values)).rows
    }
    await db.query('begin')
    const id = await queue.produce('t', { a: 'ü\u0000"\\' }, { transaction })
    await db.query('commit')
    expect(texts, 'the first that writes is sent twice').toHaveLength(2)
    texts.length = 0
    await db.query('begin')
    await db.query('insert into orders values (20)')
    await queue.produceMany([{ topic: 't' }, { topic: 't' }], { transaction })
    await db.query('commit')
    expect(texts, 'one after the user has written is not').toHaveLength(1)
    expect((await queue.get(id))?.payload).toEqual({ a: 'ü\u0000"\\' })
  })
})

describe('queue.transaction', () => {
  it('commits what its function did, and answers with its value', async () => {
    const [queue, db] = [open(), await client()]
    const id = await queue.transaction(db, async (tx) => {
      await db.query('insert into orders values (10)')
      await tx.produce('t', 1, { id: 'gone', delay: '1h' })
      expect(await tx.cancel('gone')).toBe('cancelled')
      const [many = ''] = await tx.produceMany([{ topic: 't', delay: '1h' }])
      expect(await tx.reschedule(many, { delay: '2h' })).toBe('rescheduled')
      return tx.produce('t', 2, { delay: '1h' })
    })
    expect(await isThere(queue, id)).toBe(true)
    expect(await isThere(queue, 'gone')).toBe(false)
    expect(await server.query('select 1 from orders where id = 10')).toHaveLength(1)
  })

  it('rolls back when its function throws, and rejects with that error', async () => {
    const [queue, db] = [open(), await client()]
    const work = queue.transaction(db, async (tx) => {
      await db.query('insert into orders values (11)')
      await tx.produce('t', 1, { id: 'x' })
      throw new Error('no')
    })
    await expect(work).rejects.toThrow('no')
    expect(await isThere(queue, 'x')).toBe(false)
    expect(await server.query('select 1 from orders where id = 11')).toHaveLength(0)
  })

  it.each(['rollback', 'commit'])('is refused inside of an open one, which can still %s', async (end) => {
    const [queue, db] = [open(), await client()]
    const refused = { code: 'TRANSACTION_OPEN', name: 'UsageError' }
    const nested = (): Promise<string> => queue.transaction(db, (tx) => tx.produce('t', 1, { id: 'inner' }))
    await db.query('begin')
    await expect(nested(), 'before it has written').rejects.toMatchObject(refused)
    await db.query(`insert into orders values (${end === 'commit' ? 31 : 30})`)
    await queue.produce('t', 1, { id: 'outer', transaction: db })
    await expect(nested()).rejects.toMatchObject(refused)
    await db.query(end)
    expect(await server.query('select id from orders where id in (30, 31)')).toHaveLength(
      end === 'commit' ? 1 : 0,
    )
    await server.query('delete from orders where id in (30, 31)')
    expect(await isThere(queue, 'inner')).toBe(false)
    expect(await isThere(queue, 'outer')).toBe(end === 'commit')
    expect(await nested(), 'once the outer one has ended').toBe('inner')
  })

  it('a second one on the same connection is refused, inside of the first and beside it', async () => {
    const [queue, db] = [open(), await client()]
    const refused = { code: 'TRANSACTION_OPEN' }
    await queue.transaction(db, async (tx) => {
      await tx.produce('t', 1, { id: 'first', delay: '1h' })
      await expect(queue.transaction(db, async () => 1)).rejects.toMatchObject(refused)
      await expect(open().transaction(db, async () => 1)).rejects.toMatchObject(refused)
    })
    expect(await isThere(queue, 'first')).toBe(true)
    const both = await Promise.allSettled(
      ['a', 'b'].map((id) => queue.transaction(db, (tx) => tx.produce('t', 1, { id, delay: '1h' }))),
    )
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  })

  it('a connection that breaks in the middle rejects, and ends nobody’s process', async () => {
    const queue = open()
    const db = new pg.Client({ connectionString: server.url })
    await db.connect()
    const ended = new Promise<void>((resolve) => db.once('end', resolve))
    const work = queue.transaction(db, async (tx) => {
      await tx.produce('t', 1, { id: 'broken' })
      const [row] = (await db.query('select pg_backend_pid() as pid')).rows as { pid: number }[]
      await Promise.all([
        db.query('select pg_sleep(60)'),
        server.query('select pg_terminate_backend($1)', [row?.pid]),
      ])
    })
    await expect(work).rejects.toThrow(/terminat/)
    await ended // Without a listener its last word is an exception that nobody catches.
    expect(await isThere(queue, 'broken')).toBe(false)
  })

  it('one that failed is left to its owner', async () => {
    const [queue, db] = [open(), await client()]
    await db.query('begin')
    await expect(db.query('select 1/0')).rejects.toThrow('division')
    await expect(queue.transaction(db, async () => 1)).rejects.toThrow('aborted')
    await db.query('rollback')
    expect(await queue.transaction(db, async () => 1)).toBe(1)
  })

  it('another engine refuses it with UNSUPPORTED, before anything begins', async () => {
    const queue = new Punctual({ store: 'memory:', logger: false })
    const sent: string[] = []
    const transaction = { query: async (text: string) => void sent.push(text) }
    const refused = { code: 'UNSUPPORTED' }
    await expect(queue.transaction(transaction, async () => 1)).rejects.toMatchObject(refused)
    await expect(queue.produce('t', 1, { transaction })).rejects.toMatchObject(refused)
    await expect(queue.produceMany([{ topic: 't' }], { transaction })).rejects.toMatchObject(refused)
    await expect(queue.cancel('x', { transaction })).rejects.toMatchObject(refused)
    await expect(queue.reschedule('x', { delay: 1, transaction })).rejects.toMatchObject(refused)
    expect(sent).toEqual([])
    await queue.stop()
  })
})

describe('punctual.produce, from SQL', () => {
  it('stores a message that a worker gets, in the transaction that calls it', async () => {
    const name = freshQueue()
    const worker = open(name)
    const got: unknown[] = []
    worker.handle('order.close', ({ payload, id }) => void got.push([id, payload]))
    await worker.start()
    await server.query(
      'select punctual.produce($1, $2, $3, interval $4, id => $5)'.replace('interval $4', '$4::interval'),
      [name, 'order.close', '{"orderId": 42}', '10 milliseconds', 'sql-1'],
    )
    await server.query('select punctual.produce($1, $2)', [name, 'order.close'])
    await until('both ran', () => got.length === 2)
    expect(got).toContainEqual(['sql-1', { orderId: 42 }])
  })

  it.each([
    ["select punctual.produce('', 't')", /queue is/],
    ["select punctual.produce('q', '')", /topic is/],
    ["select punctual.produce('q', E'\\x01schedules')", /topic is/],
    ["select punctual.produce('..', 't')", /queue is/],
    ["select punctual.produce('q', '..')", /topic is/],
    ["select punctual.produce('q', 't', id => '.')", /id is/],
    ["select punctual.produce('q', 't', null, interval '-1 second')", /delay is/],
    ["select punctual.produce('q', 't', id => '')", /id is/],
  ])('refuses %s', async (text, reason) => {
    await expect(server.query(text)).rejects.toThrow(reason)
  })
})
