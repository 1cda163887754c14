/**
 * What idle workers on a cluster cost: all calls that the masters counted in a while, by command. The workers are in one process
 * and have nothing to do; what the question itself costs is left out.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Punctual } from '../../src/index.ts'
import { RedisCluster } from '../../test/store/redis/cluster/servers.ts'

export type IdleOptions = {
  readonly workers: number
  readonly partitions: number
  /** Until each has looked at each partition, and they are spread. */
  readonly settleS: number
  readonly seconds: number
  readonly say?: (line: string) => void
}

export type IdleCost = {
  readonly workers: number
  readonly partitions: number
  readonly seconds: number
  readonly callsPerSecond: number
  /** Per second, the most frequent first. */
  readonly commands: Readonly<Record<string, number>>
}

/** Asked here, not by workers. */
const OWN = new Set(['info', 'cluster|slots', 'cluster|info', 'cluster|nodes'])
/** Counted a second time, by the scripts that call them. */
const SCRIPTS = /^(?:evalsha|eval|fcall)$/

export async function measureIdle(options: IdleOptions): Promise<IdleCost> {
  const { workers, partitions, settleS, seconds, say = () => undefined } = options
  const cluster = await RedisCluster.start({ masters: 3, replicas: 0 })
  const queues: Punctual[] = []
  try {
    const store = cluster.url(`?partitions=${partitions}`)
    for (let i = 0; i < workers; i += 1) {
      const queue = new Punctual({ store, queue: 'idle', logger: false })
      queue.handle('t', () => undefined)
      queues.push(queue)
      await queue.start()
    }
    say(
      `${workers} workers have started; they are left alone for ${settleS} s, then counted for ${seconds} s`,
    )
    await sleep(settleS * 1_000)
    const before = await countCalls(cluster)
    await sleep(seconds * 1_000)
    const after = await countCalls(cluster)
    const commands = [...after]
      .map(([name, calls]) => [name, (calls - (before.get(name) ?? 0)) / seconds] as const)
      .filter(([name, rate]) => rate > 0 && !OWN.has(name))
      .toSorted(([, a], [, b]) => b - a)
    const callsPerSecond = commands.reduce((sum, [name, rate]) => sum + (isOutside(name) ? rate : 0), 0)
    return { workers, partitions, seconds, callsPerSecond, commands: Object.fromEntries(commands) }
  } finally {
    await Promise.all(queues.map((queue) => queue.stop({ timeout: 0 })))
    await cluster.stop()
  }
}

/** What a client sends when it is idle: scripts, and what keeps connections. The rest is done by scripts. */
function isOutside(name: string): boolean {
  return SCRIPTS.test(name) || /^(?:ping|hello|client\|.*|ssubscribe|subscribe|asking|wait)$/.test(name)
}

async function countCalls({ members }: RedisCluster): Promise<Map<string, number>> {
  const sums = new Map<string, number>()
  for (const { server } of members) {
    const info = String(await server.admin(['INFO', 'commandstats']))
    for (const [, name = '', calls = '0'] of info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm))
      sums.set(name, (sums.get(name) ?? 0) + Number(calls))
  }
  return sums
}
