/** Durability "replicated" on a primary with one replica: what waits for it, what does not, and what it says when it fails. */
import { createClient } from 'redis'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { Punctual } from '../../../src/index.ts'
import type { Lease, Store } from '../../../src/store/contract/store.ts'
import { ack, claimDue, message, retry } from '../../../src/testing/conformance/stand.ts'
import { ReplicationProxy } from './replication-proxy.ts'
import { freePort } from '../../free-port.ts'
import { RedisServer } from './server.ts'
import { freshQueue, storeAt } from './stores.ts'
import { until } from './until.ts'

const PATIENT = { durability: 'replicated', replicationTimeout: '20s' } as const
const HASTY = { durability: 'replicated', replicationTimeout: '100ms' } as const
const UNREPLICATED = { name: 'UnavailableError', code: 'STORE_UNREPLICATED' }

let primary: RedisServer
let replica: RedisServer
/** Between the two. */
let proxy: ReplicationProxy
beforeAll(async () => {
  primary = await RedisServer.start()
  proxy = await ReplicationProxy.open()
  proxy.target = primary.port
  replica = await RedisServer.start({ config: ['--replicaof', '127.0.0.1', String(proxy.port)] })
  await until('the replica follows', async () =>
    String(await primary.admin(['INFO', 'replication'])).includes('state=online'),
  )
})
afterEach(() => proxy.release())
afterAll(async () => {
  await replica?.stop()
  await proxy?.close()
  await primary?.stop()
})

/** A node of a cluster, which meets the one that is there already. */
async function startNode(there?: RedisServer): Promise<RedisServer> {
  const bus = await freePort()
  const node = await RedisServer.start({
    config: ['--cluster-enabled', 'yes', '--cluster-port', String(bus)],
  })
  onTestFinished(() => node.stop())
  await there?.admin(['CLUSTER', 'MEET', '127.0.0.1', String(node.port), String(bus)])
  return node
}

type Settings = Parameters<typeof storeAt>[2]

function open(settings: Settings, queue = freshQueue(), url = primary.url): Store {
  const store = storeAt(url, queue, settings)
  onTestFinished(() => store.close())
  return store
}

async function waits(): Promise<number> {
  return Number(
    /cmdstat_wait:calls=(\d+)/.exec(String(await primary.admin(['INFO', 'commandstats'])))?.[1] ?? 0,
  )
}

async function leased(store: Store, count: number): Promise<Lease[]> {
  await store.put(Array.from({ length: count }, (_, i) => message(`leased${i}`)))
  return [...(await claimDue(store, count))]
}

describe('a write', () => {
  test('P2: is answered when the replica has it', async () => {
    const queue = freshQueue()
    const store = open(PATIENT, queue)
    expect(store.capabilities.durability).toBe('replicas')
    proxy.hold('replica')
    let isAnswered = false
    const put = store.put([message('a')]).finally(() => (isAnswered = true))
    await until('the primary has it', async () => (await store.count()).states.ready === 1)
    expect(isAnswered).toBe(false)
    proxy.release()
    await expect(put).resolves.toEqual(['stored'])
    const payload = `punctual:2:{${queue}}:payload`
    expect(await replica.admin(['HEXISTS', payload, 'a'])).toBe(1)
  })

  test.each<[string, (store: Store, lease: Lease, other: Lease) => Promise<unknown>]>([
    ['put', (store) => store.put([message('new')])],
    ['remove', (store) => store.remove(['waiting'], 'waiting')],
    ['reschedule', (store) => store.reschedule([{ id: 'waiting', when: { delayMs: 5 } }])],
    ['settle', (store, lease) => store.settle([ack(lease)])],
    ['settle again', (store, lease) => store.settle([retry(lease, 1000)])],
    ['revive', (store) => store.revive(['waiting'])],
  ])(
    'P2: %s without a replica is not acknowledged, and says that its effect is unknown',
    async (_, write) => {
      const store = open(HASTY)
      const patient = open(PATIENT, freshQueue())
      await patient.put([message('x')])
      const [lease, other] = await retried(() => leased(store, 2))
      if (lease === undefined || other === undefined) throw new Error('two were due')
      await retried(() => store.put([message('waiting', { when: { delayMs: 60_000 } })]))
      proxy.hold('replica')
      await expect(write(store, lease, other)).rejects.toMatchObject(UNREPLICATED)
    },
  )

  test('P5: repeated after that, it is confirmed as soon as the replica is back, and not before', async () => {
    const queue = freshQueue()
    proxy.hold('replica')
    await expect(open(HASTY, queue).put([message('a')])).rejects.toMatchObject(UNREPLICATED)
    // A connection of its own, which has written nothing yet.
    await expect(open(HASTY, queue).put([message('a')])).rejects.toMatchObject(UNREPLICATED)
    proxy.release()
    await expect(open(PATIENT, queue).put([message('a')])).resolves.toEqual(['duplicate'])
  })

  test('that is refused says why, whatever the replica does', async () => {
    const store = open(HASTY)
    await store.open()
    await primary.admin(['CONFIG', 'SET', 'maxmemory', '1'])
    onTestFinished(async () => void (await primary.admin(['CONFIG', 'SET', 'maxmemory', '0'])))
    await expect(store.put([message('a')])).rejects.toMatchObject({ code: 'STORE_FULL' })
  })

  test('P8: a full server still lets work finish, and its replicas confirm it', async () => {
    const store = open(PATIENT)
    const leases = await leased(store, 2)
    await primary.admin(['CONFIG', 'SET', 'maxmemory', '1'])
    onTestFinished(async () => void (await primary.admin(['CONFIG', 'SET', 'maxmemory', '0'])))
    await expect(store.settle(leases.map(ack))).resolves.toEqual(['settled', 'settled'])
  })

  test('many at once share a few confirmations', async () => {
    const store = open(PATIENT)
    await store.open()
    const before = await waits()
    await Promise.all(Array.from({ length: 300 }, (_, i) => store.put([message(`m${i}`)])))
    expect((await waits()) - before).toBe(1)
  })

  test('more replicas than there are: never acknowledged, and the doctor says so', async () => {
    const store = open({ ...HASTY, replicas: 2 })
    await expect(store.put([message('a')])).rejects.toMatchObject({
      ...UNREPLICATED,
      message: expect.stringContaining('1 of 2 replicas') as string,
    })
    expect(await store.doctor()).toContainEqual(
      expect.objectContaining({
        level: 'problem',
        what: expect.stringContaining('no write is acknowledged') as string,
      }),
    )
  })

  test('P11: closing does not wait for the replica', async () => {
    const store = open(PATIENT)
    await store.open()
    proxy.hold('replica')
    const calls = [store.put([message('a')]), store.put([message('b')])]
    await until('the primary has them', async () => (await store.count()).states.ready === 2)
    const heldBack = store.put([message('c')])
    const refused = [...calls, heldBack].map((call) =>
      expect(call).rejects.toMatchObject({ code: 'STORE_CLOSED' }),
    )
    await store.close()
    await Promise.all(refused)
  })
})

