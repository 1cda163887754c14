/**
 * What one seed stands for: the engine, the processes, their settings, and the faults of the storm. Every kind of
 * fault is on in some seeds and off in others (a swarm): bugs often need one kind of trouble without another that
 * would hide it.
 */
import type { RetryOptions } from '../src/core/input/handle-options.ts'
import { drawWindows, type WindowPlan } from './window-plan.ts'
import type { Chance } from './world/chance.ts'
import type { HandlerKind } from './world/handlers.ts'
import { drawKeys, type KeyPlan } from './key-plan.ts'
import type { ActionKind } from './world/actions.ts'

/**
 * `memory`: the memory engine inside one process, as its users have it. `memory, slow`: the same, but each call takes
 * a while, as on a disk; its wake-ups are still sure. `memory, remote`: the same engine behind a network, shared by
 * many. `model`: the model of a server that leases ahead.
 */
export type EngineKind = 'memory' | 'memory, slow' | 'memory, remote' | 'model'

/** Whether topics have a schema, and whether it answers at once or after a while. */
export type SchemaKind = 'none' | 'at once' | 'later'

export type HostPlan = {
  readonly name: string
  /** Empty for a process that only produces. */
  readonly topics: readonly string[]
  readonly concurrency: number
  readonly topicConcurrency: number
  /** Whether the queue opens and closes its own store, or was handed one. */
  readonly ownsStore: boolean
  readonly stopTimeoutMs: number
}

/** One that recurs within the storm, from so long after its beginning on. */
export type SchedulePlanned = {
  readonly name: string
  readonly topic: string
  readonly everyMs: number
  readonly startMs: number
  readonly times: number
  /** Paused, resumed, removed and set again. */
  readonly isEdited: boolean
  readonly key?: string
}

export type Faults = {
  /** Shares of the calls. */
  readonly refuse: number
  readonly lose: number
  readonly duplicate: number
  readonly slow: number
  readonly killAtCall: number
  /** Shares of the wake-ups. */
  readonly wakeLoss: number
  readonly wakeDuplicate: number
  readonly wakeDelayMs: number
  /** One way, at most. */
  readonly latencyMs: number
  /** How late timers fire, at most. */
  readonly timerLagMs: number
}

export type Disturbances = {
  /** How many of each during the storm. */
  readonly outages: number
  readonly kills: number
  readonly stops: number
  readonly freezes: number
  readonly wallJumps: number
  readonly storeJumps: number
  readonly storeSetBacks: number
  /** How often a partition is away for everybody. */
  readonly partitionLosses: number
}

