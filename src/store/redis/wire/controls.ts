/** Pauses and limits as their scripts want them, and as `scripts/parts/controls.lua` keeps them. */
import { CONTROLS_MAX, FOREVER, type TopicControl } from '../../../core/controls.ts'
import { assertNever } from '../../../core/errors.ts'
import type { ControlChange, ControlsReply } from '../../contract/store.ts'
import { describeControls } from '../../shared/controls.ts'
import { momentArg } from './put.ts'

export function controlArgs(change: ControlChange): string[] {
  return [change.kind, change.topic, CONTROLS_MAX, ...operands(change)].map(String)
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
      const { rate, concurrency = 0 } = change.limit ?? {}
      return [rate?.intervalMs ?? 0, rate?.burst ?? 0, concurrency]
    }
    default:
      return assertNever(change)
  }
}

export function controlsReply(reply: readonly unknown[]): ControlsReply {
  const [nowText, ...rows] = reply as readonly string[]
  const now = Number(nowText)
  const controls: [string, TopicControl][] = []
  for (let at = 0; at + 1 < rows.length; at += 2)
    controls.push([rows[at] ?? '', decodeControl(rows[at + 1] ?? '')])
  return { now, controls: describeControls(controls, now) }
}

function decodeControl(record: string): TopicControl {
  const numbers = record.split(' ').map((word) => (word === 'F' ? FOREVER : Number(word) || 0))
  const [pausedUntil = 0, intervalMs = 0, burst = 0, filledAt = 0, concurrency = 0] = numbers
  const [overInterval = 0, overBurst = 0, overFilledAt = 0, endsAt = 0] = numbers.slice(5)
  return {
    pausedUntil,
    limit: {
      ...(intervalMs > 0 ? { rate: { intervalMs, burst } } : {}),
      ...(concurrency > 0 ? { concurrency } : {}),
    },
    ...(overInterval > 0 ? { over: { intervalMs: overInterval, burst: overBurst, endsAt } } : {}),
    filledAt,
    overFilledAt,
  }
}
