/**
 * Topics that have keys, in one claim: claims of such a topic take turns, each on a row of its own, several in sorted order. That
 * row is there while the topic has keys; it keeps the last number of the topic, by which ties are decided.
 *
 * What was noted and is due is brought into the line first, up to 2,000 notes of each topic; what is left is due, so that the
 * claim says that more is there. Notes and turns are read without locks, as only claims with that row change them.
 */
import { NOW, nowOf, setClock, type QueuePlace } from '../../sql/clock.ts'
import { joined, listed, sql, textOf, type SqlRow, type Statement } from '../../sql/statement.ts'
import type { Rows, Steps } from '../../transactions.ts'
import { FREED, RULES_CHANGED } from './changes.ts'
import { deleteTurns, RATE } from './turns.ts'

const NOTES_MAX = 2_000
/** Of rates that have recovered, and of keys whose limits have changed. */
const SWEPT_MAX = 1_000
/** On this row, of no key, claims of a topic take turns. */
const ROW_OF_TOPIC = sql`its_key = '' and priority = 0`

/** A condition: whether a queue has keys. */
export function hasKeys(queue: number): Statement {
  return sql`(exists (select 1 from punctual_turn where queue = ${queue})
    or exists (select 1 from punctual_note where queue = ${queue}))`
}

/** Which of these topics have keys: a row for each. */
export function selectKeyed(queue: number, topics: readonly string[]): Statement {
  const names = topics.map((topic, i) => sql`select ${i} as i, cast(${topic} as binary) as topic`)
  if (names.length === 0) return sql`select null as i from dual where false`
  return sql`select w.i,
      (select 1 from punctual_turn as r force index (primary) where r.queue = ${queue} and r.topic = w.topic limit 1) as has_turns,
      (select 1 from punctual_note as n force index (punctual_note_at)
        where n.queue = ${queue} and n.topic = w.topic limit 1) as has_notes
    from (${joined(names, ' union all ')}) w`
}

export function toKeyed(rows: Rows): number[] {
  return rows
    .filter((row) => row['has_turns'] !== null || row['has_notes'] !== null)
    .map((row) => Number(row['i']))
}

/** One that this claim has locked. */
export type LockedTopic = {
  readonly topic: number
  readonly name: string
  /** The last number that was used. */
  lastNumber: number
}

type NotedTopic = LockedTopic & { readonly notes: Rows; readonly recovered: readonly string[] }
export type LockedTopics = {
  readonly now: number
  readonly topics: readonly LockedTopic[]
  readonly fold: readonly Statement[]
}

/** `lead`: how far ahead it may be handed out. The moment is read when the locks are there; `before`: if there are none. */
export async function lockTopics(
  steps: Steps,
  { queue, at }: QueuePlace,
  wanted: readonly { readonly topic: number; readonly name: string; readonly lead: number }[],
  before: number,
): Promise<LockedTopics> {
  if (wanted.length === 0) return { now: before, topics: [], fold: [] }
  const sorted = wanted.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const rows = sorted.map(({ name }) => sql`(${queue}, ${name}, '', 0, 0, 0, 0, 0, null, null)`)
  const looks = sorted.flatMap(({ name, lead }) => [
    selectNotes(queue, name, lead),
    selectRecovered(queue, name),
  ])
  const [, , clock, numbers = [], ...replies] = await steps.send(
    sql`insert into punctual_turn (queue, topic, its_key, priority, served_at, used, due_at, seq, next_at, held)
      values ${joined(rows, ', ')} on duplicate key update topic = values(topic)`,
    setClock(at),
    sql`select ${NOW} as now_at`,
    sql`select topic, seq from punctual_turn force index (primary)
      where queue = ${queue} and topic in (${sorted.map(({ name }) => name)}) and ${ROW_OF_TOPIC}`,
    ...looks,
  )
  const last = new Map(numbers.map((row) => [textOf(row['topic']), Number(row['seq'])]))
  const now = nowOf(clock)
  const topics = sorted.map(({ topic, name }, i): NotedTopic => ({
    topic,
    name,
    lastNumber: Math.max(last.get(name) ?? 0, now),
    notes: replies[2 * i] ?? [],
    recovered: (replies[2 * i + 1] ?? []).map((row) => textOf(row['its_key'])),
  }))
  const swept: Statement[] = []
  for (const topic of topics) swept.push(...(await sweep(steps, queue, topic)))
  return { now, topics, fold: [...topics.flatMap((topic) => fold(queue, topic)), ...swept] }
}

function selectNotes(queue: number, topic: string, lead: number): Statement {
  return sql`select number, its_key, priority, from_at, seq, noted_at from punctual_note force index (punctual_note_at)
    where queue = ${queue} and topic = ${topic} and from_at <= ${NOW} + ${lead} order by from_at, number limit ${NOTES_MAX}`
}

function selectRecovered(queue: number, topic: string): Statement {
  return sql`select its_key from punctual_turn force index (punctual_turn_line)
    where queue = ${queue} and topic = ${topic} and priority = ${RATE} and next_at <= ${NOW}
    order by next_at limit ${SWEPT_MAX}`
}

function fold(queue: number, { name, notes, recovered }: NotedTopic): Statement[] {
  const done = notes
    .filter((row) => Number(row['priority']) !== RULES_CHANGED)
    .map((row) => Number(row['number']))
  const freed = notes.filter((row) => Number(row['priority']) === FREED).map((row) => textOf(row['its_key']))
  return [
    ...(recovered.length === 0 ? [] : [deleteTurns(queue, name, recovered, RATE)]),
    ...(done.length === 0 ? [] : [deleteNotes(done)]),
    ...enter(
      queue,
      name,
      notes.filter((row) => Number(row['priority']) >= 0),
    ),
    ...(freed.length === 0
      ? []
      : [free(queue, name, sql`its_key in (${[...new Set(freed)]}) and priority in (0, 1, 2)`)]),
  ]
}

