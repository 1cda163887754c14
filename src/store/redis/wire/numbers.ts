/** Counts, figures and workers: what their scripts are asked and answer. */
import { decodeCursor, encodeCursor } from '../../../core/encoding/cursor.ts'
import { FIGURES_KEPT_MS, FIGURE_TOPICS_MAX, MINUTE_MS } from '../../../core/metrics/figures.ts'
import type {
  Counts,
  FiguresPage,
  FiguresQuery,
  MinuteFigures,
  TopicCounts,
  TopicFigures,
  WorkerRecord,
  WorkersReply,
} from '../../contract/store.ts'
import { decodeCounts } from '../../shared/figures.ts'
import { momentOf } from './moments.ts'

const [TOPIC_FIELDS, WORKER_FIELDS, FIGURE_FIELDS] = [5, 5, 3]
const EXPIRY_S = (FIGURES_KEPT_MS + 2 * MINUTE_MS) / 1000

export function countsReply(reply: readonly unknown[]): Counts {
  const [delayed = 0, ready = 0, running = 0, dead = 0, earliest = '', isExact = 1] = reply as number[]
  return {
    states: { delayed, ready, running, dead },
    isExact: isExact === 1,
    ...((earliest as unknown) === '' ? {} : { nextDueAt: momentOf(earliest) }),
  }
}

/** Rows of five: topic, waiting, running, dead, earliest moment or ''. */
export function topicRows(rows: readonly unknown[]): [string, TopicCounts][] {
  return Array.from({ length: rows.length / TOPIC_FIELDS }, (_, index) => {
    const [name, waiting, running, dead, head] = rows.slice(index * TOPIC_FIELDS) as [
      string,
      number,
      number,
      number,
      string,
    ]
    return [name, { waiting, running, dead, ...(head === '' ? {} : { nextDueAt: momentOf(head) }) }]
  })
}

export function recordArgs(figures: readonly TopicFigures[]): string[] {
  const args = [String(EXPIRY_S), String(FIGURE_TOPICS_MAX)]
  for (const { topic, completed, failed, dead, skipped, lateness } of figures)
    args.push(topic, ...[completed, failed, dead, skipped].map(String), lateness.flat().join(','))
  return args
}

/** Minutes in their own numbers; a minute counts if it begins in between. */
export function figuresArgs({ from, until, topic, cursor }: FiguresQuery): string[] {
  const minute =
    cursor === undefined
      ? String(Math.ceil(from / MINUTE_MS))
      : (decodeCursor(cursor, [/^figures$/, /^\d+$/])[1] ?? '')
  const last = Math.ceil(until / MINUTE_MS) - 1
  const wanted = topic === undefined ? ['all', ''] : ['of', topic]
  return [minute, String(last), ...wanted, String(FIGURES_KEPT_MS / MINUTE_MS)]
}

export function figuresReply(reply: readonly unknown[]): FiguresPage {
  const [next, flat] = reply as unknown as [next: string, rows: readonly string[]]
  const rows: MinuteFigures[] = []
  for (let at = 0; at < flat.length; at += FIGURE_FIELDS) {
    const [minute = '', topic = '', text = ''] = flat.slice(at, at + FIGURE_FIELDS)
    const counts = decodeCounts(text)
    const lateness = counts.lateness.toSorted(([a], [b]) => a - b)
    rows.push({ minuteAt: Number(minute) * MINUTE_MS, topic, ...counts, lateness })
  }
  return next === '' ? { rows } : { rows, cursor: encodeCursor(['figures', next]) }
}

export function workersReply(reply: readonly unknown[]): WorkersReply {
  const [now, rows] = reply as unknown as [now: string, rows: readonly string[]]
  const workers: WorkerRecord[] = []
  for (let at = 0; at < rows.length; at += WORKER_FIELDS) {
    const [owner = '', first, last, gone, facts = ''] = rows.slice(at, at + WORKER_FIELDS)
    workers.push({
      owner,
      facts,
      firstSeenAt: Number(first),
      lastSeenAt: Number(last),
      ...(gone === '0' ? {} : { goneAt: Number(gone) }),
    })
  }
  return { now: Math.floor(Number(now)), workers }
}
