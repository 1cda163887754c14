/**
 * The calm after the storm, and what must be true by its end:
 *
 *   recovery   every message that was or comes due is handled or dead, within lease + fallback + backoff + retry wait
 *   promptness new messages are handled at once, with all wake-ups lost within the fallback interval, and where all workers
 *              but one stand still within a minute
 *   spread     as many long messages as all workers together have slots for start side by side
 *   rest       a queue with nothing to do hardly calls its store
 *   end        every worker stops without an error, and the store holds exactly what it should
 */
import { isControl } from '../../src/core/control.ts'
import { takeCensus } from '../../src/testing/census.ts'
import { STOP_OVERTIME_MS } from '../../src/runtime/stopping.ts'
import type { Host } from '../world/host.ts'
import { checkCalmControls, liftControls } from './calm-controls.ts'
import { checkNothingKept, liftKeyLimits, longestKey } from './calm-keys.ts'
import type { Holder } from './lease-record.ts'
import { LONG_PROBE, LONG_PROBE_MS } from '../world/handlers.ts'
import { LOOK_MS_MAX } from '../world/model-watch.ts'
import { checkSchedules } from './schedule-check.ts'
import type { Partition } from '../world/partition.ts'
import { LATER_MS_MAX } from '../world/schemas.ts'
import type { World } from '../world/world.ts'

/** Pauses after failures end within this. */
const BACKOFF_MS = 7_000
const SLACK_MS = 5_000
const IDLE_MS = 120_000
/** How often a handler may begin its timeout anew, and once more. */
const EXTENSIONS_MAX = 4
const PROBE_DELAY_MS = 500
const PROBE_SLACK_MS = 1_000
/** One that woke all may hide that nobody watches; the next one does not. */
const PROMPT_ROUNDS = 3
/** How long one of a serial key takes in the calm. */
const IN_TURN_MS = 500
/** Those who fetched what they cannot start give it back after a while. */
const SPREAD_MS = 3_000

/** Puts the probes; holds no lease, never dies. */
export const NOBODY: Holder = {
  name: 'nobody',
  handledSince: () => Infinity,
  isDead: false,
  frozenUntil: 0,
  stopBeganAt: undefined,
  stopEndedAt: undefined,
  troubledAt: -1,
}

export async function endInCalm(world: World, hosts: readonly Host[]): Promise<void> {
  const { timeline, violations, weather, history } = world
  const isOver = (): boolean => violations.any
  history.note('weather', () => 'the storm is over')
  weather.becomeCalm()
  await liftControls(world)
  await liftKeyLimits(world, true)
  for (const host of hosts) host.start()
  // What a schema still looks at will be stored, and its delay begins then.
  const answeredMs = world.plan.schemas === 'later' ? LATER_MS_MAX : 0
  await timeline.runUntil(timeline.now + answeredMs, isOver)
  // A call of the storm may still wait for a store that opens slowly, and pause something afterwards.
  await timeline.runUntil(timeline.now + 2 * world.plan.patienceMs, isOver)
  await liftControls(world)
  await liftKeyLimits(world, true)
  await timeline.runUntil(timeline.now + recoveryMs(world, hosts), isOver)
  if (isOver()) return
  checkRecovered(world)
  await liftKeyLimits(world, false)
  checkSchedules(world)
  await checkCensus(world)
  if (isOver()) return
  await checkPromptness(world, hosts)
  if (isOver()) return
  await checkSpread(world, hosts)
  if (isOver()) return
  await checkEachAlone(world, hosts)
  if (isOver()) return
  await checkIdle(world, hosts)
  if (isOver()) return
  await stopAll(world, hosts)
  await checkCensus(world)
  await checkNothingKept(world)
}

/**
 * How long everything that was under way may take. The worst message: held by a handler that hangs, or by a worker
 * that died after another had; then its retry wait; or it is due at the end of the storm plus its delay.
 */
function recoveryMs(world: World, hosts: readonly Host[]): number {
  const { plan, partitions } = world
  const { leaseMs, fallbackMs, timeoutMs, retryWaitMaxMs, patienceMs } = plan
  const stopMs = Math.max(...hosts.map(({ plan: { stopTimeoutMs } }) => stopTimeoutMs)) + STOP_OVERTIME_MS
  const heldMs = Math.max(Math.max(timeoutMs, 2_000) * EXTENSIONS_MAX, stopMs) + 2 * leaseMs + 120_000
  const dueMs = Math.max(0, ...partitions.map(latestMs))
  const setBackMs = Math.max(...partitions.map(({ time }) => time.setBackMs)) // Leases of before last so much longer.
  return (
    setBackMs +
    dueMs +
    heldMs +
    2 * fallbackMs +
    2 * (BACKOFF_MS + patienceMs) +
    2 * retryWaitMaxMs +
    inTurnMs(world) +
    plan.windows.quietMsMax +
    SLACK_MS
  )
}

