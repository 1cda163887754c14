/** What every part of one simulation shares. */
import type { Store } from '../../src/store/contract/store.ts'
import type { Chance } from './chance.ts'
import type { EffectOrder } from './effect-order.ts'
import type { Fairness } from '../judges/fairness.ts'
import type { History } from '../judges/history.ts'
import type { Ledgers } from '../judges/ledgers.ts'
import type { Partition } from './partition.ts'
import type { Plan } from '../plan.ts'
import type { ScheduleEdits } from '../judges/schedule-edits.ts'
import type { Tally } from '../judges/tally.ts'
import type { Timeline } from './timeline.ts'
import type { Violations } from '../judges/violations.ts'
import type { Weather } from './weather.ts'

export type World = {
  readonly plan: Plan
  readonly chance: Chance
  readonly timeline: Timeline
  readonly partitions: readonly Partition[]
  /** Where the message with this id lives. */
  readonly home: (id: string) => Partition
  readonly store: Store
  readonly ledger: Ledgers
  readonly fairness: Fairness
  readonly scheduleEdits: ScheduleEdits
  /** The store without a line that could fail, watched like every other. */
  readonly direct: () => Store
  readonly effectOrder: EffectOrder
  readonly weather: Weather
  readonly history: History
  readonly violations: Violations
  readonly tally: Tally
}

/** 2030-01-01: the moment at which every simulation begins. */
export const BEGINS_AT = Date.UTC(2030, 0, 1)
