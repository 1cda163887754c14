/** P19, worked out apart from the code that it judges: whether the clock on the wall shows a time outside a window. */
import type { TimeWindow } from '../../src/core/windows/windows.ts'
import type { Settlement } from '../../src/store/contract/store.ts'
import type { LeaseRecord } from './lease-record.ts'

const formats = new Map<string, Intl.DateTimeFormat>()

/** One window, without days: open from `from` to `to`. */
export function isQuiet({ from = '00:00', to = '24:00', zone }: TimeWindow, at: number): boolean {
  const format =
    formats.get(zone) ??
    new Intl.DateTimeFormat('sv-SE', { timeZone: zone, hour: '2-digit', minute: '2-digit' })
  formats.set(zone, format)
  const time = format.format(at)
  return from < to ? time < from || time >= to : time >= to && time < from
}

/** Whether it was quiet all the time between two moments by the store's clock: then it cannot have started in between. */
export function wasQuiet(window: TimeWindow, fromAt: number, untilAt: number): boolean {
  for (let at = fromAt; at < untilAt; at += 60_000) if (!isQuiet(window, at)) return false
  return isQuiet(window, fromAt) && isQuiet(window, untilAt)
}

/** What is wrong with a move by a window; undefined when nothing is. */
export function judgeMove(
  { when, keepsLapses }: Extract<Settlement, { kind: 'again' }>,
  { policy: { window }, startedAt }: LeaseRecord,
): string | undefined {
  if (window === undefined) return 'it has no window'
  if (startedAt !== undefined) return 'its handler started'
  if (keepsLapses !== true) return 'its lapses are not kept'
  if (!('at' in when)) return 'its moment depends on when it is settled'
  if (isQuiet(window, when.at)) return 'its window is closed at the new moment, too'
  return isQuiet(window, when.at - 1) ? undefined : 'its window was open before the new moment'
}
