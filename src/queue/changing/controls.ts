/** Pausing, resuming and limiting, and how what holds now is shown. */
import { isControl } from '../../core/control.ts'
import { FOREVER, WHOLE_QUEUE, type Allowance, type TopicLimit } from '../../core/controls.ts'
import { burstOf, formatRate, type Rate } from '../../core/input/limits.ts'
import { describe } from '../../core/errors.ts'
import type { ControlState, Store } from '../../store/contract/store.ts'
import { countDueBefore } from '../looking/forecast.ts'

export type FoundControl = {
  /** Absent: the whole queue. */
  readonly topic?: string
  /** Nothing of it starts. `until`: epoch milliseconds, for a pause that ends by itself. */
  readonly paused?: { readonly until?: number }
  readonly limit?: FoundLimit
  /** Some of its keys have limits of their own: `keys` tells which. */
  readonly hasKeyLimits?: true
  /** It was resumed over some time: so many start until then. */
  readonly over?: { readonly rate: Rate; readonly until: number }
}

/** As `limit` takes it. */
export type FoundLimit = FoundAllowance & { readonly perKey?: FoundAllowance }
export type FoundAllowance = { readonly rate?: Rate; readonly burst?: number; readonly concurrency?: number }

/** `overMs`: a rate that lets what is due by then start within this time, and ends with it. */
export async function resume(
  store: Store,
  topic: string | undefined,
  overMs: number | undefined,
  now: number,
): Promise<void> {
  const change = { kind: 'resume', topic: topic ?? WHOLE_QUEUE } as const
  if (overMs === undefined) return store.control(change)
  const { count } = await countDueBefore(store, topic, now + overMs)
  if (count === 0) return store.control(change)
  const intervalMs = overMs / count
  await store.control({ ...change, over: { intervalMs, burst: burstOf(intervalMs), ms: overMs } })
}

/** What holds now. */
export type ControlsInForce = {
  readonly all: readonly FoundControl[]
  readonly whole: FoundControl | undefined
  readonly byTopic: ReadonlyMap<string, FoundControl>
}

const NONE: ControlsInForce = { all: [], whole: undefined, byTopic: new Map() }

/** None on an engine without controls. A move pauses topics of our own too, which people do not know. */
export async function readControls(store: Store): Promise<ControlsInForce> {
  if (!store.capabilities.features.includes('controls')) return NONE
  const { controls } = await store.controls()
  const all = controls.filter(({ topic }) => !isControl(topic)).map(present)
  return {
    all,
    whole: all.find(({ topic }) => topic === undefined),
    byTopic: new Map(
      all.flatMap((control) => (control.topic === undefined ? [] : [[control.topic, control]])),
    ),
  }
}

/** The pause that holds a topic back, its own or that of the whole queue. */
export function pauseOf({ whole, byTopic }: ControlsInForce, topic: string): FoundControl | undefined {
  return [byTopic.get(topic), whole].find((control) => control?.paused !== undefined)
}

/** The limits that hold for a topic, its own and those of the whole queue. */
export function limitsOf({ whole, byTopic }: ControlsInForce, topic: string): readonly FoundControl[] {
  return [byTopic.get(topic), whole].filter(
    (control) => control !== undefined && (control.limit !== undefined || control.over !== undefined),
  ) as readonly FoundControl[]
}

function present({ topic, pausedUntil, limit, hasKeyLimits, over }: ControlState): FoundControl {
  return {
    ...(topic === WHOLE_QUEUE ? {} : { topic }),
    ...(pausedUntil === undefined ? {} : { paused: pausedUntil === FOREVER ? {} : { until: pausedUntil } }),
    ...(limit === undefined ? {} : { limit: presentLimit(limit) }),
    ...(hasKeyLimits === undefined ? {} : { hasKeyLimits }),
    ...(over === undefined ? {} : { over: { rate: formatRate(over.intervalMs), until: over.endsAt } }),
  }
}

function presentLimit({ perKey, ...limit }: TopicLimit): FoundLimit {
  const own = presentAllowance(limit)
  return perKey === undefined ? own : { ...own, perKey: presentAllowance(perKey) }
}

export function presentAllowance({ rate, concurrency }: Allowance): FoundAllowance {
  return {
    ...(rate === undefined ? {} : { rate: formatRate(rate.intervalMs), burst: rate.burst }),
    ...(concurrency === undefined ? {} : { concurrency }),
  }
}

/** "topic "a"", or "the whole queue". */
export function nameOfControl({ topic }: FoundControl): string {
  return topic === undefined ? 'the whole queue' : `topic ${describe(topic)}`
}
