/**
 * Real races on real engines: two handles on one store, as two processes have, say contrary things in the same moment, many
 * times. Whoever comes first, the answers and what is left agree, and no update is lost.
 */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Lease, NewMessage, SettleResult, Store } from '../../src/store/contract/store.ts'
import { takeCensus } from '../../src/testing/census.ts'
import {
  ack,
  claim,
  claimDue,
  claimLapsed,
  dead,
  find,
  idsOf,
  lapse,
  message,
  release,
  retry,
} from '../../src/testing/conformance/stand.ts'
import { limit, rate } from '../../src/testing/conformance/control-stand.ts'
import { flood, own, perKey } from '../../src/testing/conformance/key-stand.ts'
import { openStore, temporaryDirectory } from './file/bench.ts'
import { isMysqlThere, sharedUrl } from './mysql/server.ts'
import { storeAt as mysqlAt } from './mysql/stores.ts'
import { PostgresDatabase } from './postgres/server.ts'
import { storeAt as postgresAt } from './postgres/stores.ts'
import { RedisServer } from './redis/server.ts'
import { freshQueue, storeAt } from './redis/stores.ts'
import { settle } from './settle.ts'

const ROUNDS = Number(process.env['PUNCTUAL_RACE_ROUNDS'] ?? 60)

/** What is put off further than this is not due for the test. */
const SOON_MS = 5_000

let server: RedisServer
let postgres: PostgresDatabase
let mysqlUrl = ''
afterAll(async () => {
  await server?.stop()
})

type Pair = readonly [Store, Store]

/** `start`: what the engine needs; not done where only others are asked for. */
type Subject = readonly [name: string, start: () => Promise<void>, open: () => Promise<Pair>]

const MYSQL: Subject = [
  'mysql',
  async () => {
    mysqlUrl = await sharedUrl()
  },
  async () => {
    const queue = freshQueue()
    return [mysqlAt(mysqlUrl, queue), mysqlAt(mysqlUrl, queue)]
  },
]

const ENGINES: readonly Subject[] = [
  [
    'file',
    async () => {},
    async () => {
      const { directory, remove } = await temporaryDirectory()
      onTestFinished(remove)
      return [await openStore(directory, { sync: 'off' }), await openStore(directory, { sync: 'off' })]
    },
  ],
  [
    'postgres',
    async () => {
      postgres = await PostgresDatabase.make()
    },
    async () => {
      const queue = freshQueue()
      return [postgresAt(postgres.url, queue), postgresAt(postgres.url, queue)]
    },
  ],
  ...(isMysqlThere ? [MYSQL] : []),
  [
    'redis',
    async () => {
      server = await RedisServer.start()
    },
    async () => {
      const queue = freshQueue()
      return [storeAt(server.url, queue), storeAt(server.url, queue)]
    },
  ],
]

async function pair(open: () => Promise<Pair>): Promise<Pair> {
  const stores = await open()
  for (const store of stores) await store.open()
  onTestFinished(async () => {
    for (const store of stores) await store.close()
  })
  return stores
}

/** In one turn of the event loop, in either order. */
async function race<A, B>(round: number, a: () => Promise<A>, b: () => Promise<B>): Promise<readonly [A, B]> {
  if (round % 2 === 0) return Promise.all([a(), b()])
  const [second, first] = await Promise.all([b(), a()])
  return [first, second]
}

function update(id: string): NewMessage {
  return message(id, { body: 'new', ifExists: 'replace' })
}

/** Puts a message and starts it. Asks again when it is told, as a worker does: another queue may hold a lock beside it. */
async function run(store: Store, id: string, terms: Parameters<typeof claim>[1] = {}): Promise<Lease> {
  await store.put([message(id, { body: 'old' })])
  for (;;) {
    const { leases, next } = await claim(store, { ...terms, limit: 1 })
    if (leases[0] !== undefined) return leases[0]
    if (next.state !== 'WAITING' || next.ms > SOON_MS) throw new Error(`${id} should run`)
    await new Promise((resolve) => setTimeout(resolve, next.ms))
  }
}

