/**
 * Messages that `restore` places, as columns of the table of messages: what each means in each state stands in `sql/tables`
 * of the dialect.
 */
import type { RestoredMessage } from '../contract/store.ts'
import { toMicros } from './micros.ts'

const STATES = { delayed: 0, ready: 0, dead: 2, completed: 3 } as const

export type RestoredRow = {
  readonly id: string
  readonly topic: string
  readonly priority: number
  readonly state: number
  readonly due_at: string
  readonly first_due_at: string | null
  readonly produced_at: string
  readonly until: string | null
  readonly attempt: number
  readonly lapses: number
  readonly error: string | null
  readonly reason: string | null
  readonly meta: string
  readonly body: string
  /** Each in a line, which no tag has. */
  readonly tags: string | null
}

/** One row for each message. */
export function restoredRow(message: RestoredMessage): RestoredRow {
  const { id, topic, priority, state, dueAt, firstDueAt, producedAt, until, attempt, lapses } = message
  const isDone = state === 'completed'
  return {
    id,
    topic,
    priority,
    state: STATES[state],
    due_at: toMicros(dueAt),
    first_due_at: firstDueAt === dueAt ? null : toMicros(firstDueAt),
    produced_at: toMicros(producedAt),
    until: isDone || state === 'dead' ? toMicros(until) : null,
    attempt,
    lapses,
    error: textOrNull(isDone ? (message.result ?? '') : message.error),
    reason: textOrNull(isDone ? (message.outcome ?? 'completed') : message.reason),
    meta: isDone ? '' : message.meta,
    body: isDone ? '' : message.body,
    tags: isDone || message.tags.length === 0 ? null : message.tags.join('\n'),
  }
}

/** The columns in the order in which a dialect's statement takes them. */
export const RESTORED_COLUMNS = [
  'id',
  'topic',
  'priority',
  'state',
  'due_at',
  'first_due_at',
  'produced_at',
  'until',
  'attempt',
  'lapses',
  'error',
  'reason',
  'meta',
  'body',
  'tags',
] as const satisfies readonly (keyof RestoredRow)[]

/** One list for each column. */
export function restoredColumns(messages: readonly RestoredMessage[]): readonly unknown[][] {
  const rows = messages.map(restoredRow)
  return RESTORED_COLUMNS.map((name) => rows.map((row) => row[name]))
}

/** A text that is not there costs nothing. A null character cannot be kept; its sign stands for it. */
function textOrNull(text: string): string | null {
  return text === '' ? null : text.replaceAll('\0', '\u2400')
}
