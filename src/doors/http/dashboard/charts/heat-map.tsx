/** How late messages started in the last day: a column for each hour, a row for each degree of lateness, darker for more. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { zone } from '../state/preferences.ts'
import type { PastAnswer, PastRow } from '../state/wire.ts'
import { edgesBetween } from '../time/calendar.ts'
import { count, dayAndTime, plural, span, tickName } from '../time/words.ts'
import { useWidth } from './width.ts'

const LEFT = 58
const ROW = 17
const SHADES = 5

/** The server tells finer degrees than a picture needs: these upper bounds are shown, the others added to them. */
const SHOWN_EDGES_MS = [1, 10, 100, 1_000, 10_000, 60_000]

/** The same figures in fewer rows. */
export function fold(past: PastAnswer): PastAnswer {
  const edges = past.latenessEdgesMs.filter((edge) => SHOWN_EDGES_MS.includes(edge))
  const rowOf = (i: number): number => {
    const edge = past.latenessEdgesMs[i] ?? Infinity
    const row = edges.findIndex((shown) => edge <= shown)
    return row === -1 ? edges.length : row
  }
  const rows = past.rows.map((row) => {
    const lateness = Array.from({ length: edges.length + 1 }, () => 0)
    for (const [i, n] of row.lateness.entries()) lateness[rowOf(i)] = (lateness[rowOf(i)] ?? 0) + n
    return { ...row, lateness }
  })
  return { ...past, latenessEdgesMs: edges, rows }
}

export function HeatMap({ past }: { readonly past: PastAnswer }): JSX.Element {
  const [box, width] = useWidth()
  const [pointed, setPointed] = useState<string | undefined>(undefined)
  const names = rowNames(past.latenessEdgesMs)
  const steps = Math.max(1, Math.round((past.until - past.from) / past.stepMs))
  const cell = Math.max(1, (width - LEFT) / steps)
  const most = Math.max(1, ...past.rows.flatMap(({ lateness }) => lateness))
  const top = names.length - 1
  const height = names.length * ROW
  const x = (at: number): number => LEFT + ((at - past.from) / past.stepMs) * cell
  const hours = edgesBetween(past.from, past.until, { unit: 'ms', ms: 6 * 3_600_000 }, zone.value)
  return (
    <div class="chart" ref={box}>
      <p class="chart-readout">{pointed ?? sumOf(past.rows)}</p>
      <svg
        class="heat"
        width={width}
        height={height + 20}
        role="img"
        aria-label={`Lateness: ${sumOf(past.rows)}`}
      >
        {names.map((name, row) => (
          <text class="tick" key={name} x={LEFT - 6} y={(top - row) * ROW + 13} text-anchor="end">
            {name}
          </text>
        ))}
        <rect class="empty" x={LEFT} y={0} width={Math.max(0, width - LEFT)} height={height} />
        {past.rows.flatMap(({ at, lateness }) =>
          lateness.map(
            (n, row) =>
              n > 0 && (
                <rect
                  key={`${at}-${row}`}
                  class={`heat-${shadeOf(n, most)}`}
                  x={x(at) + 0.5}
                  y={(top - row) * ROW + 0.5}
                  width={Math.max(1, cell - 1)}
                  height={ROW - 1}
                  onPointerEnter={() => setPointed(describeCell(at, names[row] ?? '', n))}
                  onPointerLeave={() => setPointed(undefined)}
                />
              ),
          ),
        )}
        {hours
          .filter((at) => at > past.from && x(at) < width - 30)
          .map((at) => (
            <text class="tick" key={at} x={x(at)} y={height + 15}>
              {tickName(at, { unit: 'ms', ms: 3_600_000 }, zone.value)}
            </text>
          ))}
      </svg>
    </div>
  )
}

/** By the logarithm: one late message in a million must be seen. */
function shadeOf(n: number, most: number): number {
  return 1 + Math.min(SHADES - 1, Math.floor((Math.log(n) / Math.log(Math.max(2, most))) * (SHADES - 0.01)))
}

export function rowNames(edgesMs: readonly number[]): string[] {
  const last = edgesMs.at(-1)
  return [...edgesMs.map((edge) => `≤ ${span(edge)}`), ...(last === undefined ? [] : [`> ${span(last)}`])]
}

function describeCell(at: number, name: string, n: number): string {
  return `${dayAndTime(at, zone.value)}: ${plural(n, 'start')} ${name} late`
}

function sumOf(rows: readonly PastRow[]): string {
  const started = rows.reduce((sum, { lateness }) => sum + lateness.reduce((a, b) => a + b, 0), 0)
  if (started === 0) return 'Nothing was started in the last 24 hours.'
  const worst = Math.max(...rows.map(({ latenessMs }) => latenessMs?.max ?? 0))
  return `${count(started)} started in 24 h, the latest ${span(worst)} late`
}
