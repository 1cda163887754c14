/** When the first message of a topic with a key may be handed out, by the clock alone. */
import { PRIORITIES } from '../../../core/message.ts'
import type { TopicRow } from '../database/ledger.ts'
import type { View } from '../verbs/scene.ts'

/** Services of one claim count as a little later than now; a stamp that is later than this is of another clock. */
const STAMP_SLACK_MS = 1_000

/** Up to `due` of what is due by `until`, or was served by now. */
export const IN_LINE = `FROM turn INDEXED BY turn_line
  WHERE next_at IS NOT NULL AND topic = ? AND priority = ? AND next_at <= ? AND due_at <= ?`

const DUE = `SELECT due_at AS at ${IN_LINE} ORDER BY next_at, seq LIMIT 1`
const NEXT = `SELECT next_at AS at FROM turn INDEXED BY turn_line
  WHERE next_at IS NOT NULL AND topic = ? AND priority = ? ORDER BY next_at, seq LIMIT 1`
const OPENS = `SELECT opens_at AS at FROM used_rate INDEXED BY used_rate_opens
  WHERE opens_at IS NOT NULL AND topic = ? ORDER BY opens_at LIMIT 1`
const SWEEP = 'SELECT 1 FROM keyed_topic WHERE topic = ? AND sweep IS NOT NULL'
const OVER = `SELECT 1 FROM used_rate INDEXED BY used_rate_over
  WHERE opens_at IS NULL AND topic = ? AND filled_at <= ? LIMIT 1`

type Keyed = Pick<TopicRow, 'topic' | 'stamp'>
type MomentRow = { readonly at: number }

/** Up to where the line is looked at. */
export function lineEnd({ stamp }: Keyed, now: number, until: number): number {
  return Math.max(until, Math.min(stamp ?? 0, now + STAMP_SLACK_MS))
}

/** Infinity: not by the clock. */
export function firstMoment({ db }: View, row: Keyed, now: number): number {
  const { topic, stamp } = row
  if (stamp === null) return Infinity
  if (db.get(SWEEP, topic) !== undefined) return 0
  const end = lineEnd(row, now, now)
  let first = db.get<MomentRow>(OPENS, topic)?.at ?? Infinity
  for (const rank of PRIORITIES.keys()) {
    const found = db.get<MomentRow>(DUE, topic, rank, end, now) ?? db.get<MomentRow>(NEXT, topic, rank)
    first = Math.min(first, found?.at ?? Infinity)
  }
  return first
}

/** Rates that have recovered are to be forgotten. */
export function hasLeftovers({ db, now }: View, { topic, stamp }: Keyed): boolean {
  return stamp !== null && db.get(OVER, topic, now) !== undefined
}
