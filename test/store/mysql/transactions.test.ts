/** Messages that belong to a transaction of the user's own: with its commit, or not at all. */
import { createConnection, createPool } from 'mysql2/promise'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { Punctual } from '../../../src/index.ts'
import { until } from '../redis/until.ts'
import { expectManyKinds } from '../sql/many-kinds.ts'
import { connectionTo, freshDatabase, isMysqlThere, queryAt } from './server.ts'
import { freshQueue } from './stores.ts'

let url = ''
beforeAll(async () => {
  if (!isMysqlThere) return
  url = await freshDatabase()
  await queryAt(url, 'create table orders (id int not null, driver varchar(10) not null)')
})

type Client = { query(text: string, values?: unknown[]): Promise<unknown>; end(): Promise<void> }
const DRIVERS: readonly (readonly [name: string, connect: () => Promise<Client>])[] = [
  ['mysql2', () => createConnection(url)],
  ['mariadb', () => connectionTo(url)],
]

function open(queue = freshQueue()): Punctual {
  const made = new Punctual({ store: url, queue, logger: false })
  onTestFinished(async () => void (await made.stop()))
  return made
}

async function client(connect: () => Promise<Client>): Promise<Client> {
  const made = await connect()
  onTestFinished(() => made.end())
  return made
}

/** Everything that a user can see of a message. */
async function isThere(queue: Punctual, id: string): Promise<boolean> {
  return (await queue.get(id)) !== undefined
}

async function isMariadb(): Promise<boolean> {
  const [row] = await queryAt(url, 'select version() as version')
  return String(row?.['version']).includes('MariaDB')
}

