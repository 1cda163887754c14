/**
 * The calm after the storm, and what must be true by its end:
 *
 *   recovery   every message that was or comes due is handled or dead, within lease + fallback + backoff + retry wait
 *   promptness each worker alone still handles a new message within the fallback interval, with wake-ups lost or not
 *   rest       a queue with nothing to do hardly calls its store
 *   end        every worker stops without an error, and the store holds exactly what it should
 */
import { takeCensus } from '../../src/testing/census.ts'
import { STOP_OVERTIME_MS } from '../../src/runtime/stopping.ts'
import type { Host } from '../world/host.ts'
import { checkCalmControls, liftControls } from './calm-controls.ts'
import type { Holder } from './lease-record.ts'
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
  for (const host of hosts) host.start()
  // What a schema still looks at will be stored, and its delay begins then.
  const answeredMs = world.plan.schemas === 'later' ? LATER_MS_MAX : 0
  await timeline.runUntil(timeline.now + answeredMs, isOver)
  await timeline.runUntil(timeline.now + recoveryMs(world, hosts), isOver)
  if (isOver()) return
  checkRecovered(world)
  await checkCensus(world)
  if (isOver()) return
  await checkPromptness(world, hosts)
  if (isOver()) return
  await checkIdle(world, hosts)
  if (isOver()) return
  await stopAll(world, hosts)
  await checkCensus(world)
}

/**
 * How long everything that was under way may take. The worst message: held by a handler that hangs, or by a worker
 * that died after another had; then its retry wait; or it is due at the end of the storm plus its delay.
 */
function recoveryMs({ plan, storeTime, ledger }: World, hosts: readonly Host[]): number {
  const { leaseMs, fallbackMs, timeoutMs, retryWaitMaxMs, patienceMs } = plan
  const stopMs = Math.max(...hosts.map(({ plan: { stopTimeoutMs } }) => stopTimeoutMs)) + STOP_OVERTIME_MS
  const heldMs = Math.max(Math.max(timeoutMs, 2_000) * EXTENSIONS_MAX, stopMs) + 2 * leaseMs + 120_000
  const latest = [...ledger.messages.values()].reduce((max, { dueAt }) => Math.max(max, dueAt), 0)
  const dueMs = Math.max(0, latest - storeTime.now())
  const setBackMs = storeTime.setBackMs // Leases of before last so much longer.
  return (
    setBackMs +
    dueMs +
    heldMs +
    2 * fallbackMs +
    2 * (BACKOFF_MS + patienceMs) +
    2 * retryWaitMaxMs +
    SLACK_MS
  )
}

function checkRecovered({ ledger, violations }: World): void {
  for (const [id, { place, lease }] of ledger.messages) {
    if (place === 'dead') continue
    const whose = lease === undefined ? '' : `, leased by ${lease.holder.name}`
    violations.add('liveness', `${id} is still ${place}${whose} long after the storm`)
  }
}

/** One worker at a time, while all others stand still, gets messages that nobody tells it of. */
async function checkPromptness(world: World, hosts: readonly Host[]): Promise<void> {
  const { plan, timeline, violations } = world
  const isWoken = plan.engine === 'memory'
  const patienceMs = PROBE_DELAY_MS + (isWoken ? 0 : plan.fallbackMs) + PROBE_SLACK_MS
  for (const host of hosts) {
    if (host.process === undefined || host.plan.topics.length === 0) continue
    for (const other of hosts) if (other !== host) other.process?.freeze(patienceMs + SLACK_MS)
    await timeline.runUntil(timeline.now + SLACK_MS / 2, () => violations.any) // What was sent before has arrived.
    const ids = await putProbes(world, host)
    await timeline.runUntil(timeline.now + patienceMs, () => violations.any)
    for (const id of ids) {
      if (!world.ledger.wasCompleted(id))
        violations.add('P9', `${host.name} has not handled "${id}" within ${patienceMs} ms`)
    }
    if (plan.actionKinds.control > 0) await checkCalmControls(world, host)
    await timeline.runUntil(timeline.now + SLACK_MS, () => violations.any)
  }
}

/** Straight into the store. */
async function putProbes(world: World, { name, plan: { topics } }: Host): Promise<readonly string[]> {
  const { history } = world
  const ids = topics.map((topic) => `probe ${name} ${topic}`)
  history.note(name, () => `is alone, and gets ${ids.join(', ')}`)
  const direct = world.direct()
  for (const [i, id] of ids.entries()) {
    await direct.put([
      {
        id,
        topic: topics[i] ?? '',
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
  const before = workers.map(({ link }) => link.rate.total)
  const idleMs = Math.max(IDLE_MS, 3 * plan.fallbackMs)
  await timeline.runUntil(timeline.now + idleMs, () => violations.any)
  // A look asks for all topics, in as many claims as that takes.
  const claims = Math.ceil(plan.topics.length / store.capabilities.wantsMax)
  const callsMax = (2 + claims) * Math.ceil(idleMs / plan.fallbackMs) + 5
  for (const [i, { link, name }] of workers.entries()) {
    const calls = link.rate.total - (before[i] ?? 0)
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

export async function checkCensus({ store, storeTime, ledger, violations }: World): Promise<void> {
  try {
    const { messages } = await takeCensus(store)
    ledger.compare(messages, storeTime.now())
  } catch (error) {
    violations.add('P8', `the census does not add up: ${String(error)}`)
  }
}
