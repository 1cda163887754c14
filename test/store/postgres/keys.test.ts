/** Keys on a real server: who meets whom, in transactions of users' own too, and what is left in the end. */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Lease, Settlement, Store } from '../../../src/store/contract/store.ts'
import { takeCensus } from '../../../src/testing/census.ts'
import { flood, keyed, own, perKey } from '../../../src/testing/conformance/key-stand.ts'
import {
  TOPIC,
  ack,
  claim,
  claimDue,
  idsOf,
  lapse,
  message,
  release,
  retry,
} from '../../../src/testing/conformance/stand.ts'
import { until } from '../redis/until.ts'
import { settle } from '../settle.ts'
import { PostgresDatabase } from './server.ts'
import { freshQueue, storeAt } from './stores.ts'

const ROUNDS = Number(process.env['PUNCTUAL_RACE_ROUNDS'] ?? 30)

let server: PostgresDatabase
const opened: Store[] = []
beforeAll(async () => {
  server = await PostgresDatabase.make()
})
afterAll(async () => {
  await Promise.all(opened.map((store) => store.close()))
})

async function handles(count: number, queue = freshQueue()): Promise<Store[]> {
  const stores = Array.from({ length: count }, () => storeAt(server.url, queue))
  opened.push(...stores)
  await Promise.all(stores.map((store) => store.open()))
  return stores
}

async function transaction(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  await client.query('begin')
  return client
}

/** Rows about keys, of all queues whose work is done. */
async function rowsOfKeys(): Promise<number> {
  const [row] = await server.query(
    'select (select count(*) from punctual.turn) + (select count(*) from punctual.note) as count',
  )
  return Number(row?.['count'])
}

/** Claims as a worker does that asks again when it is told, until so many were handed out. */
async function takeSoon(store: Store, count: number): Promise<readonly Lease[]> {
  const leases: Lease[] = []
  await until(`${count} are handed out`, async () => {
    leases.push(...(await claimDue(store)))
    return leases.length >= count
  })
  return leases
}

const ENDS: readonly ((lease: Lease) => Settlement)[] = [ack, ack, release, (lease) => retry(lease, 1), lapse]

describe.each([1, 2])('P17: %i at a time of each key', (concurrency) => {
  it('holds however claims, settlements and puts of the same keys meet; each is handed out once, and nothing is left', async () => {
    const stores = await handles(4)
    const [first] = stores as [Store]
    await first.control(perKey({ concurrency }))
    const names = ['a', 'b', 'c', 'd', 'e']
    const missing = new Set(names.flatMap((name) => Array.from({ length: 40 }, (_, i) => `${name}-${i}`)))
    let turns = 0
    const work = async (store: Store): Promise<void> => {
      while (missing.size > 0) {
        const { leases } = await claim(store, { limit: 7 })
        const ends = leases.map((lease) => {
          turns += 1
          const end = (turns > 600 ? ack : (ENDS[turns % ENDS.length] ?? ack))(lease)
          if (end.kind === 'ack') missing.delete(lease.id)
          return end
        })
        expect(await settle(store, ends)).toEqual(ends.map(() => 'settled'))
      }
    }
    const produce = async (): Promise<void> => {
      for (let i = 0; i < 40; i += 1) await first.put(names.map((name) => keyed(`${name}-${i}`, name)))
    }
    const watch = async (): Promise<void> => {
      while (missing.size > 0)
        expect(
          await server.query(
            `select key, count(*) from punctual.message where state = 1 group by queue, key having count(*) > ${concurrency}`,
          ),
        ).toEqual([])
    }
    await Promise.all([produce(), watch(), ...stores.map(work)])
    expect((await takeCensus(first)).total).toBe(0)
    await claim(first, {})
    expect(await rowsOfKeys()).toBe(0)
  })
})

