/**
 * The future as bars. By mouse: drag over it to zoom. By keyboard it is a slider: arrows walk from bar to bar and are read
 * aloud, Shift with them marks a range, Enter zooms into it. Positions are by time, so that a day of 23 hours is narrower.
 */
import type { JSX, TargetedKeyboardEvent, TargetedPointerEvent } from 'preact'
import { useRef, useState } from 'preact/hooks'
import type { DueBar } from '../../../../index.ts'
import { now } from '../state/clock.ts'
import { zone } from '../state/preferences.ts'
import { ticksBetween } from '../time/calendar.ts'
import { barName, count, short, tickName } from '../time/words.ts'
import { heightOf, levelsOf, type ScaleName } from './scale.ts'
import { useWidth } from './width.ts'

export type HistogramProps = {
  readonly bars: readonly DueBar[]
  readonly height: number
  readonly scale: ScaleName
  readonly label: string
  /** What to say while no bar is pointed at. */
  readonly summary: string
  readonly onZoom: (from: number, until: number) => void
}

type Marked = { readonly first: number; readonly last: number }

const LEFT = 44
const TOP = 14
const TICK_WIDTH = 84
/** What a label needs to its right: `Mon 23`. */
const TICK_ROOM = 46

export function Histogram({ bars, height, scale, label, summary, onZoom }: HistogramProps): JSX.Element {
  const [box, width] = useWidth()
  const [pointed, setPointed] = useState<number | undefined>(undefined)
  const [marked, setMarked] = useState<Marked | undefined>(undefined)
  const dragFrom = useRef<number | undefined>(undefined)
  const from = bars[0]?.from ?? 0
  const until = bars.at(-1)?.until ?? 1
  const inner = Math.max(1, width - LEFT)
  const x = (at: number): number => LEFT + ((at - from) / (until - from)) * inner
  const max = Math.max(0, ...bars.map((bar) => totalOf(bar)))
  const y = (n: number): number => heightOf(n, max, height - TOP, scale)

  const barAt = (clientX: number): number => {
    const left = box.current?.getBoundingClientRect().left ?? 0
    const at = from + ((clientX - left - LEFT) / inner) * (until - from)
    const found = bars.findIndex((bar) => at < bar.until)
    return found === -1 ? bars.length - 1 : found
  }
  const zoom = ({ first, last }: Marked): void => {
    const [low, high] = [Math.min(first, last), Math.max(first, last)]
    setMarked(undefined)
    setPointed(undefined)
    onZoom(bars[low]?.from ?? from, bars[high]?.until ?? until)
  }
  const onPointerDown = (event: TargetedPointerEvent<SVGSVGElement>): void => {
    if (event.button !== 0 || bars.length === 0) return
    dragFrom.current = barAt(event.clientX)
    event.currentTarget.setPointerCapture(event.pointerId)
  }
  const onPointerMove = (event: TargetedPointerEvent<SVGSVGElement>): void => {
    const at = barAt(event.clientX)
    setPointed(at)
    const first = dragFrom.current
    if (first !== undefined && first !== at) setMarked({ first, last: at })
    else if (first !== undefined && marked !== undefined) setMarked({ first, last: at })
  }
  const onPointerUp = (): void => {
    dragFrom.current = undefined
    if (marked !== undefined) zoom(marked)
  }
  const onKeyDown = (event: TargetedKeyboardEvent<SVGSVGElement>): void => {
    const here = pointed ?? 0
    const there = moveFrom(here, event.key, bars.length)
    if (there !== undefined) {
      event.preventDefault()
      setPointed(there)
      setMarked(event.shiftKey ? { first: marked?.first ?? here, last: there } : undefined)
    } else if (event.key === 'Enter' && bars.length > 0) zoom(marked ?? { first: here, last: here })
    else if (event.key === 'Escape') setMarked(undefined)
  }

  const shown = pointed === undefined ? undefined : bars[pointed]
  const text = marked === undefined ? describeBar(shown) : describeRange(bars, marked)
  return (
    <div class="chart" ref={box}>
      <p class="chart-readout">{text ?? summary}</p>
      <svg
        class="histogram"
        width={width}
        height={height + 22}
        role="slider"
        tabIndex={0}
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, bars.length - 1)}
        aria-valuenow={pointed ?? 0}
        aria-valuetext={text ?? summary}
        onPointerDown={onPointerDown}
        onPointerMove={onPointerMove}
        onPointerUp={onPointerUp}
        onPointerLeave={() => dragFrom.current === undefined && setPointed(undefined)}
        onKeyDown={onKeyDown}
        onBlur={() => setPointed(undefined)}
      >
        {levelsOf(max, scale).map((level) => (
          <g key={level}>
            <line class="grid" x1={LEFT} x2={width} y1={height - y(level)} y2={height - y(level)} />
            <text class="tick" x={LEFT - 6} y={height - y(level) + 4} text-anchor="end">
              {short(level)}
            </text>
          </g>
        ))}
        {marked !== undefined && <Range bars={bars} marked={marked} x={x} height={height} />}
        {bars.map((bar, i) => (
          <Bar key={bar.from} bar={bar} x={x} y={y} height={height} isPointed={i === pointed} />
        ))}
        <line class="ground" x1={LEFT} x2={width} y1={height + 0.5} y2={height + 0.5} />
        {ticksBetween(from, until, Math.max(2, Math.floor(inner / TICK_WIDTH)), zone.value).map((tick) => (
          <g key={tick.at}>
            <line class="ground" x1={x(tick.at)} x2={x(tick.at)} y1={height} y2={height + 4} />
            {x(tick.at) < width - TICK_ROOM && (
              <text class="tick" x={x(tick.at) + 3} y={height + 16}>
                {tickName(tick.at, tick.step, zone.value)}
              </text>
            )}
          </g>
        ))}
        {now.value >= from && now.value < until && (
          <g class="hand">
            <line x1={x(now.value)} x2={x(now.value)} y1={TOP - 6} y2={height} />
            <circle cx={x(now.value)} cy={TOP - 6} r={3.5} />
          </g>
        )}
      </svg>
    </div>
  )
}

