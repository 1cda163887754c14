/** Looking at messages: what `inspect` asks, what it shows, and where a page ended. */
import { decodeCursor, encodeCursor } from '../../../core/encoding/cursor.ts'
import type { MessageState } from '../../../core/message.ts'
import type { ListQuery, Page, StoredMessage, Successor, TagQuery } from '../../contract/store.ts'
import { isPicked } from '../../shared/filters.ts'
import { momentOf } from './moments.ts'
import { decodePayload, decodeTags } from './payload.ts'
import { decodeRemembered } from './remembered.ts'

const ROW_FIELDS = 10
/** A score as Redis writes it, or nothing. */
const SCORE = /^[-+.\w]*$/

export function pageArgs(query: ListQuery): string[] {
  const { state, topic = '', limit, dueFrom = '', dueUntil = '', idPrefix = '', text = '', key = '' } = query
  const filters = [state, topic, limit, dueFrom, dueUntil, idPrefix, text, key].map(String)
  return [...filters, ...placeArgs(query)]
}

/** Set, number, member, and the last death when the walk began, as `inspect_page.lua` gives and takes them. */
function placeArgs({ state, cursor }: ListQuery): readonly string[] {
  if (cursor === undefined) return ['', '', '', '']
  return decodeCursor(cursor, [new RegExp(`^${state}$`), /^/, SCORE, /^/, SCORE]).slice(1)
}

/** What every look at messages answers. */
export type ShownRows = readonly [
  rows: readonly unknown[],
  owners: readonly string[],
  leasedAt: readonly string[],
  extras: readonly string[],
  successors: readonly string[],
]

type PageParts = [place: readonly string[], lastDeath: string, scanned: number, shown: ShownRows, now: string]

export function pageReply(query: ListQuery, reply: readonly unknown[]): Page {
  const [place, lastDeath, scanned, shown, now] = reply as unknown as PageParts
  const items = picked(query, decodeRows(shown), now)
  if (place.length === 0) return { items, scanned }
  return { items, scanned, cursor: encodeCursor([query.state, ...place, lastDeath]) }
}

const TAG_CURSOR = [/^tag$/, /^/]

export function tagArgs({ tag, limit, cursor }: TagQuery): string[] {
  const [, after = ''] = cursor === undefined ? [] : decodeCursor(cursor, TAG_CURSOR)
  return [tag, after, String(limit)]
}

export function tagReply(query: TagQuery, reply: readonly unknown[]): Page {
  const [last, scanned, shown, now] = reply as unknown as [string, number, ShownRows, string]
  const items = picked(query, decodeRows(shown), now)
  return last === '' ? { items, scanned } : { items, scanned, cursor: encodeCursor(['tag', last]) }
}

/** What the script does not look at. */
function picked(
  query: ListQuery | TagQuery,
  items: readonly StoredMessage[],
  now: string,
): readonly StoredMessage[] {
  if (query.tag === undefined && query.olderThanMs === undefined) return items
  return items.filter((item) => isPicked(query, item, Number(now)))
}

export function decodeRows([rows, owners, leasedAt, extras, successors]: ShownRows): StoredMessage[] {
  return owners.map((owner, index) => {
    const [marks = '', ...tags] = (extras[index] ?? '').split('\n')
    const successor = successors[index] ?? ''
    return {
      ...decodeRow(rows, index * ROW_FIELDS),
      owner,
      leasedAt: momentOf(leasedAt[index]),
      tags,
      ...(marks.includes('c') ? { isCancelling: true } : {}),
      ...(successor === '' ? {} : { successor: decodeSuccessor(successor) }),
    }
  })
}

/** As `successors.lua` writes it: dueAt, length of the tags in bytes, the tags, the payload. */
function decodeSuccessor(record: string): Successor {
  const [head = '', due, size] = /^(\d+) (\d+) /.exec(record) ?? []
  const rest = Buffer.from(record.slice(head.length))
  const tags = rest.subarray(0, Number(size)).toString()
  const payload = rest.subarray(Number(size)).toString()
  return { ...decodePayload(payload), dueAt: momentOf(due), tags: decodeTags(tags) }
}

function decodeRow(rows: readonly unknown[], at: number): Omit<StoredMessage, 'owner' | 'leasedAt' | 'tags'> {
  if (rows[at + 2] === 'completed') return decodeRemembered(rows[at] as string, rows[at + 1] as string)
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
