/**
 * Cursors: where a page ended, as the caller carries it to the next one. Opaque to the caller, checked when it comes
 * back: each part must fit its pattern.
 */
import { UsageError } from '../errors.ts'

export function encodeCursor(parts: readonly string[]): string {
  return Buffer.from(JSON.stringify(parts)).toString('base64url')
}

/** As many parts as there are patterns. */
export function decodeCursor(cursor: string, patterns: readonly RegExp[]): string[] {
  const parts = parse(cursor)
  const isOurs =
    parts.length === patterns.length && patterns.every((pattern, i) => pattern.test(parts[i] ?? ''))
  if (isOurs) return parts
  throw invalidCursor(cursor)
}

export function invalidCursor(value: unknown): UsageError {
  return new UsageError('CURSOR_INVALID', 'this cursor did not come from list(); start without one.', {
    value,
  })
}

function parse(cursor: string): string[] {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return Array.isArray(parsed) && parsed.every((part) => typeof part === 'string') ? parsed : []
  } catch {
    return [] // Not ours: the caller hears CURSOR_INVALID.
  }
}
