/** Counts are appended by each change and folded in the background: at every moment their sum is that of the messages. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SCHEDULES_TOPIC } from '../../../src/core/control.ts'
import { takeCensus } from '../../../src/testing/census.ts'
import { ack, claimDue, dead, message, retry } from '../../../src/testing/conformance/stand.ts'
import { PostgresServer } from './server.ts'
import { storeAt } from './stores.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await PostgresServer.start({ settings: ['fsync = off'] })
})
afterAll(() => server?.stop())

const WRONG = `
  with counted as (
    select queue, topic, sum(waiting) as waiting, sum(running) as running, sum(dead) as dead
      from (select * from punctual.total where topic <> '' union all select * from punctual.delta) s group by 1, 2),
  actual as (
    select queue, topic, count(*) filter (where state = 0) as waiting, count(*) filter (where state = 1) as running,
      count(*) filter (where state = 2) as dead from punctual.message group by 1, 2)
  select topic from counted full join actual using (queue, topic)
    where coalesce(counted.waiting, 0) <> coalesce(actual.waiting, 0)
      or coalesce(counted.running, 0) <> coalesce(actual.running, 0)
      or coalesce(counted.dead, 0) <> coalesce(actual.dead, 0)`
const WRONG_WHOLE = `
  select a.queue from punctual.total a join (
      select queue, sum(waiting) as waiting, sum(running) as running, sum(dead) as dead
        from punctual.total where topic > E'\\x02' group by 1) t using (queue)
    where a.topic = '' and (a.waiting, a.running, a.dead) is distinct from (t.waiting, t.running, t.dead)`

test('folded or not, whatever happened, and whoever folds at the same time', async () => {
  const store = storeAt(server.url, 'counts')
  await store.open()
  const fold = (): Promise<unknown> => server.query('select punctual.fold_1(10)')
  for (let round = 0; round < 8; round += 1) {
    await store.put([
      ...Array.from({ length: 20 }, (_, i) => message(`${round}.${i}`, { topic: `t${i % 4}`, tags: ['x'] })),
      message(`\u0001${round}`, { topic: SCHEDULES_TOPIC }),
    ])
    const leases = await claimDue(store, 15, ['t0', 't1', 't2', SCHEDULES_TOPIC])
    const [folded] = await Promise.all([
      fold(),
      fold(),
      store.settle(
        leases.map((lease, i) => (i % 3 === 0 ? ack(lease) : i % 3 === 1 ? retry(lease, 5000) : dead(lease))),
      ),
      store.remove([`${round}.3`, `${round}.19`], 'waiting'),
      store.put([message(`${round}.1`, { topic: 'moved', ifExists: 'replace' })]),
    ])
    expect(folded).toHaveLength(1)
    expect(await server.query(WRONG)).toEqual([])
    expect(await server.query(WRONG_WHOLE)).toEqual([])
    await takeCensus(store)
  }
  while (Number((await server.query('select punctual.fold_1(1000) as n'))[0]?.['n']) > 0);
  expect(await server.query(WRONG)).toEqual([])
  expect(await server.query('select 1 from punctual.delta')).toEqual([])
  await takeCensus(store)
  await store.close()
})
