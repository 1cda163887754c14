/** What is no longer needed leaves the database, of its own queue and of no other. For every engine that keeps rows. */
import { expect, onTestFinished } from 'vitest'
import type { Store } from '../../../src/store/contract/store.ts'
import { claim, claimDue, message } from '../../../src/testing/conformance/stand.ts'
import { until } from '../redis/until.ts'

const HOUR_MS = 3_600_000

export type LeftoverStand = {
  /** Of the queues a and b, in one database. */
  readonly stores: readonly Store[]
  readonly advance: (ms: number) => Promise<void>
  /** Its rows, each as one text. */
  readonly rows: (text: string) => Promise<readonly string[]>
  /** What stands before the names of its tables; what it calls the table of workers, and their names. */
  readonly prefix: string
  readonly workers: string
  readonly worker: string
}

export async function expectLeftoversGone(stand: LeftoverStand): Promise<void> {
  const { stores, advance, rows, prefix, workers, worker } = stand
  const remembered = (): Promise<readonly string[]> =>
    rows(`select q.name as queue_name, m.id as its from ${prefix}message m join ${prefix}queue q on q.queue = m.queue
      where m.state = 3 order by 1, 2`)
  const known = (): Promise<readonly string[]> =>
    rows(`select q.name as queue_name, w.${worker} as its from ${prefix}${workers} w
      join ${prefix}queue q on q.queue = w.queue order by 1, 2`)
  for (const store of stores) {
    await store.put(['over', 'kept'].map((id) => message(id)))
    const leases = await claimDue(store)
    await store.settle(
      leases.map((lease) => ({
        ...lease,
        kind: 'ack',
        remember: { ms: lease.id === 'over' ? 1_000 : 24 * HOUR_MS, outcome: 'completed', result: '' },
      })),
    )
    await claim(store, { owner: 'old', facts: 'some' })
  }
  expect(await remembered()).toEqual(['a kept', 'a over', 'b kept', 'b over'])
  const [a, b] = stores
  await b?.close() // What is b's own work is not done meanwhile.
  await advance(2 * HOUR_MS)
  await a?.put([message('next')])
  if (a !== undefined) await claim(a, { owner: 'new', facts: 'some' })
  await until('they are gone', async () => !(await remembered()).includes('a over'))
  await until('the worker too', async () => !(await known()).includes('a old'))
  expect(await remembered()).toEqual(['a kept', 'b kept', 'b over'])
  expect((await known()).filter((name) => /new|old/.test(name))).toEqual(['a new', 'b old'])
}

export type LeftoverServer = {
  readonly storeAt: (queue: string, now: () => number) => Store
  readonly query: (text: string) => Promise<readonly Readonly<Record<string, unknown>>[]>
  readonly prefix: string
}

/** The same on a server. */
export async function expectLeftoversGoneAt({ storeAt, query, prefix }: LeftoverServer): Promise<void> {
  let now = Date.now()
  const stores = ['a', 'b'].map((queue) => storeAt(queue, () => now))
  for (const store of stores) {
    onTestFinished(() => store.close())
    await store.open()
  }
  await expectLeftoversGone({
    stores,
    advance: async (ms) => void (now += ms),
    rows: async (text) =>
      (await query(text)).map((row) => `${String(row['queue_name'])} ${String(row['its'])}`),
    prefix,
    workers: 'worker',
    worker: 'owner',
  })
}
