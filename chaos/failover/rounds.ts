/**
 * Load, trouble, failover, and the old primary comes back as a replica: again and again, on real servers. Then what
 * the queue acknowledged is compared with what is there.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ReplicationGroup } from '../../test/store/redis/replication-group.ts'
import { until } from '../../test/store/redis/until.ts'
import type { Audit } from './ledger.ts'
import { Load } from './load.ts'
import { assertNever } from '../../src/core/errors.ts'
import { planRounds, type Plan, type Trouble } from './plan.ts'

export type FailoverOptions = {
  readonly rounds: number
  readonly durability: 'primary' | 'replicated'
  readonly seed: number
  readonly replicas?: number
  readonly troubles?: readonly Trouble[]
  readonly say?: (line: string) => void
}

export type Failovers = Audit & {
  readonly rounds: number
  readonly seed: number
  readonly durability: string
  readonly replicas: number
  /** From the trouble until all sentinels name another primary. */
  readonly failoverMsMedian: number
  readonly failoverMsMax: number
}

/** Enough to be sure that the load goes on after a failover. */
const ACCEPTED_AFTERWARDS = 20

export async function runFailovers(options: FailoverOptions): Promise<Failovers> {
  const { rounds, durability, seed, replicas = 1, say = () => undefined } = options
  const group = await ReplicationGroup.start({ replicas })
  const load = new Load(group.url('?callTimeout=2s&connectTimeout=1s'), `failover-${seed}`, durability)
  try {
    await load.begin()
    const tookMs: number[] = []
    for (const [i, plan] of planRounds(seed, rounds, options.troubles).entries()) {
      tookMs.push(await playRound(group, load, plan))
      say(`round ${i + 1}: ${plan.trouble}; ${load.ledger.accepted} acknowledged so far`)
    }
    const audit = load.ledger.audit(await load.end())
    return { rounds, seed, durability, replicas, ...audit, ...summarise(tookMs) }
  } finally {
    await load.stop()
    await group.stop()
  }
}

function summarise(tookMs: readonly number[]): Pick<Failovers, 'failoverMsMedian' | 'failoverMsMax'> {
  const sorted = tookMs.map(Math.round).toSorted((a, b) => a - b)
  return { failoverMsMedian: sorted[Math.floor(sorted.length / 2)] ?? 0, failoverMsMax: sorted.at(-1) ?? 0 }
}

/** Answers how long it took from the trouble until the sentinels had a new primary. */
async function playRound(group: ReplicationGroup, load: Load, plan: Plan): Promise<number> {
  const before = await group.primary()
  await progress(load)
  await sleep(plan.calmMs)
  if (plan.trouble !== 'crash')
    before.proxy.hold('replica', ...(plan.trouble === 'split' ? ['sentinel' as const] : []))
  if (plan.trouble === 'stall') await sleep(plan.stallMs)
  if (plan.trouble !== 'split') await before.server.kill()
  const beganAt = performance.now()
  const after = await group.failedOver(before)
  const tookMs = performance.now() - beganAt
  switch (plan.trouble) {
    case 'crash':
    case 'stall':
      await group.rejoin(before)
      break
    case 'split':
      await sleep(plan.stallMs)
      before.proxy.release()
      await group.settled(after)
      break
    default:
      assertNever(plan.trouble)
  }
  await progress(load)
  return tookMs
}

/** With one replica and "replicated" nothing is acknowledged before the old primary is back. */
async function progress({ ledger }: Load): Promise<void> {
  const { accepted } = ledger
  await until('the load goes on', () => ledger.accepted >= accepted + ACCEPTED_AFTERWARDS)
}
