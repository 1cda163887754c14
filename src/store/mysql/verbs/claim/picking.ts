/** Which rows a claim locks of each topic and priority, and how many of them it takes. */
import type { LeaseRow } from '../../../sql/rows.ts'
import { numberOrNull, sql, textOf, textOrNull, type SqlRow, type Statement } from '../../sql/statement.ts'
import type { Rows } from '../../transactions.ts'
import { notBefore, type TopicHead } from './heads.ts'

/** A body of at most so many bytes comes with the lock. */
export const SMALL_BYTES_MAX = 4_096

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

/** How rows are locked: the first ones, each by its key; or those that are not locked, by a scan of the index. */
export type LockWay = 'keys' | 'scan'

export type PickedRow = { readonly seq: number; readonly size: number; readonly row: SqlRow }
export type HeadPick = {
  readonly head: TopicHead
  readonly picked: PickedRow[]
  /** There was less than wanted, and we have all of it that others have not locked. */
  readonly isShort: boolean
  /** Others have locked some of those that we looked at. A scan does not see that. */
  readonly hasLocked: boolean
}

/** What may still be handed out: of each topic, of the limited ones, in all, and in bytes. */
export class Room {
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

  for({ topic }: Pick<TopicHead, 'topic'>): number {
    const limited = this.#terms.isLimited[topic] === true ? this.#limited : Infinity
    return Math.max(0, Math.min(this.#limits[topic] ?? 0, this.#all, limited))
  }

  pick(head: TopicHead, rows: Rows, wanted: number): HeadPick {
    const free = rows.filter((row) => row['seq'] !== null).toSorted(byMoment)
    const picked = this.takeInOrder(head, free)
    return {
      head,
      picked,
      isShort: rows.length < wanted && picked.length === free.length,
      hasLocked: free.length < rows.length,
    }
  }

  /** As many of these as fit. */
  takeInOrder(head: Pick<TopicHead, 'topic'>, free: Rows): PickedRow[] {
    const picked: PickedRow[] = []
    const most = this.isFull ? 0 : this.for(head)
    for (const row of free.slice(0, most)) {
      const size = Number(row['size'])
      // A single one passes, however large.
      if (size > this.#bytes && this.#count > 0) {
        this.isFull = true
        break
      }
      this.#bytes -= size
      this.#count += 1
      picked.push({ seq: Number(row['seq']), size, row })
    }
    this.#limits[head.topic] = (this.#limits[head.topic] ?? 0) - picked.length
    this.#all -= picked.length
    if (this.#terms.isLimited[head.topic] === true) this.#limited -= picked.length
    return picked
  }
}

/** In the order of moments, which a join need not keep. */
function byMoment(a: SqlRow, b: SqlRow): number {
  return Number(a['due_at']) - Number(b['due_at']) || Number(a['seq']) - Number(b['seq'])
}

/** Of a row `m` that is locked, to lease it. */
export const leaseColumns = sql`m.seq, m.id, m.due_at, m.first_due_at, m.attempt, m.lapses, m.its_key, m.meta,
    octet_length(m.body) as size, if(octet_length(m.body) <= ${SMALL_BYTES_MAX}, m.body, null) as body`

type LockTerms = { readonly wanted: number; readonly now: Statement; readonly way: LockWay }

/** By keys: one that others have locked, or have taken since we read it, is a row of nulls. */
export function lockStatement(
  queue: number,
  { topics, leads }: DueTerms,
  head: TopicHead,
  { wanted, now, way }: LockTerms,
): Statement {
  const isDue = sql`m.queue = ${queue} and m.state = 0 and m.topic = ${topics[head.topic] ?? ''} and m.priority = ${head.rank}
      and ${notBefore(head)} and m.due_at <= ${now} + ${leads[head.topic] ?? 0}`
  const first = (what: Statement): Statement =>
    sql`select ${what} from punctual_message as m force index (punctual_message_due)
      where ${isDue} order by m.due_at, m.seq limit ${wanted}`
  return way === 'scan'
    ? sql`${first(leaseColumns)} for update skip locked`
    : sql`select ${leaseColumns} from (${first(sql`m.seq`)}) as d
      left join punctual_message as m force index (primary) on m.seq = d.seq and ${isDue} for update skip locked`
}

type LeasedPart = {
  readonly topic: string
  readonly priority: number
  readonly attempt: number
  readonly body: unknown
}

/** A row of `punctual_message` as it is handed out. */
export function toLeaseRow(row: SqlRow, { topic, priority, attempt, body }: LeasedPart): LeaseRow {
  return {
    id: textOf(row['id']),
    topic,
    priority,
    due_at: Number(row['due_at']),
    first_due_at: numberOrNull(row['first_due_at']),
    attempt,
    lapses: Number(row['lapses']),
    meta: textOf(row['meta'] ?? ''),
    body: textOf(body ?? ''),
    key: textOrNull(row['its_key']),
  }
}
