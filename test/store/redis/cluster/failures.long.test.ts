/** Masters that die, freeze, hand over and give slots away, under load: nothing is lost, nothing is early, and others go on. */
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { homeOf } from '../../../../src/core/encoding/home.ts'
import { Punctual } from '../../../../src/index.ts'
import { partitionTag, slotOf } from '../../../../src/store/redis/cluster/slots.ts'
import { freshQueue, storeAt } from '../stores.ts'
import { until } from '../until.ts'
import { moveSlot, RedisCluster, type ClusterMember } from './servers.ts'

const PARTITIONS = 6
const CAP_MS = 180_000

let cluster: RedisCluster
beforeAll(async () => {
  cluster = await RedisCluster.start()
})
afterAll(() => cluster?.stop())
afterEach(async () => {
  for (const { server } of cluster.members) {
    if (!server.isRunning) await server.resume()
    if (cluster.frozen.delete(server)) server.signal('SIGCONT')
  }
  await cluster.settled()
}, CAP_MS)

function slotOfPartition(queue: string, partition: number): number {
  return slotOf(partitionTag(queue, partition, PARTITIONS))
}

/** Produces and works until told to end; then everything that was acknowledged must have run. */
class Load {
  readonly name = freshQueue()
  /** Acknowledged. */
  readonly produced = new Set<string>()
  readonly ran = new Map<string, number>()
  early = 0
  readonly refusals: unknown[] = []
  readonly #producer = this.#open()
  readonly #workers = [this.#open(), this.#open()]
  #isOver = false
  #producing: Promise<void> | undefined
  #number = 0

  async begin(): Promise<void> {
    for (const worker of this.#workers) {
      worker.handle('t', ({ id, dueAt }) => {
        if (Date.now() < dueAt - 1) this.early += 1
        this.ran.set(id, (this.ran.get(id) ?? 0) + 1)
      })
      await worker.start()
    }
    this.#producing = this.#produce()
    await until('work goes on', () => this.ran.size > 50)
  }

  /** How many ran so far, of those that live in these partitions. */
  ranIn(partitions: readonly number[]): number {
    return [...this.ran.keys()].filter((id) => partitions.includes(homeOf(id, PARTITIONS))).length
  }

  async goesOn(what: string, partitions: readonly number[]): Promise<void> {
    const before = this.ranIn(partitions)
    await until(what, () => this.ranIn(partitions) > before + 20)
  }

  /** What became of everything: P2 and P1. */
  async end(): Promise<void> {
    this.#isOver = true
    await this.#producing
    await until('all that was acknowledged ran', () => [...this.produced].every((id) => this.ran.has(id)))
    expect(this.early).toBe(0)
    const store = storeAt(cluster.url(`?partitions=${PARTITIONS}`), this.name)
    onTestFinished(() => store.close())
    await until('nothing is left', async () => {
      const { states } = await store.count()
      return states.delayed + states.ready + states.running === 0
    })
  }

  /** Nobody waits for the answers of a master that is away. */
  async #produce(): Promise<void> {
    const underWay = new Set<Promise<void>>()
    while (!this.#isOver) {
      for (let i = 0; i < 5; i += 1) {
        const one = this.#produceOne(`m${(this.#number += 1)}`).finally(() => underWay.delete(one))
        underWay.add(one)
      }
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    await Promise.all(underWay)
  }

  async #produceOne(id: string): Promise<void> {
    try {
      await this.#producer.produce('t', {}, { id, delay: 20 })
      this.produced.add(id)
    } catch (error) {
      this.refusals.push(error)
    }
  }

  #open(): Punctual {
    const store = cluster.url(`?partitions=${PARTITIONS}&callTimeout=2s`)
    // Else a master that is replaced takes what it acknowledged last with it: Redis does not wait for its replicas.
    const queue = new Punctual({
      store,
      queue: this.name,
      durability: 'replicated',
      logger: false,
      lease: '5s',
      fallback: '1s',
    })
    onTestFinished(async () => {
      await queue.stop({ timeout: 0 })
    })
    return queue
  }
}

/** Partitions whose master this is, and the others. */
async function partitionsOf(
  queue: string,
  master: ClusterMember,
): Promise<{ its: number[]; others: number[] }> {
  const its: number[] = []
  const others: number[] = []
  for (let k = 0; k < PARTITIONS; k += 1)
    ((await cluster.masterOf(slotOfPartition(queue, k))) === master ? its : others).push(k)
  return { its, others }
}

