/**
 * Hands out what is due (P1, P3, P6, P7).
 *
 *   look       when the first of each topic is due; mostly that is all. Left out where something is due for sure
 *   lock       of each topic and priority that has something due, by priority, at most so many; what somebody else has locked
 *              is skipped. Rows come with their content, but for large ones, which may not fit
 *   lease      those that fit, and commit
 *
 * What is locked and does not fit is free again with the commit.
 *
 * A locking scan of the index that ends for want of more locks the entry behind the last one, too, until the commit: the first
 * of another topic or queue, which others would skip, and come late to. So a claim reads without locks and locks by key. Only
 * a scan gets past what others have locked, and so there is one where something due was left behind, or all is locked.
 */
import type { LeaseRow } from '../../../sql/rows.ts'
import { NOW, nowOf, setClock, type QueuePlace } from '../../sql/clock.ts'
import { NOTHING, sql, type Statement } from '../../sql/statement.ts'
import type { Rows, Steps } from '../../transactions.ts'
import { hasKeys } from '../keys/topics.ts'
import { byPriority, lookFrom, toHeads, type TopicHead } from './heads.ts'
import {
  Room,
  SMALL_BYTES_MAX,
  lockStatement,
  toLeaseRow,
  type DueTerms,
  type HeadPick,
  type LockWay,
} from './picking.ts'
import { countOf, deltaStatements } from '../write/row-set.ts'

/** At most so many rows are locked in one flight. */
const LOCKED_MAX = 2_000
/** What others have locked is worth asking for again soon, not at once: their transactions may take their time. */
const SKIPPED_MICROS = 20_000
const ATTEMPTS_MAX = 2_147_483_646

/** Why a claim must go another way: the queue has pauses or limits, or keys. */
export type NotFree = 'controlled' | 'keyed'

export function refusalOf(rows: Rows | undefined): NotFree | undefined {
  const [row] = rows ?? []
  if (Number(row?.['is_controlled']) === 1) return 'controlled'
  return Number(row?.['is_keyed']) === 1 ? 'keyed' : undefined
}

export type Taken = {
  readonly rows: readonly LeaseRow[]
  readonly now: number
  /** The first moments after the claim. */
  readonly left: readonly TopicHead[]
  /** How many of each topic. */
  readonly taken: readonly number[]
}

/** What is due, by priority and in the order of wants. */
export function dueHeads(heads: readonly TopicHead[], { leads }: DueTerms, now: number): TopicHead[] {
  return heads.filter(({ topic, at }) => at <= now + (leads[topic] ?? 0))
}

/** Takes what is due of these. `write`: what else belongs to the same commit. */
export async function take(
  steps: Steps,
  { queue }: QueuePlace,
  terms: DueTerms,
  { heads, now }: { readonly heads: readonly TopicHead[]; readonly now: number },
  write: (taken: readonly number[]) => readonly Statement[],
): Promise<Taken> {
  const picks = await lockDue(steps, queue, terms, { heads, now, way: 'keys' })
  return leasePicked(steps, queue, terms, { picks, heads, now, write })
}

/** Whether one flight may lock what is wanted of these. */
export function mayTakeAtOnce(terms: DueTerms, heads: readonly TopicHead[]): boolean {
  const room = new Room(terms)
  return heads.reduce((rows, head) => rows + room.for(head), 0) <= LOCKED_MAX
}

/**
 * Takes what is due without a look first: a flight less. `heads`: as the last claim left them, by priority; `isBehind`: with
 * something due among them.
 */