/** The first that is due, asked for again as long as the store says so. */
async function claimSoon(store: Store): Promise<readonly Lease[]> {
  for (;;) {
    const { leases, next } = await claim(store, { limit: 1 })
    if (leases.length > 0 || next.state === 'NO_TASK' || (next.state === 'WAITING' && next.ms > SOON_MS))
      return leases
    if (next.state === 'WAITING') await new Promise((resolve) => setTimeout(resolve, next.ms))
  }
}

/** Runs what is due, as a worker does that asks again when it is told, and answers the bodies that ran. */
async function drain(store: Store): Promise<string[]> {
  const bodies: string[] = []
  for (;;) {
    const { leases, next } = await claim(store, {})
    bodies.push(...leases.map(({ body }) => body))
    await settle(store, leases.map(ack))
    if (leases.length > 0 || next.state === 'EXPIRED') continue
    if (next.state === 'NO_TASK' || next.ms > SOON_MS) return bodies
    await new Promise((resolve) => setTimeout(resolve, next.ms))
  }
}

describe.each(ENGINES)('races on %s', (_name, start, open) => {
  beforeAll(start)

  it('P5: replace against start: the update replaces, or succeeds what has started', async () => {
    const [one, other] = await pair(open)
    const answers = new Set<string>()
    for (let round = 0; round < ROUNDS; round += 1) {
      const id = `m${round}`
      await one.put([message(id, { body: 'old' })])
      const [[answer = ''], leases] = await race(
        round,
        () => other.put([update(id)]),
        () => claimDue(one, 1),
      )
      answers.add(answer)
      const started = leases.map(({ body }) => body)
      if (answer === 'succeeds') expect(started).toEqual(['old'])
      else expect(answer === 'replaced' && started.every((body) => body === 'new')).toBe(true)
      await settle(
        one,
        leases.map((lease) => retry(lease, 60_000)),
      )
      const ran = [...started, ...(await drain(one))]
      if (answer === 'replaced' && started.length > 0) await one.remove([id], 'waiting')
      expect(ran.at(-1), `round ${round}`).toBe('new')
    }
    expect((await takeCensus(one)).total).toBe(0)
    expect([...answers].every((answer) => ['replaced', 'succeeds'].includes(answer))).toBe(true)
  })

  it('P5: replace against the end: the update is stored whole, or takes the place of what ended', async () => {
    const [one, other] = await pair(open)
    for (let round = 0; round < ROUNDS; round += 1) {
      const id = `m${round}`
      const lease = await run(one, id)
      const end = round % 3 === 0 ? retry(lease, 60_000) : ack(lease)
      const [[answer], [settled]] = await race(
        round,
        () => other.put([update(id)]),
        () => settle(one, [end]),
      )
      expect(['stored', 'replaced', 'succeeds']).toContain(answer)
      expect(['settled', 'succeeded']).toContain(settled)
      expect(await drain(one), `round ${round}: ${answer}, ${settled}`).toEqual(['new'])
    }
    expect((await takeCensus(one)).total).toBe(0)
  })

  it('P5: replace or cancel of many against their end: none is lost, however the batches meet', async () => {
    const [one, other] = await pair(open)
    const ids = Array.from({ length: 100 }, (_, i) => `m${i}`)
    for (let round = 0; round < ROUNDS / 3; round += 1) {
      await one.put(ids.map((id) => message(id, { body: 'old' })))
      const leases: Lease[] = []
      while (leases.length < ids.length) leases.push(...(await claimDue(one, 100)))
      const isCancel = round % 4 > 1
      const say = async (some: readonly string[]): Promise<unknown> =>
        isCancel ? other.remove(some, 'waiting', { isRunningToo: true }) : other.put(some.map(update))
      // Of one it is said before: on PostgreSQL a batch with such a one is settled message by message.
      await say(['m0'])
      const end = [ack, release, (lease: Lease) => retry(lease, 60_000)][round % 3] ?? ack
      await race(
        round,
        () => say(ids),
        () => settle(one, leases.map(end)),
      )
      expect(await drain(one), `round ${round}`).toEqual(isCancel ? [] : ids.map(() => 'new'))
      expect((await takeCensus(one)).total).toBe(0)
    }
  })

  it('P5: replace against a lapse: the update runs once, whoever takes over', async () => {
    const [one, other] = await pair(open)
    for (let round = 0; round < ROUNDS / 3; round += 1) {
      const id = `m${round}`
      const lease = await run(one, id, { owner: 'dies', leaseMs: 1 })
      await new Promise((resolve) => setTimeout(resolve, 3))
      const takeOver = async (): Promise<SettleResult[]> =>
        settle(
          one,
          (await claimLapsed(one)).map((taken) => lapse(taken)),
        )
      const [[answer]] = await race(round, () => other.put([update(id)]), takeOver)
      expect(['replaced', 'succeeds']).toContain(answer)
      await takeOver()
      expect(await settle(one, [ack(lease)])).toEqual(['lost'])
      expect(await drain(one), `round ${round}: ${answer}`).toEqual(['new'])
    }
    expect((await takeCensus(one)).total).toBe(0)
  })

  it('P5: replace against cancel: what is left is what came last, and never both', async () => {
    const [one, other] = await pair(open)
    for (let round = 0; round < ROUNDS; round += 1) {
      const id = `m${round}`
      const lease = await run(one, id)
      const isRunningToo = round % 3 === 0
      const [[answer], [cancelled]] = await race(
        round,
        () => other.put([update(id)]),
        () => one.remove([id], 'waiting', { isRunningToo }),
      )
      expect([answer, cancelled]).toEqual(['succeeds', isRunningToo ? 'cancelling' : 'running'])
      const { successor } = (await find(one, id)) ?? {}
      await settle(one, [ack(lease)])
      expect(await drain(one)).toEqual(successor === undefined ? [] : ['new'])
    }
    expect((await takeCensus(one)).total).toBe(0)
  })

  it('P5: remember against completion: the same id again is a duplicate, before and after', async () => {
    const [one, other] = await pair(open)
    const remember = { ms: 3_600_000, outcome: 'completed', result: '1' } as const
    for (let round = 0; round < ROUNDS; round += 1) {
      const id = `m${round}`
      const lease = await run(one, id)
      const [[answer], settled] = await race(
        round,
        () => other.put([message(id, { body: 'again' })]),
        () => settle(one, [{ ...ack(lease), kind: 'ack', remember }]),
      )
      expect([answer, settled]).toEqual(['duplicate', ['settled']])
      expect((await find(one, id))?.state).toBe('completed')
      expect(await drain(one)).toEqual([])
    }
  })

  it('P5: cancel of a running one against its end: it is done, or gone, and runs no more', async () => {
    const [one, other] = await pair(open)
    for (let round = 0; round < ROUNDS; round += 1) {
      const id = `m${round}`
      const lease = await run(one, id)
      const [[answer], [settled]] = await race(
        round,
        () => other.remove([id], 'waiting', { isRunningToo: true }),
        () => settle(one, [retry(lease, 0)]),
      )
      const expected = answer === 'cancelling' ? 'cancelled' : 'settled'
      expect([answer, settled], `round ${round}`).toEqual([answer, expected])
      expect(['cancelling', 'removed']).toContain(answer)
      expect(await drain(one)).toEqual([])
    }
    expect((await takeCensus(one)).total).toBe(0)
  })

  it('P8: cancel and move against being given back: what is there is never missing', async () => {
    const [one, other] = await pair(open)
    for (let round = 0; round < ROUNDS; round += 1) {
      const id = `m${round}`
      const lease = await run(one, id)
      const isCancel = round % 4 < 2
      const [[answer]] = await race(
        round,
        async (): Promise<string[]> =>
          isCancel
            ? other.remove([id, 'none'], 'waiting')
            : other.reschedule([id, 'none'].map((its) => ({ id: its, when: { delayMs: 60_000 } }))),
        () => settle(one, [release(lease)]),
      )
      expect([isCancel ? 'removed' : 'rescheduled', 'running']).toContain(answer)
      expect(await drain(one)).toEqual(answer === 'running' ? ['old'] : [])
      expect(await one.remove([id], 'waiting')).toEqual([answer === 'rescheduled' ? 'removed' : 'missing'])
    }
    expect((await takeCensus(one)).total).toBe(0)
  })

  it('P3: claims and takeovers at once: each message is handed to one', async () => {
    const stores = await pair(open)
    const [one] = stores
    const ids = Array.from({ length: Math.min(ROUNDS, 1_000) }, (_, i) => `m${i}`)
    await one.put(ids.map((id) => message(id)))
    const all = (ask: (store: Store, owner: string) => Promise<readonly Lease[]>): Promise<Lease[]> =>
      Promise.all(Array.from({ length: 6 }, (_, i) => ask(stores[i % 2] as Store, `w${i}`))).then((got) =>
        got.flat(),
      )
    const collect = async (
      ask: (store: Store, owner: string) => Promise<readonly Lease[]>,
    ): Promise<Lease[]> => {
      const got: Lease[] = []
      while (got.length < ids.length) got.push(...(await all(ask)))
      got.push(...(await all(ask)))
      return got
    }
    const first = await collect(
      async (store, owner) => (await claim(store, { owner, limit: 7, leaseMs: 1 })).leases,
    )
    expect(idsOf(first).toSorted()).toEqual(ids.toSorted())
    await new Promise((resolve) => setTimeout(resolve, 5))
    const second = await collect((store, owner) => claimLapsed(store, 7, `${owner} again`))
    expect(idsOf(second).toSorted()).toEqual(ids.toSorted())
    expect(new Set(await settle(one, first.map(ack)))).toEqual(new Set(['lost']))
    expect(new Set(await settle(one, second.map(ack)))).toEqual(new Set(['settled']))
    expect((await takeCensus(one)).total).toBe(0)
  })

  it('P4: extend against a takeover: the lease has one holder', async () => {
    const [one, other] = await pair(open)
    for (let round = 0; round < ROUNDS / 3; round += 1) {
      const lease = await run(one, `m${round}`, { owner: 'A', leaseMs: 2 })
      await new Promise((resolve) => setTimeout(resolve, 2))
      const [[extended], taken] = await race(
        round,
        () => one.extend([lease], 60_000),
        () => claimLapsed(other, 1, 'B'),
      )
      expect(extended === 'extended').toBe(taken.length === 0)
      expect(await settle(one, [ack(lease)])).toEqual([taken.length === 0 ? 'settled' : 'lost'])
      expect(await settle(other, taken.map(ack))).toEqual(taken.map(() => 'settled'))
    }
    expect((await takeCensus(one)).total).toBe(0)
  })

  it('P8: revive against purge: one of them has the dead message', async () => {
    const [one, other] = await pair(open)
    for (let round = 0; round < ROUNDS; round += 1) {
      const id = `m${round}`
      await settle(one, [dead(await run(one, id))])
      const [[revived], [purged]] = await race(
        round,
        () => one.revive([id]),
        () => other.remove([id], 'dead'),
      )
      expect([
        ['revived', 'missing'],
        ['missing', 'removed'],
      ]).toContainEqual([revived, purged])
      expect(await drain(one)).toEqual(revived === 'revived' ? ['old'] : [])
    }
    expect((await takeCensus(one)).total).toBe(0)
  })

  it('P14: claims at once, under a limit or a rate: no more in all than it lets through', async () => {
    const stores = await pair(open)
    const [one] = stores
    const claims = async (): Promise<Lease[]> =>
      (await Promise.all(Array.from({ length: 6 }, (_, i) => claimDue(stores[i % 2] as Store, 4)))).flat()
    const claimAll = async (most: number): Promise<Lease[]> => {
      const leases: Lease[] = []
      while (leases.length < most) leases.push(...(await claims()))
      return [...leases, ...(await claims())]
    }
    for (let round = 0; round < ROUNDS / 6; round += 1) {
      await one.put(Array.from({ length: 30 }, (_, i) => message(`${round}.${i}`)))
      await one.control(limit({ concurrency: 5 }))
      const leases = await claimAll(5)
      expect(leases).toHaveLength(5)
      await settle(one, leases.map(ack))
      await one.control(limit(null))
      await one.control(limit(rate(3_600_000, 7)))
      const paced = await claimAll(7)
      expect(paced).toHaveLength(7)
      await settle(one, paced.map(ack))
      await one.control(limit(null))
      await drain(one)
    }
    expect((await takeCensus(one)).total).toBe(0)
  })

  it('P17: claims at once, beside the ends of what they brought: of a serial key one runs, in order', async ({
    skip,
  }) => {
    const stores = await pair(open)
    const [one] = stores
    if (!one.capabilities.features.includes('keys')) skip('it has no keys')
    const names = ['a', 'b', 'c', 'd', 'e']
    await one.control(perKey({ concurrency: 1 }))
    for (let round = 0; round < ROUNDS / 6; round += 1) {
      const expected = names.flatMap((name) => flood(`${round}-${name}`, 8))
      await one.put(expected)
      const running = new Set<string>()
      const ran: string[] = []
      const work = async (store: Store, owner: string): Promise<void> => {
        while (ran.length < expected.length) {
          const { leases } = await claim(store, { owner, limit: 3 })
          for (const { id, key = '' } of leases) {
            expect(running.has(key), `${id} starts beside another of its key`).toBe(false)
            running.add(key)
            ran.push(id)
          }
          await store.extend(leases, 60_000)
          // Said before it is done: another claim may be answered before we are.
          for (const { key = '' } of leases) running.delete(key)
          await settle(store, leases.map(ack))
        }
      }
      await Promise.all(Array.from({ length: 4 }, (_, i) => work(stores[i % 2] as Store, `w${i}`)))
      for (const name of names) {
        const its = ran.filter((id) => id.startsWith(`${round}-${name}-`))
        expect(its).toEqual(idsOf(flood(`${round}-${name}`, 8)))
      }
    }
    expect((await takeCensus(one)).total).toBe(0)
  })

  it('P16: claims at once share between a flood and another key', async ({ skip }) => {
    const stores = await pair(open)
    const [one] = stores
    if (!one.capabilities.features.includes('keys')) skip('it has no keys')
    for (let round = 0; round < ROUNDS / 3; round += 1) {
      await one.put([...flood(`flood${round}`, 30), ...flood(`other${round}`, 6)])
      const count = { flood: 0, other: 0 }
      while (count.flood + count.other < 36) {
        const replies = await Promise.all(
          Array.from({ length: 4 }, (_, i) => claim(stores[i % 2] as Store, { limit: 1 })),
        )
        const leases = replies.flatMap((reply) => reply.leases)
        for (const { key = '' } of leases) count[key.startsWith('flood') ? 'flood' : 'other'] += 1
        if (count.other < 6) expect(count.flood - count.other, `round ${round}`).toBeLessThanOrEqual(1)
        await settle(one, leases.map(ack))
      }
    }
    expect((await takeCensus(one)).total).toBe(0)
  })

  it('P17: the end of one of a serial key against a claim: the next is handed out then, or at the next claim', async ({
    skip,
  }) => {
    const [one, other] = await pair(open)
    if (!one.capabilities.features.includes('keys')) skip('it has no keys')
    await one.control(perKey({ concurrency: 1 }))
    for (let round = 0; round < ROUNDS; round += 1) {
      await one.put(flood(`k${round}`, 2))
      const [lease] = await claimSoon(one)
      if (lease === undefined) throw new Error('nothing was handed out')
      const end = [
        ack,
        dead,
        (its: Lease) => ({ ...its, kind: 'again', when: { delayMs: 600_000 } }) as const,
      ]
      const [, early] = await race(
        round,
        () => settle(one, [(end[round % 3] ?? ack)(lease)]),
        () => claimDue(other, 1),
      )
      const next = early.length > 0 ? early : await claimSoon(other)
      expect(idsOf(next), `round ${round}`).toEqual([`k${round}-1`])
      await settle(other, next.map(ack))
    }
  })

  it('P17: limits that come and go beside claims and ends lose nothing, and hold nothing for good', async ({
    skip,
  }) => {
    const [one, other] = await pair(open)
    if (!one.capabilities.features.includes('keys')) skip('it has no keys')
    for (let round = 0; round < ROUNDS; round += 1) {
      await one.put(flood(`k${round}`, 4))
      const [lease] = await claimSoon(one)
      if (lease === undefined) throw new Error('nothing was handed out')
      const change = [perKey({ concurrency: 1 }), perKey(undefined), own(`k${round}`, { concurrency: 1 })]
      const [, [, early]] = await race(
        round,
        () => one.control(change[round % 3] ?? perKey(undefined)),
        () => Promise.all([settle(one, [ack(lease)]), claimDue(other, 1)]),
      )
      await settle(other, early.map(ack))
      expect(early.length + (await drain(one)).length, `round ${round}`).toBe(3)
      if (round % 3 === 2) await one.control(own(`k${round}`, null))
    }
    expect((await takeCensus(one)).total).toBe(0)
  })
})