describe.skipIf(!isMysqlThere).each(DRIVERS)('a transaction of the user’s own, by %s', (driver, connect) => {
  it('P8: what is produced in it is there with its commit, and not before', async () => {
    const [queue, db] = [open(), await client(connect)]
    await db.query('begin')
    await db.query(`insert into orders values (1, '${driver}')`)
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
    const [queue, db] = [open(), await client(connect)]
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

  it('P9: after a commit of the user’s own the next look finds it', async () => {
    const queueName = freshQueue()
    const [producer, worker, db] = [open(queueName), open(queueName), await client(connect)]
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
    await expectManyKinds(open(), await client(connect))
  })

  it('cancel and reschedule take effect with the commit, or not at all', async () => {
    const [queue, db] = [open(), await client(connect)]
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
    const [queue, db] = [open(), await client(connect)]
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
    const db = await client(connect)
    const queue = new Punctual({
      store: url,
      queue: freshQueue(),
      topics: { 'order.close': z.object({ order: z.number() }) },
      logger: false,
    })
    onTestFinished(async () => void (await queue.stop()))
    await db.query('begin')
    await db.query(`insert into orders values (2, '${driver}')`)
    const bad = [
      queue.produce('order.close', { order: 'x' as never }, { transaction: db }),
      queue.produce('order.close', { order: 1 }, { transaction: db, delay: -1 }),
      queue.produce('nowhere' as never, { order: 1 } as never, { transaction: db }),
      queue.produce('order.close', { order: 1 }, { transaction: 5 as never }),
      queue.produce('order.close', { order: 1 }, { transaction: {} as never }),
      queue.produce('order.close', { order: 1 }, { transaction: createPool(url) }),
      queue.cancel('', { transaction: db }),
      queue.cancel('a', { transactoin: db } as never),
      queue.reschedule('a', { transaction: db }),
    ]
    for (const one of await Promise.allSettled(bad)) expect(one.status).toBe('rejected')
    await db.query('commit')
    expect(await queryAt(url, 'select 1 from orders where id = 2 and driver = ?', [driver])).toHaveLength(1)
  })

  it('a connection out of a pool is taken, as docs/guides/transactions.md has it', async () => {
    const queue = open()
    const connections = createPool(url)
    onTestFinished(() => connections.end())
    const place = async (n: number): Promise<void> => {
      const connection = await connections.getConnection()
      try {
        await queue.transaction(connection, async (tx) => {
          await connection.query('insert into orders values (?, ?)', [100 + n, driver])
          await tx.produce('t', n, { id: `o${n}`, delay: '1h' })
          if (n === 2) throw new Error('refused')
        })
      } finally {
        connection.release()
      }
    }
    const placed = await Promise.allSettled([1, 2, 3, 4].map(place))
    expect(placed.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
    expect((await queue.list({ topic: 't' })).items.map(({ id }) => id).toSorted()).toEqual([
      'o1',
      'o3',
      'o4',
    ])
    expect(await queryAt(url, 'select 1 from orders where id > 100 and driver = ?', [driver])).toHaveLength(3)
  })

  it('without one that is open MariaDB does nothing, and it says so', async ({ skip }) => {
    const [queue, db] = [open(), await client(connect)]
    if (!(await isMariadb())) skip('MySQL cannot tell')
    await queue.produce('t', 1, { id: 'there', delay: '1h' })
    const refused = { code: 'TRANSACTION_MISSING', name: 'UsageError' }
    await expect(queue.produce('t', 1, { transaction: db })).rejects.toMatchObject(refused)
    await expect(queue.cancel('there', { transaction: db })).rejects.toMatchObject(refused)
    await expect(queue.reschedule('there', { delay: 0, transaction: db })).rejects.toMatchObject(refused)
    expect((await queue.stats()).counts).toMatchObject({ delayed: 1, ready: 0 })
    await db.query('set autocommit = 0')
    await queue.produce('t', 1, { id: 'without a begin', delay: '1h', transaction: db })
    expect(await isThere(queue, 'without a begin')).toBe(false)
    await db.query('commit')
    expect(await isThere(queue, 'without a begin')).toBe(true)
  })

  it('a transaction that is open blocks no other producer, worker or count', async () => {
    const [queue, db] = [open(), await client(connect)]
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

  it('a function of text and values', async () => {
    const [queue, db] = [open(), await client(connect)]
    const texts: string[] = []
    const transaction = async (text: string, values: string[]): Promise<unknown> => {
      texts.push(text)
      expect(values.every((value) => typeof value === 'string')).toBe(true)
      return db.query(text, values)
    }
    await db.query('begin')
    const id = await queue.produce('t', { a: 'ü\u0000"\\' }, { transaction })
    await db.query('commit')
    expect(texts.filter((text) => text.startsWith('insert ignore into punctual_message'))).toHaveLength(1)
    expect((await queue.get(id))?.payload).toEqual({ a: 'ü\u0000"\\' })
  })
})

describe.skipIf(!isMysqlThere).each(DRIVERS)('queue.transaction, by %s', (driver, connect) => {
  it('commits what its function did, and answers with its value', async () => {
    const [queue, db] = [open(), await client(connect)]
    const id = await queue.transaction(db, async (tx) => {
      await db.query(`insert into orders values (10, '${driver}')`)
      await tx.produce('t', 1, { id: 'gone', delay: '1h' })
      expect(await tx.cancel('gone')).toBe('cancelled')
      const [many = ''] = await tx.produceMany([{ topic: 't', delay: '1h' }])
      expect(await tx.reschedule(many, { delay: '2h' })).toBe('rescheduled')
      return tx.produce('t', 2, { delay: '1h' })
    })
    expect(await isThere(queue, id)).toBe(true)
    expect(await isThere(queue, 'gone')).toBe(false)
    expect(await queryAt(url, 'select 1 from orders where id = 10 and driver = ?', [driver])).toHaveLength(1)
  })

  it('rolls back when its function throws, and rejects with that error', async () => {
    const [queue, db] = [open(), await client(connect)]
    const work = queue.transaction(db, async (tx) => {
      await db.query(`insert into orders values (11, '${driver}')`)
      await tx.produce('t', 1, { id: 'x' })
      throw new Error('no')
    })
    await expect(work).rejects.toThrow('no')
    expect(await isThere(queue, 'x')).toBe(false)
    expect(await queryAt(url, 'select 1 from orders where id = 11 and driver = ?', [driver])).toHaveLength(0)
  })

  it.each(['rollback', 'commit'])(
    'MariaDB refuses it inside of an open one, which can still %s',
    async (end) => {
      const [queue, db] = [open(), await client(connect)]
      if (!(await isMariadb())) return // MySQL cannot tell.
      const id = end === 'commit' ? 31 : 30
      const nested = (): Promise<string> => queue.transaction(db, (tx) => tx.produce('t', 1, { id: 'inner' }))
      await db.query('begin')
      await db.query(`insert into orders values (${id}, '${driver}')`)
      await expect(nested()).rejects.toMatchObject({ code: 'TRANSACTION_OPEN', name: 'UsageError' })
      await queue.produce('t', 1, { id: 'outer', transaction: db })
      await db.query(end)
      const rows = await queryAt(url, `select 1 from orders where id = ${id} and driver = ?`, [driver])
      expect(rows).toHaveLength(end === 'commit' ? 1 : 0)
      expect(await isThere(queue, 'inner')).toBe(false)
      expect(await isThere(queue, 'outer')).toBe(end === 'commit')
      await db.query('set autocommit = 0')
      expect(await nested(), 'once the outer one has ended').toBe('inner')
    },
  )

  it('a second one on the same connection is refused, and the first goes on', async () => {
    const [queue, db] = [open(), await client(connect)]
    await queue.transaction(db, async (tx) => {
      await tx.produce('t', 1, { id: 'first', delay: '1h' })
      const second = queue.transaction(db, async () => 1)
      await expect(second).rejects.toMatchObject({ code: 'TRANSACTION_OPEN' })
    })
    expect(await isThere(queue, 'first')).toBe(true)
  })

  it('P9: its commit wakes a sleeping worker', async () => {
    const name = freshQueue()
    const [producer, worker, db] = [open(name), sleeping(name), await client(connect)]
    const started: string[] = []
    worker.handle('t', ({ id }) => void started.push(id))
    await worker.start()
    await until('the worker claims', async () => (await producer.workers()).length > 0)
    const id = await producer.transaction(db, (tx) => tx.produce('t', 1))
    await until('it ran', () => started.includes(id))
  })
})

/** It would look by itself only after longer than this test may take. */
function sleeping(queue: string): Punctual {
  const made = new Punctual({ store: url, queue, logger: false, fallback: '1h' })
  onTestFinished(async () => void (await made.stop()))
  return made
}
