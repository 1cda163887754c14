/**
 * One simulation: a seed becomes a world, the world goes through a storm, and what it looks like afterwards is
 * judged. The runtime is the real one; only time, chance, the network and the handlers are ours.
 */
import { homeOf } from '../src/core/encoding/home.ts'
import { Actions } from './world/actions.ts'
import { AuditedStore } from './world/audited-store.ts'
import { Chance } from './world/chance.ts'
import { planDisturbances } from './world/disturbances.ts'
import { EffectOrder } from './world/effect-order.ts'
import { Fairness } from './judges/fairness.ts'
import { History } from './judges/history.ts'
import { Host } from './world/host.ts'
import { Ledgers } from './judges/ledgers.ts'
import { makePartition } from './world/make-partition.ts'
import { asOne, type Partition } from './world/partition.ts'
import { drawPlan, type Plan } from './plan.ts'
import { ScheduleEdits } from './judges/schedule-edits.ts'
import { newTally, type Tally } from './judges/tally.ts'
import { Timeline } from './world/timeline.ts'
import { NOBODY, checkCensus, endInCalm } from './judges/verdict.ts'
import { Violations } from './judges/violations.ts'
import { Weather } from './world/weather.ts'
import type { World } from './world/world.ts'

/** How often during the storm everything is counted. */
const CENSUSES = 8

export type Simulation = {
  readonly seed: number
  readonly plan: Plan
  readonly violations: readonly string[]
  readonly tally: Tally
  /** Simulated. */
  readonly elapsedMs: number
  readonly events: number
  /** Empty unless the history was asked for. */
  readonly history: History
}

export async function simulate(seed: number, withHistory = false): Promise<Simulation> {
  const world = makeWorld(seed, withHistory)
  const { plan, timeline, violations, history } = world
  const endHearing = hearNode(violations)
  try {
    await goThrough(world)
  } catch (error) {
    violations.add('P10', `the simulation broke: ${error instanceof Error ? error.message : String(error)}`)
  } finally {
    endHearing()
  }
  return {
    seed,
    plan,
    violations: violations.found,
    tally: world.tally,
    elapsedMs: timeline.now,
    events: timeline.events,
    history,
  }
}

async function goThrough(world: World): Promise<void> {
  const { plan, timeline, violations, history } = world
  history.note('plan', () => JSON.stringify(plan))
  const hosts = plan.hosts.map((host) => new Host(world, host))
  for (const host of hosts) host.start()
  new Actions(world, hosts).plan()
  planDisturbances(world, hosts)
  for (let i = 1; i <= CENSUSES && !violations.any; i += 1) {
    await timeline.runUntil((plan.stormMs * i) / CENSUSES, () => violations.any)
    await checkCensus(world)
  }
  if (!violations.any) await endInCalm(world, hosts)
}

function makeWorld(seed: number, withHistory: boolean): World {
  const chance = new Chance(seed)
  const plan = drawPlan({
    first: chance.stream('plan'),
    second: chance.stream('second plan'),
    third: chance.stream('third plan'),
    fourth: chance.stream('fourth plan'),
    ofKeys: chance.stream('key plan'),
    ofWindows: chance.stream('window plan'),
  })
  const timeline = new Timeline()
  const history = new History(() => timeline.now, withHistory)
  const violations = new Violations(history)
  const partitions = Array.from({ length: plan.partitions }, (_, number) =>
    makePartition(number, { plan, chance, timeline, violations }, () => world),
  )
  const home = (id: string): Partition => partitions[homeOf(id, partitions.length)] as Partition
  const world: World = {
    plan,
    chance,
    timeline,
    partitions,
    home,
    store: asOne(partitions.map(({ store }) => store)),
    ledger: new Ledgers(
      partitions.map(({ ledger }) => ledger),
      (id) => home(id).ledger,
    ),
    fairness: new Fairness(() => world),
    scheduleEdits: new ScheduleEdits(() => world),
    direct: () => asOne(partitions.map((partition) => new AuditedStore(world, partition, NOBODY))),
    effectOrder: new EffectOrder(),
    weather: new Weather(plan),
    history,
    violations,
    tally: newTally(),
  }
  return world
}

/** A promise that nobody awaits and that fails would end a real process; a warning of Node would alarm its owner. */
function hearNode(violations: Violations): () => void {
  const hearRejection = (reason: unknown): void =>
    violations.add('P8', `an unhandled rejection: ${String(reason)}`)
  const hearWarning = (warning: Error): void => violations.add('P10', `Node warns: ${warning.message}`)
  process.on('unhandledRejection', hearRejection)
  process.on('warning', hearWarning)
  return () => {
    process.off('unhandledRejection', hearRejection)
    process.off('warning', hearWarning)
  }
}
