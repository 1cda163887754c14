/** All times are the server's: a process whose own clock is wrong, or is set, changes nothing. */
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { systemClock, type Clock } from '../../../src/clock.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { openPostgresStore } from '../../../src/store/postgres/open.ts'
import { takeCensus } from '../../../src/testing/census.ts'
import {
  ack,
  claim,
  claimDue,
  claimLapsed,
  find,
  idsOf,
  message,
} from '../../../src/testing/conformance/stand.ts'
import { PostgresDatabase } from './server.ts'
import { context, freshQueue, storeAt } from './stores.ts'

const HOUR_MS = 3_600_000

let server: PostgresDatabase
beforeAll(async () => {
  server = await PostgresDatabase.make()
})

async function open(store: Store): Promise<Store> {
  onTestFinished(() => store.close())
  await store.open()
  return store
}

async function serverNow(): Promise<number> {
  const [row] = await server.query('select extract(epoch from clock_timestamp())::float8 * 1000 as now')
  return Number(row?.['now'])
}

describe.each([HOUR_MS, -HOUR_MS])('a process whose clock is %i ms off', (byMs) => {
  const skewed: Clock = { ...systemClock, now: () => systemClock.now() + byMs }

  it('P1: delays count from the server’s now', async () => {
    const store = await open(openPostgresStore(server.url, context(freshQueue(), skewed)))
    const before = await serverNow()
    await store.put([message('a', { when: { delayMs: 60_000 } })])
    const { dueAt } = (await find(store, 'a')) ?? { dueAt: 0 }
    expect(dueAt).toBeGreaterThanOrEqual(before + 60_000)
    expect(dueAt).toBeLessThanOrEqual((await serverNow()) + 60_001)
    expect(await claimDue(store)).toEqual([])
  })

  it('P3: its leases end when everybody else’s would, and the doctor mentions the clock', async () => {
    const queue = freshQueue()
    const wrong = await open(openPostgresStore(server.url, context(queue, skewed)))
    const right = await open(storeAt(server.url, queue))
    await wrong.put([message('a')])
    expect(await claimDue(wrong)).toHaveLength(1)
    expect(await claimLapsed(right)).toEqual([])
    expect((await wrong.doctor()).find(({ what }) => what.includes('clock'))).toMatchObject({
      level: 'warning',
    })
  })
})

describe('a server whose clock is set', () => {
  it('P1, P2: back by an hour: nothing is early or lost; what was due comes when its moment comes again', async () => {
    let now = Date.UTC(2030, 0, 1)
    const store = await open(storeAt(server.url, freshQueue(), { now: () => now }))
    await store.put([message('due'), message('later', { when: { delayMs: 5_000 } })])
    const [lease] = await claimDue(store, 1)
    if (lease === undefined) throw new Error('nothing was handed out')
    now -= HOUR_MS
    expect(await claimDue(store)).toEqual([])
    const { next } = await claim(store, {})
    expect(next).toMatchObject({ state: 'WAITING' })
    expect(await store.settle([ack(lease)])).toEqual(['settled'])
    now += HOUR_MS + 5_000
    expect(idsOf(await claimDue(store))).toEqual(['later'])
  })

  it('P2, P9: forward by an hour and back: what is put afterwards is found', async () => {
    let now = Date.UTC(2030, 0, 1)
    const store = await open(storeAt(server.url, freshQueue(), { now: () => now }))
    await store.put([message('a')])
    now += HOUR_MS
    expect(idsOf(await claimDue(store))).toEqual(['a'])
    now -= HOUR_MS
    await store.put([message('b')])
    expect(idsOf(await claimDue(store))).toEqual(['b'])
    now += 3 * HOUR_MS
    expect(idsOf(await claimLapsed(store)).toSorted()).toEqual(['a', 'b'])
    expect((await takeCensus(store)).total).toBe(2)
  })
})
