/** A partition as a plan wants it: its store, its clock, and those who watch it. */
import type { Store } from '../../src/store/contract/store.ts'
import { MemoryStore } from '../../src/store/memory/store.ts'
import { ControlsJudge } from '../judges/controls.ts'
import { KeysJudge } from '../judges/keys.ts'
import { Ledger, type Known } from '../judges/ledger.ts'
import type { Plan } from '../plan.ts'
import { ModelStore } from './model-store.ts'
import type { Partition } from './partition.ts'
import { StoreTime } from './store-time.ts'
import type { Timeline } from './timeline.ts'
import type { World } from './world.ts'

const AHEAD_MS_MAX = 60_000

/** `world`: is there when the first call comes. */
export function makePartition(
  number: number,
  { plan, chance, timeline, violations }: Pick<World, 'plan' | 'chance' | 'timeline' | 'violations'>,
  world: () => World,
): Partition {
  const name = number === 0 ? 'store time' : `store time ${number}`
  const time = new StoreTime(timeline, chance.stream(name).whole(-AHEAD_MS_MAX, AHEAD_MS_MAX))
  const keys = new KeysJudge(violations, (topic) => controls.isHeldBack(topic))
  const ledger = new Ledger({
    violations,
    elapsed: () => timeline.now,
    onGranted: (topic, id, readyAt) => world().fairness.granted(topic, id, readyAt),
    jumpedAt: () => time.jumpedAt,
    setBackMs: () => time.setBackMs,
    isControlled: (topic) => controls.isControlled(topic),
    keys,
    isSchemaSlow: plan.schemas === 'later',
    leadMs: plan.leadMs,
    policyOf: () => ({
      limit: plan.retry.limit,
      timeoutMs: plan.timeoutMs,
      ttlMs: undefined,
      isSkipped: false,
      window: undefined,
    }),
  })
  const controls = new ControlsJudge({
    violations,
    elapsed: () => timeline.now,
    storeNow: () => time.now(),
    running: (topic) => [...ledger.messages.values()].filter((known) => isRunning(known, topic)).length,
    slackMs: () => 4 * (world().weather.faults.timerLagMs + world().weather.faults.latencyMs),
  })
  time.onJump = () => {
    controls.clockJumped()
    keys.clockJumped()
  }
  return { number, store: makeStore(plan, time, timeline), time, ledger, controls, keys }
}

function isRunning({ place, message }: Known, topic: string): boolean {
  return place === 'running' && message.topic === topic
}

function makeStore(plan: Plan, time: StoreTime, timeline: Timeline): Store {
  if (plan.engine === 'model') return new ModelStore(() => time.now(), plan)
  return new MemoryStore({
    now: () => time.now(),
    monotonic: () => timeline.now,
    schedule: noTimers,
    soon: noTimers,
  })
}

function noTimers(): never {
  throw new Error('the memory engine sets no timers')
}
