/** One key of a topic, as the memory engine keeps it: see `keys`. */
import { FRESH_TURN, type KeyTurn } from '../../../core/keys.ts'
import { PRIORITIES, type PriorityRank } from '../../../core/message.ts'
import { ReadyLine } from '../line.ts'

export const RANKS = [...PRIORITIES.keys()] as readonly PriorityRank[]

/** The first message of a key, in the line of its topic. */
export type KeyStand = { readonly slot: number; readonly turn: number; readonly order: number }

export type Key = {
  readonly name: string
  readonly number: number
  /** The slots that wait, and by priority their order. */
  readonly waiting: Set<number>
  readonly queues: readonly ReadyLine[]
  /** By priority. */
  readonly turns: KeyTurn[]
  readonly standing: (KeyStand | undefined)[]
  /** Retries, and what lapsed, while the key was serial. */
  readonly held: Set<number>
  running: number
  filledAt: number
  /** When it goes on by itself; Infinity where it does not rest. */
  restsUntil: number
  /** Empty, and kept until its rate has recovered; Infinity while something waits or runs. */
  recoversAt: number
}

/** What may be handed out of a key. */
export type KeyLook = {
  /** The earliest of the retries that hold it. */
  readonly holder: number | undefined
  /** By priority. */
  readonly heads: readonly (number | undefined)[]
  readonly firstDueAt: number
  /** When it may be handed something; undefined: nothing waits, or something else must happen first. */
  readonly turnAt: number | undefined
  /** When its rate allows a start. */
  readonly opensAt: number
}

export function freshKey(
  name: string,
  number: number,
  waiting: Set<number>,
  isThere: (slot: number, dueAt: number, order: number) => boolean,
): Key {
  return {
    name,
    number,
    waiting,
    queues: RANKS.map(() => new ReadyLine(isThere)),
    turns: RANKS.map(() => FRESH_TURN),
    standing: RANKS.map(() => undefined),
    held: new Set(),
    running: 0,
    filledAt: 0,
    restsUntil: Infinity,
    recoversAt: Infinity,
  }
}

export function turnOf({ turns }: Key, rank: PriorityRank, dueAt: number): number {
  return Math.max(dueAt, (turns[rank] ?? FRESH_TURN).servedAt)
}
