/**
 * The store's clock, in microseconds: one reading for all statements of a call, kept in a variable of the session. Not
 * unix_timestamp(), which ends in 2038 on many servers and follows the session's zone. `at` is the clock of a test.
 */
import { sql, type SqlRow, type Statement } from './statement.ts'

export const NOW: Statement = sql`@punctual_now`

/** Where a verb acts: the number of the queue, and the clock of a test. */
export type QueuePlace = { readonly queue: number; readonly at: number | null }

/** As part of a statement: when that statement began. */
export function clockReading(at: number | null): Statement {
  return at === null ? sql`timestampdiff(microsecond, '1970-01-01', utc_timestamp(6))` : sql`${at}`
}

export function selectClock(at: number | null): Statement {
  return sql`select ${clockReading(at)} as now_at`
}

/** For statements that use it, in the same flight or transaction. */
export function setClock(at: number | null): Statement {
  return sql`set @punctual_now = ${clockReading(at)}`
}

export function readClock(at: number | null): readonly [Statement, Statement] {
  return [setClock(at), sql`select @punctual_now as now_at`]
}

export function nowOf(rows: readonly SqlRow[] | undefined): number {
  return Number(rows?.[0]?.['now_at'])
}
