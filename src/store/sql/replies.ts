/** What clients of all kinds answer a statement with: rows, `{ rows }`, or `[rows, fields]`. */
import { UsageError, describe } from '../../core/errors.ts'

/** The one value that a statement `select … as reply` asks for. */
export function replyOf(result: unknown): string {
  const row = firstRow(result)
  if (typeof row === 'object' && row !== null && 'reply' in row && typeof row.reply === 'string')
    return row.reply
  throw new UsageError(
    'OPTION_INVALID',
    `the transaction answered with ${describe(result)}; its query must resolve to the rows, { rows } or [rows, fields].`,
    { value: result },
  )
}

function firstRow(result: unknown): unknown {
  if (Array.isArray(result)) {
    const [first] = result as readonly unknown[]
    return Array.isArray(first) ? (first as readonly unknown[])[0] : first
  }
  if (typeof result === 'object' && result !== null && 'rows' in result && Array.isArray(result.rows))
    return (result.rows as readonly unknown[])[0]
  return undefined
}
