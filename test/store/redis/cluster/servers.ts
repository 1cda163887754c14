/** A real cluster for tests: masters and their replicas on loopback, on free ports, ended by their process ids. */
import { freePort } from '../../../free-port.ts'
import { RedisServer } from '../server.ts'
import { until } from '../until.ts'

const SLOTS = 16_384
/** Not shorter: a busy machine must not look like a dead one. */
const NODE_TIMEOUT_MS = 2_000
/** Redis gives up a failover that was asked for after five seconds; on a busy machine it is asked for again. */
const FAILOVER_MS = 6_000

export type ClusterShape = {
  readonly masters: number
  readonly replicas: number
  readonly config?: readonly string[]
}

export type ClusterMember = { readonly server: RedisServer; readonly id: string }

export class RedisCluster {
  readonly members: readonly ClusterMember[]
  readonly #masters: number

  private constructor(members: readonly ClusterMember[], masters: number) {
    this.members = members
    this.#masters = masters
  }

  /** Three masters, each with a replica, unless told otherwise. */
  static async start(shape: Partial<ClusterShape> = {}): Promise<RedisCluster> {
    const { masters = 3, replicas = 1, config = [] } = shape
    const servers = await Promise.all(
      Array.from({ length: masters * (1 + replicas) }, async () =>
        RedisServer.start({ config: await clusterConfig(config) }),
      ),
    )
    const members = await Promise.all(
      servers.map(async (server) => ({ server, id: String(await server.admin(['CLUSTER', 'MYID'])) })),
    )
    const cluster = new RedisCluster(members, masters)
    try {
      await cluster.#join()
    } catch (error) {
      await cluster.stop()
      throw error
    }
    return cluster
  }

