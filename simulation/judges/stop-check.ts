/** Does a stop report add up (P11)? Compared with what was seen from outside while the queue stopped. */
import { isControl } from '../../src/core/control.ts'
import type { StopReport } from '../../src/runtime/stopping.ts'
import type { SimulatedProcess } from '../world/process.ts'
import type { World } from '../world/world.ts'

export type ObservedStop = {
  /** Handlers at work when it began. */
  readonly running: number
  /** Of those, the ones whose signal has not aborted: they surely have their slot. The others may have been given up. */
  readonly atWork: number
  /** Handlers started until then. */
  readonly starts: number
}

export function observeStop(process: SimulatedProcess): ObservedStop {
  const atWork = [...process.running].filter(({ abortedAt }) => abortedAt === undefined)
  return { running: process.running.size, atWork: atWork.length, starts: process.starts }
}

export function checkStopReport(
  world: World,
  process: SimulatedProcess,
  observed: ObservedStop,
  report: StopReport,
): void {
  const { ledger, violations, timeline, plan } = world
  const startedSince = process.starts - observed.starts
  let releasedUnstarted = 0
  let lostUnstarted = 0
  for (const lease of ledger.leases) {
    if (lease.holder !== process || lease.from !== 'due' || !lease.isDelivered) continue
    if (lease.startedAt !== undefined) continue
    if (isControl(lease.topic) && (lease.isAnswered || lease.isLost)) continue // Our own, which no report counts.
    if (lease.isAnswered) releasedUnstarted += 1
    else if (lease.isLost) lostUnstarted += 1
    else violations.add('P11', `${process.name} stopped and forgot ${lease.id}, which it had fetched`)
  }
  const { finished, released, abandoned } = report
  if (released > releasedUnstarted)
    violations.add(
      'P11',
      `${process.name} says that it gave back ${released}; it gave back ${releasedUnstarted}`,
    )
  // What a schema still looks at, or refuses, counts as running; its handler is never seen. It may be lost meanwhile.
  const unseen = plan.schemas === 'none' ? 0 : releasedUnstarted + lostUnstarted
  const [least, most] = [observed.atWork + startedSince, observed.running + startedSince + unseen]
  if (finished + abandoned > most || finished + abandoned < least)
    violations.add('P11', `${process.name} reports ${finished} finished, ${abandoned} abandoned, of ${most}`)
  // Answers that are on their way may still come in; after that nothing may hold the process.
  timeline.after(world.plan.patienceMs + 5_000, process, () => {
    if (process.clock.pendingTimers > 0)
      violations.add('P11', `${process.name} stopped and left ${process.clock.pendingTimers} timers`)
  })
}
