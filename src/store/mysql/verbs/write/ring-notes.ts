/**
 * Of what sleepers must hear after a commit: topics, each with its earliest new moment.
 *
 * A sleeper reads again at the moment of the first message that it knows. So one that waits already, is due in a second or
 * more, and not after the new one, makes a wake-up needless; a second, because the sleeper may read it between our look and
 * our commit.
 */
import type { Ring } from '../../../sql/wakeups/bell.ts'
import { sql, textOf, type SqlRow, type Statement } from '../../sql/statement.ts'

const SURE_MICROS = 1_000_000
/** Of more topics than this none is asked for: all are rung for. */
const LOOKS_MAX = 20

export class RingNotes {
  readonly #firsts = new Map<string, number>()
  readonly #needed = new Set<string>()

  note(topic: string, at: number): void {
    this.#firsts.set(topic, Math.min(this.#firsts.get(topic) ?? Infinity, at))
  }

  /** In any case: what is told is not that something was stored. */
  noteFreed(topic: string, at: number): void {
    this.note(topic, at)
    this.#needed.add(topic)
  }

  /** Asks which of the topics need no ring. Sent before what was noted is written. */
  look(queue: number, now: number): Statement[] {
    const asked = [...this.#firsts].filter(([topic]) => !this.#needed.has(topic))
    return asked.length === 0 || asked.length > LOOKS_MAX
      ? []
      : asked.map(([topic, at]) => knownLook(queue, topic, sql`${now}`, sql`${at}`))
  }

  /** `looks`: the answers to `look`. */
  ring(looks: readonly (readonly SqlRow[])[], giver = ''): Ring | undefined {
    for (const [row] of looks) if (row !== undefined) this.#firsts.delete(textOf(row['topic']))
    if (this.#firsts.size === 0) return undefined
    return { at: Math.min(...this.#firsts.values()), giver, topics: [...this.#firsts.keys()] }
  }
}

/** A row with the topic, if a sleeper will read in time by itself. */
export function knownLook(queue: number, topic: string, now: Statement, at: Statement): Statement {
  const ranks = [0, 1, 2].map(
    (
      rank,
    ) => sql`exists (select 1 from punctual_message force index (punctual_message_due) where queue = ${queue}
      and state = 0 and topic = ${topic} and priority = ${rank} and due_at >= ${now} + ${SURE_MICROS} and due_at <= ${at})`,
  )
  return sql`select ${topic} as topic from dual where ${ranks[0] ?? ''} or ${ranks[1] ?? ''} or ${ranks[2] ?? ''}`
}
