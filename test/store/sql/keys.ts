/** Keys on real servers: who meets whom, in transactions of users' own too, and what is left in the end. */
import { describe, expect, it, onTestFinished } from 'vitest'
import type { TransactionHandle } from '../../../src/core/input/transaction.ts'
import type { Lease, Settlement, Store } from '../../../src/store/contract/store.ts'
import { takeCensus } from '../../../src/testing/census.ts'
import { limit } from '../../../src/testing/conformance/control-stand.ts'
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
import { freshQueue } from '../redis/stores.ts'
import { until } from '../redis/until.ts'
import { settle } from '../settle.ts'

const ROUNDS = Number(process.env['PUNCTUAL_RACE_ROUNDS'] ?? 30)

export type KeyDatabase = {
  readonly open: (queue: string) => Store
  readonly query: (text: string) => Promise<readonly Record<string, unknown>[]>
  /** A connection of a user's own, on which a transaction is open. */
  readonly begin: () => Promise<TransactionHandle & OpenTransaction>
  /** What stands before the names of its tables, and how it names the column of the key. */
  readonly prefix: string
  readonly column: string
  /** The tables that have rows only while there are keys. */
  readonly tables: readonly string[]
}

type OpenTransaction = { query(text: string): Promise<unknown>; end(): Promise<void> }

const ENDS: readonly ((lease: Lease) => Settlement)[] = [ack, ack, release, (lease) => retry(lease, 1), lapse]

/** Claims as a worker does that asks again when it is told, until so many were handed out. */
async function takeSoon(store: Store, count: number): Promise<readonly Lease[]> {
  const leases: Lease[] = []
  await until(`${count} are handed out`, async () => {
    leases.push(...(await claimDue(store)))
    return leases.length >= count
  })
  return leases
}

async function drain(store: Store): Promise<void> {
  for (let left = (await takeCensus(store)).total; left > 0;) {
    const leases = await takeSoon(store, 1)
    await settle(store, leases.map(ack))
    left -= leases.length
  }
}

