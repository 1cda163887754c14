/**
 * The windows of one simulation: each is open all day but for a quiet time, which falls into the storm, so that what a storm of
 * minutes brings there is moved by minutes.
 */
import type { TimeWindow } from '../src/core/windows/windows.ts'
import type { Chance } from './world/chance.ts'
import { BEGINS_AT } from './world/world.ts'

export type WindowPlan = {
  /** None: messages have no window. */
  readonly list: readonly TimeWindow[]
  /** Of messages that have one. */
  readonly share: number
  /** No quiet time is longer. */
  readonly quietMsMax: number
}

/** The share of simulations with windows. */
const WINDOWED = 0.4
const COUNT_MAX = 3
const MINUTE_MS = 60_000
const QUIET_MINUTES_MAX = 6 * 60
/** Offsets by which a wall shows something else than UTC, without a change of clocks in January. */
const ZONES = { UTC: 0, 'Asia/Kolkata': 330, 'America/New_York': -300 } as const

export const NO_WINDOWS: WindowPlan = { list: [], share: 0, quietMsMax: 0 }

export function drawWindows(chance: Chance, stormMs: number): WindowPlan {
  if (!chance.happens(WINDOWED)) return NO_WINDOWS
  const stormMinutes = Math.floor(stormMs / MINUTE_MS)
  const quietMinutesMax = Math.max(1, Math.min(QUIET_MINUTES_MAX, Math.floor(stormMinutes / 3)))
  const list = Array.from({ length: chance.whole(1, COUNT_MAX) }, (): TimeWindow => {
    const [zone = 'UTC', offset = 0] = chance.pick(Object.entries(ZONES)) ?? []
    const quietFrom = BEGINS_AT / MINUTE_MS + offset + chance.whole(0, stormMinutes)
    const quietTo = quietFrom + chance.whole(1, quietMinutesMax)
    return { from: timeText(quietTo), to: timeText(quietFrom), zone }
  })
  return { list, share: chance.pick([0.1, 0.5, 1]), quietMsMax: quietMinutesMax * MINUTE_MS }
}

/** `HH:MM` of a wall, in minutes since 1970. */
function timeText(minutes: number): string {
  return new Date(minutes * MINUTE_MS).toISOString().slice(11, 16)
}
