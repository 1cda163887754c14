/** The verbs that write: put, settle, remove, reschedule, revive. Each is decided here, under locks, and written at once. */
import type * as contract from '../../contract/store.ts'
import { followUpsOf } from '../../contract/sizes.ts'
import { isStorable } from '../../shared/moments.ts'
import type { Ring } from '../../sql/wakeups/bell.ts'
import { errorNumber } from '../link/refusals.ts'
import { NOW, nowOf, readClock, selectClock } from '../sql/clock.ts'
import { joined, sql, textOf, textOrNull, type Statement } from '../sql/statement.ts'
import type { Rows, Steps } from '../transactions.ts'
import { DEAD, lockRows, REMEMBERED, RUNNING, WAITING } from './locked-row.ts'
import { place } from './placing.ts'
import { knownLook, RingNotes } from './ring-notes.ts'
import { countOf, deltaStatements, dueMicros, insertTags, restoredRowOf, RowSet } from './row-set.ts'
import { settleOne } from './settling.ts'

const DUPLICATE = 1062
const QUICK_TOPICS_MAX = 20

/** Where a verb acts: the number of the queue, and the clock of a test. */
export type QueuePlace = { readonly queue: number; readonly at: number | null }
export type WrittenAnswers<Word> = { readonly answers: Word[]; readonly ring: Ring | undefined }

export function isPlain(messages: readonly contract.NewMessage[]): boolean {
  return (
    messages.every(({ ifExists }) => ifExists === 'keep') &&
    new Set(messages.map(({ id }) => id)).size === messages.length
  )
}

/** In one round trip, if no id is taken; else undefined, and nothing was done. */
export async function putPlain(
  steps: Steps,
  { queue, at }: QueuePlace,
  messages: readonly contract.NewMessage[],
): Promise<WrittenAnswers<contract.PutResult> | undefined> {
  const topics = byTopic(messages)
  const looks =
    topics.size > QUICK_TOPICS_MAX
      ? []
      : [...topics].map(([topic, first]) => knownLook(queue, topic, NOW, first))
  try {
    const [, now, ...rest] = await steps.commit(
      ...readClock(at),
      ...looks,
      sql`insert into ${newValues(queue, messages, NOW)}`,
      ...newOthers(queue, messages),
    )
    const notes = new RingNotes()
    for (const message of messages) notes.note(message.topic, dueMicros(message, nowOf(now)))
    return { answers: messages.map(() => 'stored'), ring: notes.ring(rest.slice(0, looks.length)) }
  } catch (error) {
    if (errorNumber(error) === DUPLICATE) return undefined
    throw error
  }
}

/** The rest of an insert of messages that wait. `now`: as the server reads it. One text, as there may be many. */
export function newValues(
  queue: number,
  messages: readonly contract.NewMessage[],
  now: Statement,
): Statement {
  const values: string[] = []
  let rows = ''
  for (const { id, topic, priority, meta, body, when, tags = [] } of messages) {
    const due = 'at' in when ? micros(when.at) : `${now.text} + ${micros(when.delayMs)}`
    const list = tags.length === 0 ? 'null' : '?'
    rows += `${rows === '' ? '' : ', '}(${queue}, ${priority}, ${due}, ${now.text}, ?, ?, ?, ?, ${list})`
    values.push(topic, id, meta, body)
    if (tags.length > 0) values.push(tags.join('\n'))
  }
  const columns = 'queue, priority, due_at, produced_at, topic, id, meta, body, tags'
  return { text: `punctual_message (${columns}) values ${rows}`, values }
}

/** What belongs to new messages besides their rows. */
export function newOthers(queue: number, messages: readonly contract.NewMessage[]): Statement[] {
  const tags = messages.flatMap(({ id, tags: list = [] }) =>
    list.map((tag) => sql`(${queue}, ${tag}, ${id})`),
  )
  const counts = new Map<string, { waiting: number; running: number; dead: number }>()
  for (const { topic } of messages) countOf(counts, topic).waiting += 1
  return [...(tags.length === 0 ? [] : [insertTags(tags)]), ...deltaStatements(queue, counts)]
}

function micros(ms: number): number {
  return Math.round(ms * 1000)
}

/** For each topic, its earliest new moment as the server works it out. */
function byTopic(messages: readonly contract.NewMessage[]): Map<string, Statement> {
  const delays = new Map<string, number>()
  const moments = new Map<string, number>()
  for (const { topic, when } of messages) {
    const [kind, value] = 'at' in when ? ([moments, when.at] as const) : ([delays, when.delayMs] as const)
    kind.set(topic, Math.min(kind.get(topic) ?? Infinity, Math.round(value * 1000)))
  }
  return new Map(
    [...new Set(messages.map(({ topic }) => topic))].map((topic) => {
      const [delay, moment] = [delays.get(topic), moments.get(topic)]
      const parts = [
        delay === undefined ? [] : [sql`@punctual_now + ${delay}`],
        moment === undefined ? [] : [sql`${moment}`],
      ].flat()
      return [topic, parts.length === 1 ? (parts[0] as Statement) : sql`least(${joined(parts, ', ')})`]
    }),
  )
}

