/**
 * Hands out what is due (P1, P3, P6, P7).
 *
 *   look       when the first of each topic is due; mostly that is all
 *   lock       of each topic and priority that has something due, by priority, at most so many; what somebody else has locked
 *              is skipped
 *   lease      those that fit, and commit
 *
 * What is locked and does not fit is free again with the commit.
 */
import type * as contract from '../../contract/store.ts'
import type { LeaseRow } from '../../sql/rows.ts'
import { clockReading, nowOf } from '../sql/clock.ts'
import { numberOrNull, sql, textOf, type SqlRow, type Statement } from '../sql/statement.ts'
import type { Rows, Steps } from '../transactions.ts'
import { lookAtHeads, toHeads, type TopicHead } from './heads.ts'
import { countOf, deltaStatements } from './row-set.ts'
import type { QueuePlace } from './writing.ts'

/** At most so many rows are locked in one flight. */
const LOCKED_MAX = 2_000
/** What others have locked is worth asking for again soon, not at once: their transactions may take their time. */
const SKIPPED_MICROS = 20_000
const ATTEMPTS_MAX = 2_147_483_646

export type DueTerms = {
  readonly owner: string
  readonly topics: readonly string[]
  readonly limits: readonly number[]
  readonly limitAll: number
  /** How far ahead each topic may be handed out, in microseconds. */
  readonly leads: readonly number[]
  readonly bytesMax: number
  readonly lease: number
  readonly token: string
  /** Which of them are limited, and how many of those may be handed out in all. */
  readonly isLimited: readonly boolean[]
  readonly limitedAll: number
}

export type Taken = {
  readonly rows: readonly LeaseRow[]
  readonly now: number
  /** The first moment of each topic after the claim, in microseconds. */
  readonly heads: readonly (number | null)[]
  /** How many of each topic. */
  readonly taken: readonly number[]
}

/** What is due, by priority and in the order of wants. */
export function dueHeads(heads: readonly TopicHead[], { leads }: DueTerms, now: number): TopicHead[] {
  return heads.filter(({ topic, at }) => at <= now + (leads[topic] ?? 0))
}

type PickedRow = { readonly seq: number; readonly size: number }
type HeadPick = { readonly head: TopicHead; readonly picked: PickedRow[]; readonly isShort: boolean }

/** Takes what is due of these. `write`: what else belongs to the same commit. */
export async function take(
  steps: Steps,
  { queue }: QueuePlace,
  terms: DueTerms,
  { heads, now }: { readonly heads: readonly TopicHead[]; readonly now: number },
  write: (taken: readonly number[]) => readonly Statement[],
): Promise<Taken> {
  const picks = await lockDue(steps, queue, terms, dueHeads(heads, terms, now), now)
  const seqs = picks.flatMap(({ picked }) => picked.map(({ seq }) => seq))
  const taken = terms.topics.map((_, i) =>
    picks.reduce((sum, { head, picked }) => (head.topic === i ? sum + picked.length : sum), 0),
  )
  const counts = new Map<string, { waiting: number; running: number; dead: number }>()
  for (const [i, topic] of terms.topics.entries()) {
    const count = countOf(counts, topic)
    count.waiting -= taken[i] ?? 0
    count.running += taken[i] ?? 0
  }
  const touched = [...new Set(picks.map(({ head }) => head.topic))]
  const lookAgain = lookAtHeads({ queue, topics: touched.map((i) => terms.topics[i] ?? '') })
  const replies =
    seqs.length === 0
      ? [[], [], ...(await steps.commit(lookAgain))]
      : await steps.commit(
          leaseRows(seqs, terms, now),
          selectLeases(seqs),
          lookAgain,
          ...deltaStatements(queue, counts),
          ...write(taken),
        )
  const [, leased = [], after = []] = replies
  const untouched = heads.filter(({ topic }) => !touched.includes(topic))
  const left = toHeads(after).map((head) =>
    skipping({ ...head, topic: touched[head.topic] ?? 0 }, picks, terms, now),
  )
  return {
    rows: inOrder(leased, seqs),
    now,
    heads: firstOfEach(terms.topics, [...untouched, ...left]),
    taken,
  }
}

/** When all that is due of a topic and priority was locked by others, we ask again a little later. */
function skipping(head: TopicHead, picks: readonly HeadPick[], { leads }: DueTerms, now: number): TopicHead {
  const until = now + (leads[head.topic] ?? 0)
  const pick = picks.find(({ head: { topic, rank } }) => topic === head.topic && rank === head.rank)
  return pick?.isShort === true && head.at <= until ? { ...head, at: until + SKIPPED_MICROS } : head
}

export function firstOfEach(topics: readonly string[], heads: readonly TopicHead[]): (number | null)[] {
  const firsts: (number | null)[] = topics.map(() => null)
  for (const { topic, at } of heads) firsts[topic] = Math.min(firsts[topic] ?? Infinity, at)
  return firsts
}

