/** The demo as a picture: one frame from the books, for a terminal of a given size. */
import { bar, gauge, sparkline } from '../terminal/format.ts'
import { formatCount, formatSpan } from '../terminal/format.ts'
import { formatClock } from '../../shared/moment.ts'
import type { Style } from '../terminal/style.ts'
import { pad } from '../terminal/table.ts'
import { ORDER_SECONDS } from './plan.ts'
import { LATENESS_EDGES, type Arrived, type Tally } from './tally.ts'

export type Frame = {
  readonly tally: Tally
  readonly now: number
  readonly where: string
  /** What happened that is not an arrival: a crash, a new worker. */
  readonly notes: readonly string[]
  readonly isOver: boolean
  readonly columns: number
  readonly style: Style
}

const WIDTH_MAX = 92
const LEFT_WIDTH = 46
/** Below this the list of arrivals is left out. */
const TWO_COLUMNS_MIN = 76
const BAR_WIDTH = 22
const LABEL_WIDTH = 10

export function renderFrame(frame: Frame): string[] {
  const width = Math.min(WIDTH_MAX, frame.columns) - 2
  const lines = [
    ...renderHead(frame, width),
    ...renderInvitation(frame),
    ...renderOrder(frame),
    '',
    ...renderAhead(frame, width),
    renderProgress(frame, width),
    '',
    ...(frame.columns < TWO_COLUMNS_MIN
      ? renderLateness(frame)
      : besides(renderLateness(frame), renderRecent(frame))),
    ...renderNotes(frame),
  ]
  return lines.map((line) => ` ${line}`.trimEnd())
}

function renderHead({ tally, where, style, now, isOver }: Frame, width: number): string[] {
  const last = tally.pendingMoments().at(-1)
  const left = isOver || last === undefined ? '' : `${((last - now) / 1_000).toFixed(1)} s to go`
  const title = `${style.bold('punctual demo')}  ${style.dim(where)}`
  const space = width - 'punctual demo'.length - 2 - where.length
  return [`${title}${pad(left, Math.max(left.length + 2, space), 'right')}`]
}

/** At the top: a small terminal cuts the bottom off. */
function renderInvitation({ isOver, style }: Frame): string[] {
  return isOver
    ? []
    : [style.bold('Pull the plug: press Ctrl-C, wait a moment, run it again. Nothing is lost.')]
}

function renderOrder({ tally, style }: Frame): string[] {
  if (!tally.hasOrderTest) return []
  const seen = tally.orderSeen
  const isSorted = seen.every((seconds, i) => i === 0 || (seen[i - 1] ?? 0) < seconds)
  const paint = isSorted ? style.green : tally.isOrderCut ? style.yellow : style.red
  const waiting = ORDER_SECONDS.slice(seen.length).map(() => cell(style.dim('·')))
  const verdict = seen.length < ORDER_SECONDS.length ? '' : orderVerdict(tally, isSorted, style)
  return [
    '',
    `${style.dim(pad('sent', LABEL_WIDTH, 'left'))}${ORDER_SECONDS.map((s) => cell(`${s} s`)).join('')}`,
    `${style.dim(pad('arrived', LABEL_WIDTH, 'left'))}${seen.map((s) => cell(paint(`${s} s`))).join('')}${waiting.join('')}${verdict}`,
  ]
}

function orderVerdict(tally: Tally, isSorted: boolean, style: Style): string {
  if (isSorted) return style.green('✓ each in its turn')
  return tally.isOrderCut ? style.yellow('one was cut off, and came again') : style.red('✗ out of turn')
}

function cell(text: string): string {
  return pad(text, 6, 'left')
}

/** The future, from now at the left edge: it moves in and falls off. */
function renderAhead({ tally, now, style }: Frame, width: number): string[] {
  const moments = tally.pendingMoments()
  const last = moments.at(-1)
  if (last === undefined) return []
  const spanMs = Math.max(1_000, last - Math.min(now, tally.startedAt))
  const columns: number[] = Array.from({ length: width }, () => 0)
  for (const moment of moments) {
    const column = Math.min(width - 1, Math.max(0, Math.floor(((moment - now) / spanMs) * width)))
    columns[column] = (columns[column] ?? 0) + 1
  }
  return [style.dim('still to come'), style.cyan(sparkline(columns, Math.max(4, ...columns.slice(1))))]
}

function renderProgress({ tally, now, style, isOver }: Frame, width: number): string {
  const [next] = tally.pendingMoments()
  const counts = `${formatCount(tally.arrived)} of ${formatCount(tally.total)} arrived`
  const countdown =
    next === undefined || isOver ? '' : `next in ${(Math.max(0, next - now) / 1_000).toFixed(2)} s`
  const text = `  ${pad(counts, 20, 'left')}${pad(countdown, 15, 'right')}`
  const { filled, empty } = gauge(
    tally.total === 0 ? 1 : tally.arrived / tally.total,
    Math.max(10, width - 37),
  )
  return `${style.green(filled)}${style.dim(empty)}${text}`
}

function renderLateness({ tally, style }: Frame): string[] {
  const max = Math.max(...tally.histogram)
  const rows = tally.histogram.map((count, i) => {
    const drawn = pad(style.green(bar(count, max, BAR_WIDTH)), BAR_WIDTH, 'left')
    return `${pad(bucketName(i), LABEL_WIDTH, 'right')} ${drawn} ${count === 0 ? '' : pad(formatCount(count), 5, 'right')}`
  })
  const percentiles = tally.percentiles()
  const summary =
    percentiles === undefined
      ? ''
      : `p50 ${style.bold(formatSpan(percentiles.p50))}  p99 ${style.bold(formatSpan(percentiles.p99))}  max ${formatSpan(percentiles.max)}`
  return [style.dim('how late'), ...rows, '', summary]
}

function bucketName(index: number): string {
  const from = LATENESS_EDGES[index - 1]
  const to = LATENESS_EDGES[index]
  if (from === undefined) return `< ${to} ms`
  return to === undefined ? `≥ ${from} ms` : `${from}–${to} ms`
}

function renderRecent({ tally, style }: Frame): string[] {
  const rows = tally.recent(LATENESS_EDGES.length + 1).map((arrived) => {
    const due = style.dim(formatClock(arrived.dueAt))
    return `${due} ${pad(lateText(arrived, tally), 9, 'right')}${arrived.attempt > 1 ? style.yellow(' again') : ''}`
  })
  return [style.dim('due           late'), ...rows]
}

function lateText({ dueAt, latenessMs }: Arrived, { startedAt }: Tally): string {
  return dueAt < startedAt ? 'waited' : formatSpan(latenessMs)
}

function renderNotes({ notes, style }: Frame): string[] {
  return notes.length === 0 ? [] : ['', ...notes.map((note) => `${style.yellow('•')} ${note}`)]
}

function besides(left: readonly string[], right: readonly string[]): string[] {
  const rows = Math.max(left.length, right.length)
  return Array.from({ length: rows }, (_, i) => pad(left[i] ?? '', LEFT_WIDTH, 'left') + (right[i] ?? ''))
}