export async function put(
  steps: Steps,
  { queue, at }: QueuePlace,
  messages: readonly contract.NewMessage[],
): Promise<WrittenAnswers<contract.PutResult>> {
  const rows = new RowSet(queue)
  const notes = new RingNotes()
  const asked = messages.flatMap(({ id, ifBody }) => (ifBody === undefined ? [] : [id]))
  const [clock, found, contents = []] = await steps.send(
    selectClock(at),
    lockRows(queue, distinct(messages.map(({ id }) => id)), false),
    ...(asked.length === 0 ? [] : [selectBodies(queue, asked)]),
  )
  rows.load(found ?? [])
  const now = nowOf(clock)
  const bodies = new Map(contents.map((row) => [textOf(row['id']), textOf(row['body'] ?? '')]))
  const answers = messages.map((message) => place(message, { rows, now, notes, bodies }))
  return { answers, ring: await write(steps, rows, notes, { queue, now }) }
}

function selectBodies(queue: number, ids: readonly string[]): Statement {
  return sql`select id, body from punctual_message force index (punctual_message_id)
    where queue = ${queue} and id in (${distinct(ids)})`
}

/** A row, if the queue has a limit of concurrency: what ends lets another one start. */
export function freeingLook(queue: number): Statement {
  return sql`select 1 from punctual_control where queue = ${queue} and control like '%"concurrency"%' limit 1`
}

export async function settle(
  steps: Steps,
  { queue, at }: QueuePlace,
  settlements: readonly contract.Settlement[],
  isSkipping = true,
): Promise<WrittenAnswers<contract.SettleResult>> {
  const rows = new RowSet(queue)
  const notes = new RingNotes()
  const storable = settlements.filter(isStorable)
  const ids = distinct(storable.map(({ id }) => id))
  const carried = distinct(storable.flatMap((one) => followUpsOf(one).map(({ id }) => id)))
  const [clock, frees = [], own, more] = await steps.send(
    selectClock(at),
    freeingLook(queue),
    lockRows(queue, ids, isSkipping),
    ...(carried.length === 0 ? [] : [lockRows(queue, carried, false)]),
  )
  rows.load(own ?? [])
  rows.load(more ?? [])
  const now = nowOf(clock)
  const terms = { rows, now, notes, frees: frees.length > 0 }
  const givers = storable.map(({ id, kind }) =>
    kind === 'release' ? (rows.get(id)?.owner ?? '') : kind === 'ack' ? undefined : '',
  )
  const known = new Set(ids.filter((id) => rows.get(id) !== undefined))
  const answers = settlements.map((one): contract.SettleResult | undefined =>
    isStorable(one) ? settleOne(one, terms) : 'refused',
  )
  const unseen = settlements
    .filter(({ id }, i) => answers[i] === undefined && !known.has(id))
    .map(({ id }) => id)
  const look = sql`select id, cast(token as char) as token from punctual_message force index (punctual_message_id)
    where queue = ${queue} and id in (${distinct(unseen)})`
  const names = new Set(givers.filter((name) => name !== undefined))
  const giver = !terms.frees && names.size === 1 ? [...names][0] : ''
  const extra = unseen.length === 0 ? [] : [look]
  const { ring, replies } = await writeWith(steps, rows, notes, { queue, now, giver }, extra)
  const held = new Map((replies[0] ?? []).map((row) => [textOf(row['id']), textOrNull(row['token'])]))
  return {
    answers: answers.map(
      (answer, i) =>
        answer ?? (held.get(settlements[i]?.id ?? '') === settlements[i]?.token ? 'locked' : 'lost'),
    ),
    ring,
  }
}

export async function remove(
  steps: Steps,
  { queue, at }: QueuePlace,
  ids: readonly string[],
  { wanted, isRunningToo }: { readonly wanted: typeof WAITING | typeof DEAD; readonly isRunningToo: boolean },
): Promise<contract.RemoveResult[]> {
  const { rows, states, now } = await lockSome(steps, { queue, at }, ids, (state, hasSuccessor) =>
    state === RUNNING ? isRunningToo || hasSuccessor : state === wanted || state === REMEMBERED,
  )
  const answers = ids.map((id): contract.RemoveResult => {
    const row = rows.get(id)
    if (row === undefined) return states.get(id) === RUNNING ? 'running' : 'missing'
    if (row.state === RUNNING) {
      rows.change(row, { successor: null, ...(isRunningToo ? { is_cancelling: 1 } : {}) })
      return isRunningToo ? 'cancelling' : 'running'
    }
    if (row.state !== wanted && row.state !== REMEMBERED) return 'missing'
    rows.remove(row)
    return row.state !== REMEMBERED || (wanted === DEAD && (row.until ?? 0) > now) ? 'removed' : 'missing'
  })
  await steps.commit(...rows.statements())
  return answers
}

