/**
 * An order and its message commit together or roll back together: no outbox table, no process that empties it.
 *
 *   npm run example outbox                         needs PostgreSQL; DATABASE_URL=postgres://… to use one that runs
 */
import pg from 'pg'
import { Punctual, type InTransaction } from 'punctual'
import { startServer } from './postgres-server.ts'

type Topics = { 'order.close': { orderId: number } }

const server = await startServer()
if (server === undefined) {
  console.log('skipped: there is no PostgreSQL here')
  process.exit(0)
}

const pool = new pg.Pool({ connectionString: server.url })
// Without these a restart of PostgreSQL ends the process: the first hears of connections that are idle, the second of those in use.
pool.on('error', (error) => console.error(error.message))
pool.on('connect', (client) => client.on('error', () => undefined))
await pool.query('create table if not exists shop_order (id int primary key, status text not null)')

const queue = new Punctual<Topics>({ store: server.url, queue: 'shop' })
queue.handle('order.close', async ({ payload: { orderId } }) => {
  const { rowCount } = await pool.query(
    "update shop_order set status = 'closed' where id = $1 and status = 'open'",
    [orderId],
  )
  console.log(`order ${orderId}: ${rowCount === 1 ? 'closed, not paid' : 'nothing to close'}`)
})
await queue.start()

/** On a connection of its own: handlers run meanwhile, and must not become part of this transaction. */
async function inTransaction(
  work: (tx: InTransaction<Topics>, client: pg.PoolClient) => Promise<void>,
): Promise<void> {
  const client = await pool.connect()
  try {
    await queue.transaction(client, (tx) => work(tx, client))
  } finally {
    client.release()
  }
}

/** The order and the moment at which it closes: one commit. */
async function place(orderId: number, isRefused = false): Promise<void> {
  await inTransaction(async (tx, client) => {
    await client.query("insert into shop_order values ($1, 'open')", [orderId])
    await tx.produce('order.close', { orderId }, { id: `close-${orderId}`, delay: 300 })
    if (isRefused) throw new Error('the card was refused')
  })
}

/** Paid, and no longer to be closed: one commit. */
async function pay(orderId: number): Promise<void> {
  await inTransaction(async (tx, client) => {
    await client.query("update shop_order set status = 'paid' where id = $1", [orderId])
    await tx.cancel(`close-${orderId}`)
  })
}

await place(1)
await place(2)
await place(3, true).catch((error: Error) => console.log(`order 3: ${error.message}, nothing is stored`))
await pay(2)

while ((await queue.stats()).counts.delayed + (await queue.stats()).counts.ready > 0)
  await new Promise((resolve) => setTimeout(resolve, 50))
await queue.stop()
const { rows } = await pool.query<{ id: number; status: string }>(
  'select id, status from shop_order order by id',
)
console.log(rows.map(({ id, status }) => `${id} ${status}`).join(', '))
await pool.query('drop table shop_order')
await pool.end()
server.stop()
