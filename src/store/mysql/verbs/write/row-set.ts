/**
 * The messages that one call is about: their rows, locked, and what becomes of them. A verb changes them here, as if they
 * were objects in memory; what has to be written follows from the difference, counts and tags included.
 *
 *   load (select … for update)  ──►  get, add, remove, change  ──►  statements (delete, update, insert, count)
 */
import type { NewMessage, RestoredMessage } from '../../../contract/store.ts'
import { dueAtOf } from '../../../shared/moments.ts'
import { restoredRow } from '../../../sql/restored.ts'
import type { SuccessorColumn } from '../../../sql/rows.ts'
import { joined, sql, type SqlRow, type Statement } from '../../sql/statement.ts'
import { KeyChanges, type LimitedTopics } from '../keys/changes.ts'
import {
  DEAD,
  deleteRows,
  insertRows,
  moveRows,
  LAPSES_MAX,
  RUNNING,
  tagsOf,
  toMessageRow,
  updateRows,
  WAITING,
  type LockedRow,
} from './locked-row.ts'

type Count = { waiting: number; running: number; dead: number }

export class RowSet {
  readonly #queue: number
  readonly #loaded = new Map<string, LockedRow>()
  readonly #rows = new Map<string, LockedRow>()
  readonly #gone: number[] = []
  readonly #changed = new Set<LockedRow>()
  readonly #moved = new Set<LockedRow>()
  readonly #added: LockedRow[] = []
  #limited: LimitedTopics

  constructor(queue: number) {
    this.#queue = queue
  }

