/**
 * One master of a cluster is dead for a while, without a replica, under load. What it has waits; what the others have goes on,
 * as punctually as before; and when it is back, nothing that was acknowledged is missing.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Punctual } from '../../src/index.ts'
import { homeOf } from '../../src/core/encoding/home.ts'
import { partitionTag, slotOf } from '../../src/store/redis/cluster/slots.ts'
import { RedisCluster, type ClusterMember } from '../../test/store/redis/cluster/servers.ts'
import { until } from '../../test/store/redis/until.ts'

export type AwayOptions = {
  readonly partitions: number
  /** Messages a second. */
  readonly rate: number
  /** Before, during and after. */
  readonly seconds: number
  readonly say?: (line: string) => void
}

type Phase = 'before' | 'away' | 'after'

export type AwayReport = {
  readonly seconds: number
  readonly acknowledged: number
  readonly refused: number
  readonly lost: number
  readonly early: number
  /** Of messages that live on the masters that stayed: ms after their moment, by when they were produced. */
  readonly othersP50: Readonly<Record<Phase, number>>
  readonly othersP99: Readonly<Record<Phase, number>>
}

const QUEUE = 'away'
const DELAY_MS = 300
const CONFIG = ['--appendonly', 'yes', '--appendfsync', 'always']

export async function measureAway(options: AwayOptions): Promise<AwayReport> {
  const { partitions, seconds, say = () => undefined } = options
  const cluster = await RedisCluster.start({ masters: 3, replicas: 0, config: CONFIG })
  const load = new AwayLoad(cluster.url(`?partitions=${partitions}&callTimeout=2s`), options.rate)
  try {
    const victim = cluster.members[0] as ClusterMember
    const others = await homesOfOthers(cluster, victim, partitions)
    await load.begin()
    for (const phase of ['before', 'away', 'after'] as const) {
      load.phase = phase
      if (phase === 'away') await victim.server.kill()
      if (phase === 'after') await victim.server.resume()
      say(`${phase}: ${load.acknowledged} acknowledged so far`)
      await sleep(seconds * 1_000)
    }
    await cluster.settled()
    const { lost, early } = await load.end()
    const latenesses = (phase: Phase, share: number): number =>
      quantile(
        load.latenesses(phase, (id) => others.has(homeOf(id, partitions))),
        share,
      )
    const byPhase = (share: number): Record<Phase, number> => ({
      before: latenesses('before', share),
      away: latenesses('away', share),
      after: latenesses('after', share),
    })
    const { acknowledged, refused } = load
    return { seconds, acknowledged, refused, lost, early, othersP50: byPhase(0.5), othersP99: byPhase(0.99) }
  } finally {
    await load.stop()
    await cluster.stop()
  }
}

async function homesOfOthers(
  cluster: RedisCluster,
  victim: ClusterMember,
  partitions: number,
): Promise<ReadonlySet<number>> {
  const homes = new Set<number>()
  for (let partition = 0; partition < partitions; partition += 1)
    if ((await cluster.masterOf(slotOf(partitionTag(QUEUE, partition, partitions)))) !== victim)
      homes.add(partition)
  return homes
}

class AwayLoad {
  phase: Phase = 'before'
  refused = 0
  readonly #queue: Punctual
  readonly #rate: number
  readonly #accepted = new Map<string, Phase>()
  readonly #started = new Map<string, number>()
  #early = 0
  #made = 0
  #timer: NodeJS.Timeout | undefined
  readonly #underWay = new Set<Promise<void>>()

  constructor(store: string, rate: number) {
    this.#rate = rate
    this.#queue = new Punctual({ store, queue: QUEUE, logger: false, concurrency: 100, lease: '5s' })
    this.#queue.handle('t', ({ id, dueAt }) => {
      const lateMs = Date.now() - dueAt
      if (lateMs < 0) this.#early += 1
      if (!this.#started.has(id)) this.#started.set(id, lateMs)
    })
    this.#queue.on('error', () => undefined)
  }

  get acknowledged(): number {
    return this.#accepted.size
  }

  async begin(): Promise<void> {
    await this.#queue.start()
    this.#timer = setInterval(() => this.#produce(), 1_000 / this.#rate)
  }

  latenesses(phase: Phase, isMeant: (id: string) => boolean): number[] {
    return [...this.#accepted]
      .filter(([id, its]) => its === phase && isMeant(id))
      .map(([id]) => this.#started.get(id) ?? Infinity)
  }

  async end(): Promise<{ readonly lost: number; readonly early: number }> {
    clearInterval(this.#timer)
    await Promise.all(this.#underWay)
    const open = (): number => [...this.#accepted.keys()].filter((id) => !this.#started.has(id)).length
    await until('the store is empty', async () => {
      const { counts, missing } = await this.#queue.stats()
      return missing === undefined && counts.delayed + counts.ready + counts.running === 0
    })
    return { lost: open(), early: this.#early }
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#queue.stop({ timeout: 0 })
  }

  #produce(): void {
    const { phase } = this
    this.#made += 1
    const calling = this.#queue.produce('t', null, { id: `m${this.#made}`, delay: DELAY_MS }).then(
      (id) => void this.#accepted.set(id, phase),
      () => void (this.refused += 1),
    )
    this.#underWay.add(calling)
    void calling.finally(() => this.#underWay.delete(calling))
  }
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length * share)] ?? 0
}
