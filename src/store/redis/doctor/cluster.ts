/**
 * What an operator should know about a cluster: whether one dead master stops all, who takes over from whom, slots that were
 * left half-way, clocks that differ, and partitions that are too large to move.
 */
import type { Clock } from '../../../clock.ts'
import { fine, problem, warning } from '../../contract/findings.ts'
import type { Finding, Store } from '../../contract/store.ts'
import type { ClusterNode } from '../cluster/node.ts'
import type { ClusterRouter } from '../cluster/router.ts'
import { SLOTS } from '../cluster/slots.ts'
import type { Durability } from '../replicated/durability.ts'
import { examine } from './doctor.ts'
import { ask, configOf } from './questions.ts'

const SKEW_MS_MAX = 100
/** MIGRATE blocks its source for about 3 ms per 1,000 messages: a second for this many. */
const MOVABLE_MAX = 300_000

export type ClusterPatient = {
  readonly router: ClusterRouter
  readonly clock: Clock
  readonly durability: Durability
  readonly stores: readonly Store[]
}

export async function examineCluster({
  router,
  clock,
  durability,
  stores,
}: ClusterPatient): Promise<Finding[]> {
  await router.topology.refresh()
  const { ranges } = router.topology
  const masters = await Promise.all(
    router.masters().map((node) => reachable(node, () => examineMaster(node, clock, durability))),
  )
  const covered = ranges.reduce((sum, { from, until }) => sum + until - from + 1, 0)
  return [
    ...(covered === SLOTS
      ? [fine(`the cluster has ${router.masters().length} masters for all ${SLOTS} slots`)]
      : [
          problem(
            `${SLOTS - covered} of ${SLOTS} slots have no master: what lives there does not run`,
            'redis-cli --cluster fix HOST:PORT',
          ),
        ]),
    ...masters.flat(),
    ...replicaFindings(router),
    ...(await examineClocks(router.masters(), clock)),
    ...(await examineSizes(stores)),
  ]
}

async function examineMaster(node: ClusterNode, clock: Clock, durability: Durability): Promise<Finding[]> {
  const server = await examine({ calls: node.calls, clock, durability, sentinels: undefined })
  const coverage = await configOf(node.calls, 'cluster-require-full-coverage')
  const findings = [...server, ...openSlots(await ask(node.calls, ['CLUSTER', 'NODES']))]
  if (coverage === 'yes')
    findings.push(
      warning(
        'cluster-require-full-coverage is yes: while one master is away and has no replica, all of them refuse all calls',
        'set cluster-require-full-coverage no, so that the other partitions go on',
      ),
    )
  return findings.map((finding) => ({ ...finding, what: `${node.name}: ${finding.what}` }))
}

async function reachable(node: ClusterNode, examined: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await examined()
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    return [
      problem(
        `${node.name}: ${text}`,
        'its partitions stand still until it is back, or a replica takes over',
      ),
    ]
  }
}

function replicaFindings({ topology }: ClusterRouter): Finding[] {
  const alone = topology.ranges.filter(({ replicas }) => replicas.length === 0).map(({ master }) => master)
  const names = [...new Set(alone.map(({ host, port }) => `${host}:${port}`))]
  if (names.length === 0) return [fine('every master has a replica')]
  return [
    warning(
      `${names.join(', ')} has no replica: when it dies, its partitions stand still until it is back`,
      'add a replica: redis-cli --cluster add-node NEW EXISTING --cluster-slave',
    ),
  ]
}

/** `... myself,master - 0 0 1 connected 0-5460 [93-<-id] [77->-id]` */
function openSlots(nodes: unknown): Finding[] {
  if (typeof nodes !== 'string') return []
  const [own = ''] = nodes.split('\n').filter((line) => /\bmyself\b/.test(line))
  const open = [...own.matchAll(/\[(\d+)-[<>]-[0-9a-f]+\]/g)].map(([, slot]) => slot)
  if (open.length === 0) return []
  return [
    warning(
      `${open.length} slot(s) are being moved (${open.slice(0, 5).join(', ')}): calls for partitions in them wait, and fail after callTimeout`,
      'if no resharding is under way, it was broken off: redis-cli --cluster fix HOST:PORT',
    ),
  ]
}

/** Each message lives by the clock of its master; between messages of two masters, order is as good as their clocks agree. */
async function examineClocks(nodes: readonly ClusterNode[], clock: Clock): Promise<Finding[]> {
  const aheads: { readonly name: string; readonly ms: number }[] = []
  for (const node of nodes) {
    const before = clock.now()
    const reply = await ask(node.calls, ['TIME']).catch(() => undefined)
    if (!Array.isArray(reply)) continue
    const [seconds, micros] = (reply as unknown[]).map(Number)
    aheads.push({
      name: node.name,
      ms: (seconds ?? 0) * 1000 + (micros ?? 0) / 1000 - (before + clock.now()) / 2,
    })
  }
  const sorted = aheads.toSorted((a, b) => a.ms - b.ms)
  const [first, last] = [sorted[0], sorted.at(-1)]
  if (first === undefined || last === undefined || sorted.length < 2) return []
  const skewMs = Math.round(last.ms - first.ms)
  if (skewMs < SKEW_MS_MAX) return [fine(`the clocks of the masters agree to ${skewMs} ms`)]
  return [
    warning(
      `the clock of ${last.name} is ${skewMs} ms ahead of that of ${first.name}: messages with the same "at" start that far apart`,
      'let NTP run on all of them',
    ),
  ]
}

async function examineSizes(stores: readonly Store[]): Promise<Finding[]> {
  const sizes = await Promise.all(
    stores.map(async (store, index) => {
      const counts = await store.count().catch(() => undefined)
      const states = counts?.states ?? { delayed: 0, ready: 0, running: 0, dead: 0 }
      return { index, size: states.delayed + states.ready + states.running + states.dead }
    }),
  )
  const total = sizes.reduce((sum, { size }) => sum + size, 0)
  const large = sizes.filter(({ size }) => size > MOVABLE_MAX)
  if (large.length === 0) return [fine(`${stores.length} partitions hold ${total} messages`)]
  const [largest] = large.toSorted((a, b) => b.size - a.size)
  return [
    warning(
      `${large.length} of ${stores.length} partitions have more than ${MOVABLE_MAX} messages (the largest ${largest?.size ?? 0}): before Redis 8.4 and Valkey 9, moving one blocks its master for seconds`,
      'reshard while the queue is short, or upgrade and move slots atomically',
    ),
  ]
}