describe('P2, P1: under load', () => {
  it('an operator fails a master over', { timeout: CAP_MS }, async () => {
    const load = new Load()
    await load.begin()
    const [master] = await cluster.masters()
    if (master === undefined) throw new Error('there is one')
    const { its } = await partitionsOf(load.name, master)
    await cluster.failOver(master)
    await load.goesOn('its partitions go on at the new master', its)
    await load.end()
  })

  it(
    'a master is killed: its replica takes over, and the other partitions never wait',
    { timeout: CAP_MS },
    async () => {
      const load = new Load()
      await load.begin()
      const [, master] = await cluster.masters()
      if (master === undefined) throw new Error('there is one')
      const { its, others } = await partitionsOf(load.name, master)
      const replica = await cluster.replicaOf(master)
      await master.server.kill()
      await load.goesOn('the others go on at once', others)
      expect(await cluster.masters()).not.toContain(replica)
      await cluster.tookOver(replica)
      await load.goesOn('its partitions go on at the new master', its)
      // Until it is back, the new master has no replica that could confirm.
      await master.server.resume()
      await load.end()
    },
  )

  it(
    'a master freezes: it is left when its replica took over, and comes back as a replica',
    { timeout: CAP_MS },
    async () => {
      const load = new Load()
      await load.begin()
      const masters = await cluster.masters()
      const master = masters.at(-1)
      if (master === undefined) throw new Error('there is one')
      const { its, others } = await partitionsOf(load.name, master)
      const replica = await cluster.replicaOf(master)
      cluster.frozen.add(master.server)
      master.server.signal('SIGSTOP')
      await load.goesOn('the others go on', others)
      await cluster.tookOver(replica)
      await load.goesOn('its partitions go on, while it is still frozen', its)
      cluster.frozen.delete(master.server)
      master.server.signal('SIGCONT')
      await load.end()
    },
  )

  it(
    'a slot moves: its partition waits while the slot is open, and goes on',
    { timeout: CAP_MS },
    async () => {
      const load = new Load()
      await load.begin()
      const [first, second] = await cluster.masters()
      if (first === undefined || second === undefined) throw new Error('there are some')
      const { its, others } = await partitionsOf(load.name, first)
      const [moved = 0] = its
      const slot = slotOfPartition(load.name, moved)
      await moveSlot(slot, first, second, async () => {
        await load.goesOn('the others go on while the slot is open', others)
      })
      await load.goesOn('the partition goes on where it is now', [moved])
      await moveSlot(slot, second, first)
      await load.goesOn('and back', [moved])
      await load.end()
    },
  )
})

describe('a master is away with its replica', () => {
  it(
    'its partitions stand still, all others go on, and what people ask names the gap',
    { timeout: CAP_MS },
    async () => {
      const load = new Load()
      await load.begin()
      // With the node that is asked first for the others.
      const [first] = cluster.members
      const pairs = await Promise.all(
        (await cluster.masters()).map(async (master) => [await cluster.replicaOf(master), master] as const),
      )
      const away = pairs.find((pair) => pair.some((member) => member === first))
      if (away === undefined) throw new Error('it is one of them')
      const { its, others } = await partitionsOf(load.name, away[1])
      for (const { server } of away) {
        cluster.frozen.add(server)
        server.signal('SIGSTOP')
      }
      await load.goesOn('the others go on', others)
      const people = new Punctual({
        store: cluster.url(`?partitions=${PARTITIONS}&callTimeout=1s`),
        queue: load.name,
        logger: false,
      })
      onTestFinished(async () => {
        await people.stop()
      })
      const names = its.map((k) => `partition ${k + 1} of ${PARTITIONS}`)
      expect((await people.stats()).missing?.toSorted()).toEqual(names.toSorted())
      await expect(people.pause('other')).rejects.toMatchObject({ code: 'STORE_PARTIAL', value: names })
      await load.goesOn('the others still go on', others)
      for (const { server } of away.toReversed()) {
        cluster.frozen.delete(server)
        server.signal('SIGCONT')
      }
      await load.goesOn('its partitions go on when it is back', its)
      await load.end()
    },
  )
})

describe('durability "replicated", per master', () => {
  it(
    'P2: what was acknowledged survives the end of a master whose replica lagged',
    { timeout: CAP_MS },
    async () => {
      const name = freshQueue()
      const url = `?partitions=${PARTITIONS}&durability=replicated&replicationTimeout=300ms&callTimeout=1s`
      const queue = new Punctual({ store: cluster.url(url), queue: name, logger: false })
      onTestFinished(async () => {
        await queue.stop()
      })
      const [master] = await cluster.masters()
      if (master === undefined) throw new Error('there is one')
      const { its, others } = await partitionsOf(name, master)
      const acknowledged: string[] = []
      const refused: { id: string; code: unknown }[] = []
      let number = 0
      const produceFor = async (rounds: number): Promise<void> => {
        for (let i = 0; i < rounds; i += 1) {
          number += 1
          const id = `m${number}`
          await queue.produce('t', {}, { id, delay: '1h' }).then(
            () => acknowledged.push(id),
            (error: unknown) => refused.push({ id, code: (error as { code?: unknown }).code }),
          )
        }
      }
      await produceFor(30)
      expect(refused).toEqual([])
      const replica = await cluster.replicaOf(master)
      replica.server.signal('SIGSTOP')
      await produceFor(40)
      // Only those of this master were refused; the others have their replicas.
      expect(refused.length).toBeGreaterThan(0)
      expect(new Set(refused.map(({ code }) => code))).toEqual(new Set(['STORE_UNREPLICATED']))
      expect(refused.every(({ id }) => its.includes(homeOf(id, PARTITIONS)))).toBe(true)
      expect(acknowledged.some((id) => others.includes(homeOf(id, PARTITIONS)))).toBe(true)
      await master.server.kill()
      replica.server.signal('SIGCONT')
      await cluster.tookOver(replica)
      // Without a replica of its own the new master confirms nothing.
      await master.server.resume()
      await until('it takes writes', async () => {
        await produceFor(1)
        return homeOf(acknowledged.at(-1) ?? '', PARTITIONS) === its[0]
      })
      for (const id of acknowledged) expect(await queue.get(id), id).toBeDefined()
    },
  )
})
