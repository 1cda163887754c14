/**
 * No hostages (P12), seen from outside:
 *
 *   held back   what a process was handed it starts, or gives back, soon after its moment
 *   left out    with at least as many slots as topics, a topic of which a process runs nothing waits for no other topic
 *
 * Both only of processes that are well: no call went wrong and they did not stand still since the wait began. Lost
 * wake-ups may cost the fallback interval (P9), and where many workers share their looks, those who died a minute.
 */
import type { LeaseRecord } from './lease-record.ts'
import { LOOK_MS_MAX, NEAR_MIN } from '../world/model-watch.ts'
import type { SimulatedProcess } from '../world/process.ts'
import type { World } from '../world/world.ts'

const HOLD_MS_MAX = 250
const SLACK_MS = 100
/** How many ways to the store and back a wait may take: several claims, each with a part of the topics. */
const TRAVELS = 24
/** After failures a worker pauses for up to this. */
const PAUSE_MS_MAX = 7_000
/** A claim without an answer keeps the other partitions from its topics for so long, and the answer takes as long. */
const PUT_OFF_MS = 200
/** With smaller batches a few urgent messages of other topics take many claims. */
const BATCH_MIN = 10

export class Fairness {
  readonly #world: () => World
  readonly #processes = new Set<SimulatedProcess>()

  constructor(world: () => World) {
    this.#world = world
  }

  watch(process: SimulatedProcess): void {
    this.#processes.add(process)
    process.onDeath(() => this.#processes.delete(process))
  }

  /** A message was leased to a process, and its answer has arrived there. */
  delivered(lease: LeaseRecord, process: SimulatedProcess): void {
    const { plan, timeline, home, violations, weather } = this.#world()
    const { time } = home(lease.id)
    if (plan.schemas === 'later' || lease.from === 'lapsed') return // A schema counts as the handler's own time.
    const beganAt = timeline.now
    // A process that knows the store's time only from a slow answer holds what came ahead of its moment for the whole lead.
    const graceMs = HOLD_MS_MAX + SLACK_MS + plan.leadMs + 4 * weather.faults.timerLagMs
    const waitMs = Math.max(0, lease.dueAt - time.now()) + graceMs
    timeline.after(waitMs, process, () => {
      const isFree = lease.startedAt !== undefined || lease.isAnswered || lease.isLost
      const wasDisturbed = process.frozenAt >= beganAt || time.jumpedAt >= beganAt
      if (isFree || wasDisturbed || process.stopEndedAt !== undefined) return
      violations.add('P12', `${process.name} has held ${lease.id} back for ${timeline.now - beganAt} ms`)
    })
  }

  /** A message leaves the line of its topic after a wait there since `readyAt`. */
  granted(topic: string, id: string, readyAt: number): void {
    const { plan, timeline, violations, home } = this.#world()
    const { controls } = home(id)
    if (timeline.now - readyAt <= this.#boundMs() || plan.batchMax < BATCH_MIN) return
    if (plan.schemas === 'later') return // A schema that takes its time holds a slot, and no handler is seen to run.
    for (const process of this.#processes) {
      // Only since it has nothing else of this topic to do.
      const since = Math.max(readyAt, process.idleSince(topic), process.worksSince, controls.freeSince(topic))
      if (timeline.now - since <= this.#boundMs() || !isWell(process, since)) continue
      violations.add(
        'P12',
        `${id} waited ${timeline.now - since} ms; ${process.name} runs nothing of its topic`,
      )
    }
  }

  #boundMs(): number {
    const { plan } = this.#world()
    const { latencyMs, timerLagMs, wakeDelayMs } = plan.faults
    const isCrowd =
      plan.engine === 'model' && plan.hosts.filter(({ topics }) => topics.length > 0).length > NEAR_MIN
    const lookMs = isCrowd ? Math.max(plan.fallbackMs, LOOK_MS_MAX) : plan.fallbackMs
    const wakeMs = plan.isRemote ? lookMs + wakeDelayMs : 0
    // Each partition may have to wait for claims of all others, of which one that is away holds them up for a while.
    const othersMs = (plan.partitions - 1) * PUT_OFF_MS
    return HOLD_MS_MAX + SLACK_MS + wakeMs + othersMs + TRAVELS * plan.partitions * (latencyMs + timerLagMs)
  }
}

function isWell(process: SimulatedProcess, since: number): boolean {
  if (process.isDead || process.stopBeganAt !== undefined || !process.hasSlotsForAll) return false
  return process.troubledAt + PAUSE_MS_MAX < since && process.frozenAt < since
}