/** For messages of one key that go one after the other; the next one may have to be looked for. */
function inTurnMs(world: World): number {
  const { keys, fallbackMs, isDeafAfterwards } = world.plan
  if (!keys.isSerialAfterwards) return 0
  return longestKey(world) * (IN_TURN_MS + (isDeafAfterwards ? fallbackMs : 0))
}

/** Until the last of its messages is due. */
function latestMs({ ledger, time }: Partition): number {
  const latest = [...ledger.messages.values()]
    .filter(({ message }) => !isControl(message.topic))
    .reduce((max, { dueAt }) => Math.max(max, dueAt), 0)
  return latest - time.now()
}

function checkRecovered({ ledger, violations }: World): void {
  for (const [id, { place, lease, message }] of ledger.messages) {
    if (place === 'dead' || isControl(message.topic)) continue
    const whose = lease === undefined ? '' : `, leased by ${lease.holder.name}`
    violations.add('liveness', `${id} is still ${place}${whose} long after the storm`)
  }
}

/** P9, first half: all workers live, and nobody tells them of new messages; or somebody does, and nothing is late. */
async function checkPromptness(world: World, hosts: readonly Host[]): Promise<void> {
  const { plan, timeline, violations } = world
  const patienceMs = PROBE_DELAY_MS + (plan.isDeafAfterwards ? plan.fallbackMs : 0) + PROBE_SLACK_MS
  const isHandled = (topic: string): boolean =>
    hosts.some((host) => host.process !== undefined && host.plan.topics.includes(topic))
  for (let round = 1; round <= PROMPT_ROUNDS; round += 1) {
    const ids = await putProbes(world, `all ${round}`, plan.topics.filter(isHandled))
    await timeline.runUntil(timeline.now + patienceMs, () => violations.any)
    expectHandled(world, ids, 'the workers have', patienceMs)
    await timeline.runUntil(timeline.now + PROBE_SLACK_MS, () => violations.any)
  }
}

/** P12: who is full hands the rest on. Only where wake-ups arrive, and handlers have the time. */
async function checkSpread(world: World, hosts: readonly Host[]): Promise<void> {
  const { ledger, plan, timeline, violations } = world
  if (plan.isDeafAfterwards || plan.schemas === 'later' || plan.timeoutMs < 2 * LONG_PROBE_MS) return
  for (const topic of plan.topics) {
    const slots = hosts.reduce((sum, host) => sum + slotsFor(host, topic), 0)
    const ids: string[] = []
    for (let place = 1; place <= slots; place += 1)
      ids.push(
        ...(await putProbes(world, String(place), [topic], {
          kind: LONG_PROBE,
          where: [place % plan.partitions],
        })),
      )
    await timeline.runUntil(timeline.now + PROBE_DELAY_MS + SPREAD_MS, () => violations.any)
    for (const id of ids)
      if (ledger.find(id)?.lease?.startedAt === undefined)
        violations.add('P12', `"${id}" has not started beside the others, though there are ${slots} slots`)
    await timeline.runUntil(timeline.now + 3 * LONG_PROBE_MS, () => violations.any)
  }
}

/** How many of a topic a worker can run while its other topics have nothing to do. */
function slotsFor({ process, plan: { concurrency, topicConcurrency, topics } }: Host, topic: string): number {
  if (process === undefined || !topics.includes(topic)) return 0
  const reserved = concurrency < topics.length ? 0 : topics.length - 1
  return Math.min(topicConcurrency, concurrency - reserved)
}

