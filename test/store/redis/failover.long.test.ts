/** The primary dies, or is cut off, and a replica takes over: what that loses, and what it does not. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { runFailovers } from '../../../chaos/failover/rounds.ts'
import type { Lease, Store } from '../../../src/store/contract/store.ts'
import { ack, claimDue, message } from '../../../src/testing/conformance/stand.ts'
import { ReplicationGroup, type Member } from './replication-group.ts'
import { freshQueue, storeAt } from './stores.ts'
import { until } from './until.ts'

const CAP_MS = 180_000

let group: ReplicationGroup
beforeAll(async () => {
  group = await ReplicationGroup.start({ downAfterMs: 2_000 })
})
afterAll(() => group?.stop())

function open(queue: string, options: string): Store {
  const store = storeAt(group.url(options), queue)
  onTestFinished(() => store.close())
  return store
}

/** The state of an id, or undefined. */
async function stateOf(store: Store, id: string): Promise<string | undefined> {
  return (await store.inspect({ ids: [id] })).items[0]?.state
}

/** Three that wait, one of them in our hands: on the primary and on its replica. */
async function prepare(queue: string): Promise<Lease> {
  const sure = open(queue, '?durability=replicated&replicationTimeout=20s')
  const later = { when: { delayMs: 3_600_000 } }
  await sure.put([message('work', { topic: 'now' }), message('kept', later), message('unwanted', later)])
  const [lease] = await claimDue(sure, 1, ['now'])
  if (lease === undefined) throw new Error('one was due')
  // A claim is not confirmed; this write on the same server is, and with it all that came before.
  await sure.put([message('marker', later)])
  return lease
}

type Answer = 'acknowledged' | 'unknown'

async function answerOf(call: Promise<readonly string[]>): Promise<Answer> {
  return call.then(
    () => 'acknowledged' as const,
    (error: unknown) => {
      expect(error).toMatchObject({ name: 'UnavailableError' })
      return 'unknown' as const
    },
  )
}

/** What a client does while the replica hears nothing. */
async function writeUnheard(store: Store, lease: Lease): Promise<Answer[]> {
  const later = { when: { delayMs: 3_600_000 } }
  return Promise.all([
    answerOf(store.put([message('new', later)])),
    answerOf(store.settle([ack(lease)])),
    answerOf(store.remove(['unwanted'], 'waiting')),
  ])
}

const TROUBLES: [string, (primary: Member) => Promise<void>, (primary: Member) => Promise<void>][] = [
  ['the primary is killed', (primary) => primary.server.kill(), (primary) => group.rejoin(primary)],
  [
    'the primary is cut off, and lives',
    async (primary) => primary.proxy.hold('replica', 'sentinel'),
    async (primary) => {
      primary.proxy.release()
      await group.settled(await group.primary())
    },
  ],
]

describe.each(TROUBLES)('%s while its replica hears nothing', (_, begin, end) => {
  test(
    'durability "primary": what was acknowledged meanwhile is lost, and what was finished comes back',
    async () => {
      const queue = freshQueue()
      const lease = await prepare(queue)
      const store = open(queue, '')
      await store.open()
      const primary = await group.primary()
      primary.proxy.hold('replica')
      expect(await writeUnheard(store, lease)).toEqual(['acknowledged', 'acknowledged', 'acknowledged'])
      await begin(primary)
      await group.failedOver(primary)
      await end(primary)
      await until('the store is back', async () => (await stateOf(store, 'kept')) === 'delayed')
      expect(await stateOf(store, 'new')).toBeUndefined()
      expect(await stateOf(store, 'work')).toBe('running')
      expect(await stateOf(store, 'unwanted')).toBe('delayed')
      // P4: the token of the lease is still good there: whoever repeats the settlement ends it.
      expect(await store.settle([ack(lease)])).toEqual(['settled'])
    },
    CAP_MS,
  )

  test(
    'P2: durability "replicated": none of it is acknowledged, and what was before is there',
    async () => {
      const queue = freshQueue()
      const lease = await prepare(queue)
      const store = open(queue, '?durability=replicated&replicationTimeout=300ms')
      await store.open()
      const primary = await group.primary()
      primary.proxy.hold('replica')
      expect(await writeUnheard(store, lease)).toEqual(['unknown', 'unknown', 'unknown'])
      await begin(primary)
      await group.failedOver(primary)
      await end(primary)
      await until('the store is back', async () => (await stateOf(store, 'kept')) === 'delayed')
      // Repeating, as callers and the worker do, makes all of it true on the new primary.
      await until('the same calls again are acknowledged', async () => {
        const answers = await writeUnheard(store, lease)
        return answers.every((answer) => answer === 'acknowledged')
      })
      expect(await stateOf(store, 'new')).toBe('delayed')
      expect(await stateOf(store, 'work')).toBeUndefined()
      expect(await stateOf(store, 'unwanted')).toBeUndefined()
    },
    CAP_MS,
  )
})

