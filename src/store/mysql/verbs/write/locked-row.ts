/** One row of `punctual_message` as the verbs hold it: all of it but for its content. Moments are microseconds. */
import { isSound, type SuccessorColumn } from '../../../sql/rows.ts'
import {
  joined,
  listed,
  numberOrNull,
  sql,
  textOf,
  textOrNull,
  type SqlRow,
  type Statement,
} from '../../sql/statement.ts'

export const WAITING = 0
export const RUNNING = 1
export const DEAD = 2
export const REMEMBERED = 3
/** How `WAITING` is stored of a message with a key: processes that know no keys leave it alone. */
const WAITING_WITH_KEY = 4
export const WAITING_STATES = [WAITING, WAITING_WITH_KEY]

/** What its column holds. */
export const LAPSES_MAX = 32_767

export type LockedRow = {
  /** Undefined: it is not stored yet. */
  seq: number | undefined
  readonly id: string
  topic: string
  priority: number
  state: number
  due_at: number
  produced_at: number
  first_due_at: number | null
  until: number | null
  leased_at: number | null
  token: string | null
  owner: string | null
  attempt: number
  lapses: number
  is_taken: number | null
  is_cancelling: number | null
  its_key: string | null
  is_holding: number | null
  tags: readonly string[]
  /** Null for one that somebody changed by hand, and that cannot be read. */
  successor: SuccessorColumn | null
  /** Null: as it is stored. */
  meta: string | null
  body: string | null
  error: string | null
  reason: string | null
}

const LOADED = sql`seq, id, topic, priority, state, due_at, produced_at, first_due_at, until, leased_at,
  cast(token as char) as token, owner, attempt, lapses, is_taken, is_cancelling, its_key, is_holding, tags, successor`

/** The rows of these ids, locked in the order of ids. `skip`: not those that somebody else has locked. */
export function lockRows(queue: number, ids: readonly string[], isSkipping: boolean): Statement {
  return sql`select ${LOADED} from punctual_message force index (punctual_message_id)
    where queue = ${queue} and id in (${ids}) order by id for update${isSkipping ? sql` skip locked` : sql``}`
}

export function toMessageRow(row: SqlRow): LockedRow {
  const tags = textOrNull(row['tags'])
  return {
    seq: Number(row['seq']),
    id: textOf(row['id']),
    topic: textOf(row['topic']),
    priority: Number(row['priority']),
    state: stateOf(row),
    due_at: Number(row['due_at']),
    produced_at: Number(row['produced_at']),
    first_due_at: numberOrNull(row['first_due_at']),
    until: numberOrNull(row['until']),
    leased_at: numberOrNull(row['leased_at']),
    token: textOrNull(row['token']),
    owner: textOrNull(row['owner']),
    attempt: Number(row['attempt']),
    lapses: Number(row['lapses']),
    is_taken: numberOrNull(row['is_taken']),
    is_cancelling: numberOrNull(row['is_cancelling']),
    its_key: textOrNull(row['its_key']),
    is_holding: numberOrNull(row['is_holding']),
    tags: tagsOf(tags),
    successor: successorOf(textOrNull(row['successor'])),
    meta: null,
    body: null,
    error: null,
    reason: null,
  }
}

/** With a key or without. */
export function stateOf(row: SqlRow): number {
  const state = Number(row['state'])
  return state === WAITING_WITH_KEY ? WAITING : state
}

/** No tag has a line feed in it. */
export function tagsOf(column: string | null): readonly string[] {
  return column === null || column === '' ? [] : column.split('\n')
}

export function successorOf(text: string | null): SuccessorColumn | null {
  if (text === null) return null
  try {
    const value: unknown = JSON.parse(text)
    return isSound(value) ? value : null
  } catch {
    return null
  }
}

const COLUMNS = sql`queue, id, topic, priority, state, due_at, produced_at, first_due_at, until, leased_at, token, owner,
  attempt, lapses, is_taken, is_cancelling, its_key, is_holding, tags, successor, meta, body, error, reason`

/** Of a message that waits. */
export function waitingState(key: string | null | undefined): number {
  return typeof key === 'string' ? WAITING_WITH_KEY : WAITING
}

function storedState({ state, its_key: key }: LockedRow): number {
  return state === WAITING ? waitingState(key) : state
}

function valuesOf(queue: number, row: LockedRow): Statement {
  const { token, tags, successor } = row
  return sql`${queue}, ${row.id}, ${row.topic}, ${row.priority}, ${storedState(row)}, ${row.due_at}, ${row.produced_at},
    ${row.first_due_at}, ${row.until}, ${row.leased_at}, ${token}, ${row.owner},
    ${row.attempt}, ${row.lapses}, ${row.is_taken}, ${row.is_cancelling}, ${row.its_key},
    ${row.is_holding}, ${tags.length === 0 ? null : tags.join('\n')},
    ${successor === null ? null : JSON.stringify(successor)}, ${row.meta}, ${row.body}, ${row.error}, ${row.reason}`
}

export function insertRows(queue: number, rows: readonly LockedRow[]): Statement {
  return sql`insert into punctual_message (${COLUMNS}) values ${joined(
    rows.map((row) => sql`(${valuesOf(queue, row)})`),
    ', ',
  )}`
}

/** An insert that never inserts: every row is there, locked, and found by its key. */
export function updateRows(queue: number, rows: readonly LockedRow[]): Statement {
  return sql`insert into punctual_message (seq, ${COLUMNS}) values ${joined(
    rows.map((row) => sql`(${row.seq ?? 0}, ${valuesOf(queue, row)})`),
    ', ',
  )} on duplicate key update state = values(state), due_at = values(due_at), first_due_at = values(first_due_at),
    until = values(until), leased_at = values(leased_at), token = values(token), owner = values(owner),
    attempt = values(attempt), lapses = values(lapses), is_taken = values(is_taken), is_cancelling = values(is_cancelling),
    is_holding = values(is_holding),
    tags = values(tags), successor = values(successor), meta = coalesce(values(meta), meta),
    body = coalesce(values(body), body), error = coalesce(values(error), error), reason = coalesce(values(reason), reason)`
}

export function deleteRows(seqs: readonly number[]): Statement {
  return sql`delete m from ${listed(seqs)} straight_join punctual_message as m force index (primary) on m.seq = d.value`
}

/**
 * To new places at the end, in the order given. The content stays on the server: rows are copied under names that no message
 * has, the old ones leave, and the copies get their names.
 */
export function moveRows(queue: number, rows: readonly LockedRow[]): readonly Statement[] {
  const seqs = rows.flatMap(({ seq }) => (seq === undefined ? [] : [seq]))
  return [
    sql`insert into punctual_message (${COLUMNS})
      select queue, concat(char(0), id), topic, priority, state, due_at, produced_at, first_due_at, until, leased_at, token,
        owner, attempt, lapses, is_taken, is_cancelling, its_key, is_holding, tags, successor, meta, body, error, reason
      from punctual_message force index (primary) where seq in (${seqs}) order by field(seq, ${seqs})`,
    deleteRows(seqs),
    sql`update punctual_message force index (punctual_message_id) set id = substr(id, 2)
      where queue = ${queue} and id in (${rows.map(({ id }) => `\0${id}`)})`,
  ]
}