async function lockDue(
  steps: Steps,
  queue: number,
  terms: DueTerms,
  due: readonly TopicHead[],
  now: number,
): Promise<HeadPick[]> {
  const room = new Room(terms)
  const picks: HeadPick[] = []
  for (let from = 0; from < due.length && !room.isFull;) {
    const flight = due.slice(from, from + flightLength(due, from, room))
    const wanted = flight.map((head) => room.for(head))
    const replies = await steps.send(
      ...flight.map((head, i) => lockStatement(queue, terms, head, wanted[i] ?? 0, now)),
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

/** What may still be handed out: of each topic, of the limited ones, in all, and in bytes. */
class Room {
  readonly #terms: DueTerms
  readonly #limits: number[]
  #all: number
  #limited: number
  #bytes: number
  #count = 0
  isFull = false

  constructor(terms: DueTerms) {
    this.#terms = terms
    this.#limits = [...terms.limits]
    this.#all = terms.limitAll
    this.#limited = terms.limitedAll
    this.#bytes = terms.bytesMax
  }

  for({ topic }: TopicHead): number {
    const limited = this.#terms.isLimited[topic] === true ? this.#limited : Infinity
    return Math.max(0, Math.min(this.#limits[topic] ?? 0, this.#all, limited))
  }

  pick(head: TopicHead, rows: Rows, wanted: number): HeadPick {
    const picked: PickedRow[] = []
    const most = this.isFull ? 0 : this.for(head)
    for (const row of rows.slice(0, most)) {
      const size = Number(row['size'])
      // A single one passes, however large.
      if (size > this.#bytes && this.#count > 0) {
        this.isFull = true
        break
      }
      this.#bytes -= size
      this.#count += 1
      picked.push({ seq: Number(row['seq']), size })
    }
    this.#limits[head.topic] = (this.#limits[head.topic] ?? 0) - picked.length
    this.#all -= picked.length
    if (this.#terms.isLimited[head.topic] === true) this.#limited -= picked.length
    return { head, picked, isShort: rows.length < wanted && picked.length === rows.length }
  }
}

function lockStatement(
  queue: number,
  { topics, leads }: DueTerms,
  { topic, rank }: TopicHead,
  wanted: number,
  now: number,
): Statement {
  return sql`select seq, octet_length(body) as size from punctual_message force index (punctual_message_due)
    where queue = ${queue} and state = 0 and topic = ${topics[topic] ?? ''} and priority = ${rank}
      and due_at <= ${now + (leads[topic] ?? 0)} order by due_at, seq limit ${wanted} for update skip locked`
}

function leaseRows(seqs: readonly number[], { owner, lease, token }: DueTerms, now: number): Statement {
  return sql`update punctual_message force index (primary) set state = 1, until = ${now + lease}, leased_at = ${now},
    token = ${token}, owner = ${owner}, attempt = least(attempt, ${ATTEMPTS_MAX}) + 1 where seq in (${seqs})`
}

export function selectLeases(seqs: readonly number[]): Statement {
  return sql`select seq, id, topic, priority, due_at, first_due_at, attempt, lapses, meta, body
    from punctual_message force index (primary) where seq in (${seqs})`
}

/** In the order in which they were picked. */
export function inOrder(rows: readonly SqlRow[], seqs: readonly number[]): LeaseRow[] {
  const bySeq = new Map(rows.map((row) => [Number(row['seq']), row]))
  return seqs.flatMap((seq) => {
    const row = bySeq.get(seq)
    return row === undefined ? [] : [toLeaseRow(row)]
  })
}

function toLeaseRow(row: SqlRow): LeaseRow {
  return {
    id: textOf(row['id']),
    topic: textOf(row['topic']),
    priority: Number(row['priority']),
    due_at: Number(row['due_at']),
    first_due_at: numberOrNull(row['first_due_at']),
    attempt: Number(row['attempt']),
    lapses: Number(row['lapses']),
    meta: textOf(row['meta'] ?? ''),
    body: textOf(row['body'] ?? ''),
  }
}

export type LapsedTerms = {
  readonly request: contract.ClaimLapsed
  readonly token: string
  readonly lease: number
  readonly bytesMax: number
}
export type TakenOver = {
  readonly rows: readonly LeaseRow[]
  readonly now: number
  readonly nextAt: number | null
  readonly isOwnLapsed: boolean
}

/** A look at leases: the first of another that ends, and whether one of the asker's own has ended. */
export function lookAtLeases({ queue, at }: QueuePlace, owner: string): Statement {
  const first = (
    mine: Statement,
  ): Statement => sql`(select until from punctual_message force index (punctual_message_until)
    where queue = ${queue} and state = 1 and owner ${mine} ${owner} order by until limit 1)`
  return sql`select ${clockReading(at)} as now_at, ${first(sql`<>`)} as next_at, ${first(sql`=`)} as own_at`
}

export function leasesSeen(rows: Rows | undefined): Omit<TakenOver, 'rows'> {
  const now = nowOf(rows)
  const ownAt = numberOrNull(rows?.[0]?.['own_at'])
  return { now, nextAt: numberOrNull(rows?.[0]?.['next_at']), isOwnLapsed: ownAt !== null && ownAt <= now }
}

/** Takes over leases of others that ended without an answer, those that ended first first. */
export async function takeOver(
  steps: Steps,
  where: QueuePlace,
  { request, token, lease, bytesMax }: LapsedTerms,
  now: number,
): Promise<TakenOver> {
  const { owner, limit } = request
  const [locked = []] = await steps.send(
    sql`select seq, octet_length(body) as size from punctual_message force index (punctual_message_until)
      where queue = ${where.queue} and state = 1 and until <= ${now} and owner <> ${owner}
      order by until, seq limit ${limit} for update skip locked`,
  )
  let bytes = 0
  const seqs = locked.flatMap((row, i) => {
    bytes += Number(row['size'])
    return i === 0 || bytes <= bytesMax ? [Number(row['seq'])] : []
  })
  const [, rows = [], look] = await steps.commit(
    seqs.length === 0
      ? sql`do 0`
      : sql`update punctual_message force index (primary) set until = ${now + lease}, leased_at = ${now}, token = ${token},
          owner = ${owner}, is_taken = 1 where seq in (${seqs})`,
    selectLeases(seqs),
    lookAtLeases({ ...where, at: now }, owner),
  )
  const seen = leasesSeen(look)
  const isSkipped = seqs.length === 0 && seen.nextAt !== null && seen.nextAt <= now
  return { ...seen, rows: inOrder(rows, seqs), nextAt: isSkipped ? now + 1_000_000 : seen.nextAt }
}
