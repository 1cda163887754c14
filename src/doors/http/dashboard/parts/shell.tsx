/** The frame of every page: the queue, the pages, what needs attention, and the page itself. */
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { go, linkTo, linkToQueues, place, type PageName } from '../state/address.ts'
import { useAnswer } from '../state/ask.ts'
import { now } from '../state/clock.ts'
import { heardAt, isReachable, link, stats } from '../state/live.ts'
import { mayOperate, server, session } from '../state/session.ts'
import { ago, short } from '../time/words.ts'
import { Tools } from './tools.tsx'
import { JobTray } from '../actions/tray.tsx'

const PAGE_TITLES: Readonly<Record<PageName, string>> = {
  now: 'Now',
  messages: 'Messages',
  forecast: 'Forecast',
  dead: 'Dead letters',
  workers: 'Workers',
  topics: 'Topics',
  schedules: 'Schedules',
  doctor: 'Doctor',
}

export function Shell({ children }: { readonly children: ComponentChildren }): JSX.Element {
  return (
    <div class={isReachable.value ? 'shell' : 'shell is-away'}>
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <Side />
      <div class="page">
        <Tools />
        <AwayLine />
        <main id="main" tabIndex={-1}>
          {children}
        </main>
      </div>
      <JobTray />
    </div>
  )
}

function Side(): JSX.Element {
  const nav = useRef<HTMLElement>(null)
  const shown = place.value.page
  // In a narrow window the pages are a strip that scrolls: the one that is shown stands in its middle.
  useEffect(() => {
    const here = nav.current?.querySelector<HTMLElement>('[aria-current]')
    if (nav.current === null || here === null || here === undefined) return
    nav.current.scrollLeft = here.offsetLeft - (nav.current.clientWidth - here.clientWidth) / 2
  }, [shown])
  return (
    <header class="side">
      <div class="brand">
        <a href={linkToQueues()} class="name">
          <Mark />
          punctual
        </a>
        <QueueSelect />
      </div>
      {place.value.queue !== undefined && (
        <nav aria-label="Pages" ref={nav}>
          {(Object.keys(PAGE_TITLES) as PageName[]).map((page) => (
            <a key={page} href={linkTo(page)} aria-current={page === place.value.page ? 'page' : undefined}>
              {PAGE_TITLES[page]}
              <Badge page={page} />
            </a>
          ))}
        </nav>
      )}
      <p class="where soft">
        {server.value !== undefined && server.value.storeName !== '' && (
          <span title={server.value.storeName}>{server.value.storeName}</span>
        )}
        {session.value.kind === 'in' && !mayOperate() && <span class="tag-like">read-only</span>}
      </p>
    </header>
  )
}

/** A station clock. */
function Mark(): JSX.Element {
  return (
    <svg class="mark" viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
      <circle cx="16" cy="16" r="14" />
      <path d="M16 16V8M16 16l6 4" />
      <path class="second" d="M16 20V6" />
    </svg>
  )
}

function Badge({ page }: { readonly page: PageName }): JSX.Element | null {
  const dead = stats.value?.counts.dead ?? 0
  const paused = stats.value?.controls.filter((control) => control.paused !== undefined).length ?? 0
  if (page === 'dead' && dead > 0) return <span class="badge is-bad">{short(dead)}</span>
  if (page === 'topics' && paused > 0) return <span class="badge">{paused} paused</span>
  return null
}

function QueueSelect(): JSX.Element | null {
  const { value } = useAnswer<{ queues: { name: string }[] }>('/v1/queues', 'once')
  const { queue } = place.value
  if (queue === undefined || value === undefined) return null
  const names = value.queues.map(({ name }) => name)
  const all = names.includes(queue) ? names : [queue, ...names]
  if (all.length === 1) return <span class="queue">{queue}</span>
  return (
    <select
      class="queue"
      aria-label="Queue"
      value={queue}
      onChange={(event) => go(linkTo(place.value.page ?? 'now', {}, undefined, event.currentTarget.value))}
    >
      {all.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  )
}

function AwayLine(): JSX.Element | null {
  const state = link.value
  if (state.kind !== 'away' && state.kind !== 'lost') return null
  const what = state.kind === 'away' ? 'The store' : 'The server'
  return (
    <p class="away" role="status">
      <strong>
        {what} has not answered for {ago(state.since, now.value)}.
      </strong>{' '}
      {heardAt.value > 0 && <>The numbers below are {ago(heardAt.value, now.value)} old. </>}
      {state.kind === 'away' && <span>{state.detail}</span>}
    </p>
  )
}

export function PageHead({
  title,
  children,
}: {
  readonly title: string
  readonly children?: ComponentChildren
}): JSX.Element {
  return (
    <div class="page-head">
      <h1>{title}</h1>
      {children}
    </div>
  )
}
