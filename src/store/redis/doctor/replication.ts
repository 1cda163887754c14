/** What a failover would lose: who is the primary, how many replicas follow it, and what a write waits for. */
import { fine, problem, warning } from '../../contract/findings.ts'
import type { Finding } from '../../contract/store.ts'
import { configOf } from './questions.ts'
import type { Durability } from '../replicated/durability.ts'
import type { Calls } from '../scripts/calls.ts'

export async function examineReplication(
  calls: Calls,
  info: ReadonlyMap<string, string>,
  durability: Durability,
): Promise<Finding[]> {
  if (info.get('role') === 'slave') {
    return [problem('this server is a replica: it takes no messages', 'point the URL at the primary')]
  }
  const replicas = Number(info.get('connected_slaves') ?? 0)
  if (durability.kind === 'replicated') return [confirmedFinding(replicas, durability.replicas)]
  if (replicas === 0) return [fine('a primary without replicas')]
  return [asynchronousFinding(replicas), ...(await examineCutOff(calls))]
}

function confirmedFinding(replicas: number, needed: number): Finding {
  if (replicas < needed) {
    return problem(
      `durability is "replicated" by ${needed}, and ${replicas} replica(s) are connected: no write is acknowledged`,
      'bring the replicas back, or ask for fewer with ?replicas=',
    )
  }
  if (replicas === needed) {
    return fine(`each write is confirmed by all ${needed} connected replica(s)`)
  }
  return fine(
    `each write is confirmed by ${needed} of ${replicas} replicas; a failover to one of the others may lose the last ones, with ?replicas=${replicas} none does`,
  )
}

function asynchronousFinding(replicas: number): Finding {
  return warning(
    `${replicas} replica(s) are fed asynchronously: a failover may lose the last messages accepted`,
    'add ?durability=replicated to the URL where no accepted message may be lost',
  )
}

async function examineCutOff(calls: Calls): Promise<Finding[]> {
  if ((await configOf(calls, 'min-replicas-to-write')) !== '0') return []
  return [
    warning(
      'min-replicas-to-write is 0: a primary that is cut off goes on accepting messages, which its demotion throws away',
      'set min-replicas-to-write 1 and min-replicas-max-lag 10',
    ),
  ]
}
