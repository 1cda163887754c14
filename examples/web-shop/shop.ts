/** Orders that close when they are not paid; each change of an order and of its message is one commit. */
import pg from 'pg'
import { Punctual } from 'punctual'

type Topics = { 'order.close': { orderId: number } }
export type Order = { readonly id: number; readonly status: string }

const url = process.env['DATABASE_URL'] ?? 'postgres://localhost:5432/shop'
const pool = new pg.Pool({ connectionString: url })
pool.on('error', (error) => console.error(error.message))
pool.on('connect', (client) => client.on('error', () => undefined))

export const queue = new Punctual<Topics>(url)

queue.handle(
  'order.close',
  ({ payload: { orderId }, complete }) =>
    inTransaction(async (client) => {
      await client.query("update shop_order set status = 'closed' where id = $1 and status = 'open'", [
        orderId,
      ])
      await complete({ transaction: client })
    }),
  { concurrency: 5 },
)

export async function open(): Promise<void> {
  await pool.query('create table if not exists shop_order (id int primary key, status text not null)')
  await queue.start()
}

/** Handlers that run may finish, and then their connections end. */
export async function close(): Promise<void> {
  await queue.stop()
  await pool.end()
}

export function place(orderId: number, delay: number, isRefused: boolean): Promise<void> {
  return inTransaction(async (client) => {
    await client.query("insert into shop_order values ($1, 'open')", [orderId])
    const id = `close-${orderId}`
    await queue.produce('order.close', { orderId }, { id, delay, transaction: client })
    if (isRefused) throw new Error('the card was refused')
  })
}

export async function pay(orderId: number): Promise<void> {
  await pool.query("update shop_order set status = 'paid' where id = $1", [orderId])
  await queue.cancel(`close-${orderId}`)
}

export async function find(orderId: number): Promise<Order | undefined> {
  const { rows } = await pool.query<Order>('select id, status from shop_order where id = $1', [orderId])
  return rows[0]
}

async function inTransaction(work: (client: pg.PoolClient) => Promise<void>): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    await work(client)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => undefined)
    throw error
  } finally {
    client.release()
  }
}
