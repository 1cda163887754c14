/** What ended, by topic and minute, for 48 hours. */
import {
  FIGURES_KEPT_MS,
  FIGURE_TOPICS_MAX,
  MINUTE_MS,
  NOTHING_ENDED,
  OTHER_TOPICS,
  addCounts,
  type EndedCounts,
  type LatenessCounts,
} from '../../../core/metrics/figures.ts'
import type { FiguresPage, FiguresQuery, MinuteFigures, TopicFigures } from '../../contract/store.ts'
import { parseCursor } from './cursor.ts'
import type { Scene, View } from './scene.ts'

const PAGE = 1000
const FORGOTTEN_AT_ONCE = 1000

type FigureRow = Omit<EndedCounts, 'lateness'> & {
  readonly minute_at: number
  readonly topic: string
  readonly lateness: string
}

const ROW = 'SELECT minute_at, topic, completed, failed, dead, skipped, lateness FROM figure'
const ONE = `${ROW} WHERE queue = ? AND minute_at = ? AND topic = ?`
const TOPICS = "SELECT count(*) AS n FROM figure WHERE queue = ? AND minute_at = ? AND topic <> ''"
const SET = `INSERT OR REPLACE INTO figure (queue, minute_at, topic, completed, failed, dead, skipped, lateness)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
const FORGET = `DELETE FROM figure WHERE (queue, minute_at, topic) IN
  (SELECT queue, minute_at, topic FROM figure WHERE queue = ? AND minute_at < ? LIMIT ${FORGOTTEN_AT_ONCE})`
const SOME = `${ROW} WHERE queue = ? AND minute_at < ? AND (minute_at, topic) > (?, ?)
  ORDER BY minute_at, topic LIMIT ?`
const SOME_OF_TOPIC = `${ROW} WHERE queue = ? AND minute_at < ? AND (minute_at, topic) > (?, ?) AND topic = ?
  ORDER BY minute_at, topic LIMIT ?`

export function record(scene: Scene, ended: readonly TopicFigures[]): void {
  const { db, queue, now } = scene
  const minuteAt = now - (now % MINUTE_MS)
  for (const { topic, ...counts } of ended) {
    const old = db.get<FigureRow>(ONE, queue, minuteAt, topic)
    const name = old === undefined && isCrowded(scene, minuteAt) ? OTHER_TOPICS : topic
    const before = old ?? db.get<FigureRow>(ONE, queue, minuteAt, name)
    const { completed, failed, dead, skipped, lateness } = addCounts(
      before === undefined ? NOTHING_ENDED : countsOf(before),
      counts,
    )
    db.run(SET, queue, minuteAt, name, completed, failed, dead, skipped, JSON.stringify(lateness))
    if (before === undefined) db.run(FORGET, queue, minuteAt - FIGURES_KEPT_MS)
  }
}

export function figures({ db, queue }: View, { from, until, topic, cursor }: FiguresQuery): FiguresPage {
  const [minuteAt = from - 1, name = '\u{10FFFF}'] = parseCursor(cursor, ['number', 'string']) ?? []
  const rows =
    topic === undefined
      ? db.all<FigureRow>(SOME, queue, until, minuteAt, name, PAGE)
      : db.all<FigureRow>(SOME_OF_TOPIC, queue, until, minuteAt, name, topic, PAGE)
  const shown = rows.map((row): MinuteFigures => ({
    minuteAt: row.minute_at,
    topic: row.topic,
    ...countsOf(row),
  }))
  const last = rows.length < PAGE ? undefined : rows.at(-1)
  return last === undefined
    ? { rows: shown }
    : { rows: shown, cursor: JSON.stringify([last.minute_at, last.topic]) }
}

function isCrowded({ db, queue }: Scene, minuteAt: number): boolean {
  return (db.get<{ n: number }>(TOPICS, queue, minuteAt)?.n ?? 0) >= FIGURE_TOPICS_MAX
}

function countsOf({ completed, failed, dead, skipped, lateness }: FigureRow): EndedCounts {
  return { completed, failed, dead, skipped, lateness: JSON.parse(lateness) as LatenessCounts }
}