  url(options = ''): string {
    const hosts = this.members.slice(0, this.#masters).map(({ server }) => `127.0.0.1:${server.port}`)
    return `redis+cluster://${hosts.join(',')}${options}`
  }

  /** Who is a master now and has slots, as a living member sees it. */
  async masters(): Promise<ClusterMember[]> {
    const rows = await this.#slots()
    const ids = new Set(rows.map(({ id }) => id))
    return this.members.filter(({ id }) => ids.has(id))
  }

  async masterOf(slot: number): Promise<ClusterMember> {
    const row = (await this.#slots()).find(({ from, until: last }) => from <= slot && slot <= last)
    const found = this.members.find(({ id }) => id === row?.id)
    if (found === undefined) throw new Error(`nobody has slot ${slot}`)
    return found
  }

  /** A replica of this master, as the master sees it. */
  async replicaOf(master: ClusterMember): Promise<ClusterMember> {
    let found: ClusterMember | undefined
    await until('it has a replica', async () => (found = await this.#replicaOf(master)) !== undefined)
    if (found === undefined) throw new Error('unreachable')
    return found
  }

  async #replicaOf({ id }: ClusterMember): Promise<ClusterMember | undefined> {
    const nodes = String(await this.#living().server.admin(['CLUSTER', 'NODES'])).split('\n')
    const line = nodes.find(
      (one) => one.includes('slave') && one.includes(` ${id} `) && !one.includes('fail'),
    )
    return this.members.find((member) => line?.startsWith(member.id))
  }

  /** The replica takes over in agreement with its master, as an operator does it. */
  async failOver(master: ClusterMember): Promise<void> {
    const replica = await this.replicaOf(master)
    let askAt = 0
    await until('the replica is a master', async () => {
      if ((await roleOf(replica)) === 'master') return true
      if (performance.now() < askAt) return false
      askAt = performance.now() + FAILOVER_MS
      await replica.server.admin(['CLUSTER', 'FAILOVER'])
      return false
    })
    await this.tookOver(replica)
  }

  async tookOver(replica: ClusterMember): Promise<void> {
    await until('the replica is a master', async () => (await roleOf(replica)) === 'master')
    await until('all know it', async () => (await this.masters()).includes(replica))
  }

  /** Everybody that lives agrees that all is well, and every master has its replica. */
  async settled(): Promise<void> {
    for (const { server } of this.members) {
      if (!server.isRunning) continue
      await until('the cluster is well', async () => {
        const info = String(await server.admin(['CLUSTER', 'INFO']))
        return info.includes('cluster_state:ok') && info.includes(`cluster_slots_ok:${SLOTS}`)
      })
      await until('replicas follow', async () => {
        const info = String(await server.admin(['INFO', 'replication']))
        return info.includes('role:master') || info.includes('master_link_status:up')
      })
    }
  }

  async stop(): Promise<void> {
    for (const { server } of this.members) if (server.isRunning) server.signal('SIGCONT')
    await Promise.all(this.members.map(({ server }) => server.stop()))
  }

  async #join(): Promise<void> {
    const [first] = this.members
    if (first === undefined) throw new Error('a cluster has members')
    const config = (await first.server.admin(['CONFIG', 'GET', 'cluster-port'])) as Config
    const bus = String(config['cluster-port'])
    const masters = this.members.slice(0, this.#masters)
    for (const [i, { server }] of masters.entries()) {
      const from = Math.floor((SLOTS * i) / this.#masters)
      const last = Math.floor((SLOTS * (i + 1)) / this.#masters) - 1
      await server.admin(['CLUSTER', 'ADDSLOTSRANGE', String(from), String(last)])
      await server.admin(['CLUSTER', 'SET-CONFIG-EPOCH', String(i + 1)])
    }
    for (const { server } of this.members.slice(1)) {
      await server.admin(['CLUSTER', 'MEET', '127.0.0.1', String(first.server.port), bus])
    }
    for (const { server } of this.members)
      await until('all know all', async () => {
        const nodes = String(await server.admin(['CLUSTER', 'NODES']))
          .trim()
          .split('\n')
        return nodes.length === this.members.length && !nodes.some((line) => line.includes('handshake'))
      })
    for (const [i, { server }] of this.members.slice(this.#masters).entries()) {
      const master = masters[i % this.#masters]
      await until('it is a replica', async () => {
        await server.admin(['CLUSTER', 'REPLICATE', master?.id ?? ''])
        return true
      })
    }
    await this.settled()
  }

  #living(): ClusterMember {
    const found = this.members.find(({ server }) => server.isRunning && !this.frozen.has(server))
    if (found === undefined) throw new Error('nobody lives')
    return found
  }

  /** Those that a test has stopped with SIGSTOP: they answer nobody. */
  readonly frozen = new Set<RedisServer>()

  async #slots(): Promise<{ readonly from: number; readonly until: number; readonly id: string }[]> {
    const rows = (await this.#living().server.admin(['CLUSTER', 'SLOTS'])) as SlotRow[]
    return rows.map(([from, last, [, , id]]) => ({ from, until: last, id }))
  }
}

type Config = Readonly<Record<string, string>>
type SlotRow = [from: number, until: number, master: [host: string, port: number, id: string]]

async function clusterConfig(more: readonly string[]): Promise<string[]> {
  const settings = {
    'cluster-enabled': 'yes',
    'cluster-port': String(await freePort()),
    'cluster-config-file': 'nodes.conf',
    'cluster-node-timeout': String(NODE_TIMEOUT_MS),
    'cluster-require-full-coverage': 'no',
    'cluster-allow-replica-migration': 'no',
    'cluster-replica-validity-factor': '0',
    'repl-diskless-sync-delay': '0',
  }
  return [...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]), ...more]
}

async function roleOf({ server }: ClusterMember): Promise<string> {
  const [role] = (await server.admin(['ROLE'])) as [string]
  return role
}

/** Opens a slot for moving, moves what is in it, and closes it, as resharding does. */
export async function moveSlot(
  slot: number,
  from: ClusterMember,
  to: ClusterMember,
  between: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  await to.server.admin(['CLUSTER', 'SETSLOT', String(slot), 'IMPORTING', from.id])
  await from.server.admin(['CLUSTER', 'SETSLOT', String(slot), 'MIGRATING', to.id])
  await between()
  for (;;) {
    const keys = (await from.server.admin(['CLUSTER', 'GETKEYSINSLOT', String(slot), '100'])) as string[]
    if (keys.length === 0) break
    const target = ['MIGRATE', '127.0.0.1', String(to.server.port), '', '0', '10000', 'KEYS', ...keys]
    try {
      await from.server.admin(target)
    } catch (error) {
      // A cluster on a machine that stands still loses sight of its members for a while: what is left goes later.
      if (!/CLUSTERDOWN|IOERR|TRYAGAIN|LOADING/.test(String(error))) throw error
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
  }
  for (const { server } of [to, from]) await server.admin(['CLUSTER', 'SETSLOT', String(slot), 'NODE', to.id])
}
