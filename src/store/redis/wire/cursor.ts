/** Where a page of this engine ended: the state that was listed, and a place in it. */
import * as cursors from '../../../core/cursor.ts'
import type { MessageState } from '../../../core/message.ts'

/** Stage, number, seq and id, as `inspect_page.lua` gives and takes them. */
export type PagePlace = readonly [stage: string, number: string, seq: string, id: string]

export const FIRST_PLACE: PagePlace = ['0', '0', '', '']

export function encodeCursor(state: MessageState, place: readonly unknown[]): string {
  return cursors.encodeCursor([state, ...place.map(String)])
}

export function decodeCursor(state: MessageState, cursor: string | undefined): PagePlace {
  if (cursor === undefined) return FIRST_PLACE
  const patterns = [new RegExp(`^${state}$`), /^[123]$/, /^\d{1,16}$/, /^([-\w]{8})?$/, /^/]
  const [, stage = '', number = '', seq = '', id = ''] = cursors.decodeCursor(cursor, patterns)
  return [stage, number, seq, id]
}
