/** Messages as leases, within what one claim may bring. */
import type { Lease } from '../../contract/store.ts'
import { AMONG, readTexts, type WholeRow } from '../database/message.ts'
import { isKeyed, placesRun } from '../database/place.ts'
import type { Scene } from './scene.ts'

const LEASE = `UPDATE message SET state = 1, until = ?, leased_at = ?, owner = ?, lease = lease + 1, is_taken_over = ?,
  attempt = attempt + ? WHERE ${AMONG}`
const TOPIC_NAME = 'SELECT name FROM topic WHERE topic = ?'

/** From whom it was taken over: one with a key says so by a number of its own (`FENCE` of the schema). */
const TAKEN_OVER = 1
const TAKEN_OVER_KEYED = 2

/** What is left of the limits of one claim. The first message is handed out whatever its size. */
export class ClaimBudget {
  entries: number
  isOver = false
  #bytes: number
  #isFresh = true

  constructor(entries: number, bytes: number) {
    this.entries = entries
    this.#bytes = bytes
  }

  /** False: there is no room for it, nor for what comes after it. */
  take(bytes: number): boolean {
    if (bytes > this.#bytes && !this.#isFresh) {
      this.isOver = true
      return false
    }
    this.#isFresh = false
    this.#bytes -= bytes
    this.entries -= 1
    return true
  }
}

type Terms = {
  readonly owner: number
  readonly until: number
  /** Whether it is a new attempt, or one that is taken over. */
  readonly isNew: boolean
  /** Of all of them; undefined when they are of several. */
  readonly topic?: string
}

export class HandOut {
  readonly #scene: Scene
  readonly #budget: ClaimBudget
  readonly #terms: Terms
  readonly #leases: Lease[] = []
  readonly #plain: number[] = []
  readonly #keyed: number[] = []

  constructor(scene: Scene, budget: ClaimBudget, terms: Terms) {
    this.#scene = scene
    this.#budget = budget
    this.#terms = terms
  }

  get size(): number {
    return this.#leases.length
  }

  takeAll(rows: readonly WholeRow[]): void {
    for (const row of rows) if (!this.take(row)) return
  }

  /** False: there is no room for it. */
  take(row: WholeRow): boolean {
    const { db, now } = this.#scene
    const { body, meta, key } = readTexts(db, row)
    if (!this.#budget.take(body.length)) return false
    ;(isKeyed(row) ? this.#keyed : this.#plain).push(row.seq)
    this.#leases.push({
      id: row.id,
      token: `${row.seq}.${row.lease + 1}`,
      topic: this.#terms.topic ?? db.get<{ name: string }>(TOPIC_NAME, row.topic)?.name ?? '',
      body,
      meta,
      ...(key === undefined ? {} : { key }),
      priority: row.priority,
      dueAt: row.due_at,
      firstDueAt: row.first_due_at ?? row.due_at,
      attempt: row.attempt + (this.#terms.isNew ? 1 : 0),
      lapses: row.lapses,
      latenessMs: now - row.due_at,
    })
    return true
  }

  /** Writes down what was taken. */
  finish(): readonly Lease[] {
    this.#lease(this.#plain, TAKEN_OVER)
    this.#lease(this.#keyed, TAKEN_OVER_KEYED)
    placesRun(this.#scene.db, this.#keyed)
    return this.#leases
  }

  #lease(seqs: readonly number[], takenOver: number): void {
    if (seqs.length === 0) return
    const { owner, until, isNew } = this.#terms
    const begun = isNew ? 1 : 0
    this.#scene.db.run(
      LEASE,
      until,
      this.#scene.now,
      owner,
      isNew ? 0 : takenOver,
      begun,
      JSON.stringify(seqs),
    )
  }
}
