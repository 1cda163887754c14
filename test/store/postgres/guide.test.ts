/** The code of docs/guides/transactions.md, run as it stands there. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { compileFunction } from 'node:vm'
import { transformSync } from 'esbuild'
import pg from 'pg'
import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { Punctual } from '../../../src/index.ts'
import { until } from '../redis/until.ts'
import { PostgresDatabase } from './server.ts'
import { freshQueue } from './stores.ts'

const GUIDE = join(import.meta.dirname, '../../../docs/guides/transactions.md')
const ORDERS = 60
/** Whose row cannot be changed. */
const REFUSED = 7

let server: PostgresDatabase
beforeAll(async () => {
  server = await PostgresDatabase.make()
  await server.query('create table orders (id int primary key, status text)')
  await server.query(`create function refuse() returns trigger language plpgsql as $$
    begin if new.id = ${REFUSED} then raise exception 'refused'; end if; return new; end $$`)
  await server.query('create trigger refuse before update on orders for each row execute function refuse()')
})

/** The blocks that have these words, one after the other, without imports: what those would bring is given. */
async function runBlocks(given: Record<string, unknown>, words: readonly string[]): Promise<unknown> {
  const text = await readFile(GUIDE, 'utf8')
  const blocks = [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code)
  const chosen = words.map((word) => blocks.find((block) => block.includes(word)) ?? `missing: ${word}`)
  const source = `${chosen.join('\n')}\nexport { placeOrder, pay, pool }`
    .replaceAll(/^import .*$/gm, '')
    .replaceAll(/^const (url|queue) = .*$/gm, '')
    .replace(/^export (.*)$/m, 'return $1')
  const { code } = transformSync(`async function program() {\n${source}\n}`, { loader: 'ts' })
  const program = compileFunction(`${code}; return program()`, Object.keys(given)) as (
    ...values: readonly unknown[]
  ) => unknown
  return program(...Object.values(given))
}

type Shop = { placeOrder(id: number): Promise<void>; pay(id: number): Promise<void>; pool: pg.Pool }

it('orders that are placed, paid and closed at the same time: rows and messages agree, whatever fails', async () => {
  const queue = new Punctual({
    store: server.url,
    queue: freshQueue(),
    retry: { limit: 0 },
    logger: false,
  })
  const given = { pg, Punctual, url: server.url, queue }
  const shop = (await runBlocks(given, [
    'placeOrder',
    'async function pay',
    'complete({ transaction',
  ])) as Shop
  onTestFinished(async () => {
    await queue.stop()
    await shop.pool.end()
  })
  const ids = Array.from({ length: ORDERS }, (_, i) => i + 1)
  await Promise.all(ids.map((id) => shop.placeOrder(id)))
  await expect(shop.placeOrder(1), 'the row is there, so its message is not stored again').rejects.toThrow(
    'duplicate key',
  )
  expect((await queue.stats()).counts.delayed).toBe(ORDERS)
  const paid = ids.filter((id) => id > ORDERS / 2)
  await Promise.all(paid.map((id) => shop.pay(id)))
  expect((await queue.stats()).counts.delayed).toBe(ORDERS / 2)

  await queue.start()
  await queue.reschedule({ topic: 'order.close' }, { delay: 0 })
  await until('all have ended', async () => {
    const { ready, delayed, running } = (await queue.stats()).counts
    return ready + delayed + running === 0
  })
  const rows = await server.query('select id, status from orders order by id')
  expect(rows.map(({ status }) => status)).toEqual(
    ids.map((id) => (id > ORDERS / 2 ? 'paid' : id === REFUSED ? 'open' : 'closed')),
  )
  const { items } = await queue.list({ state: 'dead' })
  expect(items.map(({ id, error }) => [id, error])).toEqual([
    [`close-${REFUSED}`, expect.stringContaining('refused')],
  ])
})
