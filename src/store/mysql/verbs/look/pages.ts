/**
 * Lists, page by page (P10). First a page walks over keys (`key-walk`); then it reads the messages that it picked, no more than
 * 16 MiB of bodies. A cursor is the place of the last key that it looked at.
 */
import { decodeCursor, encodeCursor } from '../../../../core/encoding/cursor.ts'
import { assertNever } from '../../../../core/errors.ts'
import type * as contract from '../../../contract/store.ts'
import { toStored, type SeenRow } from '../../../sql/rows.ts'
import { clockReading, nowOf, readClock, selectClock, type QueuePlace } from '../../sql/clock.ts'
import { numberOrNull, sql, textOf, textOrNull, type SqlRow } from '../../sql/statement.ts'
import type { Transactions } from '../../transactions.ts'
import { KeyWalk, type PageQuery } from './key-walk.ts'
import { successorOf, tagsOf, WAITING_STATES } from '../write/locked-row.ts'

const NUMBER = /^-?\d{1,19}$/
const ANY = /^/
const PLACES: Readonly<Record<string, readonly RegExp[]>> = {
  waiting: [/^waiting$/, NUMBER, ANY, /^[0-3]$/, NUMBER, NUMBER],
  dead: [/^dead$/, NUMBER, ANY, /^[0-3]$/, NUMBER, NUMBER],
  running: [/^running$/, NUMBER, NUMBER],
  ids: [/^ids$/, ANY],
}
const REMEMBERED_CURSOR = [/^remembered$/, NUMBER, NUMBER]

/** Messages by id, in the order of the ids. A remembered id is shown while it is. */
export async function readIds(
  calls: Transactions,
  { queue, at }: QueuePlace,
  ids: readonly string[],
): Promise<contract.Page> {
  if (ids.length === 0) return { items: [], scanned: 0 }
  const [, clock, rows = []] = await calls.flight(
    ...readClock(at),
    sql`select ${SEEN} from punctual_message force index (punctual_message_id) where queue = ${queue} and id in (${ids})`,
  )
  const now = nowOf(clock)
  const found = new Map(rows.map((row) => [textOf(row['id']), row]))
  const items = ids.flatMap((id) => {
    const row = found.get(id)
    const seen = row === undefined ? undefined : toSeen(row)
    return seen === undefined || (seen.state === 3 && (seen.until ?? 0) <= now) ? [] : [toStored(seen, now)]
  })
  return { items, scanned: ids.length }
}

/** What is remembered of messages that are done, in the order in which it is forgotten. */
export async function readRemembered(
  calls: Transactions,
  { queue, at }: QueuePlace,
  { limit, cursor }: contract.RememberedQuery,
): Promise<contract.Page> {
  const [, until = '', seq = ''] =
    cursor === undefined ? ['', '-1', '-1'] : decodeCursor(cursor, REMEMBERED_CURSOR)
  const [clock, rows = []] = await calls.flight(
    selectClock(at),
    sql`select ${SEEN} from punctual_message force index (punctual_message_until) where queue = ${queue} and state = 3
      and until >= ${Number(until)} and (until > ${Number(until)} or seq > ${Number(seq)}) and until > ${clockReading(at)}
      order by until, seq limit ${limit}`,
  )
  const items = rows.map((row) => toStored(toSeen(row), nowOf(clock)))
  const page = { items, scanned: rows.length }
  const last = rows.length < limit ? undefined : rows.at(-1)
  if (last === undefined) return page
  return { ...page, cursor: encodeCursor(['remembered', String(last['until']), String(last['seq'])]) }
}

export function readPage(
  calls: Transactions,
  { queue, at }: QueuePlace,
  query: PageQuery,
): Promise<contract.Page> {
  const kind = kindOf(query)
  const place =
    query.cursor === undefined ? undefined : decodeCursor(query.cursor, PLACES[kind] ?? []).slice(1)
  return calls.look(async (steps) => {
    const [, clock] = await steps.send(...readClock(at))
    const now = nowOf(clock)
    const walk = new KeyWalk(steps, queue, query, now)
    if (kind === 'ids') await walk.byIds(place)
    else if (kind === 'running') await walk.running(place)
    else await walk.byTopic(kind === 'dead' ? [2] : WAITING_STATES, place)
    const [rows = []] = await steps.commit(
      sql`select ${SEEN} from punctual_message force index (primary) where seq in (${walk.picked})`,
    )
    const found = new Map(rows.map((row) => [Number(row['seq']), row]))
    const items = walk.picked.flatMap((seq) => {
      const row = found.get(seq)
      return row === undefined ? [] : [toStored(toSeen(row), now)]
    })
    const page = { items, scanned: walk.scanned }
    return walk.next === undefined ? page : { ...page, cursor: encodeCursor([kind, ...walk.next]) }
  })
}

function kindOf({ tag, idPrefix = '', state }: PageQuery): 'ids' | 'running' | 'dead' | 'waiting' {
  if (tag !== undefined || idPrefix !== '' || state === undefined) return 'ids'
  switch (state) {
    case 'delayed':
    case 'ready':
      return 'waiting'
    case 'running':
    case 'dead':
      return state
    default:
      return assertNever(state)
  }
}

const SEEN = sql`seq, id, topic, priority, state, due_at, first_due_at, produced_at, attempt, lapses, meta, body, error, reason,
  until, owner, leased_at, tags, is_cancelling, its_key, successor`

function toSeen(row: SqlRow): SeenRow {
  return {
    id: textOf(row['id']),
    topic: textOf(row['topic']),
    priority: Number(row['priority']),
    state: Number(row['state']),
    due_at: Number(row['due_at']),
    first_due_at: numberOrNull(row['first_due_at']),
    produced_at: Number(row['produced_at']),
    attempt: Number(row['attempt']),
    lapses: Number(row['lapses']),
    meta: textOf(row['meta'] ?? ''),
    body: textOf(row['body'] ?? ''),
    key: textOrNull(row['its_key']),
    error: textOrNull(row['error']),
    reason: textOrNull(row['reason']),
    until: numberOrNull(row['until']),
    owner: textOrNull(row['owner']),
    leased_at: numberOrNull(row['leased_at']),
    tags: tagsOf(textOrNull(row['tags'])),
    is_cancelling: Number(row['is_cancelling']) === 1,
    successor: successorOf(textOrNull(row['successor'])),
  }
}