test(
  'a primary that is cut off and lives is left as soon as the sentinels replaced it',
  async () => {
    const queue = freshQueue()
    const store = open(queue, '')
    await store.open()
    let wakeUps = 0
    store.onWake(() => (wakeUps += 1))
    await until('the subscription stands', () => wakeUps > 0)
    const primary = await group.primary()
    primary.proxy.hold('replica', 'sentinel')
    onTestFinished(async () => {
      primary.proxy.release()
      await group.settled(await group.primary())
    })
    const next = await group.failedOver(primary)
    await until('the new primary has what is put', async () => {
      await store.put([message(`m${Math.random()}`, { when: { delayMs: 3_600_000 } })])
      return (await next.server.admin(['EXISTS', `punctual:2:{${queue}}:payload`])) === 1
    })
    // It was not told, and would still have taken it.
    expect(String(await primary.server.admin(['ROLE']))).toMatch(/^master/)
    const before = wakeUps
    await open(queue, '').put([message('soon', { when: { delayMs: 60_000 } })])
    await until('wake-ups come from there too', () => wakeUps > before)
  },
  CAP_MS,
)

describe('a split network that leaves the old primary one of its two replicas', () => {
  let three: ReplicationGroup
  beforeAll(async () => {
    three = await ReplicationGroup.start({ replicas: 2, downAfterMs: 2_000 })
  })
  afterAll(() => three?.stop())

  test.each([
    [1, 'acknowledged', '20s'],
    [2, 'unknown', '300ms'],
  ] as const)(
    'replicas=%i: a write there is %s, and the other side does not have it',
    async (replicas, answer, patience) => {
      const queue = freshQueue()
      const options = `?durability=replicated&replicas=${replicas}&replicationTimeout=${patience}`
      const store = storeAt(three.url(options), queue)
      onTestFinished(() => store.close())
      await store.open()
      const primary = await three.primary()
      const [kept, other] = await three.replicas()
      if (kept === undefined || other === undefined) throw new Error('two replicas')
      primary.proxy.hold('sentinel')
      primary.proxy.holdReplica(other.proxy.port)
      kept.proxy.hold('sentinel')
      expect(await answerOf(store.put([message('new', { when: { delayMs: 3_600_000 } })]))).toBe(answer)
      expect(await three.failedOver(primary)).toBe(other)
      primary.proxy.release()
      kept.proxy.release()
      await three.settled(other)
      await until('the store is back', async () => (await store.count()).states !== undefined)
      expect(await stateOf(store, 'new')).toBeUndefined()
    },
    CAP_MS,
  )
})

test.each(['primary', 'replicated'] as const)(
  'under load, durability "%s": everything goes on by itself through failovers of every kind',
  async (durability) => {
    const result = await runFailovers({ rounds: 3, durability, seed: 7 })
    expect(result.acknowledged).toBeGreaterThan(100)
    if (durability === 'replicated') {
      expect(result).toMatchObject({ lost: 0, cancelledBack: 0, completedAgain: 0 })
    } else {
      // The proof that the audit above sees what is lost.
      expect(result.lost).toBeGreaterThan(0)
    }
  },
  CAP_MS,
)
