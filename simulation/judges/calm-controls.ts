/**
 * In the calm, each kind of control is tried once more on every worker alone, while no call goes wrong: a pause holds, its end is
 * heard of, and under a limit everything is done although one must wait for the other.
 */
import type { TopicLimit } from '../../src/store/contract/store.ts'
import type { Host } from '../world/host.ts'
import type { World } from '../world/world.ts'

const HOLD_MS = 3_000
const PROBES = 4
/** Due so far ahead, and handed out at once by a store whose lead is as long. */
const HELD_MS = 400
const SLACK_MS = 3_000

/** All probes have one key. */
const KEYED: readonly (readonly [name: string, limit: TopicLimit])[] = [
  ['serial', { perKey: { concurrency: 1 } }],
  ['rate of a key', { perKey: { rate: { intervalMs: 200, burst: 1 } } }],
]

/** Ends every control: what the storm left behind may start. */
export async function liftControls(world: World): Promise<void> {
  const store = world.direct()
  for (const { topic } of (await store.controls()).controls) {
    await store.control({ kind: 'resume', topic })
    if (world.partitions.length === 1) await store.control({ kind: 'limit', topic, limit: null })
  }
}

export async function checkCalmControls(world: World, host: Host): Promise<void> {
  const [topic] = host.plan.topics
  if (host.process === undefined || topic === undefined) return
  const { plan } = world
  const heardMs = plan.engine === 'memory' ? 0 : plan.fallbackMs
  await checkPause(world, host, topic, heardMs)
  if (plan.leadMs >= HELD_MS && !plan.isDeafAfterwards) await checkHeld(world, host, topic, heardMs)
  if (world.partitions.length > 1) return // No limit holds over them.
  // One after the other: with lost wake-ups each may cost the fallback interval.
  const limitedMs = SLACK_MS + PROBES * (heardMs + 500)
  const limits: readonly (readonly [name: string, limit: TopicLimit])[] = [
    ['concurrency', { concurrency: 1 }],
    ['rate', { rate: { intervalMs: 200, burst: 1 } }],
    // More than a worker may have slots for: it asks again when one is free.
    ['burst', { rate: { intervalMs: 10, burst: 10 } }],
    ...(plan.keys.names.length === 0 ? [] : KEYED),
  ]
  for (const [name, limit] of limits) {
    if (world.violations.any) return
    await world.direct().control({ kind: 'limit', topic, limit })
    const key = limit.perKey === undefined ? {} : { key: 'of probes' }
    const ids = await putProbes(world, host, topic, name, key)
    await expectDone(world, host, ids, limitedMs)
    await world.direct().control({ kind: 'limit', topic, limit: null })
  }
}

async function checkPause(world: World, host: Host, topic: string, heardMs: number): Promise<void> {
  const { timeline, violations, ledger } = world
  await world.direct().control({ kind: 'pause', topic })
  const ids = await putProbes(world, host, topic, 'pause')
  await timeline.runUntil(timeline.now + HOLD_MS, () => violations.any)
  for (const id of ids) if (ledger.wasCompleted(id)) violations.add('P14', `${id} was handled in a pause`)
  await world.direct().control({ kind: 'resume', topic })
  await expectDone(world, host, ids, heardMs + SLACK_MS)
}

/** What a worker holds ahead of its moment when the pause comes goes back. */
async function checkHeld(world: World, host: Host, topic: string, heardMs: number): Promise<void> {
  const { timeline, violations, ledger } = world
  const ids = await putProbes(world, host, topic, 'held', { delayMs: HELD_MS })
  await timeline.runUntil(timeline.now + HELD_MS / 4, () => violations.any)
  await world.direct().control({ kind: 'pause', topic })
  await timeline.runUntil(timeline.now + HOLD_MS, () => violations.any)
  for (const id of ids) if (ledger.wasCompleted(id)) violations.add('P14', `${id} was handled in a pause`)
  await world.direct().control({ kind: 'resume', topic })
  await expectDone(world, host, ids, heardMs + SLACK_MS)
}

async function expectDone(world: World, host: Host, ids: readonly string[], withinMs: number): Promise<void> {
  const { timeline, violations, ledger } = world
  await timeline.runUntil(timeline.now + withinMs, () => violations.any)
  for (const id of ids)
    if (!ledger.wasCompleted(id))
      violations.add('P14', `${host.name} has not handled "${id}" within ${withinMs} ms`)
}

async function putProbes(
  world: World,
  host: Host,
  topic: string,
  name: string,
  { delayMs = 100, ...key }: { readonly delayMs?: number; readonly key?: string } = {},
): Promise<readonly string[]> {
  const ids = Array.from({ length: PROBES }, (_, i) => `${name} probe ${i} ${host.name}`)
  const messages = ids.map((id) => ({ id, topic, body: '', meta: '', priority: 1 as const, ...key }))
  for (const message of messages)
    await world.direct().put([{ ...message, when: { delayMs }, ifExists: 'keep' }])
  return ids
}
