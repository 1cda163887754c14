/** Leases of others that ended without an answer: looked at, and taken over (P6). */
import type * as contract from '../../../contract/store.ts'
import type { LeaseRow } from '../../../sql/rows.ts'
import { clockReading, nowOf, type QueuePlace } from '../../sql/clock.ts'
import { NOTHING, numberOrNull, sql, textOf, type SqlRow, type Statement } from '../../sql/statement.ts'
import type { Rows, Steps } from '../../transactions.ts'
import { toLeaseRow } from './picking.ts'

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
      ? NOTHING
      : sql`update punctual_message force index (primary) set until = ${now + lease}, leased_at = ${now}, token = ${token},
          owner = ${owner}, is_taken = 1 where seq in (${seqs})`,
    selectLeases(seqs),
    lookAtLeases({ ...where, at: now }, owner),
  )
  const seen = leasesSeen(look)
  const isSkipped = seqs.length === 0 && seen.nextAt !== null && seen.nextAt <= now
  return { ...seen, rows: inOrder(rows, seqs), nextAt: isSkipped ? now + 1_000_000 : seen.nextAt }
}

function selectLeases(seqs: readonly number[]): Statement {
  return sql`select seq, id, topic, priority, due_at, first_due_at, attempt, lapses, its_key, meta, body
    from punctual_message force index (primary) where seq in (${seqs})`
}

/** In the order in which they were picked. */
function inOrder(rows: readonly SqlRow[], seqs: readonly number[]): LeaseRow[] {
  const bySeq = new Map(rows.map((row) => [Number(row['seq']), row]))
  return seqs.flatMap((seq) => {
    const row = bySeq.get(seq)
    if (row === undefined) return []
    const [topic, priority, attempt] = [textOf(row['topic']), Number(row['priority']), Number(row['attempt'])]
    return [toLeaseRow(row, { topic, priority, attempt, body: row['body'] })]
  })
}
