/**
 * Statements with their values. Numbers, which are ours, are written into the text; texts, which are a user's, become
 * places and values, so that every client can send them.
 *
 *   sql`select seq from punctual_message where queue = ${7} and id in (${['a', 'b']})`
 *     text    select seq from punctual_message where queue = 7 and id in (?, ?)
 *     values  ['a', 'b']
 */
export type Statement = { readonly text: string; readonly values: readonly string[] }

type SqlScalar = string | number | boolean | null
type SqlPart = SqlScalar | Statement | readonly SqlScalar[]

export function sql(texts: TemplateStringsArray, ...parts: readonly SqlPart[]): Statement {
  const values: string[] = []
  let text = texts[0] ?? ''
  for (const [i, part] of parts.entries()) text += written(part, values) + (texts[i + 1] ?? '')
  return { text, values }
}

/** Does nothing, in the place of a statement that is not needed. */
export const NOTHING: Statement = sql`do 0`

/** Several as one: rows of an insert, branches of a union. */
export function joined(parts: readonly Statement[], between: string): Statement {
  return { text: parts.map(({ text }) => text).join(between), values: parts.flatMap(({ values }) => values) }
}

/**
 * Values as rows `d.value`, to find rows by key, one key after the other: by a list alone the optimizer may walk the table
 * instead, and wait for rows that others have locked.
 */
export function listed(values: readonly SqlScalar[]): Statement {
  const rows = values.map((value) =>
    typeof value === 'string' ? sql`select cast(${value} as binary) as value` : sql`select ${value} as value`,
  )
  return sql`(${joined(rows, ' union all ')}) as d`
}

function written(part: SqlPart, values: string[]): string {
  if (typeof part === 'object' && part !== null) {
    if ('text' in part) {
      values.push(...part.values)
      return part.text
    }
    // An empty list fits nothing.
    return part.length === 0 ? 'null' : part.map((one) => scalar(one, values)).join(', ')
  }
  return scalar(part, values)
}

function scalar(part: SqlScalar, values: string[]): string {
  if (typeof part === 'string') {
    values.push(part)
    return '?'
  }
  return part === null ? 'null' : typeof part === 'boolean' ? (part ? '1' : '0') : String(part)
}

export type SqlRow = Readonly<Record<string, unknown>>

/** Binary columns come as bytes, and what they hold is text. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  return value instanceof Uint8Array ? Buffer.from(value).toString() : String(value)
}

export function textOrNull(value: unknown): string | null {
  return value === null || value === undefined ? null : textOf(value)
}

/** Clients give numbers of 8 bytes as numbers, bigints or texts. */
export function numberOrNull(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value)
}
