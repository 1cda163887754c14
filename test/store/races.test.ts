/**
 * Real races on real engines: two handles on one store, as two processes have, say contrary things in the same moment, many
 * times. Whoever comes first, the answers and what is left agree, and no update is lost.
 */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Lease, NewMessage, SettleResult, Store } from '../../src/store/contract/store.ts'
import { takeCensus } from '../../src/testing/census.ts'
import {
  ack,
  claimDue,
  claimLapsed,
  find,
  lapse,
  message,
  retry,
} from '../../src/testing/conformance/stand.ts'
import { openStore, temporaryDirectory } from './file/bench.ts'
import { RedisServer } from './redis/server.ts'
import { freshQueue, storeAt } from './redis/stores.ts'

const ROUNDS = 60

let server: RedisServer
beforeAll(async () => {
  server = await RedisServer.start()
})
afterAll(() => server?.stop())

type Pair = readonly [Store, Store]

const ENGINES: readonly [name: string, open: () => Promise<Pair>][] = [
  [
    'file',
    async () => {
      const { directory, remove } = await temporaryDirectory()
      onTestFinished(remove)
      return [await openStore(directory, { sync: 'off' }), await openStore(directory, { sync: 'off' })]
    },
  ],
  [
    'redis',
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

async function run(store: Store, id: string): Promise<Lease> {
  await store.put([message(id, { body: 'old' })])
  const [lease] = await claimDue(store, 1)
  if (lease === undefined) throw new Error(`${id} should run`)
  return lease
}

/** Runs what waits, and answers the bodies that ran. */
async function drain(store: Store): Promise<string[]> {
  const bodies: string[] = []
  for (let leases = await claimDue(store); leases.length > 0; leases = await claimDue(store)) {
    bodies.push(...leases.map(({ body }) => body))
    await store.settle(leases.map(ack))
  }
  return bodies
}

describe.each(ENGINES)('P5: races on %s', (_name, open) => {
  it('replace against start: the update replaces, or succeeds what has started', async () => {
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
      await one.settle(leases.map((lease) => retry(lease, 60_000)))
      const ran = [...started, ...(await drain(one))]
      if (answer === 'replaced' && started.length > 0) await one.remove([id], 'waiting')
      expect(ran.at(-1), `round ${round}`).toBe('new')
    }
    expect((await takeCensus(one)).total).toBe(0)
    expect([...answers].every((answer) => ['replaced', 'succeeds'].includes(answer))).toBe(true)
  })

  it('replace against the end: the update is stored whole, or takes the place of what ended', async () => {
    const [one, other] = await pair(open)
    for (let round = 0; round < ROUNDS; round += 1) {
      const id = `m${round}`
      const lease = await run(one, id)
      const end = round % 3 === 0 ? retry(lease, 60_000) : ack(lease)
      const [[answer], [settled]] = await race(
        round,
        () => other.put([update(id)]),
        () => one.settle([end]),
      )
      expect(['stored', 'replaced', 'succeeds']).toContain(answer)
      expect(['settled', 'succeeded']).toContain(settled)
      expect(await drain(one), `round ${round}: ${answer}, ${settled}`).toEqual(['new'])
    }
    expect((await takeCensus(one)).total).toBe(0)
  })

  it('replace against a lapse: the update runs once, whoever takes over', async () => {
    const [one, other] = await pair(open)
    for (let round = 0; round < ROUNDS / 3; round += 1) {
      const id = `m${round}`
      await one.put([message(id, { body: 'old' })])
      const { leases } = await one.claim({
        from: 'due',
        owner: 'dies',
        wants: [{ topic: 'order.close', limit: 1 }],
        limit: 1,
        bytesMax: 1_000,
        leaseMs: 1,
        leadMs: 0,
      })
      await new Promise((resolve) => setTimeout(resolve, 3))
      const takeOver = async (): Promise<SettleResult[]> =>
        one.settle((await claimLapsed(one)).map((taken) => lapse(taken)))
      const [[answer]] = await race(round, () => other.put([update(id)]), takeOver)
      expect(['replaced', 'succeeds']).toContain(answer)
      await takeOver()
      expect(await one.settle(leases.map(ack))).toEqual(['lost'])
      expect(await drain(one), `round ${round}: ${answer}`).toEqual(['new'])
    }
    expect((await takeCensus(one)).total).toBe(0)
  })

  it('replace against cancel: what is left is what came last, and never both', async () => {
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
      await one.settle([ack(lease)])
      expect(await drain(one)).toEqual(successor === undefined ? [] : ['new'])
    }
    expect((await takeCensus(one)).total).toBe(0)
  })

  it('remember against completion: the same id again is a duplicate, before and after', async () => {
    const [one, other] = await pair(open)
    const remember = { ms: 3_600_000, outcome: 'completed', result: '1' } as const
    for (let round = 0; round < ROUNDS; round += 1) {
      const id = `m${round}`
      const lease = await run(one, id)
      const [[answer], settled] = await race(
        round,
        () => other.put([message(id, { body: 'again' })]),
        () => one.settle([{ ...ack(lease), kind: 'ack', remember }]),
      )
      expect([answer, settled]).toEqual(['duplicate', ['settled']])
      expect((await find(one, id))?.state).toBe('completed')
      expect(await drain(one)).toEqual([])
    }
  })

  it('cancel of a running one against its end: it is done, or gone, and runs no more', async () => {
    const [one, other] = await pair(open)
    for (let round = 0; round < ROUNDS; round += 1) {
      const id = `m${round}`
      const lease = await run(one, id)
      const [[answer], [settled]] = await race(
        round,
        () => other.remove([id], 'waiting', { isRunningToo: true }),
        () => one.settle([retry(lease, 0)]),
      )
      const expected = answer === 'cancelling' ? 'cancelled' : 'settled'
      expect([answer, settled], `round ${round}`).toEqual([answer, expected])
      expect(['cancelling', 'removed']).toContain(answer)
      expect(await drain(one)).toEqual([])
    }
    expect((await takeCensus(one)).total).toBe(0)
  })
})
