/** The frame of every page: the queue, the pages, what needs attention, and the page itself. */
import type { ComponentChildren, JSX } from 'preact'
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { go, linkTo, linkToQueues, place, type PageName } from '../state/address.ts'
import { useAnswer } from '../state/ask.ts'
import { now } from '../state/clock.ts'
import { heardAt, isReachable, link, stats } from '../state/live.ts'
import { mayOperate, server, session } from '../state/session.ts'
import { ago, short } from '../time/words.ts'
import { Name, plainName, Text } from './name.tsx'
import { Tools } from './tools.tsx'
import { JobTray } from '../actions/tray.tsx'

const GAPS_NAMED = 5

/** In a narrow window pages and preferences are behind a button. */
const isMenuOpen = signal(false)

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
    <div class={`shell${isReachable.value ? '' : ' is-away'}${isMenuOpen.value ? ' is-menu' : ''}`}>
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <Side />
      <div class="page">
        <Tools />
        <AwayLine />
        <GapLine />
        <main id="main" tabIndex={-1}>
          {children}
        </main>
      </div>
      <JobTray />
    </div>
  )
}

function Side(): JSX.Element {
  const shown = place.value.page
  useEffect(() => {
    isMenuOpen.value = false
  }, [shown, place.value.queue])
  return (
    <header class="side">
      <div class="brand">
        <a href={linkToQueues()} class="name">
          <Mark />
          <span>punctual</span>
        </a>
        <QueueSelect />
        {place.value.queue !== undefined && (
          <button
            class="menu"
            aria-expanded={isMenuOpen.value}
            aria-controls="pages"
            onClick={() => (isMenuOpen.value = !isMenuOpen.value)}
          >
            {shown === undefined ? 'Pages' : PAGE_TITLES[shown]} ▾
          </button>
        )}
      </div>
      {place.value.queue !== undefined && (
        <nav aria-label="Pages" id="pages">
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
        {session.value.kind === 'in' && session.value.viewer.topicPrefix !== undefined && (
          <span class="tag-like">
            only <Text text={session.value.viewer.topicPrefix} />…
          </span>
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
  if (all.length === 1)
    return (
      <span class="queue">
        <Name text={queue} />
      </span>
    )
  return (
    <select
      class="queue"
      aria-label="Queue"
      value={queue}
      onChange={(event) => go(linkTo(place.value.page ?? 'now', {}, undefined, event.currentTarget.value))}
    >
      {all.map((name) => (
        <option key={name} value={name}>
          {plainName(name)}
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

/** Some partitions of the store are away: on every page, because every number there lacks what they hold. */
function GapLine(): JSX.Element | null {
  const missing = stats.value?.missing ?? []
  if (missing.length === 0 || place.value.queue === undefined) return null
  const named = missing.slice(0, GAPS_NAMED).join(', ')
  const more = missing.length > GAPS_NAMED ? ` and ${missing.length - GAPS_NAMED} more` : ''
  return (
    <p class="away" role="status">
      <strong>
        {named}
        {more} {missing.length === 1 ? 'does' : 'do'} not answer.
      </strong>{' '}
      What {missing.length === 1 ? 'it holds' : 'they hold'} is missing below.
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
      <h1>
        <Text text={title} />
      </h1>
      {children}
    </div>
  )
}