export async function reschedule(
  steps: Steps,
  where: QueuePlace,
  moves: readonly contract.Move[],
): Promise<WrittenAnswers<contract.RescheduleResult>> {
  const ids = moves.map(({ id }) => id)
  const { rows, states, now } = await lockSome(steps, where, ids, (state, hasSuccessor) =>
    state === RUNNING ? hasSuccessor : state === WAITING,
  )
  const notes = new RingNotes()
  const answers = moves.map((move): contract.RescheduleResult => {
    const row = rows.get(move.id)
    if (row === undefined) return states.get(move.id) === RUNNING ? 'running' : 'missing'
    const due = dueMicros(move, now)
    if (row.state === WAITING) {
      rows.change(row, { due_at: due, first_due_at: null })
      return 'rescheduled'
    }
    if (row.state !== RUNNING) return 'missing'
    if (row.successor === null) return 'running'
    rows.change(row, { successor: { ...row.successor, due_at: due } })
    return 'rescheduled'
  })
  for (const id of ids) {
    const row = rows.get(id)
    if (row?.state === WAITING) notes.note(row.topic, row.due_at)
  }
  return { answers, ring: await write(steps, rows, notes, { queue: where.queue, now }) }
}

export async function revive(
  steps: Steps,
  where: QueuePlace,
  ids: readonly string[],
): Promise<WrittenAnswers<contract.ReviveResult>> {
  const { rows, now } = await lockSome(steps, where, ids, (state) => state === DEAD)
  const notes = new RingNotes()
  const answers = ids.map((id): contract.ReviveResult => {
    const row = rows.get(id)
    if (row === undefined || row.state !== DEAD) return 'missing'
    const anew = { first_due_at: null, until: null, attempt: 0, lapses: 0, error: '', reason: '' }
    rows.change(row, { ...anew, state: WAITING, due_at: now })
    rows.moveToEnd(row)
    notes.note(row.topic, now)
    return 'revived'
  })
  return { answers, ring: await write(steps, rows, notes, { queue: where.queue, now }) }
}

/** As another store showed them; see the contract. */
export async function restore(
  steps: Steps,
  { queue, at }: QueuePlace,
  messages: readonly contract.RestoredMessage[],
): Promise<WrittenAnswers<contract.RestoreResult>> {
  const rows = new RowSet(queue)
  const notes = new RingNotes()
  const [clock, found] = await steps.send(
    selectClock(at),
    lockRows(queue, distinct(messages.map(({ id }) => id)), false),
  )
  rows.load(found ?? [])
  const now = nowOf(clock)
  const answers = messages.map((message): contract.RestoreResult => {
    const old = rows.get(message.id)
    if (old !== undefined && (old.state !== REMEMBERED || (old.until ?? 0) > now)) return 'taken'
    if (old !== undefined) rows.remove(old)
    const row = restoredRowOf(message)
    rows.add(row)
    if (row.state === WAITING) notes.note(row.topic, row.due_at)
    return 'restored'
  })
  return { answers, ring: await write(steps, rows, notes, { queue, now }) }
}

type Locked = { readonly rows: RowSet; readonly states: ReadonlyMap<string, number>; readonly now: number }

/**
 * Locks only what the verb is about. A locking read waits for every row that it looks at, also for those that its conditions
 * leave out; so it looks first, and what it then has locked it looks at again.
 */
async function lockSome(
  steps: Steps,
  { queue, at }: QueuePlace,
  ids: readonly string[],
  isWanted: (state: number, hasSuccessor: boolean) => boolean,
): Promise<Locked> {
  const [clock, found = []] = await steps.send(
    selectClock(at),
    sql`select id, state, successor is not null as has_successor from punctual_message force index (punctual_message_id)
      where queue = ${queue} and id in (${distinct(ids)})`,
  )
  const states = new Map(found.map((row) => [textOf(row['id']), Number(row['state'])]))
  const wanted = found.filter((row) => isWanted(Number(row['state']), Number(row['has_successor']) === 1))
  const rows = new RowSet(queue)
  if (wanted.length > 0) {
    const [locked] = await steps.send(
      lockRows(queue, distinct(wanted.map((row) => textOf(row['id']))), false),
    )
    rows.load(locked ?? [])
  }
  return { rows, states, now: nowOf(clock) }
}

type WriteTerms = { readonly queue: number; readonly now: number; readonly giver?: string | undefined }

async function write(
  steps: Steps,
  rows: RowSet,
  notes: RingNotes,
  terms: WriteTerms,
): Promise<Ring | undefined> {
  return (await writeWith(steps, rows, notes, terms, [])).ring
}

async function writeWith(
  steps: Steps,
  rows: RowSet,
  notes: RingNotes,
  { queue, now, giver = '' }: WriteTerms,
  extra: readonly Statement[],
): Promise<{ readonly ring: Ring | undefined; readonly replies: readonly Rows[] }> {
  const looks = notes.look(queue, now)
  const replies = await steps.commit(...extra, ...looks, ...rows.statements())
  const ring = notes.ring(replies.slice(extra.length, extra.length + looks.length), giver)
  return { ring, replies: replies.slice(0, extra.length) }
}

/** Each once. The server locks them in the order of its index, whatever order they are named in. */
function distinct(ids: readonly string[]): string[] {
  return [...new Set(ids)]
}