type BarProps = {
  readonly bar: DueBar
  readonly x: (at: number) => number
  readonly y: (n: number) => number
  readonly height: number
  readonly isPointed: boolean
}

/** What is stored stands on the ground; what schedules will bring stands on it, hollow, because it is computed. */
function Bar({ bar, x, y, height, isPointed }: BarProps): JSX.Element | null {
  const left = x(bar.from)
  const wide = x(bar.until) - left
  const gap = wide > 4 ? 1 : 0
  const all = y(totalOf(bar))
  const stored = bar.count === 0 ? 0 : y(bar.count)
  const box = { x: left + gap / 2, width: Math.max(0.5, wide - gap) }
  return (
    <g class={isPointed ? 'bar is-pointed' : 'bar'}>
      {isPointed && <rect class="column" {...box} y={TOP} height={height - TOP} />}
      {all > stored && <rect class="computed" {...box} y={height - all} height={all - stored} />}
      {stored > 0 && <rect class="stored" {...box} y={height - stored} height={stored} />}
    </g>
  )
}

type RangeProps = Pick<BarProps, 'x' | 'height'> & {
  readonly bars: readonly DueBar[]
  readonly marked: Marked
}

function Range({ bars, marked, x, height }: RangeProps): JSX.Element {
  const [low, high] = [Math.min(marked.first, marked.last), Math.max(marked.first, marked.last)]
  const left = x(bars[low]?.from ?? 0)
  const width = Math.max(0, x(bars[high]?.until ?? 0) - left)
  return <rect class="marked" x={left} y={TOP} width={width} height={height - TOP} />
}

export function totalOf({ count: stored, scheduled = 0 }: DueBar): number {
  return stored + scheduled
}

function describeBar(bar: DueBar | undefined): string | undefined {
  if (bar === undefined) return undefined
  const name = barName(bar.from, bar.until, zone.value)
  const computed = bar.scheduled === undefined ? '' : `, and ${count(bar.scheduled)} from schedules`
  return `${name}: ${count(bar.count)} due${computed}`
}

function describeRange(bars: readonly DueBar[], { first, last }: Marked): string {
  const [low, high] = [Math.min(first, last), Math.max(first, last)]
  const inside = bars.slice(low, high + 1)
  const name = barName(inside[0]?.from ?? 0, inside.at(-1)?.until ?? 0, zone.value)
  return `${name}: ${count(inside.reduce((sum, bar) => sum + totalOf(bar), 0))} due`
}

function moveFrom(here: number, key: string, length: number): number | undefined {
  const moves: Readonly<Record<string, number>> = {
    ArrowLeft: here - 1,
    ArrowDown: here - 1,
    ArrowRight: here + 1,
    ArrowUp: here + 1,
    PageUp: here + 10,
    PageDown: here - 10,
    Home: 0,
    End: length - 1,
  }
  const there = moves[key]
  return there === undefined ? undefined : Math.min(Math.max(0, length - 1), Math.max(0, there))
}