it('P17: a limit that comes while a message is settled blocks nothing for good', async () => {
  const [one, other] = (await handles(2)) as [Store, Store]
  for (let round = 0; round < ROUNDS; round += 1) {
    await one.put(flood(`k${round}`, 3))
    const [lease] = await claimDue(one, 1)
    if (lease === undefined) throw new Error('nothing was handed out')
    await Promise.all([
      other.control(perKey({ concurrency: 1 })),
      settle(one, [ack(lease)]),
      claim(other, { limit: 1 }).then(({ leases }) => settle(other, leases.map(ack))),
    ])
    for (let left = (await takeCensus(one)).total; left > 0; left -= 1) {
      const leases = await takeSoon(one, 1)
      await settle(one, leases.map(ack))
    }
    await one.control(perKey(undefined))
  }
  await claim(one, {})
  expect(await rowsOfKeys()).toBe(0)
})

describe('a transaction of a user’s own', () => {
  it('that stores a message of a key holds up no other of it; its message comes with the commit', async () => {
    const [store] = (await handles(1)) as [Store]
    await store.control(perKey({ concurrency: 1 }))
    const client = await transaction()
    const joined = await store.join(client)
    expect(await joined.put([keyed('mine', 'k')])).toEqual(['stored'])
    await store.put([keyed('theirs', 'k'), keyed('other', 'other')])
    const leases = await claimDue(store)
    expect(idsOf(leases).toSorted()).toEqual(['other', 'theirs'])
    await settle(store, leases.map(ack))
    expect(await claimDue(store)).toEqual([])
    await client.query('commit')
    await client.end()
    const [mine, ...rest] = await claimDue(store)
    expect([mine?.id, mine?.key, rest]).toEqual(['mine', 'k', []])
    if (mine !== undefined) await settle(store, [ack(mine)])
    await claim(store, {})
    expect(await rowsOfKeys()).toBe(0)
  })

  it('that cancels the first of a key, and takes it back: the next goes on meanwhile, and it is not forgotten', async () => {
    const [store] = (await handles(1)) as [Store]
    await store.put([...flood('k', 2), keyed('later', 'k', { when: { delayMs: 3_600_000 } })])
    const client = await transaction()
    expect(await (await store.join(client)).remove(['k-0'])).toEqual(['removed'])
    expect(idsOf(await takeSoon(store, 1))).toEqual(['k-1'])
    expect((await claim(store, {})).next.state).toBe('WAITING')
    await client.query('rollback')
    await client.end()
    expect(idsOf(await takeSoon(store, 1))).toEqual(['k-0'])
  })

  it('in which a handler completes a message of a serial key: the next comes with its commit', async () => {
    const [store] = (await handles(1)) as [Store]
    await store.control(perKey({ concurrency: 1 }))
    await store.put(flood('k', 2))
    const [lease] = await takeSoon(store, 1)
    if (lease === undefined) throw new Error('nothing was handed out')
    const client = await transaction()
    expect(await (await store.join(client)).complete({ kind: 'ack', ...lease })).toBe('settled')
    // The limits can be changed meanwhile.
    await store.control(own('other', { weight: 2 }))
    expect(await claimDue(store)).toEqual([])
    await client.query('commit')
    await client.end()
    expect(idsOf(await takeSoon(store, 1))).toEqual(['k-1'])
  })
})

it('P18: messages without a key are stored as if there were none', async () => {
  const [store] = (await handles(1)) as [Store]
  const before = await rowsOfKeys()
  await store.put([message('a'), message('b', { topic: 'other', when: { delayMs: 1_000 } })])
  await store.put([message('b', { ifExists: 'replace', topic: 'other' })])
  const leases = await claimDue(store, 10, [TOPIC, 'other'])
  await settle(
    store,
    leases.map((lease) => retry(lease, 60_000)),
  )
  expect(
    await server.query("select state, key, is_holding from punctual.message where id in ('a', 'b')"),
  ).toEqual([
    { state: 0, key: null, is_holding: null },
    { state: 0, key: null, is_holding: null },
  ])
  expect(await rowsOfKeys()).toBe(before)
})
