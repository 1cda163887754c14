/** Where a page ended: a JSON list. What does not look like one of ours is refused. */
import { UsageError, describe } from '../../../core/errors.ts'

export type CursorPart = string | number

/** Undefined when there is none yet. */
export function parseCursor(
  cursor: string | undefined,
  types: readonly ('string' | 'number')[],
): readonly CursorPart[] | undefined {
  if (cursor === undefined) return undefined
  const parts = parse(cursor)
  const isOurs =
    Array.isArray(parts) &&
    parts.length === types.length &&
    parts.every((part, index) => typeof part === types[index] && !Number.isNaN(part))
  if (isOurs) return parts as CursorPart[]
  throw new UsageError('CURSOR_INVALID', `${describe(cursor)} is not a cursor of this list.`, {
    value: cursor,
  })
}

function parse(cursor: string): unknown {
  try {
    return JSON.parse(cursor)
  } catch {
    return undefined
  }
}
