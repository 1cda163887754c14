/** Every client that docs/guides/transactions.md names, on a real server: both writes commit, or neither does. */
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { CLIENTS } from '../../packages/recipes/clients.mjs'
import { Punctual } from '../../../src/index.ts'
import { PostgresDatabase } from './server.ts'
import { freshQueue } from './stores.ts'

let server: PostgresDatabase
beforeAll(async () => {
  server = await PostgresDatabase.make()
  await server.query('create table orders (id int)')
})

async function orders(): Promise<number> {
  return Number((await server.query('select count(*)::int as n from orders'))[0]?.['n'])
}

describe.each(Object.entries(CLIENTS))('%s', (_name, inTransaction) => {
  it('an order and its message commit together, or roll back together', async () => {
    const queue = new Punctual({ store: server.url, queue: freshQueue(), logger: false })
    onTestFinished(async () => void (await queue.stop()))
    await queue.produce('order.close', 'old', { id: 'moved', delay: '1h' })
    await queue.produce('order.close', 'old', { id: 'taken back', delay: '1h' })
    const before = await orders()
    const work = (number: number, isRolledBack: boolean): Promise<void> =>
      inTransaction(server.url, async (transaction, statement) => {
        // A transaction that has written is told otherwise than one that has not.
        const insert = (): Promise<unknown> => statement(`insert into orders values (${before + number})`)
        if (isRolledBack) await insert()
        await queue.produceMany(
          [{ topic: 'order.close', payload: { it: "'?$1" }, id: `m${number}`, delay: '1h' }],
          {
            transaction,
          },
        )
        expect(await queue.produce('order.close', 2, { id: `m${number}`, transaction })).toBe(`m${number}`)
        await expect(
          queue.produce('order.close', 3, { id: `m${number}`, ifExists: 'fail', transaction }),
        ).rejects.toMatchObject({ code: 'ID_EXISTS' })
        expect(await queue.cancel('taken back', { transaction })).toBe('cancelled')
        expect(await queue.reschedule('moved', { at: new Date('2040-01-01'), transaction })).toBe(
          'rescheduled',
        )
        if (!isRolledBack) await insert()
        if (isRolledBack) throw new Error('rolled back')
      })
    await expect(work(1, true)).rejects.toThrow('rolled back')
    expect(await orders()).toBe(before)
    expect(await queue.get('m1')).toBeUndefined()
    expect(await queue.get('taken back')).toBeDefined()
    await work(2, false)
    expect(await orders()).toBe(before + 1)
    expect((await queue.get('m2'))?.payload).toEqual({ it: "'?$1" })
    expect(await queue.get('taken back')).toBeUndefined()
    expect((await queue.get('moved'))?.dueAt).toBe(Date.UTC(2040, 0, 1))
  })
})
