/**
 * A primary, its replicas, and three sentinels that replace it when it dies: real processes, each server behind a
 * proxy that can hold back what the others say.
 */
import { ReplicationProxy } from './replication-proxy.ts'
import { SentinelServer } from './sentinel-server.ts'
import { RedisServer } from './server.ts'
import { until } from './until.ts'

const NAME = 'mymaster'
const SENTINELS = 3
const QUORUM = 2
/** Replicas follow at once, and are known by the port of their proxy. */
const PROMPT =
  '--repl-diskless-sync-delay 0 --repl-ping-replica-period 1 --replica-announce-ip 127.0.0.1'.split(' ')

export type Member = { readonly server: RedisServer; readonly proxy: ReplicationProxy }

export type GroupOptions = { readonly replicas?: number; readonly downAfterMs?: number }

export class ReplicationGroup {
  readonly members: readonly Member[]
  readonly sentinels: SentinelServer[] = []

  private constructor(members: readonly Member[]) {
    this.members = members
  }

  static async start({ replicas = 1, ...sensitivity }: GroupOptions = {}): Promise<ReplicationGroup> {
    const members: Member[] = []
    const group = new ReplicationGroup(members)
    try {
      const primary = await startMember([])
      members.push(primary)
      for (let i = 0; i < replicas; i += 1) members.push(await startMember(follow(primary)))
      await until('the replicas follow', () => isFollowed(primary, replicas))
      const watched = { name: NAME, port: primary.proxy.port, quorum: QUORUM, ...sensitivity }
      for (let i = 0; i < SENTINELS; i += 1) group.sentinels.push(await SentinelServer.start(watched))
      await group.settled(primary)
      return group
    } catch (error) {
      await group.stop()
      throw error
    }
  }

  /** `options`: what stands behind the question mark. */
  url(options = ''): string {
    const hosts = this.sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')
    return `redis+sentinel://${hosts}/${NAME}/0${options}`
  }

  /** Whom most sentinels call the primary. */
  async primary(): Promise<Member> {
    const named = await Promise.all(this.sentinels.map((sentinel) => primaryBy(sentinel)))
    const port = named.toSorted((a, b) => a - b)[Math.floor(named.length / 2)]
    const member = this.members.find(({ proxy }) => proxy.port === port)
    if (member === undefined) throw new Error(`the sentinels name a stranger: ${named.join(', ')}`)
    return member
  }

  /** The others. */
  async replicas(): Promise<Member[]> {
    const primary = await this.primary()
    return this.members.filter((member) => member !== primary)
  }

  /** Resolves when every sentinel calls somebody else the primary, and that one agrees. */
  async failedOver(from: Member): Promise<Member> {
    await until('the sentinels agree on a new primary', async () => {
      const named = await Promise.all(this.sentinels.map((sentinel) => primaryBy(sentinel)))
      return named.every((port) => port === named[0] && port !== from.proxy.port)
    })
    const primary = await this.primary()
    await until('it is one', async () => String(await primary.server.admin(['ROLE'])).startsWith('master'))
    return primary
  }

  /** A member that died comes back as a replica, and the sentinels would promote it again. */
  async rejoin(member: Member): Promise<void> {
    const primary = await this.primary()
    member.proxy.release()
    await member.server.launch(follow(primary))
    await this.settled(primary)
  }

  /** Resolves when every member follows the primary, and every sentinel knows all members and all sentinels. */
  async settled(primary: Member): Promise<void> {
    const replicas = this.members.length - 1
    await until('the replicas follow', () => isFollowed(primary, replicas))
    await until('the sentinels know all', async () => {
      const known = await Promise.all(
        this.sentinels.map(async (sentinel) => {
          const state = fields(await sentinel.admin(['SENTINEL', 'MASTER', NAME]))
          const others = Number(state.get('num-other-sentinels')) === SENTINELS - 1
          return others && state.get('flags') === 'master' && (await healthyReplicas(sentinel)) === replicas
        }),
      )
      return known.every(Boolean)
    })
  }

  async stop(): Promise<void> {
    await Promise.all(this.sentinels.map((sentinel) => sentinel.stop()))
    await Promise.all(
      this.members.map(async ({ server, proxy }) => {
        await server.stop()
        await proxy.close()
      }),
    )
  }
}

async function startMember(config: readonly string[]): Promise<Member> {
  const proxy = await ReplicationProxy.open()
  const server = await RedisServer.start({
    config: [...PROMPT, '--replica-announce-port', String(proxy.port), ...config],
  })
  proxy.target = server.port
  return { server, proxy }
}

function follow({ proxy }: Member): string[] {
  return ['--replicaof', '127.0.0.1', String(proxy.port)]
}

async function isFollowed({ server }: Member, replicas: number): Promise<boolean> {
  const info = String(await server.admin(['INFO', 'replication']))
  return info.includes('role:master') && (info.match(/state=online/g) ?? []).length === replicas
}

async function healthyReplicas(sentinel: SentinelServer): Promise<number> {
  const replicas = (await sentinel.admin(['SENTINEL', 'REPLICAS', NAME])) as unknown[]
  return replicas
    .map(fields)
    .filter((state) => state.get('flags') === 'slave' && state.get('master-link-status') === 'ok').length
}

async function primaryBy(sentinel: SentinelServer): Promise<number> {
  const [, port] = (await sentinel.admin(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME])) as [string, string]
  return Number(port)
}

/** A reply of names and values, in whichever shape this protocol gives it. */
function fields(reply: unknown): Map<string, string> {
  if (reply instanceof Map) return reply as Map<string, string>
  if (!Array.isArray(reply)) return new Map(Object.entries(reply as Record<string, string>))
  const pairs = new Map<string, string>()
  for (let i = 0; i < reply.length; i += 2) pairs.set(String(reply[i]), String(reply[i + 1]))
  return pairs
}
