/** Where keys stand after a round of a claim: what their rows of `punctual_turn` say then. */
import { joined, listed, sql, type Statement } from '../../sql/statement.ts'
import type { KeyShare } from './round.ts'

/** What others have locked is worth asking for again soon, not at once. */
const SKIPPED_MICROS = 20_000
/** No priority: up to when the rate of a key is used. */
export const RATE = 3

export type GivenShare = {
  readonly share: KeyShare
  /** Its messages that are leased now, and those that turned out to be locked by others. */
  readonly given: ReadonlySet<number>
  readonly missed: number
}

export type RoundMoment = {
  readonly priority: number
  readonly now: number
  readonly until: number
  readonly stamp: number
  /** The next number of the topic. */
  readonly number: () => number
}

type TurnRow = {
  readonly key: string
  readonly servedAt: number
  readonly used: number
  readonly dueAt: number
  readonly tie: number
  readonly nextAt: number | null
  readonly held: number | null
}

/** Its rate is charged already. Undefined: nothing of this priority waits any more. */
export function turnAfter({ share, given, missed }: GivenShare, end: RoundMoment): TurnRow | undefined {
  const { member, quota, slots, starts, free } = share
  const { terms, holder, used, servedAt } = member
  const head = member.first.find(({ seq }) => !given.has(seq))
  if (head === undefined) return undefined
  const count = given.size
  const isMoved = count > 0 && used + count >= terms.weight
  const isFull = slots <= count
  const isHeld = holder !== undefined && count === 0
  const isSpent = starts <= count
  // What turned out to be locked just now is looked past in the next round.
  const isLocked =
    missed === 0 &&
    count === free.length &&
    count < Math.min(quota, slots, starts) &&
    (holder ?? head).dueAt <= end.until
  const served = isMoved ? end.stamp : servedAt
  const nextAt = ((): number | null => {
    // In whole milliseconds, as workers ask.
    const opensAt = isSpent ? Math.ceil(member.meter?.againAt ?? 0) * 1000 : 0
    if (isFull || (isHeld && holder.priority !== end.priority)) return null
    if (isHeld && !isLocked) return Math.max(holder.dueAt, served, opensAt)
    if (isSpent) return Math.max(head.dueAt, served, opensAt)
    return isLocked ? end.now + SKIPPED_MICROS : Math.max(head.dueAt, served)
  })()
  return {
    key: member.key,
    servedAt: served,
    used: isMoved ? 0 : used + count,
    dueAt: head.dueAt,
    tie: head.dueAt > served ? head.seq : isMoved ? end.number() : member.tie,
    nextAt,
    held: isFull || isHeld || isSpent ? end.number() : null,
  }
}

export type RoundTurns = {
  readonly statements: readonly Statement[]
  /** Some of these keys may be handed out once more at once. */
  readonly isMore: boolean
}

export function turnsAfter(
  { queue, topic }: { readonly queue: number; readonly topic: string },
  all: readonly GivenShare[],
  end: RoundMoment,
): RoundTurns {
  for (const { share, given } of all) share.member.meter?.charge(given.size)
  const rows = all.map((one) => turnAfter(one, end))
  const gone = all.flatMap(({ share }, i) => (rows[i] === undefined ? [share.member.key] : []))
  const there = rows.filter((row) => row !== undefined)
  const written = there.map(
    ({ key, servedAt, used, dueAt, tie, nextAt, held }) =>
      sql`(${queue}, ${topic}, ${key}, ${end.priority}, ${servedAt}, ${used}, ${dueAt}, ${tie}, ${nextAt}, ${held})`,
  )
  const rates = all.flatMap(({ share, given }) => {
    const { key, meter } = share.member
    if (meter === undefined || given.size === 0) return []
    const filled = Math.ceil(meter.filledAt * 1000)
    return [sql`(${queue}, ${topic}, ${key}, ${RATE}, ${filled}, 0, 0, 0, ${filled}, null)`]
  })
  return {
    statements: [
      ...(gone.length === 0 ? [] : [deleteTurns(queue, topic, gone, end.priority)]),
      ...setTurns([...written, ...rates]),
    ],
    isMore: there.some(({ nextAt }) => nextAt !== null && nextAt <= Math.max(end.until, end.stamp)),
  }
}

function setTurns(rows: readonly Statement[]): Statement[] {
  if (rows.length === 0) return []
  return [
    sql`insert into punctual_turn (queue, topic, its_key, priority, served_at, used, due_at, seq, next_at, held)
      values ${joined(rows, ', ')} on duplicate key update served_at = values(served_at), used = values(used),
        due_at = values(due_at), seq = values(seq), next_at = values(next_at), held = values(held)`,
  ]
}

export function deleteTurns(
  queue: number,
  topic: string,
  keys: readonly string[],
  priority: number,
): Statement {
  return sql`delete r from ${listed(keys)} straight_join punctual_turn as r force index (primary)
    on r.queue = ${queue} and r.topic = ${topic} and r.its_key = d.value and r.priority = ${priority}`
}
