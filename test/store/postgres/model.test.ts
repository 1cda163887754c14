import { afterAll, beforeAll, expect, test } from 'vitest'
import { PostgresServer } from './server.ts'
import { assertRandomLives } from '../random-life.ts'
import { freshQueue, storeAt } from './stores.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await PostgresServer.start()
})
afterAll(() => server?.stop())

test('P1 to P8: a random life goes the same way in PostgreSQL as in the model', { timeout: 3_600_000 }, () =>
  assertRandomLives(async (now) => {
    const store = storeAt(server.url, freshQueue(), { now })
    await store.open()
    return store
  }),
)

test('the counts that were folded, and those that were not, are those of the messages', async () => {
  await server.query('select punctual.fold_1(1000)')
  const [wrong] = await server.query(`
    with counted as (
      select queue, topic, sum(waiting) as waiting, sum(running) as running, sum(dead) as dead
        from (select * from punctual.total where topic <> '' union all select * from punctual.delta) s group by 1, 2),
    actual as (
      select queue, topic, count(*) filter (where state = 0) as waiting, count(*) filter (where state = 1) as running,
        count(*) filter (where state = 2) as dead from punctual.message group by 1, 2)
    select count(*)::int as n from counted full join actual using (queue, topic)
      where coalesce(counted.waiting, 0) <> coalesce(actual.waiting, 0)
        or coalesce(counted.running, 0) <> coalesce(actual.running, 0)
        or coalesce(counted.dead, 0) <> coalesce(actual.dead, 0)`)
  expect(wrong).toEqual({ n: 0 })
  const [whole] = await server.query(`
    select count(*)::int as n from (select queue, sum(waiting) as w from punctual.total where topic > E'\\x02' group by 1) t
      join punctual.total a on a.queue = t.queue and a.topic = '' where a.waiting <> t.w`)
  expect(whole).toEqual({ n: 0 })
})