export async function takeAtOnce(
  steps: Steps,
  { queue, at }: QueuePlace,
  terms: DueTerms,
  { heads, isBehind }: { readonly heads: readonly TopicHead[]; readonly isBehind: boolean },
  also: readonly Statement[],
): Promise<Taken | NotFree> {
  const way = isBehind ? 'scan' : 'keys'
  const room = new Room(terms)
  const wanted = heads.map((head) => room.for(head))
  const [, controls, ...replies] = await steps.send(
    setClock(at),
    sql`select @punctual_now as now_at, exists (select 1 from punctual_control where queue = ${queue}) as is_controlled, ${hasKeys(queue)} as is_keyed`,
    ...heads.map((head, i) => lockStatement(queue, terms, head, { wanted: wanted[i] ?? 0, now: NOW, way })),
  )
  const refusal = refusalOf(controls)
  if (refusal !== undefined) return refusal
  const picks = heads.map((head, i) => room.pick(head, replies[i] ?? [], wanted[i] ?? 0))
  return leasePicked(steps, queue, terms, { picks, heads, now: nowOf(controls), write: () => also })
}

type LockedHeads = {
  readonly picks: readonly HeadPick[]
  /** As they were before. */
  readonly heads: readonly TopicHead[]
  readonly now: number
  /** What else belongs to the same commit. */
  readonly write: (taken: readonly number[]) => readonly Statement[]
  /** What was picked of topics that have keys. */
  readonly turns?: readonly TurnPick[]
  /** A look at first moments that comes after all, as `lookFrom`. */
  readonly look?: Statement
}

/** What was picked of a topic with keys, and one priority, in the order of turns. */
export type TurnPick = Pick<HeadPick, 'head' | 'picked' | 'isShort'> & {
  /** The head is that of messages without a key. */
  readonly isPlain: boolean
}

/** Leases what was picked, and commits. */
export async function leasePicked(
  steps: Steps,
  queue: number,
  terms: DueTerms,
  { picks: first, heads, now, write, turns = [], look }: LockedHeads,
): Promise<Taken> {
  // All of as many as are wanted are locked: there may be more behind them.
  const isBlocked =
    turns.every(({ picked }) => picked.length === 0) &&
    first.every((pick) => pick.picked.length === 0) &&
    first.some((pick) => pick.hasLocked && !pick.isShort)
  const inTurn = new Set(turns.map(({ head }) => head))
  const others = heads.filter((head) => !inTurn.has(head))
  const scanned = isBlocked ? await lockDue(steps, queue, terms, { heads: others, now, way: 'scan' }) : first
  const picks = [...scanned, ...turns].toSorted((a, b) => byPriority(a.head, b.head))
  const picked = picks.flatMap((pick) => pick.picked)
  const seqs = picked.map(({ seq }) => seq)
  const taken = terms.topics.map((_, i) =>
    picks.reduce((sum, { head, picked: { length } }) => (head.topic === i ? sum + length : sum), 0),
  )
  const counts = new Map<string, { waiting: number; running: number; dead: number }>()
  for (const [i, topic] of terms.topics.entries()) {
    const count = countOf(counts, topic)
    count.waiting -= taken[i] ?? 0
    count.running += taken[i] ?? 0
  }
  const from = [
    ...scanned.map((pick) => (isBlocked || pick.hasLocked ? pick.head : whereLeft(pick))),
    ...turns.filter(({ isPlain }) => isPlain).map(({ head }) => head),
  ]
  const large = picked.filter(({ size }) => size > SMALL_BYTES_MAX).map(({ seq }) => seq)
  const replies = await steps.commit(
    seqs.length === 0 ? NOTHING : leaseRows(seqs, terms, now),
    lookFrom(queue, terms.topics, from),
    large.length === 0 ? NOTHING : selectBodies(large),
    ...deltaStatements(queue, counts),
    ...write(taken),
    ...(look === undefined ? [] : [look]),
  )
  const [, after = [], bodies = []] = replies
  const bodyOf = new Map(bodies.map((row) => [Number(row['seq']), row['body']]))
  return {
    rows: picks.flatMap(({ head, picked: ofHead }) =>
      ofHead.map(({ row, seq }) =>
        toLeaseRow(row, {
          topic: terms.topics[head.topic] ?? '',
          priority: head.rank,
          attempt: Math.min(Number(row['attempt']), ATTEMPTS_MAX) + 1,
          body: bodyOf.get(seq) ?? row['body'],
        }),
      ),
    ),
    now,
    left: [
      ...heads.filter((head) => picks.every((pick) => pick.head !== head)),
      ...toHeads(after).map((head) => skipping(whereFound(head, from), picks, terms, now)),
      ...toHeads(look === undefined ? [] : (replies.at(-1) ?? [])),
    ].toSorted(byPriority),
    taken,
  }
}