  load(rows: readonly SqlRow[]): void {
    for (const row of rows) {
      const read = toMessageRow(row)
      if (this.#loaded.has(read.id)) continue
      this.#loaded.set(read.id, { ...read })
      this.#rows.set(read.id, read)
    }
  }

  get(id: string): LockedRow | undefined {
    return this.#rows.get(id)
  }

  add(row: LockedRow): void {
    this.#rows.set(row.id, row)
    this.#added.push(row)
  }

  remove(row: LockedRow): void {
    this.#rows.delete(row.id)
    this.#changed.delete(row)
    this.#moved.delete(row)
    if (row.seq !== undefined) this.#gone.push(row.seq)
    else this.#added.splice(this.#added.indexOf(row), 1)
  }

  change(row: LockedRow, changes: Partial<Omit<LockedRow, 'seq' | 'id'>>): void {
    Object.assign(row, changes)
    if (row.seq !== undefined) this.#changed.add(row)
  }

  /** Behind all others of its moment. */
  moveToEnd(row: LockedRow): void {
    this.#moved.add(row)
  }

  /** In which topics keys are limited. Without this it is not known. */
  set limitedTopics(topics: ReadonlySet<string>) {
    this.#limited = topics
  }

  /** Topics in which another message of a key may start when this is written. */
  get freedTopics(): readonly string[] {
    return this.#keyChanges().freedTopics
  }

  /** What has to be written, in this order. */
  statements(now: number): Statement[] {
    const queue = this.#queue
    const written: Statement[] = []
    if (this.#gone.length > 0) written.push(deleteRows(this.#gone))
    if (this.#changed.size > 0) written.push(updateRows(queue, [...this.#changed]))
    if (this.#moved.size > 0) written.push(...moveRows(queue, [...this.#moved]))
    if (this.#added.length > 0) written.push(insertRows(queue, this.#added))
    const ofKeys = this.#keyChanges().statements(queue, now)
    return [...written, ...ofKeys, ...this.#tagStatements(), ...this.#countStatements()]
  }

  #keyChanges(): KeyChanges {
    const changes = new KeyChanges()
    for (const id of this.#ids()) {
      const after = this.#rows.get(id)
      // It gets a new number.
      const placed = after !== undefined && this.#moved.has(after) ? { ...after, seq: undefined } : after
      changes.add(this.#loaded.get(id), placed, this.#limited)
    }
    return changes
  }

  #ids(): ReadonlySet<string> {
    return new Set([...this.#loaded.keys(), ...this.#rows.keys()])
  }

  #countStatements(): Statement[] {
    const counts = new Map<string, Count>()
    for (const row of this.#loaded.values()) addCounts(counts, row, -1)
    for (const row of this.#rows.values()) addCounts(counts, row, 1)
    return deltaStatements(this.#queue, counts)
  }

  #tagStatements(): Statement[] {
    const [lost, gained]: [Statement[], Statement[]] = [[], []]
    for (const id of this.#ids()) {
      const [before, after] = [tagsLeadingTo(this.#loaded.get(id)), tagsLeadingTo(this.#rows.get(id))]
      for (const tag of before)
        if (!after.has(tag))
          lost.push(
            sql`delete from punctual_tag where queue = ${this.#queue} and tag = ${tag} and id = ${id}`,
          )
      for (const tag of after) if (!before.has(tag)) gained.push(sql`(${this.#queue}, ${tag}, ${id})`)
    }
    return gained.length === 0 ? lost : [...lost, insertTags(gained)]
  }
}

export function insertTags(rows: readonly Statement[]): Statement {
  // One that is left over, because somebody removed its message by hand, does no harm.
  return sql`insert ignore into punctual_tag (queue, tag, id) values ${joined(rows, ', ')}`
}

export function deltaStatements(queue: number, counts: ReadonlyMap<string, Count>): Statement[] {
  const rows = [...counts]
    .filter(([, { waiting, running, dead }]) => waiting !== 0 || running !== 0 || dead !== 0)
    .map(([topic, { waiting, running, dead }]) => sql`(${queue}, ${topic}, ${waiting}, ${running}, ${dead})`)
  if (rows.length === 0) return []
  return [sql`insert into punctual_delta (queue, topic, waiting, running, dead) values ${joined(rows, ', ')}`]
}

/** A successor counts as waiting, in its own topic. */
function addCounts(counts: Map<string, Count>, { topic, state, successor }: LockedRow, by: 1 | -1): void {
  const count = countOf(counts, topic)
  if (state === WAITING) count.waiting += by
  if (state === RUNNING) count.running += by
  if (state === DEAD) count.dead += by
  if (successor !== null) countOf(counts, successor.topic).waiting += by
}

export function countOf(counts: Map<string, Count>, topic: string): Count {
  let count = counts.get(topic)
  if (count === undefined) {
    count = { waiting: 0, running: 0, dead: 0 }
    counts.set(topic, count)
  }
  return count
}

function tagsLeadingTo(row: LockedRow | undefined): ReadonlySet<string> {
  return new Set(row === undefined ? [] : [...row.tags, ...(row.successor?.tags ?? [])])
}

/** A row that waits, of a message that is not stored yet. */
export function newRow(message: NewMessage, moments: { due_at: number; produced_at: number }): LockedRow {
  const { id, topic, priority, meta, body, key = null, tags = [] } = message
  return { ...EMPTY, ...moments, id, topic, priority, meta, body, its_key: key, tags }
}

export function rowOfSuccessor(id: string, { key = null, ...successor }: SuccessorColumn): LockedRow {
  return { ...EMPTY, ...successor, id, its_key: key }
}

export function restoredRowOf(message: RestoredMessage): LockedRow {
  const { due_at, first_due_at, produced_at, until, tags, lapses, ...row } = restoredRow(message)
  return {
    ...EMPTY,
    ...row,
    due_at: Number(due_at),
    first_due_at: first_due_at === null ? null : Number(first_due_at),
    produced_at: Number(produced_at),
    until: until === null ? null : Number(until),
    lapses: Math.min(lapses, LAPSES_MAX),
    its_key: message.key ?? null,
    tags: tagsOf(tags),
  }
}

const EMPTY = {
  seq: undefined,
  state: WAITING,
  first_due_at: null,
  until: null,
  leased_at: null,
  token: null,
  owner: null,
  attempt: 0,
  lapses: 0,
  is_taken: null,
  is_cancelling: null,
  its_key: null,
  is_holding: null,
  successor: null,
  error: null,
  reason: null,
} as const

/** In microseconds. */
export function dueMicros({ when }: Pick<NewMessage, 'when'>, now: number): number {
  return Math.round(dueAtOf(when, now / 1000) * 1000)
}
