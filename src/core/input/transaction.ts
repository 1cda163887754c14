/** A transaction of the user's own, in which messages are stored together with the user's rows. */
import { UsageError, describe } from '../errors.ts'

/**
 * Where statements of the user's transaction go: an object with `query(text, values)`, as most clients have, or a function.
 * The statements have the places of its database ($1, $2, … or ?) and values that are texts. What it resolves to may be the rows, `{ rows }`, or
 * `[rows, fields]`.
 */
export type TransactionHandle =
  | { query(text: string, values: string[]): PromiseLike<unknown> }
  | ((text: string, values: string[]) => PromiseLike<unknown>)

export type SendStatement = (text: string, values: string[]) => PromiseLike<unknown>

function isPool(value: object): boolean {
  return ('totalCount' in value && 'idleCount' in value) || 'getConnection' in value
}

export function parseTransaction(value: unknown): SendStatement {
  if (typeof value === 'function') return value as SendStatement
  // Each statement to a pool may go to another connection, and none of them would be in the transaction.
  if (typeof value === 'object' && value !== null && isPool(value))
    throw new UsageError(
      'OPTION_INVALID',
      'transaction is a pool; give the one client of it on which the transaction was begun.',
      { value },
    )
  if (typeof value === 'object' && value !== null && 'query' in value && typeof value.query === 'function') {
    const { query } = value as { query: SendStatement }
    return (text, values) => query.call(value, text, values)
  }
  throw new UsageError(
    'OPTION_INVALID',
    `transaction is ${describe(value)}; give a client with query(text, values), or a function (text, values) => rows.`,
    { value },
  )
}
