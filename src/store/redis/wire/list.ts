/** Looking at messages: what `inspect` asks, what it shows, and where a page ended. */
import { decodeCursor, encodeCursor } from '../../../core/encoding/cursor.ts'
import type { MessageState } from '../../../core/message.ts'
import type { ListQuery, Page, StoredMessage } from '../../contract/store.ts'
import { momentOf } from './moments.ts'
import { decodePayload } from './payload.ts'

const ROW_FIELDS = 10
/** A score as Redis writes it, or nothing. */
const SCORE = /^[-+.\w]*$/

export function pageArgs(query: ListQuery): string[] {
  const { state, topic = '', limit, dueFrom = '', dueUntil = '', idPrefix = '', text = '' } = query
  const filters = [state, topic, limit, dueFrom, dueUntil, idPrefix, text].map(String)
  return [...filters, ...placeArgs(query)]
}

/** Set, number, member, and the last death when the walk began, as `inspect_page.lua` gives and takes them. */
function placeArgs({ state, cursor }: ListQuery): readonly string[] {
  if (cursor === undefined) return ['', '', '', '']
  return decodeCursor(cursor, [new RegExp(`^${state}$`), /^/, SCORE, /^/, SCORE]).slice(1)
}

type PageParts = [
  place: readonly string[],
  lastDeath: string,
  scanned: number,
  rows: readonly unknown[],
  owners: readonly string[],
  leasedAt: readonly string[],
]

export function pageReply(state: MessageState, reply: readonly unknown[]): Page {
  const [place, lastDeath, scanned, rows, owners, leasedAt] = reply as unknown as PageParts
  const items = decodeRows(rows, owners, leasedAt)
  if (place.length === 0) return { items, scanned }
  return { items, scanned, cursor: encodeCursor([state, ...place, lastDeath]) }
}

export function decodeRows(
  rows: readonly unknown[],
  owners: readonly string[],
  leasedAt: readonly string[],
): StoredMessage[] {
  return owners.map((owner, index) => ({
    ...decodeRow(rows, index * ROW_FIELDS),
    owner,
    leasedAt: momentOf(leasedAt[index]),
  }))
}

function decodeRow(rows: readonly unknown[], at: number): Omit<StoredMessage, 'owner' | 'leasedAt'> {
  return {
    id: rows[at] as string,
    ...decodePayload(rows[at + 1] as string),
    state: rows[at + 2] as MessageState,
    dueAt: momentOf(rows[at + 3]),
    firstDueAt: momentOf(rows[at + 4]),
    attempt: rows[at + 5] as number,
    lapses: rows[at + 6] as number,
    error: rows[at + 7] as string,
    reason: rows[at + 8] as string,
    until: momentOf(rows[at + 9]),
  }
}
