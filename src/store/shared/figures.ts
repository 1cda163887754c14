/**
 * Figures by topic and minute. `FiguresBook` keeps them for engines that live in this process; engines with a place of
 * their own use the same text for one row, and the same rule for the topics beyond those that are kept by name.
 *
 * Cost: a row is about 100 bytes of text; recording O(1) for each topic; a page reads at most `PAGE_ROWS` rows.
 */
import { decodeCursor, encodeCursor } from '../../core/encoding/cursor.ts'
import {
  FIGURES_KEPT_MS,
  FIGURE_TOPICS_MAX,
  MINUTE_MS,
  NOTHING_ENDED,
  OTHER_TOPICS,
  addCounts,
  type EndedCounts,
} from '../../core/metrics/figures.ts'
import type { FiguresPage, FiguresQuery, MinuteFigures, TopicFigures } from '../contract/store.ts'

const PAGE_ROWS = 1_000

/** `[completed, failed, dead, skipped, bucket, count, bucket, count, …]`. */
export function encodeCounts({ completed, failed, dead, skipped, lateness }: EndedCounts): string {
  return JSON.stringify([completed, failed, dead, skipped, ...lateness.flat()])
}

export function decodeCounts(text: string): EndedCounts {
  const [completed = 0, failed = 0, dead = 0, skipped = 0, ...flat] = JSON.parse(text) as number[]
  const lateness: [number, number][] = []
  for (let i = 0; i + 1 < flat.length; i += 2) lateness.push([flat[i] as number, flat[i + 1] as number])
  return { completed, failed, dead, skipped, lateness }
}

export function minuteOf(at: number): number {
  return Math.floor(at / MINUTE_MS) * MINUTE_MS
}

/** The name under which a topic is kept in a minute that has `known` names so far. */
export function figureTopic(
  topic: string,
  known: { has(topic: string): boolean; readonly size: number },
): string {
  return known.has(topic) || known.size < FIGURE_TOPICS_MAX ? topic : OTHER_TOPICS
}

export class FiguresBook {
  /** By minute, then by topic; in the order in which they came. */
  readonly #minutes = new Map<number, Map<string, string>>()

  record(figures: readonly TopicFigures[], now: number): void {
    this.#forget(now)
    const minuteAt = minuteOf(now)
    const rows = this.#minutes.get(minuteAt) ?? new Map<string, string>()
    this.#minutes.set(minuteAt, rows)
    for (const figure of figures) {
      const topic = figureTopic(figure.topic, rows)
      const before = rows.get(topic)
      const counts = addCounts(before === undefined ? NOTHING_ENDED : decodeCounts(before), figure)
      rows.set(topic, encodeCounts(counts))
    }
  }

  read(query: FiguresQuery, now: number): FiguresPage {
    this.#forget(now)
    const [fromMinute, fromRow] = parseCursor(query.cursor)
    const minutes = [...this.#minutes.keys()]
      .filter((minuteAt) => minuteAt >= Math.max(query.from, fromMinute) && minuteAt < query.until)
      .toSorted((a, b) => a - b)
    const rows: MinuteFigures[] = []
    for (const minuteAt of minutes) {
      let row = -1
      for (const [topic, text] of this.#minutes.get(minuteAt) ?? []) {
        row += 1
        if (minuteAt === fromMinute && row < fromRow) continue
        if (query.topic !== undefined && query.topic !== topic) continue
        if (rows.length === PAGE_ROWS) return { rows, cursor: encodeCursor([String(minuteAt), String(row)]) }
        rows.push({ minuteAt, topic, ...decodeCounts(text) })
      }
    }
    return { rows }
  }

  #forget(now: number): void {
    for (const minuteAt of this.#minutes.keys()) {
      if (minuteAt > now - FIGURES_KEPT_MS - MINUTE_MS) return
      this.#minutes.delete(minuteAt)
    }
  }
}

const NUMBER = /^\d{1,15}$/

/** A row's place in its minute does not change: rows are only ever added behind it. */
function parseCursor(cursor: string | undefined): readonly [minuteAt: number, row: number] {
  if (cursor === undefined) return [-Infinity, 0]
  const [minuteAt, row] = decodeCursor(cursor, [NUMBER, NUMBER])
  return [Number(minuteAt), Number(row)]
}
