/** Counts are appended by each change and folded in the background: at every moment their sum is that of the messages. */
import { expect } from 'vitest'
import { SCHEDULES_TOPIC } from '../../../src/core/control.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { takeCensus } from '../../../src/testing/census.ts'
import { ack, claimDue, dead, message, retry } from '../../../src/testing/conformance/stand.ts'
import { settle } from '../settle.ts'

export type CountedDatabase = {
  readonly store: Store
  /** What stands before the names of its tables. */
  readonly prefix: string
  /** How it writes the text that topics of our own come before. */
  readonly afterOwn: string
  readonly query: (text: string) => Promise<readonly unknown[]>
  /** Adds up at most so many changes, and tells how many. */
  readonly fold: (size: number) => Promise<number>
}

export async function expectTrueCounts(database: CountedDatabase): Promise<void> {
  const { store, query, fold, prefix, afterOwn } = database
  const sums = 'sum(waiting) <> 0 or sum(running) <> 0 or sum(dead) <> 0'
  const minus = [0, 1, 2].map((state) => `case when state = ${state} then -1 else 0 end`).join(', ')
  const wrong = async (): Promise<readonly unknown[]> => [
    ...(await query(`select queue, topic, sum(waiting) as waiting, sum(running) as running, sum(dead) as dead from (
        select queue, topic, waiting, running, dead from ${prefix}total where topic <> ''
        union all select queue, topic, waiting, running, dead from ${prefix}delta
        union all select queue, topic, ${minus} from ${prefix}message) s group by queue, topic having ${sums}`)),
    ...(await query(`select queue, sum(waiting) as waiting, sum(running) as running, sum(dead) as dead from (
        select queue, waiting, running, dead from ${prefix}total where topic = ''
        union all select queue, -waiting, -running, -dead from ${prefix}total where topic > ${afterOwn}) s
      group by queue having ${sums}`)),
  ]
  for (let round = 0; round < 8; round += 1) {
    await store.put([
      ...Array.from({ length: 20 }, (_, i) => message(`${round}.${i}`, { topic: `t${i % 4}`, tags: ['x'] })),
      message(`\u0001${round}`, { topic: SCHEDULES_TOPIC }),
    ])
    const leases = await claimDue(store, 15, ['t0', 't1', 't2', SCHEDULES_TOPIC])
    await Promise.all([
      fold(10),
      fold(10),
      settle(
        store,
        leases.map((lease, i) => (i % 3 === 0 ? ack(lease) : i % 3 === 1 ? retry(lease, 5000) : dead(lease))),
      ),
      store.remove([`${round}.3`, `${round}.19`], 'waiting'),
      store.put([message(`${round}.1`, { topic: 'moved', ifExists: 'replace' })]),
    ])
    expect(await wrong()).toEqual([])
    await takeCensus(store)
  }
  while ((await fold(1_000)) > 0);
  expect(await wrong()).toEqual([])
  expect(await query(`select 1 from ${prefix}delta`)).toEqual([])
  await takeCensus(store)
}
