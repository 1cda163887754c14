/**
 * One simulation: a seed becomes a world, the world goes through a storm, and what it looks like afterwards is
 * judged. The runtime is the real one; only time, chance, the network and the handlers are ours.
 */
import { MemoryStore } from '../src/store/memory/store.ts'
import type { Store } from '../src/store/contract/store.ts'
import { Actions } from './world/actions.ts'
import { AuditedStore } from './world/audited-store.ts'
import { Chance } from './world/chance.ts'
import { ControlsJudge } from './judges/controls.ts'
import { planDisturbances } from './world/disturbances.ts'
import { EffectOrder } from './world/effect-order.ts'
import { Fairness } from './judges/fairness.ts'
import { History } from './judges/history.ts'
import { Host } from './world/host.ts'
import { Ledger, type Known } from './judges/ledger.ts'
import { ModelStore } from './world/model-store.ts'
import { drawPlan, type Plan } from './plan.ts'
import { StoreTime } from './world/store-time.ts'
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
  const plan = drawPlan(chance.stream('plan'), chance.stream('second plan'), chance.stream('third plan'))
  const timeline = new Timeline()
  const storeTime = new StoreTime(timeline, chance.stream('store time').whole(-60_000, 60_000))
  const history = new History(() => timeline.now, withHistory)
  const violations = new Violations(history)
  const fairness = new Fairness(() => world)
  const ledger = new Ledger({
    violations,
    elapsed: () => timeline.now,
    onGranted: (topic, id, readyAt) => fairness.granted(topic, id, readyAt),
    jumpedAt: () => storeTime.jumpedAt,
    setBackMs: () => storeTime.setBackMs,
    isControlled: (topic) => controls.isControlled(topic),
    isSchemaSlow: plan.schemas === 'later',
    leadMs: plan.leadMs,
    policyOf: () => ({
      limit: plan.retry.limit,
      timeoutMs: plan.timeoutMs,
      ttlMs: undefined,
      isSkipped: false,
    }),
  })
  const controls = new ControlsJudge({
    violations,
    elapsed: () => timeline.now,
    storeNow: () => storeTime.now(),
    running: (topic) => [...ledger.messages.values()].filter((known) => isRunning(known, topic)).length,
    slackMs: () => 4 * (world.weather.faults.timerLagMs + world.weather.faults.latencyMs),
  })
  storeTime.onJump = () => controls.clockJumped()
  const world: World = {
    plan,
    chance,
    timeline,
    storeTime,
    store: makeStore(plan, storeTime, timeline),
    ledger,
    fairness,
    controls,
    direct: () => new AuditedStore(world, NOBODY),
    effectOrder: new EffectOrder(),
    weather: new Weather(plan),
    history,
    violations,
    tally: newTally(),
  }
  return world
}

function isRunning({ place, message }: Known, topic: string): boolean {
  return place === 'running' && message.topic === topic
}

function makeStore(plan: Plan, storeTime: StoreTime, timeline: Timeline): Store {
  if (plan.engine === 'model') return new ModelStore(() => storeTime.now(), plan)
  return new MemoryStore({
    now: () => storeTime.now(),
    monotonic: () => timeline.now,
    schedule: noTimers,
    soon: noTimers,
  })
}

function noTimers(): never {
  throw new Error('the memory engine sets no timers')
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
