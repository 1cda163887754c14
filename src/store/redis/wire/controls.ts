/** Pauses and limits as their scripts want them, and as `scripts/parts/controls.lua` keeps them. */
import { CONTROLS_MAX, FOREVER, type Allowance, type TopicControl } from '../../../core/controls.ts'
import { assertNever } from '../../../core/errors.ts'
import { KEY_LIMITS_MAX } from '../../../core/keys.ts'
import type { ControlChange, ControlsReply } from '../../contract/store.ts'
import { describeControls, type KeyLimitChange } from '../../shared/controls.ts'
import { momentArg } from './put.ts'

export function controlArgs(change: ControlChange): string[] {
  const kind = isOfKey(change) ? 'key' : change.kind
  return [kind, change.topic, CONTROLS_MAX, ...operands(change)].map(String)
}

function isOfKey(change: ControlChange): change is KeyLimitChange {
  return change.kind === 'limit' && change.key !== undefined
}

function operands(change: ControlChange): readonly (number | string)[] {
  switch (change.kind) {
    case 'pause':
      return [change.until === undefined ? '' : momentArg(change.until)]
    case 'resume':
      return change.over === undefined
        ? [0, 0, 0]
        : [change.over.intervalMs, change.over.burst, change.over.ms]
    case 'limit': {
      if (isOfKey(change)) return keyOperands(change)
      const { perKey, ...own } = change.limit ?? {}
      return [...allowance(own), ...allowance(perKey ?? {})]
    }
    default:
      return assertNever(change)
  }
}

function keyOperands({ key, limit }: KeyLimitChange): readonly (number | string)[] {
  const { weight = 0, ...own } = limit ?? {}
  return [key, limit === null ? 'drop' : 'set', weight, ...allowance(own), KEY_LIMITS_MAX]
}

function allowance({ rate, concurrency = 0 }: Allowance): readonly number[] {
  return [rate?.intervalMs ?? 0, rate?.burst ?? 0, concurrency]
}

export function controlsReply(reply: readonly unknown[]): ControlsReply {
  const [nowText, ...rows] = reply as readonly string[]
  const now = Number(nowText)
  const controls: [string, TopicControl][] = []
  for (let at = 0; at + 1 < rows.length; at += 2)
    controls.push([rows[at] ?? '', decodeControl(rows[at + 1] ?? '')])
  return { now, controls: describeControls(controls, now) }
}

/** Behind the nine numbers and a letter. */
const OF_KEYS_AT = 10

function decodeControl(record: string): TopicControl {
  const numbers = record.split(' ').map((word) => (word === 'F' ? FOREVER : Number(word) || 0))
  const [pausedUntil = 0, intervalMs = 0, burst = 0, filledAt = 0, concurrency = 0] = numbers
  const [overInterval = 0, overBurst = 0, overFilledAt = 0, endsAt = 0] = numbers.slice(5)
  const perKey = allowanceOf(numbers.slice(OF_KEYS_AT))
  return {
    pausedUntil,
    limit: {
      ...allowanceOf([intervalMs, burst, concurrency]),
      ...(Object.keys(perKey).length === 0 ? {} : { perKey }),
    },
    ...(numbers[OF_KEYS_AT + 3] === 1 ? { hasKeyLimits: true } : {}),
    ...(overInterval > 0 ? { over: { intervalMs: overInterval, burst: overBurst, endsAt } } : {}),
    filledAt,
    overFilledAt,
  }
}

/** Interval, burst and concurrency; 0 where there is none. */
export function allowanceOf([intervalMs = 0, burst = 0, concurrency = 0]: readonly number[]): Allowance {
  return {
    ...(intervalMs > 0 ? { rate: { intervalMs, burst } } : {}),
    ...(concurrency > 0 ? { concurrency } : {}),
  }
}