/** P9, second half: one worker at a time, while all others stand still, gets messages that nobody tells it of. */
async function checkEachAlone(world: World, hosts: readonly Host[]): Promise<void> {
  const { plan, timeline, violations } = world
  const patienceMs = PROBE_DELAY_MS + longestLookMs(plan) + PROBE_SLACK_MS
  for (const host of hosts) {
    if (host.process === undefined || host.plan.topics.length === 0) continue
    for (const other of hosts) if (other !== host) other.process?.freeze(patienceMs + SLACK_MS)
    await timeline.runUntil(timeline.now + SLACK_MS / 2, () => violations.any) // What was sent before has arrived.
    const ids = await putProbes(world, host.name, host.plan.topics)
    await timeline.runUntil(timeline.now + patienceMs, () => violations.any)
    expectHandled(world, ids, `${host.name} has`, patienceMs)
    if (plan.actionKinds.control > 0) await checkCalmControls(world, host)
    await timeline.runUntil(timeline.now + SLACK_MS, () => violations.any)
  }
}

function expectHandled({ ledger, violations }: World, ids: readonly string[], who: string, ms: number): void {
  for (const id of ids)
    if (!ledger.wasCompleted(id)) violations.add('P9', `${who} not handled "${id}" within ${ms} ms`)
}

/** After this every worker has looked on its own. */
function longestLookMs({ engine, fallbackMs }: World['plan']): number {
  if (engine === 'memory' || engine === 'memory, slow') return 0
  return engine === 'model' ? Math.max(fallbackMs, LOOK_MS_MAX) : fallbackMs
}

/** One that lives in this partition. */
function probeId({ home, plan }: World, number: number, name: string): string {
  if (plan.partitions === 1) return name
  for (let n = 1; ; n += 1) if (home(`${name} ${n}`).number === number) return `${name} ${n}`
}

/** Straight into the store: into each of its partitions. */
async function putProbes(
  world: World,
  name: string,
  topics: readonly string[],
  {
    kind = 'probe',
    where = world.partitions.map(({ number }) => number),
  }: { readonly kind?: string; readonly where?: Iterable<number> } = {},
): Promise<readonly string[]> {
  const { history } = world
  const probes = topics.flatMap((topic) =>
    [...where].map((number) => ({ id: probeId(world, number, `${kind} ${name} ${topic}`), topic })),
  )
  const ids = probes.map(({ id }) => id)
  history.note('nobody', () => `puts ${ids.join(', ')}`)
  const direct = world.direct()
  for (const { id, topic } of probes) {
    await direct.put([
      {
        id,
        topic,
        body: '',
        meta: '',
        priority: 1,
        when: { delayMs: PROBE_DELAY_MS },
        ifExists: 'keep',
      },
    ])
  }
  return ids
}

async function checkIdle(
  { plan, store, timeline, violations }: World,
  hosts: readonly Host[],
): Promise<void> {
  const workers = hosts.map(({ process }) => process).filter((process) => process !== undefined)
  const before = workers.map(({ rate }) => rate.total)
  const idleMs = Math.max(IDLE_MS, 3 * plan.fallbackMs)
  await timeline.runUntil(timeline.now + idleMs, () => violations.any)
  // A look asks for all topics, in as many claims as that takes.
  const claims = Math.ceil(plan.topics.length / store.capabilities.wantsMax)
  const callsMax = ((2 + claims) * Math.ceil(idleMs / plan.fallbackMs) + 5) * plan.partitions
  for (const [i, { rate, name }] of workers.entries()) {
    const calls = rate.total - (before[i] ?? 0)
    if (calls > callsMax)
      violations.add('P10', `${name} called its store ${calls} times in ${idleMs} ms, with nothing to do`)
  }
}

async function stopAll(world: World, hosts: readonly Host[]): Promise<void> {
  const { timeline, violations } = world
  for (const host of hosts) host.retire()
  const stopMs = Math.max(...hosts.map(({ plan }) => plan.stopTimeoutMs)) + STOP_OVERTIME_MS + SLACK_MS
  await timeline.runUntil(timeline.now + stopMs, () => violations.any)
  for (const { name, reports, plan } of hosts) {
    const report = reports.at(-1)
    // Without any time to stop in, a claim that is just under way is an error in the report, and rightly so.
    const hasNoErrors = report?.errors.length === 0 || plan.stopTimeoutMs === 0
    const isClean = hasNoErrors && report?.abandoned === 0 && report.released === 0
    if (!isClean) violations.add('P11', `${name}, idle, reports of its stop: ${JSON.stringify(report)}`)
  }
}

export async function checkCensus({ partitions, violations }: World): Promise<void> {
  try {
    for (const { store, ledger, time } of partitions) {
      const { messages } = await takeCensus(store)
      ledger.compare(messages, time.now())
    }
  } catch (error) {
    violations.add('P8', `the census does not add up: ${String(error)}`)
  }
}
