/**
 * What changes of keys when messages do. As counts and tags, it follows from the difference between rows before and after:
 * in what order messages of a key stand (`punctual_keyed`), and notes for the next claim (`punctual_note`): a message came to
 * wait, or what held its key back may be over.
 *
 * Messages without a key leave no trace here, and need no statement.
 */
import { joined, listed, sql, type Statement } from '../../sql/statement.ts'
import { RUNNING, WAITING, type LockedRow } from '../write/locked-row.ts'

/** Notes without a message of their own. */
export const FREED = -1
export const RULES_CHANGED = -2

/** States in `punctual_keyed`: see `sql/tables`. */
export const KEY_RUNS = 1
export const KEY_WAITS = 4
export const KEY_HOLDS = 5

export type KeyOfTopic = { readonly topic: string; readonly key: string }
/** Topics in which keys are limited; undefined: not known, so that a note is needed in any case. */
export type LimitedTopics = ReadonlySet<string> | undefined

type KeyPlace = KeyOfTopic & {
  readonly seq: number | undefined
  readonly state: number
  readonly priority: number
  readonly dueAt: number
}
type FirstOfKey = { readonly id: string; readonly dueAt: number }

export class KeyChanges {
  readonly #left: number[] = []
  readonly #placed: string[] = []
  /** Of each key and priority the first that came to wait. */
  readonly #firsts = new Map<string, FirstOfKey>()
  readonly #freed = new Map<string, KeyOfTopic>()

  add(before: LockedRow | undefined, after: LockedRow | undefined, limited: LimitedTopics): void {
    const [old, now] = [placeOf(before), placeOf(after)]
    if (old === undefined && now === undefined) return
    if (old !== undefined && now !== undefined && isSame(old, now)) return
    if (old?.seq !== undefined) this.#left.push(old.seq)
    if (now !== undefined && after !== undefined) {
      this.#placed.push(after.id)
      if (now.state !== KEY_RUNS) this.#noteFirst(after.id, now)
    }
    if (old === undefined) return
    const isFreed =
      old.state === KEY_HOLDS
        ? now?.state !== KEY_HOLDS
        : old.state === KEY_RUNS && (limited === undefined || limited.has(old.topic))
    if (isFreed) this.#freed.set(nameOf(old), old)
  }

  /** Topics in which another message of a key may start now. */
  get freedTopics(): readonly string[] {
    return [...new Set([...this.#freed.values()].map(({ topic }) => topic))]
  }

  /** After the messages themselves. */
  statements(queue: number, now: number): Statement[] {
    return [
      ...(this.#left.length === 0 ? [] : [deleteKeyed(this.#left)]),
      ...(this.#placed.length === 0 ? [] : [placeKeyed(queue, this.#placed)]),
      ...noteMessages(
        queue,
        [...this.#firsts.values()].map(({ id }) => id),
        sql`${now}`,
      ),
      ...noteFreed(queue, [...this.#freed.values()]),
    ]
  }

  #noteFirst(id: string, place: KeyPlace): void {
    const name = `${nameOf(place)}\n${place.priority}`
    const first = this.#firsts.get(name)
    if (first === undefined || place.dueAt < first.dueAt) this.#firsts.set(name, { id, dueAt: place.dueAt })
  }
}

function placeOf(row: LockedRow | undefined): KeyPlace | undefined {
  if (row === undefined || row.its_key === null || (row.state !== WAITING && row.state !== RUNNING))
    return undefined
  const { seq, topic, its_key: key, priority, due_at: dueAt } = row
  const state = row.state === RUNNING ? KEY_RUNS : row.is_holding === 1 ? KEY_HOLDS : KEY_WAITS
  return { seq, topic, key, state, priority, dueAt }
}

function isSame(a: KeyPlace, b: KeyPlace): boolean {
  return a.seq === b.seq && a.state === b.state && a.dueAt === b.dueAt
}

function nameOf({ topic, key }: KeyOfTopic): string {
  return `${topic}\n${key}`
}

export function deleteKeyed(seqs: readonly number[]): Statement {
  return sql`delete k from ${listed(seqs)} straight_join punctual_keyed as k force index (primary) on k.seq = d.value`
}

/** As the messages stand in their table, from which they are read: only the server knows the numbers of new ones. */
export function placeKeyed(queue: number, ids: readonly string[]): Statement {
  return sql`insert into punctual_keyed (seq, queue, topic, its_key, state, priority, due_at)
    select seq, queue, topic, its_key, if(is_holding = 1, ${KEY_HOLDS}, state), priority, due_at
      from punctual_message force index (punctual_message_id)
      where queue = ${queue} and id in (${ids}) and its_key is not null`
}

/** That these came to wait. */
export function noteMessages(queue: number, ids: readonly string[], now: Statement): Statement[] {
  if (ids.length === 0) return []
  return [
    sql`insert into punctual_note (queue, topic, its_key, priority, from_at, seq, noted_at)
      select queue, topic, its_key, priority, due_at, seq, ${now}
        from punctual_message force index (punctual_message_id)
        where queue = ${queue} and id in (${ids}) and its_key is not null`,
  ]
}

/** That what held these back may be over. */
export function noteFreed(queue: number, keys: readonly KeyOfTopic[]): Statement[] {
  if (keys.length === 0) return []
  const rows = keys.map(({ topic, key }) => sql`(${queue}, ${topic}, ${key}, ${FREED}, 0, 0, 0)`)
  return [
    sql`insert into punctual_note (queue, topic, its_key, priority, from_at, seq, noted_at) values ${joined(rows, ', ')}`,
  ]
}
