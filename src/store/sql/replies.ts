/** What clients of all kinds answer a statement with: rows, `{ rows }`, or `[rows, fields]`. */
import { UsageError, describe } from '../../core/errors.ts'

/** The one value that a statement `select … as reply` asks for. */
export function replyOf(result: unknown): string {
  const [row] = rowsOf(result)
  if (row !== undefined && typeof row['reply'] === 'string') return row['reply']
  throw new UsageError(
    'OPTION_INVALID',
    `the transaction answered with ${describe(result)}; its query must resolve to the rows, { rows } or [rows, fields].`,
    { value: result },
  )
}

/** None for statements that answer with none. */
export function rowsOf(result: unknown): readonly Readonly<Record<string, unknown>>[] {
  const rows = hasRows(result) ? result.rows : result
  if (!Array.isArray(rows)) return []
  const [first] = rows as readonly unknown[]
  return (Array.isArray(first) ? first : rows).filter(isRow)
}

function hasRows(result: unknown): result is { readonly rows: unknown } {
  return typeof result === 'object' && result !== null && 'rows' in result
}

function isRow(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

/** Before anything was stored or changed. */
export function noTransaction(): UsageError {
  return new UsageError(
    'TRANSACTION_MISSING',
    'no transaction is open on the connection that "transaction" sends to; send "begin" on it first, or use queue.transaction(connection, …).',
  )
}
