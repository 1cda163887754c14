/** How a control changes, and how people see it: for engines that keep controls as rows. */
import {
  CONTROLS_MAX,
  FOREVER,
  isOver,
  limited,
  paused,
  resumed,
  withKeyLimits,
  type TopicControl,
} from '../../core/controls.ts'
import { UsageError, assertNever } from '../../core/errors.ts'
import { KEY_LIMITS_MAX, type KeyLimit } from '../../core/keys.ts'
import type { ControlChange, ControlState } from '../contract/store.ts'
import { dueAtOf } from './moments.ts'

/** Changes one of them, and forgets those of which nothing is left. */
export function changeControls(
  controls: Map<string, TopicControl>,
  change: ControlChange,
  now: number,
): void {
  keepControl(controls, change.topic, applied(controls.get(change.topic), change, now), now)
}

function keepControl(
  controls: Map<string, TopicControl>,
  topic: string,
  after: TopicControl,
  now: number,
): void {
  for (const [name, control] of controls) if (isOver(control, now)) controls.delete(name)
  if (isOver(after, now)) {
    controls.delete(topic)
    return
  }
  if (!controls.has(topic) && controls.size >= CONTROLS_MAX) throw tooManyControls(topic)
  controls.set(topic, after)
}

/** Limits of single keys, by topic and key. */
export type KeyLimits = Map<string, Map<string, KeyLimit>>

export type KeyLimitChange = Extract<ControlChange, { key: string }>
/** How many keys of the topic have limits of their own, and whether this one has. */
export type KnownKeyLimits = { readonly count: number; readonly isThere: boolean }

/** What the control of a topic says after the limit of one of its keys has changed. */
export function noteKeyLimit(
  controls: Map<string, TopicControl>,
  { topic, key, limit }: KeyLimitChange,
  { count, isThere }: KnownKeyLimits,
  now: number,
): void {
  if (limit !== null && !isThere && count >= KEY_LIMITS_MAX) throw tooManyKeyLimits(topic, key)
  const isAny = limit !== null || count > (isThere ? 1 : 0)
  keepControl(controls, topic, withKeyLimits(controls.get(topic), isAny), now)
}

/** Sets the limit of one key, or takes it back; the control of its topic says whether there are any. */
export function changeKeyLimit(
  controls: Map<string, TopicControl>,
  keyLimits: KeyLimits,
  change: KeyLimitChange,
  now: number,
): void {
  const { topic, key, limit } = change
  const limits = keyLimits.get(topic) ?? new Map<string, KeyLimit>()
  noteKeyLimit(controls, change, { count: limits.size, isThere: limits.has(key) }, now)
  if (limit === null) limits.delete(key)
  else limits.set(key, limit)
  if (limits.size > 0) keyLimits.set(topic, limits)
  else keyLimits.delete(topic)
}

export function tooManyKeyLimits(topic: string, key: string): UsageError {
  return new UsageError(
    'CONTROLS_TOO_MANY',
    `${KEY_LIMITS_MAX} keys of "${topic}" have limits of their own already; take some of them back before "${key}" gets one.`,
    { value: key },
  )
}

function applied(control: TopicControl | undefined, change: ControlChange, now: number): TopicControl {
  switch (change.kind) {
    case 'limit':
      return limited(control, change.limit)
    case 'pause':
      return paused(control, change.until === undefined ? FOREVER : Math.ceil(dueAtOf(change.until, now)))
    case 'resume': {
      if (change.over === undefined) return resumed(control, undefined)
      const { intervalMs, burst, ms } = change.over
      return resumed(control, { intervalMs, burst, endsAt: Math.ceil(now + ms) })
    }
    default:
      return assertNever(change)
  }
}

export function tooManyControls(topic: string): UsageError {
  return new UsageError(
    'CONTROLS_TOO_MANY',
    `${CONTROLS_MAX} topics of this queue have a pause or a limit already; resume some of them, or take limits back, before "${topic}" gets one.`,
    { value: topic },
  )
}

/** Those that hold now, by topic. */
export function describeControls(
  controls: Iterable<readonly [topic: string, control: TopicControl]>,
  now: number,
): ControlState[] {
  const found: ControlState[] = []
  for (const [topic, control] of controls)
    if (!isOver(control, now)) found.push(described(topic, control, now))
  return found.toSorted((a, b) => (a.topic < b.topic ? -1 : 1))
}

function described(topic: string, control: TopicControl, now: number): ControlState {
  const { pausedUntil, limit, hasKeyLimits = false, over } = control
  return {
    topic,
    ...(pausedUntil > now ? { pausedUntil } : {}),
    ...(Object.keys(limit).length === 0 ? {} : { limit }),
    ...(hasKeyLimits ? { hasKeyLimits } : {}),
    ...(over === undefined || over.endsAt <= now ? {} : { over }),
  }
}
