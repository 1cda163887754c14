/** A store to be stormed: where its processes find it, what can be done to it, and what must be there in the end. */
import type { Log } from '../children/log.mjs'
import type { EngineFaults } from '../plan.ts'

export const ENGINE_NAMES = ['redis', 'cluster', 'postgres', 'mysql', 'file'] as const
export type EngineName = (typeof ENGINE_NAMES)[number]

export interface Engine {
  readonly name: EngineName
  /** What the reader should know before the storm, such as a fault that cannot be had here. */
  readonly remarks: readonly string[]
  /** By weight; none when nothing can be done to it here. */
  readonly faults: EngineFaults
  /** At most so long after one comes the next. */
  readonly faultGapMs: number
  /** A process that is frozen in a transaction keeps everybody from the store. */
  readonly isFreezeForAll: boolean
  /** Whether topics can have limits. */
  readonly hasLimits: boolean
  /** The store as the process of this place sees it; '' for the line that is never cut. */
  urlFor(place: string): Promise<string>
  /** Does it to the store or to the line of one place, for so long, and undoes it. */
  inflict(kind: string, strike: Strike): Promise<void>
  /** Undoes what a fault left behind. */
  heal(): Promise<void>
  /** Numbers that must stay flat. */
  sample(log: Log): Promise<void>
  /** Faults after which it may have forgotten leases of the last moment: those messages are handed out again, uncounted. */
  readonly forgets: readonly string[]
  /** What its doctor rightly complains about here, and never means damage. */
  isExpected(complaint: string): boolean
  /** What is in the store though nothing should be. */
  leftovers(): Promise<readonly string[]>
  end(): Promise<void>
}

export type Strike = {
  readonly lastsMs: number
  /** Places with a line to the store. */
  readonly places: readonly string[]
  readonly pick: number
  /** Says whom it hits, with the name of a place or of a part of the engine, before it does. */
  readonly begins: (target: string, isForAll: boolean) => void
}
