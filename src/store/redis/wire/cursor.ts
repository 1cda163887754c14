/** Where a page ended, as the caller carries it to the next one. Opaque to the caller, checked when it comes back. */
import { UsageError } from '../../../core/errors.ts'
import type { MessageState } from '../../../core/message.ts'

/** Stage, number, seq and id, as `inspect_page.lua` gives and takes them. */
export type Place = readonly [stage: string, number: string, seq: string, id: string]

export const FIRST_PLACE: Place = ['0', '0', '', '']

export function encodeCursor(state: MessageState, place: readonly unknown[]): string {
  return Buffer.from(JSON.stringify([state, ...place.map(String)])).toString('base64url')
}

export function decodeCursor(state: MessageState, cursor: string | undefined): Place {
  if (cursor === undefined) return FIRST_PLACE
  const [ofState, stage, number, seq, id, ...others] = parse(cursor)
  const isOurs =
    ofState === state &&
    /^[123]$/.test(stage ?? '') &&
    /^\d{1,16}$/.test(number ?? '') &&
    /^([-\w]{8})?$/.test(seq ?? '?') &&
    id !== undefined &&
    others.length === 0
  if (isOurs) return [stage, number, seq, id] as Place
  throw new UsageError('CURSOR_INVALID', 'this cursor did not come from list(); start without one.', {
    value: cursor,
  })
}

function parse(cursor: string): (string | undefined)[] {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return Array.isArray(parsed) && parsed.every((part) => typeof part === 'string') ? parsed : []
  } catch {
    return [] // Not ours: the caller hears CURSOR_INVALID.
  }
}
