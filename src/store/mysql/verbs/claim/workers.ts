/** Who claims. A claim notes it now and then; those that were last heard of more than an hour ago are let go. */
import type { WorkerRecord, WorkersReply } from '../../../contract/store.ts'
import { toMs } from '../../../sql/micros.ts'
import { clockReading, NOW, nowOf, readClock, type QueuePlace } from '../../sql/clock.ts'
import { numberOrNull, sql, textOf, type Statement } from '../../sql/statement.ts'
import type { Transactions } from '../../transactions.ts'

const KEPT_MICROS = 3_600_000_000
const WORKERS_MAX = 1_000

/** `facts` undefined: those known stay. */
export function seeWorker(
  { queue, at }: QueuePlace,
  owner: string,
  facts: string | undefined,
): readonly Statement[] {
  const told = facts === undefined ? sql`` : sql`facts = values(facts), `
  return [
    sql`insert into punctual_worker (queue, owner, facts, first_seen_at, last_seen_at)
      values (${queue}, ${owner}, ${facts ?? ''}, ${clockReading(at)}, ${clockReading(at)})
      on duplicate key update ${told}last_seen_at = values(last_seen_at), gone_at = null`,
  ]
}

export function leaveWorker({ queue, at }: QueuePlace, owner: string): readonly Statement[] {
  return [
    ...readClock(at),
    sql`update punctual_worker set gone_at = ${NOW} where queue = ${queue} and owner = ${owner} and gone_at is null`,
  ]
}

export function forgetWorkers(queue: number): Statement {
  return sql`delete from punctual_worker where queue = ${queue}
    and greatest(last_seen_at, coalesce(gone_at, 0)) < ${NOW} - ${KEPT_MICROS}`
}

export async function readWorkers(calls: Transactions, { queue, at }: QueuePlace): Promise<WorkersReply> {
  const [, clock, rows = []] = await calls.flight(
    ...readClock(at),
    sql`select owner, facts, first_seen_at, last_seen_at, gone_at from punctual_worker where queue = ${queue}
      and coalesce(gone_at, last_seen_at) > ${NOW} - ${KEPT_MICROS}
      order by last_seen_at desc, first_seen_at desc, owner desc limit ${WORKERS_MAX}`,
  )
  return { now: toMs(nowOf(clock)), workers: rows.map(toWorker) }
}

function toWorker(row: Readonly<Record<string, unknown>>): WorkerRecord {
  const goneAt = numberOrNull(row['gone_at'])
  return {
    owner: textOf(row['owner']),
    facts: textOf(row['facts']),
    firstSeenAt: toMs(Number(row['first_seen_at'])),
    lastSeenAt: toMs(Number(row['last_seen_at'])),
    ...(goneAt === null ? {} : { goneAt: toMs(goneAt) }),
  }
}
