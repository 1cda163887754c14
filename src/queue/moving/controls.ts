/** Pauses and limits: what held before a move, and what holds in the target after it. */
import { SCHEDULES_TOPIC } from '../../core/control.ts'
import { FOREVER, WHOLE_QUEUE } from '../../core/controls.ts'
import { UsageError } from '../../core/errors.ts'
import type { ControlChange, ControlState, Store } from '../../store/contract/store.ts'
import { assertWhole } from './walking.ts'

const KEYS_PAGE = 100

export async function readControls(store: Store): Promise<readonly ControlState[]> {
  const { controls, missing } = await store.controls()
  assertWhole(missing)
  return controls
}

/** Throws where the target cannot keep a limit of the source: before anything is changed. */
export function assertCarried(controls: readonly ControlState[], target: Store): void {
  const { features } = target.capabilities
  const isKeyed = controls.some(({ limit, hasKeyLimits }) => limit?.perKey ?? hasKeyLimits)
  if (isKeyed && !features.includes('keys'))
    throw new UsageError(
      'UNSUPPORTED',
      'the target has no keys, and the source has limits for keys; take them back with "punctual limit TOPIC --none" first.',
      { value: 'keys' },
    )
  if (features.includes('limits')) return
  const limited = controls.filter(({ limit, over }) => limit !== undefined || over !== undefined)
  if (limited.length === 0) return
  const names = limited.map(({ topic }) => (topic === WHOLE_QUEUE ? 'the whole queue' : `"${topic}"`))
  throw new UsageError(
    'UNSUPPORTED',
    `the target keeps no limits, and the source has one for ${names.join(', ')}; take it back with "punctual limit TOPIC --none" first.`,
    { value: names },
  )
}

export type CarriedControls = {
  /** Topics whose pause or limit now holds in the target; '' is the whole queue. */
  readonly carried: readonly string[]
  /** Topics that had one in the target already, which stays. */
  readonly kept: readonly string[]
}

/** All but the pause of the whole queue, which still holds the target. */
export async function carryControls(
  controls: readonly ControlState[],
  target: Store,
  before: readonly ControlState[],
): Promise<CarriedControls> {
  const { now } = await target.controls()
  const own = new Set(before.map(({ topic }) => topic))
  const theirs = controls.filter(({ topic }) => topic !== SCHEDULES_TOPIC)
  const carried = theirs.filter(({ topic }) => !own.has(topic))
  for (const control of carried) {
    for (const change of changesFor(control, now)) {
      if (change.topic !== WHOLE_QUEUE || change.kind === 'limit') await target.control(change)
    }
  }
  return {
    carried: carried.map(({ topic }) => topic),
    kept: theirs.flatMap(({ topic }) => (own.has(topic) ? [topic] : [])),
  }
}

/** The limits of single keys, of topics whose controls were carried. */
export async function carryKeyLimits(
  controls: readonly ControlState[],
  { from, to }: { readonly from: Store; readonly to: Store },
  carried: readonly string[],
): Promise<void> {
  for (const { topic, hasKeyLimits } of controls) {
    if (hasKeyLimits === undefined || !carried.includes(topic)) continue
    let cursor: string | undefined
    do {
      const page = await from.keys({ topic, limit: KEYS_PAGE, ...(cursor === undefined ? {} : { cursor }) })
      assertWhole(page.missing)
      for (const { key, limit } of page.keys)
        if (limit !== undefined) await to.control({ kind: 'limit', topic, key, limit })
      cursor = page.cursor
    } while (cursor !== undefined)
  }
}

/** The target goes on, unless it or the source was paused before the move: then the answer is false. */
export async function goOn(
  target: Store,
  before: readonly ControlState[],
  controls: readonly ControlState[],
): Promise<boolean> {
  const { now } = await target.controls()
  await target.control({ kind: 'resume', topic: SCHEDULES_TOPIC })
  const held = ofQueue(before) ?? ofQueue(controls)
  const changes = held === undefined ? [] : changesFor(held, now).filter(({ kind }) => kind !== 'limit')
  if (changes.length === 0) await target.control({ kind: 'resume', topic: WHOLE_QUEUE })
  for (const change of changes) await target.control(change)
  return !changes.some(({ kind }) => kind === 'pause')
}

function ofQueue(controls: readonly ControlState[]): ControlState | undefined {
  return controls.find(({ topic }) => topic === WHOLE_QUEUE)
}

/** What brings an uncontrolled topic to this. A pause ends a temporary rate, so that it has only one of them. */
function changesFor({ topic, pausedUntil, limit, over }: ControlState, now: number): ControlChange[] {
  const changes: ControlChange[] = []
  if (limit !== undefined) changes.push({ kind: 'limit', topic, limit })
  if (pausedUntil !== undefined && pausedUntil > now)
    changes.push({
      kind: 'pause',
      topic,
      ...(pausedUntil === FOREVER ? {} : { until: { at: pausedUntil } }),
    })
  else if (over !== undefined && over.endsAt > now) {
    const { intervalMs, burst, endsAt } = over
    changes.push({ kind: 'resume', topic, over: { intervalMs, burst, ms: endsAt - now } })
  }
  return changes
}
