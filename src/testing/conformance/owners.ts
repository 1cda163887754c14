/** Who holds what: leases remember their owner, and none takes over from itself (P3, P6). */
import assert from 'node:assert/strict'
import { DAY_MS } from '../../core/input/duration.ts'
import type { LeaseRef, OwnedLease, Store } from '../../store/contract/store.ts'
import {
  LEASE_MS,
  REAPER,
  ack,
  claim,
  claimLapsed,
  claimOne,
  idsOf,
  lapsedReply,
  message,
  only,
  release,
  retry,
  stored,
} from './stand.ts'
import { test, type ConformanceTest } from './test.ts'

async function everyOwned(store: Store, owner: string): Promise<OwnedLease[]> {
  const all: OwnedLease[] = []
  let cursor: string | undefined
  do {
    const page = await store.owned(owner, cursor)
    all.push(...page.leases)
    cursor = page.cursor
  } while (cursor !== undefined)
  return all
}

function refs(leases: readonly LeaseRef[]): LeaseRef[] {
  return leases
    .map(({ id, token, topic }) => ({ id, token, topic }))
    .toSorted((a, b) => a.id.localeCompare(b.id))
}

const WAITS_MS_MIN = 900

export const ownerTests: readonly ConformanceTest[] = [
  test('a running message tells when it was handed out, also after an extension; others do not', async ({
    store,
    advance,
  }) => {
    await store.put([message('a'), message('b'), message('c', { when: { delayMs: 60_000 } })])
    const [lease] = (await claim(store, { owner: 'A', limit: 1 })).leases
    assert.ok(lease !== undefined)
    const since = async (): Promise<number[]> =>
      (await store.inspect({ ids: ['a', 'b', 'c'] })).items.map(({ leasedAt }) => leasedAt)
    const [first = 0, ...rest] = await since()
    const { dueAt, latenessMs } = lease
    assert.ok(Math.abs(first - (dueAt + latenessMs)) <= 1, `${first} is the moment of the claim`)
    assert.deepEqual(rest, [0, 0])
    await advance(LEASE_MS / 2)
    await store.extend([lease], LEASE_MS)
    assert.deepEqual(await since(), [first, 0, 0])
    await store.settle([{ ...lease, kind: 'release' }])
    assert.deepEqual(await since(), [0, 0, 0])
  }),

  test('P3: a lease that lapsed is not handed to its own holder, who is told', async ({ store, advance }) => {
    await store.put([message('a')])
    await claim(store, { owner: 'A' })
    const early = await lapsedReply(store, 'A')
    assert.deepEqual([early.leases, early.isOwnLapsed ?? false], [[], false])
    await advance(LEASE_MS)
    for (let i = 0; i < 2; i += 1) {
      const own = await lapsedReply(store, 'A')
      assert.deepEqual([own.leases, own.isOwnLapsed], [[], true])
      assert.deepEqual(own.next, { state: 'NO_TASK' }, 'its own leases do not count')
    }
    const other = await lapsedReply(store, 'B')
    assert.deepEqual([idsOf(other.leases), other.isOwnLapsed ?? false], [['a'], false])
    const after = await lapsedReply(store, 'A')
    assert.deepEqual([after.leases, after.isOwnLapsed ?? false], [[], false])
  }),

  test('P3: what was taken over belongs to the one who took it', async ({ store, advance }) => {
    await store.put([message('a')])
    const first = only((await claim(store, { owner: 'A' })).leases)
    await advance(LEASE_MS)
    const second = only(await claimLapsed(store, 10, 'B'))
    assert.deepEqual(await everyOwned(store, 'A'), [])
    assert.deepEqual(refs(await everyOwned(store, 'B')), refs([second]))
    await advance(LEASE_MS)
    assert.equal((await lapsedReply(store, 'B')).isOwnLapsed, true)
    assert.deepEqual(idsOf(await claimLapsed(store, 10, 'A')), ['a'])
    assert.deepEqual(await store.settle([ack(first), ack(second)]), ['lost', 'lost'])
  }),

  test('P3: two holders whose leases lapsed take over from each other', async ({ store, advance }) => {
    await store.put([message('a'), message('b')])
    await claim(store, { owner: 'A', limit: 1 })
    await claim(store, { owner: 'B', limit: 1 })
    await advance(LEASE_MS)
    const [byA, byB] = [await lapsedReply(store, 'A'), await lapsedReply(store, 'B')]
    assert.deepEqual([idsOf(byA.leases), byA.isOwnLapsed], [['b'], true])
    assert.deepEqual([idsOf(byB.leases), byB.isOwnLapsed ?? false], [['a'], false])
  }),

  test('P8: lapsed leases of the asker’s own do not stand before those of others', async ({
    store,
    advance,
  }) => {
    await store.put(['a1', 'a2', 'a3', 'b1', 'b2', 'b3'].map((id) => message(id)))
    await claim(store, { owner: 'A', limit: 3 })
    await advance(5)
    await claim(store, { owner: 'B', limit: 3 })
    await advance(LEASE_MS)
    const reply = await lapsedReply(store, 'A', 2)
    assert.deepEqual([idsOf(reply.leases), reply.next.state], [['b1', 'b2'], 'EXPIRED'])
    const rest = await lapsedReply(store, 'A', 2)
    assert.deepEqual([idsOf(rest.leases), rest.isOwnLapsed, rest.next.state], [['b3'], true, 'NO_TASK'])
    assert.deepEqual(idsOf(await claimLapsed(store, 10, 'C')), ['a1', 'a2', 'a3'])
  }),

  test('next: of lapsed leases, until the first of another holder ends', async ({ store, advance }) => {
    await store.put([message('a'), message('b')])
    await claim(store, { owner: 'A', limit: 1 })
    await advance(10_000)
    await claim(store, { owner: 'B', limit: 1 })
    const byA = (await lapsedReply(store, 'A')).next
    assert.ok(byA.state === 'WAITING' && byA.ms >= WAITS_MS_MIN && byA.ms <= LEASE_MS, JSON.stringify(byA))
    const byB = (await lapsedReply(store, 'B')).next
    assert.ok(byB.state === 'WAITING' && byB.ms >= WAITS_MS_MIN && byB.ms <= LEASE_MS - 10_000)
    await advance(LEASE_MS - 10_000)
    assert.deepEqual(idsOf(await claimLapsed(store, 10, 'B')), ['a'])
  }),

  test('the owner of a running message can be seen, and only while it runs', async ({ store, advance }) => {
    await store.put([message('a')])
    assert.equal((await stored(store, 'a')).owner, '')
    const lease = only((await claim(store, { owner: 'A' })).leases)
    assert.equal((await stored(store, 'a')).owner, 'A')
    const listed = await store.inspect({ state: 'running', limit: 10 })
    assert.deepEqual(
      listed.items.map(({ owner }) => owner),
      ['A'],
    )
    await store.extend([lease], LEASE_MS)
    await advance(LEASE_MS)
    const taken = only(await claimLapsed(store, 10, 'B'))
    assert.equal((await stored(store, 'a')).owner, 'B')
    await store.settle([release(taken)])
    assert.equal((await stored(store, 'a')).owner, '')
  }),

  test('who holds a lease is named, however long ago it was heard of', async ({ store, advance }) => {
    await store.put([message('a')])
    await claim(store, { owner: 'A', leaseMs: 3 * DAY_MS })
    await claim(store, { owner: 'B' })
    await advance(2 * DAY_MS)
    await claim(store, { owner: 'C', facts: 'new' })
    assert.equal((await stored(store, 'a')).owner, 'A')
    assert.equal((await store.owned('A')).leases.length, 1)
  }),

  test('P10: owned: thousands of leases of one moment, page by page, each once', async ({ store }) => {
    const ids = Array.from({ length: 5_200 }, (_, i) => `m${i}`)
    const { batchMax } = store.capabilities
    for (let at = 0; at < ids.length; at += batchMax)
      await store.put(ids.slice(at, at + batchMax).map((id) => message(id)))
    for (let got = 0; got < ids.length;) {
      const { leases } = await claim(store, { owner: 'A', limit: batchMax })
      assert.ok(leases.length > 0, `${got} were handed out, and then none`)
      got += leases.length
    }
    assert.deepEqual(idsOf(await everyOwned(store, 'A')).toSorted(), ids.toSorted())
  }),

  test('owned: every lease of one owner, lapsed ones included, and no other', async ({ store, advance }) => {
    const size = Math.min(40, store.capabilities.batchMax)
    await store.put(Array.from({ length: size }, (_, i) => message(`a${i}`, { topic: `t${i % 3}` })))
    const topics = ['t0', 't1', 't2']
    const held: LeaseRef[] = []
    while (held.length < size) held.push(...(await claim(store, { owner: 'A', limit: 7, topics })).leases)
    await store.put([message('b')])
    const foreign = (await claim(store, { owner: 'B' })).leases
    assert.deepEqual(refs(await everyOwned(store, 'A')), refs(held))
    assert.deepEqual(refs(await everyOwned(store, 'B')), refs(foreign))
    assert.deepEqual(await everyOwned(store, 'nothing'), [])
    await advance(LEASE_MS)
    assert.deepEqual(refs(await everyOwned(store, 'A')), refs(held), 'lapsed ones included')
    const [first, second, third, ...rest] = held
    assert.ok(first !== undefined && second !== undefined && third !== undefined)
    await store.settle([ack(first), retry(second, 0), release(third)])
    assert.deepEqual(refs(await everyOwned(store, 'A')), refs(rest), 'settled ones are gone')
  }),

  test('P6: owned tells what was taken over from another, whose attempt must be counted', async ({
    store,
    advance,
  }) => {
    await store.put([message('a')])
    await claim(store, { owner: 'A' })
    await advance(LEASE_MS)
    await lapsedReply(store, 'B') // The answer is lost on its way.
    await store.put([message('b')])
    await claim(store, { owner: 'B' })
    const owned = (await everyOwned(store, 'B')).map(({ id, isTakenOver }) => [id, isTakenOver])
    assert.deepEqual(Object.fromEntries(owned), { a: true, b: false })
  }),

  test('P6: what a lost answer handed out is found by its owner and given back uncounted', async ({
    store,
  }) => {
    await store.put([message('a'), message('b')])
    await claim(store, { owner: 'A' }) // The answer is lost on its way.
    const strays = await everyOwned(store, 'A')
    assert.deepEqual(idsOf(strays).toSorted(), ['a', 'b'])
    assert.deepEqual(await store.settle(strays.map(release)), ['settled', 'settled'])
    assert.deepEqual(await everyOwned(store, 'A'), [])
    const again = (await claim(store, { owner: 'B' })).leases
    assert.deepEqual(
      again.map(({ id, attempt }) => [id, attempt]),
      [
        ['a', 1],
        ['b', 1],
      ],
    )
  }),

  test('P4: the holder extends what lapsed, under the same token, until it is taken over', async ({
    store,
    advance,
  }) => {
    await store.put([message('a')])
    const lease = only((await claim(store, { owner: 'A' })).leases)
    await advance(LEASE_MS + 5000)
    assert.equal((await lapsedReply(store, 'A')).isOwnLapsed, true)
    assert.deepEqual(await store.extend([lease], LEASE_MS), ['extended'])
    assert.equal((await lapsedReply(store, 'A')).isOwnLapsed ?? false, false)
    assert.deepEqual(await claimLapsed(store, 10, REAPER), [])
    assert.deepEqual(await store.settle([ack(lease)]), ['settled'])
  }),

  test('P4: what an extension leaves out keeps its old end', async ({ store, advance }) => {
    await store.put([message('a'), message('b'), message('c')])
    const [a, , c] = (await claim(store, { owner: 'A' })).leases
    assert.ok(a !== undefined && c !== undefined)
    await advance(LEASE_MS - 1000)
    assert.deepEqual(await store.extend([a, c], LEASE_MS), ['extended', 'extended'])
    await advance(1000)
    assert.deepEqual(idsOf(await claimLapsed(store)), ['b'])
    assert.deepEqual(await store.settle([ack(a), ack(c)]), ['settled', 'settled'])
  }),

  test('P4: an extension moves the end that can be seen', async ({ store, advance }) => {
    await store.put([message('a')])
    const lease = await claimOne(store)
    const before = (await stored(store, 'a')).until
    await advance(1000)
    await store.extend([lease], LEASE_MS)
    assert.equal((await stored(store, 'a')).until, before + 1000)
  }),
]
