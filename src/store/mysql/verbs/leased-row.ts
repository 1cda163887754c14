/** A row of `punctual_message` as it is handed out. */
import type { LeaseRow } from '../../sql/rows.ts'
import { numberOrNull, textOf, type SqlRow } from '../sql/statement.ts'

type LeasedPart = {
  readonly topic: string
  readonly priority: number
  readonly attempt: number
  readonly body: unknown
}

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
  }
}
