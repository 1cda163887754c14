/**
 * Three masters of a Redis Cluster, each of which writes every change to its disk before it answers. None has a replica: a
 * master that was killed comes back with all that it had, so that the same is asked of it as of a single server, and what
 * replicas forget in a failover is not (docs/redis.md says what that is).
 */
import type { Log } from '../children/log.mjs'
import { partitionTag, slotOf } from '../../src/store/redis/cluster/slots.ts'
import { moveSlot, RedisCluster, type ClusterMember } from '../../test/store/redis/cluster/servers.ts'
import { sleep } from '../waiting.ts'
import type { Engine, Strike } from './engine.ts'

const PARTITIONS = 12
/** As `run` calls it. */
const QUEUE = 'chaos'
const CONFIG = `--appendonly yes --appendfsync always
  --auto-aof-rewrite-min-size 8mb --maxmemory-policy noeviction`.split(/\s+/)

export class ClusterEngine implements Engine {
  readonly name = 'cluster'
  readonly remarks: readonly string[] = []
  readonly faults = {
    'kill master': 3,
    'freeze master': 3,
    'restart master': 1.5,
    'move slot': 3,
    'kill clients': 2,
    'kill subscribers': 2,
    'flush scripts': 2,
    'full memory': 1.5,
  }
  readonly faultGapMs = 4_500
  readonly forgets = []
  readonly isFreezeForAll = false
  readonly hasLimits = false
  readonly #cluster: RedisCluster
  readonly #frozen = new Set<ClusterMember>()

  private constructor(cluster: RedisCluster) {
    this.#cluster = cluster
  }

  static async open(): Promise<ClusterEngine> {
    return new ClusterEngine(await RedisCluster.start({ masters: 3, replicas: 0, config: CONFIG }))
  }

  async urlFor(): Promise<string> {
    return this.#cluster.url(`?partitions=${PARTITIONS}`)
  }

  async inflict(kind: string, { lastsMs, pick, begins }: Strike): Promise<void> {
    const { members } = this.#cluster
    const member = members[Math.floor(pick * members.length)] as ClusterMember
    const { server } = member
    begins(`master ${server.port}`, true)
    switch (kind) {
      case 'kill master':
        await server.kill()
        await sleep(lastsMs / 2)
        return server.resume()
      case 'restart master':
        await server.terminate()
        return server.resume()
      case 'freeze master':
        server.signal('SIGSTOP')
        this.#frozen.add(member)
        await sleep(lastsMs)
        return this.#thaw(member)
      case 'move slot':
        return this.#move(pick, lastsMs)
      case 'kill clients':
        return void (await server.admin(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes']))
      case 'kill subscribers':
        return void (await server.admin(['CLIENT', 'KILL', 'TYPE', 'pubsub']))
      case 'flush scripts':
        return void (await server.admin(['SCRIPT', 'FLUSH']))
      case 'full memory':
        await server.admin(['CONFIG', 'SET', 'maxmemory', '1'])
        await sleep(lastsMs)
        return void (await server.admin(['CONFIG', 'SET', 'maxmemory', '0']))
      default:
        throw new Error(`an unknown fault: ${kind}`)
    }
  }

  /** The slot of a partition goes to another master, and is open for a while. */
  async #move(pick: number, lastsMs: number): Promise<void> {
    const slot = slotOf(partitionTag(QUEUE, Math.floor(pick * PARTITIONS), PARTITIONS))
    const from = await this.#cluster.masterOf(slot)
    const others = this.#cluster.members.filter((member) => member !== from)
    const to = others[Math.floor(pick * 1_000) % others.length] as ClusterMember
    await moveSlot(slot, from, to, () => sleep(lastsMs / 4))
  }

  #thaw(member: ClusterMember): void {
    if (this.#frozen.delete(member)) member.server.signal('SIGCONT')
  }

  async heal(): Promise<void> {
    for (const member of this.#cluster.members) {
      this.#thaw(member)
      if (!member.server.isRunning) await member.server.resume()
      await member.server.admin(['CONFIG', 'SET', 'maxmemory', '0'])
    }
    await this.#cluster.settled()
  }

  async sample(log: Log): Promise<void> {
    let [serverMemory, clients, keys] = [0, 0, 0]
    for (const { server } of this.#cluster.members) {
      const info = String(await server.admin(['INFO', 'memory']))
      serverMemory += Number(/used_memory:(\d+)/.exec(info)?.[1] ?? 0)
      clients += String(await server.admin(['CLIENT', 'LIST'])).split('\n').length - 1
      keys += Number(await server.admin(['DBSIZE']))
    }
    // Each partition is a queue with keys of its own: what may grow a little in each is not a leak of all together.
    log.write({ what: 'sample', serverMemory, clients, keys: Math.round(keys / PARTITIONS) })
  }

  /** It has no replicas here, and keeps everything on its disk. */
  isExpected(complaint: string): boolean {
    return complaint.includes('has no replica')
  }

  async leftovers(): Promise<readonly string[]> {
    const found = await Promise.all(
      this.#cluster.members.map(
        async ({ server }) => (await server.admin(['KEYS', '*'])) as readonly string[],
      ),
    )
    // Watch: hints about workers that were killed, one key for each partition, until the next message of their topics.
    const known = /:(?:order|workers|facts|layout|watch|looks:[^:]+|figures:\d+)$/
    return found.flat().filter((key) => !known.test(key))
  }

  async end(): Promise<void> {
    await this.#cluster.stop()
  }
}