export type Plan = {
  readonly engine: EngineKind
  /** Over how many stores the queue is spread, each with a clock of its own. */
  readonly partitions: number
  readonly stormMs: number
  readonly topics: readonly string[]
  readonly hosts: readonly HostPlan[]
  readonly batchMax: number
  readonly leadMs: number
  readonly leaseMs: number
  readonly fallbackMs: number
  readonly timeoutMs: number
  readonly retry: RetryOptions & { readonly limit: number }
  /** The longest wait before a retry, by whatever policy. */
  readonly retryWaitMaxMs: number
  /** After this long without an answer, a call is given up by the network. */
  readonly patienceMs: number
  readonly actions: number
  readonly actionKinds: Readonly<Record<ActionKind, number>>
  readonly handlerKinds: Readonly<Record<HandlerKind, number>>
  readonly schemas: SchemaKind
  readonly schedules: readonly SchedulePlanned[]
  readonly keys: KeyPlan
  readonly windows: WindowPlan
  readonly faults: Faults
  readonly disturbances: Disturbances
  /** Whether all processes share the store through a network, which may fail. */
  readonly isRemote: boolean
  /** Whether wake-ups stay lost when the storm is over: then the fallback must do it all. */
  readonly isDeafAfterwards: boolean
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** The share of the models that are spread over partitions, and over how many. */
const PARTITIONED = 0.25
const PARTITIONS_MAX = 5

/** What a worker meets on a good day. */
export const CALM: Faults = {
  refuse: 0,
  lose: 0,
  duplicate: 0,
  slow: 0,
  killAtCall: 0,
  wakeLoss: 0,
  wakeDuplicate: 0,
  wakeDelayMs: 5,
  latencyMs: 2,
  timerLagMs: 2,
}

export type PlanChances = {
  readonly first: Chance
  /** For what was added later, so that a seed keeps the rest of its plan. */
  readonly second: Chance
  readonly third: Chance
  readonly fourth: Chance
  readonly ofKeys: Chance
  readonly ofWindows: Chance
}

export function drawPlan({
  first: chance,
  second: more,
  third,
  fourth,
  ofKeys,
  ofWindows,
}: PlanChances): Plan {
  const engine = chance.weighted<EngineKind>({
    memory: 2,
    'memory, slow': 1,
    'memory, remote': 3,
    model: 5,
  })
  const isRemote = engine === 'memory, remote' || engine === 'model'
  const stormMs = drawStorm(chance)
  const fallbackMs = drawFallback(chance, stormMs)
  const topics = ['a', 'b', 'c'].slice(0, chance.whole(1, 3))
  const leaseMs = chance.pick([1_000, 2_000, 5_000, 30_000])
  const retryWaitMaxMs = Math.min(chance.spread(1, 10 * MINUTE_MS), stormMs)
  const schemas = more.weighted<SchemaKind>({ none: 6, 'at once': 1, later: 1 })
  const misfit = schemas === 'none' ? 0 : 2
  const schedules = drawSchedules(more, topics, stormMs)
  const partitions = engine === 'model' && fourth.happens(PARTITIONED) ? fourth.whole(2, PARTITIONS_MAX) : 1
  const keys = drawKeys(ofKeys)
  return {
    engine,
    partitions,
    stormMs,
    topics,
    hosts: [
      ...drawHosts(chance, topics, isRemote),
      ...(engine === 'model' && more.happens(0.2) ? drawCrowd(more, topics) : []),
    ],
    batchMax: engine === 'model' ? chance.whole(1, 20) : 10_000,
    leadMs: engine === 'model' ? chance.pick([0, 5, 25, 500]) : 0,
    leaseMs,
    fallbackMs,
    timeoutMs: chance.pick([50, 1_000, 10_000, MINUTE_MS]),
    retry: drawRetry(chance, retryWaitMaxMs),
    retryWaitMaxMs,
    patienceMs: chance.pick([500, 3_000, 10_000]),
    actions: chance.whole(20, 120),
    actionKinds: {
      ...drawActions(chance),
      'produce misfit': misfit,
      'set schedule': schedules.length,
      control: third.happens(0.5) ? third.next() * 4 : 0,
      ...drawMoreActions(third),
      ...drawKeyActions(ofKeys, keys),
    },
    schemas,
    schedules: keyed(schedules, keys),
    keys,
    windows: drawWindows(ofWindows, stormMs),
    handlerKinds: { ...drawHandlers(chance), ...drawMoreHandlers(more), 'takes seconds': 0 },
    faults: isRemote ? drawFaults(chance, leaseMs) : drawLocalFaults(chance, leaseMs),
    disturbances: {
      ...drawDisturbances(chance, isRemote),
      storeSetBacks: isRemote && more.happens(0.15) ? more.whole(1, 3) : 0,
      partitionLosses: partitions > 1 && fourth.happens(0.6) ? fourth.whole(1, 4) : 0,
    },
    isRemote,
    isDeafAfterwards: isRemote && chance.happens(0.5),
  }
}

function drawStorm(chance: Chance): number {
  const scale = chance.weighted({ minutes: 6, hours: 3, days: 1 })
  if (scale === 'minutes') return chance.whole(1, 10) * MINUTE_MS
  return scale === 'hours' ? chance.whole(1, 12) * HOUR_MS : chance.whole(1, 4) * DAY_MS
}

/** Longer simulations look less often, or they would do little else. */
function drawFallback(chance: Chance, stormMs: number): number {
  if (stormMs <= 10 * MINUTE_MS) return chance.pick([250, 1_000, 5_000, 30_000])
  return stormMs <= DAY_MS ? chance.pick([30_000, MINUTE_MS]) : 5 * MINUTE_MS
}

function drawHosts(chance: Chance, topics: readonly string[], isRemote: boolean): readonly HostPlan[] {
  const workers = isRemote ? chance.whole(1, 3) : 1
  const hosts = Array.from({ length: workers }, (_, i): HostPlan => {
    const all = i === 0 || chance.happens(0.5)
    const own = all ? topics : topics.filter(() => chance.happens(0.5))
    return drawHost(chance, `worker${i + 1}`, own.length === 0 ? topics.slice(0, 1) : own, isRemote)
  })
  const producers = isRemote ? chance.whole(0, 2) : 0
  for (let i = 1; i <= producers; i += 1) hosts.push(drawHost(chance, `producer${i}`, [], isRemote))
  return hosts
}

/** So many workers of the same topics that a store lets some of them sleep for longer than the fallback. */
function drawCrowd(chance: Chance, topics: readonly string[]): readonly HostPlan[] {
  return Array.from({ length: chance.whole(4, 6) }, (_, i) => drawHost(chance, `crowd${i + 1}`, topics, true))
}

function drawHost(chance: Chance, name: string, topics: readonly string[], isRemote: boolean): HostPlan {
  return {
    name,
    topics,
    concurrency: chance.pick([1, 2, 3, 10]),
    topicConcurrency: chance.pick([1, 2, 10]),
    ownsStore: isRemote && chance.happens(0.5),
    stopTimeoutMs: chance.pick([0, 500, 5_000, 30_000]),
  }
}

function drawRetry(chance: Chance, maxMs: number): Plan['retry'] {
  const limit = chance.pick([0, 1, 3, 10])
  if (chance.happens(0.5)) return { limit, delays: [Math.ceil(maxMs / 10), maxMs] }
  const base = Math.max(1, Math.ceil(maxMs / 8))
  return { limit, exponential: { base, factor: 2, cap: Math.max(1, maxMs), jitter: 0.5 } }
}

/** A lease must be long against the way to the store and back, or nobody can keep it. */
const LATENCIES_PER_LEASE = 20

function drawFaults(chance: Chance, leaseMs: number): Faults {
  const share = (max: number): number => (chance.happens(0.5) ? chance.next() * max : 0)
  return {
    refuse: share(0.2),
    lose: share(0.2),
    duplicate: share(0.1),
    slow: share(0.2),
    killAtCall: share(0.01),
    wakeLoss: chance.happens(0.3) ? 1 : share(0.8),
    wakeDuplicate: share(0.5),
    wakeDelayMs: chance.pick([0, 5, 200, 5_000]),
    latencyMs: Math.min(chance.pick([0, 1, 5, 100]), leaseMs / LATENCIES_PER_LEASE),
    timerLagMs: chance.pick([0, 2, 50]),
  }
}

/** Within one process nothing is lost; things only take their time. */
function drawLocalFaults(chance: Chance, leaseMs: number): Faults {
  return {
    ...CALM,
    timerLagMs: chance.pick([0, 2, 50]),
    latencyMs: Math.min(chance.pick([1, 20, 300]), leaseMs / LATENCIES_PER_LEASE),
  }
}

function drawDisturbances(
  chance: Chance,
  isRemote: boolean,
): Omit<Disturbances, 'storeSetBacks' | 'partitionLosses'> {
  const count = (max: number): number => (chance.happens(0.5) ? chance.whole(1, max) : 0)
  return {
    outages: isRemote ? count(3) : 0,
    kills: isRemote ? count(8) : 0,
    stops: count(6),
    freezes: count(5),
    wallJumps: count(3),
    // Only sometimes: a store whose clock jumps hides leases that end too early for other reasons.
    storeJumps: isRemote && chance.happens(0.2) ? chance.whole(1, 2) : 0,
  }
}

type MoreHandlers = Pick<
  Plan['handlerKinds'],
  'completes early' | 'calls its queue' | 'follows up' | 'follows up and throws' | 'snoozes'
>

function drawMoreHandlers(more: Chance): MoreHandlers {
  const weight = (): number => (more.happens(0.5) ? more.next() : 0)
  return {
    'completes early': weight(),
    'calls its queue': weight(),
    'follows up': weight(),
    'follows up and throws': weight() / 2,
    snoozes: weight(),
  }
}

function drawHandlers(chance: Chance): Omit<Plan['handlerKinds'], keyof MoreHandlers | 'takes seconds'> {
  const weight = (max: number): number => (chance.happens(0.5) ? chance.next() * max : 0)
  return {
    'returns at once': 1 + weight(5),
    'returns soon': 1 + weight(5),
    'is slow': weight(3),
    throws: weight(3),
    'throws later': weight(3),
    'throws RetryIn': weight(2),
    'throws DeadLetter': weight(1),
    'waits for its signal': weight(1),
    'ignores its signal': weight(1),
    'never ends': weight(0.5),
    'asks for more time': weight(2),
  }
}

/** So few that all of them may be caught up at once. */
const OCCURRENCES_MAX = 60

function drawSchedules(more: Chance, topics: readonly string[], stormMs: number): readonly SchedulePlanned[] {
  const count = more.happens(0.4) ? more.whole(1, 2) : 0
  return Array.from({ length: count }, (_, i) => {
    const startMs = Math.floor(more.next() * stormMs * 0.5)
    const everyMs = Math.max(1_000, more.spread(1_000, stormMs / 10))
    const times = Math.min(OCCURRENCES_MAX, Math.floor((stormMs - startMs) / everyMs))
    const topic = more.pick(topics) ?? 'a'
    return { name: `s${i + 1}`, topic, everyMs, startMs, times: Math.max(1, times), isEdited: i > 0 }
  })
}

type KeyActions = Pick<Plan['actionKinds'], 'flood' | 'change by key' | 'control keys'>

function drawKeyActions(chance: Chance, { names }: KeyPlan): KeyActions {
  if (names.length === 0) return { flood: 0, 'change by key': 0, 'control keys': 0 }
  const weight = (max: number): number => (chance.happens(0.6) ? chance.next() * max : 0)
  return { flood: weight(3), 'change by key': weight(2), 'control keys': weight(4) }
}

/** Half of them have one. */
function keyed(schedules: readonly SchedulePlanned[], { names }: KeyPlan): readonly SchedulePlanned[] {
  const [key] = names
  return schedules.map((planned, i) => (key === undefined || i % 2 === 1 ? planned : { ...planned, key }))
}

type MoreActions = Pick<Plan['actionKinds'], 'cancel running' | 'change by tag'>

function drawMoreActions(more: Chance): MoreActions {
  const weight = (): number => (more.happens(0.4) ? more.next() : 0)
  return { 'cancel running': weight(), 'change by tag': weight() }
}

function drawActions(
  chance: Chance,
): Omit<
  Plan['actionKinds'],
  'produce misfit' | 'set schedule' | 'control' | keyof MoreActions | keyof KeyActions
> {
  const weight = (max: number): number => (chance.happens(0.6) ? chance.next() * max : 0)
  return {
    produce: 4 + weight(4),
    'produce many': weight(2),
    'produce again': weight(3),
    cancel: weight(2),
    reschedule: weight(3),
    revive: weight(2),
    'revive all': weight(0.5),
    purge: weight(1),
    'purge all': weight(0.3),
    look: weight(2),
    'many at once': weight(2),
  }
}