export function describeKeys(database: () => KeyDatabase): void {
  const handles = async (count: number, queue = freshQueue()): Promise<Store[]> => {
    const stores = Array.from({ length: count }, () => database().open(queue))
    onTestFinished(async () => void (await Promise.all(stores.map((store) => store.close()))))
    await Promise.all(stores.map((store) => store.open()))
    return stores
  }
  /** Rows about keys, of all queues: each test leaves none. */
  const rowsOfKeys = async (): Promise<number> => {
    const { query, prefix, tables } = database()
    const counts = tables.map((name) => `(select count(*) from ${prefix}${name})`)
    const [row] = await query(`select ${counts.join(' + ')} as n`)
    return Number(row?.['n'])
  }
  const begin = async (): Promise<TransactionHandle & OpenTransaction> => {
    const client = await database().begin()
    onTestFinished(() => client.end())
    return client
  }
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
        const { query, prefix, column } = database()
        while (missing.size > 0)
          expect(
            await query(
              `select ${column}, count(*) from ${prefix}message where state = 1 group by queue, ${column} having count(*) > ${concurrency}`,
            ),
          ).toEqual([])
      }
      await Promise.all([produce(), watch(), ...stores.map(work)])
      expect((await takeCensus(first)).total).toBe(0)
      await claim(first, {})
      expect(await rowsOfKeys()).toBe(0)
    })
  })

  it('P16: claimers of one topic and of two hand each message of fair keys out once, and leave nothing', async () => {
    const stores = await handles(4)
    const [first] = stores as [Store]
    const topics = ['one', 'two']
    const missing = new Set<string>()
    const produce = async (): Promise<void> => {
      for (let i = 0; i < 30; i += 1) {
        const messages = topics.flatMap((topic) =>
          ['a', 'b', 'c'].map((name) => keyed(`${topic}-${name}-${i}`, name, { topic })),
        )
        for (const { id } of messages) missing.add(id)
        await first.put([...messages, message(`plain-${i}`, { topic: 'one' })])
        missing.add(`plain-${i}`)
      }
    }
    const production = { isOver: false }
    const work = async (store: Store, wanted: readonly string[]): Promise<void> => {
      while (!production.isOver || missing.size > 0) {
        const leases = await claimDue(store, 9, wanted)
        for (const { id } of leases) expect(missing.delete(id), `${id} once`).toBe(true)
        await settle(store, leases.map(ack))
      }
    }
    const orders = [topics, topics.toReversed(), ['one'], ['two']]
    const produced = produce().finally(() => {
      production.isOver = true
    })
    await Promise.all([produced, ...stores.map((store, i) => work(store, orders[i] ?? topics))])
    expect((await takeCensus(first)).total).toBe(0)
    await claimDue(first, 1, topics)
    expect(await rowsOfKeys()).toBe(0)
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
      await drain(one)
      await one.control(perKey(undefined))
    }
    await claim(one, {})
    expect(await rowsOfKeys()).toBe(0)
  })

  it('P17: limits that change beside claims and settlements block nothing for good', async () => {
    const stores = (await handles(4)) as [Store, Store, Store, Store]
    const [first, second, third, changer] = stores
    const names = ['a', 'b', 'c', 'd']
    await first.put(names.flatMap((name) => flood(name, 60)))
    const missing = new Set(names.flatMap((name) => Array.from({ length: 60 }, (_, i) => `${name}-${i}`)))
    let turns = 0
    const work = async (store: Store): Promise<void> => {
      while (missing.size > 0) {
        const leases = await claimDue(store, 5)
        const ends = leases.map((lease) => {
          turns += 1
          const end = (turns > 500 ? ack : (ENDS[turns % ENDS.length] ?? ack))(lease)
          if (end.kind === 'ack') missing.delete(lease.id)
          return end
        })
        await settle(store, ends)
      }
    }
    const change = async (): Promise<void> => {
      for (let i = 0; missing.size > 0; i += 1) {
        await changer.control(
          [perKey({ concurrency: 1 }), limit({ concurrency: 7, perKey: { concurrency: 2 } })][i % 2] ??
            perKey(undefined),
        )
        await changer.control(own('a', i % 3 === 0 ? null : { concurrency: 1 + (i % 3), weight: 2 }))
        if (i % 5 === 4) await changer.control(perKey(undefined))
      }
      await changer.control(own('a', null))
      await changer.control(perKey(undefined))
    }
    await Promise.all([change(), work(first), work(second), work(third)])
    expect((await takeCensus(first)).total).toBe(0)
    await claim(first, {})
    expect(await rowsOfKeys()).toBe(0)
  })

  describe('a transaction of a user’s own', () => {
    it('that stores a message of a key holds up no other of it; its message comes with the commit', async () => {
      const [store] = (await handles(1)) as [Store]
      await store.control(perKey({ concurrency: 1 }))
      const client = await begin()
      const joined = await store.join(client)
      expect(await joined.put([keyed('mine', 'k')])).toEqual(['stored'])
      await store.put([keyed('theirs', 'k'), keyed('other', 'other')])
      const leases = await claimDue(store)
      expect(idsOf(leases).toSorted()).toEqual(['other', 'theirs'])
      await settle(store, leases.map(ack))
      expect(await claimDue(store)).toEqual([])
      await client.query('commit')
      const [mine, ...rest] = await claimDue(store)
      expect([mine?.id, mine?.key, rest]).toEqual(['mine', 'k', []])
      if (mine !== undefined) await settle(store, [ack(mine)])
      await claim(store, {})
      expect(await rowsOfKeys()).toBe(0)
    })

    it('that cancels the first of a key, and takes it back: the next goes on meanwhile, and it is not forgotten', async () => {
      const [store] = (await handles(1)) as [Store]
      await store.put([...flood('k', 2), keyed('later', 'k', { when: { delayMs: 3_600_000 } })])
      const client = await begin()
      expect(await (await store.join(client)).remove(['k-0'])).toEqual(['removed'])
      const next = await takeSoon(store, 1)
      expect(idsOf(next)).toEqual(['k-1'])
      expect((await claim(store, {})).next.state).toBe('WAITING')
      await client.query('rollback')
      const back = await takeSoon(store, 1)
      expect(idsOf(back)).toEqual(['k-0'])
      await settle(store, [...next, ...back].map(ack))
      expect(await store.remove(['later'], 'waiting')).toEqual(['removed'])
      await until('its note is let go', async () => {
        await claim(store, {})
        return true
      })
    })

    it('in which a handler completes a message of a serial key: the next comes with its commit', async () => {
      const [store] = (await handles(1)) as [Store]
      await store.control(perKey({ concurrency: 1 }))
      await store.put(flood('k', 2))
      const [lease] = await takeSoon(store, 1)
      if (lease === undefined) throw new Error('nothing was handed out')
      const client = await begin()
      expect(await (await store.join(client)).complete({ kind: 'ack', ...lease })).toBe('settled')
      // The limits can be changed meanwhile.
      await store.control(own('other', { weight: 2 }))
      expect(await claimDue(store)).toEqual([])
      await client.query('commit')
      const next = await takeSoon(store, 1)
      expect(idsOf(next)).toEqual(['k-1'])
      await settle(store, next.map(ack))
      await claim(store, {})
    })
  })

  it('P18: messages without a key are stored as if there were none', async () => {
    const { query, prefix, column } = database()
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
      await query(`select state, ${column}, is_holding from ${prefix}message where id in ('a', 'b')`),
    ).toEqual([
      { state: 0, [column]: null, is_holding: null },
      { state: 0, [column]: null, is_holding: null },
    ])
    expect(await rowsOfKeys()).toBe(before)
  })

  it('P9: what a settlement of another process lets start is told, not found', async () => {
    const [worker, other] = (await handles(2)) as [Store, Store]
    await worker.control(perKey({ concurrency: 1 }))
    await worker.put([...flood('k', 2), keyed('urgent', 'k', { priority: 0, when: { delayMs: 1 } })])
    const [lease] = await takeSoon(other, 1)
    if (lease === undefined) throw new Error('nothing was handed out')
    let wakes = 0
    const owner = 'listener'
    onTestFinished(worker.onWake(() => (wakes += 1), owner))
    await claim(worker, { owner, topics: [TOPIC, 'noise'] })
    await until('the worker hears', async () => {
      await other.put([message(`noise-${Date.now()}`, { topic: 'noise' })])
      return wakes > 0
    })
    // Of noise that is on its way it hears no more.
    expect((await claim(worker, { owner })).leases).toEqual([])
    wakes = 0
    await settle(other, [ack(lease)])
    await until('it is told', () => Promise.resolve(wakes > 0))
    expect(idsOf(await takeSoon(worker, 1))).toEqual(['k-0'])
  })
}
