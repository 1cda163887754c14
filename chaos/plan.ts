/** The plan of a storm: which fault when, to whom, for how long. One seed, one plan; what it does to whom is real. */
import { Chance } from '../simulation/world/chance.ts'

/** Done to processes; the same on every engine. */
export const PROCESS_FAULTS = {
  'kill worker': 5,
  'kill producer': 3,
  'freeze worker': 4,
  'freeze producer': 2,
  'restart worker': 3,
  'kill everybody': 0.5,
} as const

export type EngineFaults = Readonly<Record<string, number>>

export type PlannedFault = {
  /** After the beginning of the storm. */
  readonly afterMs: number
  readonly kind: string
  /** Which of the candidates, as a share of their number: who they are is known when it happens. */
  readonly pick: number
  readonly lastsMs: number
}

const PROCESS_GAP_MS = 3_000
const LASTS_MS_MIN = 100
const LASTS_MS_MAX = 5_000

export type Storm = {
  readonly seed: number
  readonly stormMs: number
  readonly engineFaults: EngineFaults
  readonly engineGapMs: number
}

export function planFaults({ seed, stormMs, engineFaults, engineGapMs }: Storm): PlannedFault[] {
  const chance = new Chance(seed, 'plan')
  return [
    ...series(chance.stream('processes'), stormMs, PROCESS_GAP_MS, PROCESS_FAULTS),
    ...series(chance.stream('engine'), stormMs, engineGapMs, engineFaults),
  ].toSorted((a, b) => a.afterMs - b.afterMs)
}

function series(chance: Chance, stormMs: number, gapMsMax: number, weights: EngineFaults): PlannedFault[] {
  const planned: PlannedFault[] = []
  if (Object.keys(weights).length === 0) return planned
  for (let afterMs = chance.whole(500, gapMsMax); afterMs < stormMs; afterMs += chance.whole(200, gapMsMax)) {
    planned.push({
      afterMs,
      kind: chance.weighted(weights),
      pick: chance.next(),
      lastsMs: chance.spread(LASTS_MS_MIN, LASTS_MS_MAX),
    })
  }
  return planned
}