/** What is left of a head begins where the last one was that we took. */
function whereLeft({ head, picked }: HeadPick): TopicHead {
  const last = picked.at(-1)
  return last === undefined ? head : { ...head, at: Number(last.row['due_at']), after: last.seq }
}

/** What was found at the very moment from which we looked comes after what was taken there. */
function whereFound(head: TopicHead, from: readonly TopicHead[]): TopicHead {
  const { at, after } = from.find(({ topic, rank }) => topic === head.topic && rank === head.rank) ?? head
  return at === head.at && after !== undefined ? { ...head, after } : head
}

/** When all that is due of a topic and priority was locked by others, we ask again a little later. */
function skipping(
  head: TopicHead,
  picks: readonly Pick<HeadPick, 'head' | 'isShort'>[],
  { leads }: DueTerms,
  now: number,
): TopicHead {
  const until = now + (leads[head.topic] ?? 0)
  const pick = picks.find(({ head: { topic, rank } }) => topic === head.topic && rank === head.rank)
  return pick?.isShort === true && head.at <= until ? { ...head, askAt: until + SKIPPED_MICROS } : head
}

export function firstOfEach(topics: readonly string[], heads: readonly TopicHead[]): (number | null)[] {
  const firsts: (number | null)[] = topics.map(() => null)
  for (const { topic, at, askAt = at } of heads) firsts[topic] = Math.min(firsts[topic] ?? Infinity, askAt)
  return firsts
}

type DueLocks = {
  readonly heads: readonly TopicHead[]
  readonly now: number
  readonly way: LockWay
  /** What is left, if others were picked before. */
  readonly room?: Room
}

export async function lockDue(
  steps: Steps,
  queue: number,
  terms: DueTerms,
  { heads, now, way, room = new Room(terms) }: DueLocks,
): Promise<HeadPick[]> {
  const due = dueHeads(heads, terms, now)
  const picks: HeadPick[] = []
  for (let from = 0; from < due.length && !room.isFull;) {
    const flight = due.slice(from, from + flightLength(due, from, room))
    const wanted = flight.map((head) => room.for(head))
    const replies = await steps.send(
      ...flight.map((head, i) =>
        lockStatement(queue, terms, head, { wanted: wanted[i] ?? 0, now: sql`${now}`, way }),
      ),
    )
    for (const [i, head] of flight.entries()) picks.push(room.pick(head, replies[i] ?? [], wanted[i] ?? 0))
    from += flight.length
  }
  return picks
}

function flightLength(due: readonly TopicHead[], from: number, room: Room): number {
  let [length, rows] = [0, 0]
  while (from + length < due.length && (length === 0 || rows < LOCKED_MAX)) {
    rows += room.for(due[from + length] as TopicHead)
    length += 1
  }
  return length
}

function selectBodies(seqs: readonly number[]): Statement {
  return sql`select seq, body from punctual_message force index (primary) where seq in (${seqs})`
}

function leaseRows(seqs: readonly number[], { owner, lease, token }: DueTerms, now: number): Statement {
  return sql`update punctual_message force index (primary) set state = 1, until = ${now + lease}, leased_at = ${now},
    token = ${token}, owner = ${owner}, is_holding = null, attempt = least(attempt, ${ATTEMPTS_MAX}) + 1 where seq in (${seqs})`
}