function deleteNotes(numbers: readonly number[]): Statement {
  return sql`delete n from ${listed(numbers)} straight_join punctual_note as n force index (primary) on n.number = d.value`
}

type Entered = {
  readonly key: string
  readonly priority: number
  dueAt: number
  seq: number
  servedAt: number
}

/**
 * Keys with a message that came to wait. One that was not there, and comes with a moment that has passed, begins as if it was
 * served when it came. An update's values are worked out one after the other: `due_at` comes last.
 */
function enter(queue: number, topic: string, notes: readonly SqlRow[]): Statement[] {
  const entered = new Map<string, Entered>()
  for (const row of notes) {
    const [key, priority] = [textOf(row['its_key']), Number(row['priority'])]
    const [dueAt, seq, notedAt] = [Number(row['from_at']), Number(row['seq']), Number(row['noted_at'])]
    const servedAt = dueAt < notedAt ? notedAt : 0
    const name = `${key}\n${priority}`
    const known = entered.get(name)
    if (known === undefined) {
      entered.set(name, { key, priority, dueAt, seq, servedAt })
      continue
    }
    known.servedAt = Math.max(known.servedAt, servedAt)
    if (dueAt < known.dueAt || (dueAt === known.dueAt && seq < known.seq))
      Object.assign(known, { dueAt, seq })
  }
  if (entered.size === 0) return []
  const rows = [...entered.values()].map(
    ({ key, priority, dueAt, seq, servedAt }) =>
      sql`(${queue}, ${topic}, ${key}, ${priority}, ${servedAt}, 0, ${dueAt}, ${seq}, ${Math.max(dueAt, servedAt)}, null)`,
  )
  return [
    sql`insert into punctual_turn (queue, topic, its_key, priority, served_at, used, due_at, seq, next_at, held)
      values ${joined(rows, ', ')} on duplicate key update
        seq = if(values(due_at) > served_at
          and (values(due_at) < due_at or (values(due_at) = due_at and values(seq) < seq)), values(seq), seq),
        next_at = if(held is null and values(due_at) <= due_at, greatest(served_at, values(due_at)), next_at),
        due_at = least(due_at, values(due_at))`,
  ]
}

/** Back into the line, those that were held. */
function free(queue: number, topic: string, which: Statement): Statement {
  return sql`update punctual_turn force index (primary) set next_at = greatest(served_at, due_at), held = null
    where queue = ${queue} and topic = ${topic} and ${which} and held is not null`
}

/** What keys are allowed has changed: those that were held are looked at anew, some in each claim. */
async function sweep(steps: Steps, queue: number, { name, notes }: NotedTopic): Promise<Statement[]> {
  const changes = notes.filter((row) => Number(row['priority']) === RULES_CHANGED)
  if (changes.length === 0) return []
  const since = Math.max(...changes.map((row) => Number(row['seq'])))
  const [held = []] = await steps.send(
    sql`select its_key from punctual_turn force index (punctual_turn_held)
      where queue = ${queue} and topic = ${name} and held <= ${since} order by held limit ${SWEPT_MAX}`,
  )
  const keys = [...new Set(held.map((row) => textOf(row['its_key'])))]
  const done = held.length < SWEPT_MAX ? changes.map((row) => Number(row['number'])) : []
  return [
    ...(done.length === 0 ? [] : [deleteNotes(done)]),
    ...(keys.length === 0 ? [] : [free(queue, name, sql`its_key in (${keys}) and priority in (0, 1, 2)`)]),
  ]
}

/** The last statements of a claim: where the topics stand. What is empty leaves nothing. */
export function leaveTopics(queue: number, topics: readonly LockedTopic[]): Statement[] {
  return topics.flatMap(({ name, lastNumber }) => [
    sql`update punctual_turn force index (primary) set seq = ${lastNumber}
      where queue = ${queue} and topic = ${name} and ${ROW_OF_TOPIC}`,
    // By itself: as a part of the delete it would wait for notes of open transactions.
    sql`select exists (select 1 from punctual_turn force index (primary)
        where queue = ${queue} and topic = ${name} and its_key > '')
      or exists (select 1 from punctual_note force index (punctual_note_at) where queue = ${queue} and topic = ${name})
      into @punctual_has_keys`,
    sql`delete from punctual_turn where queue = ${queue} and topic = ${name} and ${ROW_OF_TOPIC} and @punctual_has_keys = 0`,
  ])
}

/** The first moments of their lines and notes, as `toHeads` reads them. What was served just now is due at once. */
export function selectTurnHeads(
  queue: number,
  topics: readonly Pick<LockedTopic, 'topic' | 'name'>[],
  now: number,
): Statement {
  const looks = topics.flatMap(({ topic, name }) => [
    ...[0, 1, 2].map(
      (rank) => sql`select ${topic} as i, ${rank} as p, (
        select if(next_at <= ${now + 1}, least(next_at, ${now}), next_at) from punctual_turn force index (punctual_turn_line) where queue = ${queue} and topic = ${name}
          and priority = ${rank} and next_at is not null order by next_at limit 1) as due_at`,
    ),
    sql`select ${topic} as i, 0 as p, (
      select from_at from punctual_note force index (punctual_note_at) where queue = ${queue} and topic = ${name}
        order by from_at limit 1) as due_at`,
  ])
  return joined(looks, ' union all ')
}
