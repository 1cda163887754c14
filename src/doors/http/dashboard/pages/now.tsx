/** Now: how it stands, what comes, how late it was, and what needs a person. */
import type { ComponentChildren, JSX } from 'preact'
import { TableToggle, WithFigures } from '../charts/figures.tsx'
import { Future } from '../charts/future.tsx'
import { fold, HeatMap, rowNames } from '../charts/heat-map.tsx'
import { NOW_VIEW, pastPath } from '../charts/range.ts'
import { Answered } from '../parts/notice.tsx'
import { PageHead } from '../parts/shell.tsx'
import { linkTo } from '../state/address.ts'
import { useAnswer } from '../state/ask.ts'
import { now } from '../state/clock.ts'
import { stats, topics } from '../state/live.ts'
import { zone } from '../state/preferences.ts'
import type { PastAnswer } from '../state/wire.ts'
import { ago, count, dayAndTime, distance, moment, span } from '../time/words.ts'
import { FirstMessage } from './first-message.tsx'
import { NeedsYou } from './needs-you.tsx'
import { TopicTable } from './topics/topic-table.tsx'
import { useCapacity } from './worker-list.ts'

const TOPICS_SHOWN = 8

export function NowPage(): JSX.Element {
  const past = useAnswer<PastAnswer>(pastPath(now.value))
  const perSecond = useCapacity()
  const counts = stats.value?.counts
  const isEmpty =
    counts !== undefined &&
    counts.delayed + counts.ready + counts.running + counts.dead === 0 &&
    past.value?.rows.length === 0
  return (
    <>
      <PageHead title="Now" />
      <Counts />
      {isEmpty && <FirstMessage />}
      <Future title="The coming time" height={170} view={NOW_VIEW} perSecond={perSecond} />
      <div class="beside">
        <section class="panel" aria-label="Lateness">
          <div class="panel-head">
            <h2>Lateness, last 24 h</h2>
            <TableToggle name="lateness" />
          </div>
          <Answered answer={past}>{(value) => <Lateness past={fold(value)} />}</Answered>
        </section>
        <NeedsYou />
      </div>
      <section class="panel" aria-label="Topics with most waiting">
        <div class="panel-head">
          <h2>Topics</h2>
          <a href={linkTo('topics')}>All topics</a>
        </div>
        <TopicTable names={Object.keys(topics.value?.topics ?? {}).slice(0, TOPICS_SHOWN)} />
      </section>
    </>
  )
}

function Lateness({ past }: { readonly past: PastAnswer }): JSX.Element {
  return (
    <WithFigures
      name="lateness"
      caption="Starts by hour and lateness"
      head={['Hour', ...rowNames(past.latenessEdgesMs)]}
      rows={past.rows.map(({ at, lateness }) => [dayAndTime(at, zone.value), ...lateness.map(count)])}
    >
      <HeatMap past={past} />
    </WithFigures>
  )
}

function Counts(): JSX.Element {
  const known = stats.value
  const { counts, recent, latenessMs, nextDueAt } = known ?? {}
  const rate = (recent?.perMinute.completed ?? 0) / 60
  return (
    <dl class="counts" aria-label="The queue in numbers">
      <Figure
        name="Delayed"
        state="delayed"
        href={linkTo('messages', { state: 'delayed' })}
        value={counts?.delayed}
      />
      <Figure
        name="Ready"
        state="ready"
        href={linkTo('messages', { state: 'ready' })}
        value={counts?.ready}
      />
      <Figure
        name="Running"
        state="running"
        href={linkTo('messages', { state: 'running' })}
        value={counts?.running}
      />
      <Figure name="Dead" state="dead" href={linkTo('dead')} value={counts?.dead} />
      <Figure
        name="Completed"
        text={known === undefined ? undefined : rateText(rate)}
        about="last 5 minutes"
      />
      <Figure
        name="Late, p99"
        text={known === undefined ? undefined : latenessMs === undefined ? '–' : span(latenessMs.p99)}
        about={latenessMs === undefined ? 'nothing started' : `median ${span(latenessMs.p50)}`}
      />
      <Figure
        name="Next due"
        text={known === undefined ? undefined : nextDueText(nextDueAt)}
        about={
          nextDueAt === undefined
            ? 'nothing waits'
            : moment(Math.floor(nextDueAt / 1_000) * 1_000, zone.value)
        }
      />
    </dl>
  )
}

/** What is due this moment is on its way; what has been due for longer waits for something. */
function nextDueText(at: number | undefined): string {
  if (at === undefined) return '–'
  if (at > now.value) return distance(at, now.value)
  return now.value - at < 2_000 ? 'now' : `${ago(at, now.value)} overdue`
}

function rateText(perSecond: number): string {
  if (perSecond === 0) return '0/s'
  if (perSecond < 1) return `${Math.round(perSecond * 60 * 10) / 10}/min`
  return `${perSecond < 10 ? Math.round(perSecond * 10) / 10 : count(Math.round(perSecond))}/s`
}

type FigureProps = {
  readonly name: string
  readonly state?: string
  readonly href?: string
  readonly value?: number | undefined
  readonly text?: string | undefined
  readonly about?: ComponentChildren
}

function Figure({ name, state, href, value, text, about }: FigureProps): JSX.Element {
  const shown = text ?? (value === undefined ? '…' : count(value))
  const isLoud = state === 'dead' && (value ?? 0) > 0
  return (
    <div class={state === undefined ? '' : `state-${state}`}>
      <dt>{name}</dt>
      <dd class={isLoud ? 'figure is-bad' : 'figure'}>
        {href === undefined ? shown : <a href={href}>{shown}</a>}
      </dd>
      {about !== undefined && <dd class="soft">{about}</dd>}
    </div>
  )
}