describe('while the replica stands still', () => {
  test('P3: claims and extensions go on, so that no lease runs out', async () => {
    const store = open(PATIENT)
    await store.put([message('a'), message('b')])
    proxy.hold('replica')
    const put = store.put([message('c', { when: { delayMs: 60_000 } })])
    const leases = await claimDue(store, 10)
    expect(leases).toHaveLength(2)
    await expect(store.extend(leases, 60_000)).resolves.toEqual(['extended', 'extended'])
    expect((await store.count()).states.running).toBe(2)
    proxy.release()
    await expect(put).resolves.toEqual(['stored'])
  })

  test('the primary’s durability is not concerned', async () => {
    const store = open({})
    proxy.hold('replica')
    await expect(store.put([message('a')])).resolves.toEqual(['stored'])
    expect(store.capabilities.durability).toBe('server')
    const findings = (await store.doctor()).map(({ what }) => what).join('\n')
    expect(findings).toMatch(/fed asynchronously/)
    expect(findings).toMatch(/min-replicas-to-write is 0/)
  })
})

test('a primary that is demoted while a write waits: the effect is unknown, and the connection is left', async () => {
  const alone = await RedisServer.start()
  onTestFinished(() => alone.stop())
  const queue = freshQueue()
  const store = open(PATIENT, queue, alone.url)
  const put = store.put([message('a')])
  const refused = expect(put).rejects.toMatchObject({
    name: 'UnavailableError',
    code: 'STORE_UNAVAILABLE',
    message: expect.stringContaining('became a replica') as string,
  })
  await until('the primary has it', async () => (await open({}, queue, alone.url).count()).states.ready === 1)
  await alone.admin(['REPLICAOF', '127.0.0.1', String(proxy.port)])
  await refused
  await expect(store.put([message('b')])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await expect(store.open()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
})

test('on a node of a cluster that has a replica', async () => {
  const first = await startNode()
  await first.admin(['CLUSTER', 'ADDSLOTSRANGE', '0', '16383'])
  const second = await startNode(first)
  const id = String(await first.admin(['CLUSTER', 'MYID']))
  await until('it follows', async () => {
    await second.admin(['CLUSTER', 'REPLICATE', id])
    return true
  })
  const store = open(PATIENT, freshQueue(), first.url)
  await until('the cluster takes writes that its replica confirms', async () => {
    await store.put([message('a')])
    return true
  })
  const leases = await claimDue(store)
  await expect(store.settle(leases.map(ack))).resolves.toEqual(['settled'])
})

test('a client that the user has already can have it too, by the option', async () => {
  const client = createClient({ url: primary.url })
  const queue = new Punctual({
    store: client,
    queue: freshQueue(),
    durability: { timeout: 100 },
    logger: false,
  })
  onTestFinished(async () => void (await queue.stop()))
  await retried(() => queue.produce('t', 1, { id: 'a' }))
  proxy.hold('replica')
  await expect(queue.produce('t', 2, { id: 'b' })).rejects.toMatchObject(UNREPLICATED)
})

test('a user without the right to wait hears of it when the store opens', async () => {
  await primary.admin(['ACL', 'SETUSER', 'narrow', 'on', '>pw', '~*', '&*', '+@all', '-wait'])
  const url = primary.url.replace('redis://', 'redis://narrow:pw@')
  const store = open(PATIENT, freshQueue(), url)
  await expect(store.open()).rejects.toMatchObject({ name: 'UsageError', code: 'STORE_REFUSED' })
})

test('the rights in docs/redis.md are enough', async () => {
  const rights =
    '+@connection +@scripting +@sortedset +@hash +@string +@pubsub +type +exists +expire +time +info +wait'
  await primary.admin([
    'ACL',
    'SETUSER',
    'worker',
    'on',
    '>pw',
    '~punctual:*',
    '&punctual:*',
    ...rights.split(' '),
  ])
  const store = open(PATIENT, freshQueue(), primary.url.replace('redis://', 'redis://worker:pw@'))
  await store.open()
  const leases = await leased(store, 1)
  await expect(store.settle(leases.map(ack))).resolves.toEqual(['settled'])
})

/** On a busy machine a replica may take longer than a hasty caller waits; repeating is what callers do then. */
async function retried<T>(call: () => Promise<T>): Promise<T> {
  let result: T | undefined
  await until('the replica confirms in time', async () => {
    result = await call()
    return true
  })
  return result as T
}
