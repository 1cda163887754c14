/** The coming time as a picture: ranges, topic, scale, zoom, bursts in words, and the numbers as a table. */
import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { Answered } from '../parts/notice.tsx'
import { TopicInput } from '../parts/topic-input.tsx'
import { changeQuery, place } from '../state/address.ts'
import { useAnswer } from '../state/ask.ts'
import { now } from '../state/clock.ts'
import { zone } from '../state/preferences.ts'
import type { ForecastAnswer } from '../state/wire.ts'
import { barName, count, plural } from '../time/words.ts'
import { BurstList } from './burst-list.tsx'
import { TableToggle, WithFigures } from './figures.tsx'
import { Histogram, totalOf } from './histogram.tsx'
import {
  edgesOf,
  forecastPath,
  minuteOf,
  RANGES,
  reachOf,
  reachPath,
  shownBy,
  type FutureView,
  type Shown,
} from './range.ts'
import type { ScaleName } from './scale.ts'

export type FutureProps = {
  readonly title: string
  readonly height: number
  readonly view: FutureView
  readonly perSecond: number | undefined
}

export function Future({ title, height, view, perSecond }: FutureProps): JSX.Element {
  const { query } = place.value
  const topic = query.get('topic') ?? undefined
  const shown = useShown(view.fallback)
  const edges = shown === undefined ? undefined : edgesOf(shown, view.barsMax, zone.value)
  const path = edges === undefined ? undefined : forecastPath(edges, topic)
  const answer = useAnswer<ForecastAnswer>(path)
  return (
    <section class="panel" aria-label={title}>
      <div class="panel-head">
        <h2>{title}</h2>
        <RangeChoice fallback={view.fallback} />
        <TopicInput value={topic ?? ''} onChange={(name) => changeQuery({ topic: name }, 'replace')} />
        <ScaleToggle />
        <TableToggle name="future" />
      </div>
      <Answered answer={answer}>
        {(forecast) => (
          <FuturePicture
            forecast={forecast}
            title={title}
            height={height}
            perSecond={perSecond}
            topic={topic}
          />
        )}
      </Answered>
    </section>
  )
}

/** Undefined: "all" was chosen, and how far that reaches is not known yet. */
function useShown(fallback: string): Shown | undefined {
  const minute = minuteOf(now.value)
  const shown = shownBy(place.value.query, minute, fallback)
  const reach = useAnswer<ForecastAnswer>(shown === undefined ? reachPath(now.value) : undefined, 'once')
  return useMemo(
    () => shown ?? (reach.value === undefined ? undefined : reachOf(reach.value.bars, minute)),
    [shown?.from, shown?.until, reach.value, minute],
  )
}

type PictureProps = Pick<FutureProps, 'title' | 'height' | 'perSecond'> & {
  readonly forecast: ForecastAnswer
  readonly topic: string | undefined
}

function FuturePicture({ forecast, title, height, perSecond, topic }: PictureProps): JSX.Element {
  const { bars } = forecast
  const scale: ScaleName = place.value.query.get('scale') === 'linear' ? 'linear' : 'root'
  const hasComputed = bars.some(({ scheduled = 0 }) => scheduled > 0)
  const rows = bars
    .filter((bar) => totalOf(bar) > 0)
    .map(({ from, until, count: stored, scheduled = 0 }) => [
      barName(from, until, zone.value),
      count(stored),
      ...(hasComputed ? [count(scheduled)] : []),
    ])
  return (
    <>
      <WithFigures
        name="future"
        caption={`${title}: bars that hold anything`}
        head={['When', 'Due', ...(hasComputed ? ['From schedules'] : [])]}
        rows={rows}
      >
        <Histogram
          bars={bars}
          height={height}
          scale={scale}
          label={title}
          summary={summaryOf(forecast)}
          onZoom={(from, until) => changeQuery({ from, until, range: undefined })}
        />
      </WithFigures>
      <p class="legend soft">
        {hasComputed && (
          <span>
            <span class="swatch is-computed" aria-hidden="true" /> computed from schedules
          </span>
        )}
        {!forecast.isExact && <span>Some counts are estimates.</span>}
        {rows.length > 0 && <span>Drag over the bars to zoom.</span>}
      </p>
      <BurstList bars={bars} perSecond={perSecond} topic={topic} />
    </>
  )
}

function summaryOf({ bars, before, after, now: at }: ForecastAnswer): string {
  const inside = bars.reduce((sum, { count: stored }) => sum + stored, 0)
  const isFromNow = (bars[0]?.from ?? 0) <= at
  const parts = [
    inside === 0 ? 'Nothing is due in this time' : `${plural(inside, 'message')} due in this time`,
  ]
  if (before > 0) parts.push(`${count(before)} ${isFromNow ? 'overdue' : 'earlier'}`)
  if (after > 0) parts.push(`${count(after)} later`)
  return parts.join(', ')
}

function RangeChoice({ fallback }: { readonly fallback: string }): JSX.Element {
  const { query } = place.value
  const isZoomed = query.has('from')
  const chosen = isZoomed ? undefined : (query.get('range') ?? fallback)
  return (
    <div class="choices" role="group" aria-label="Range">
      {[...RANGES.map(([name]) => name), 'all'].map((name) => (
        <button
          key={name}
          aria-pressed={name === chosen}
          onClick={() => changeQuery({ range: name, from: undefined, until: undefined })}
        >
          {name}
        </button>
      ))}
      {isZoomed && (
        <button aria-pressed={true} onClick={() => changeQuery({ from: undefined, until: undefined })}>
          zoomed ✕
        </button>
      )}
    </div>
  )
}

function ScaleToggle(): JSX.Element {
  const isLinear = place.value.query.get('scale') === 'linear'
  return (
    <button
      class="quiet"
      aria-pressed={isLinear}
      title="By default heights grow by the square root, so that one burst does not flatten the rest"
      onClick={() => changeQuery({ scale: isLinear ? undefined : 'linear' }, 'replace')}
    >
      Linear
    </button>
  )
}
