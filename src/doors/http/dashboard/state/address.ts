/**
 * Where we are: the address bar is the only place where a page, its filters and its range are kept, so that every view
 * can be sent to a colleague and "back" always works.
 *
 *   {base}/ui                          the queues
 *   {base}/ui/{queue}                  now
 *   {base}/ui/{queue}/{page}?…         messages, forecast, dead, …
 *   {base}/ui/{queue}/messages/{id}    one message; names as `core/encoding/segment` writes them
 *   {base}/ui/{queue}/topics/{topic}   the keys of a topic
 */
import { signal } from '@preact/signals'
import { nameOfSegment, segmentOf } from '../../../../core/encoding/segment.ts'

export const PAGES = [
  'now',
  'messages',
  'forecast',
  'dead',
  'workers',
  'topics',
  'schedules',
  'doctor',
] as const
export type PageName = (typeof PAGES)[number]

export type Whereabouts = {
  /** Undefined: the list of queues. */
  readonly queue: string | undefined
  /** Undefined: there is no such page. */
  readonly page: PageName | undefined
  /** The id of one message, or the name of a topic. */
  readonly about: string | undefined
  readonly query: URLSearchParams
}

/** The script lies beside the page: `{base}/ui/app-….js`. */
const UI = new URL('.', import.meta.url).pathname.replace(/\/$/, '')
export const BASE = UI.replace(/\/ui$/, '')

export const place = signal<Whereabouts>(read())

function read(): Whereabouts {
  const query = new URLSearchParams(location.search)
  const [queue, page, about, ...rest] = location.pathname
    .slice(UI.length + 1)
    .split('/')
    .map(decode)
  const name = page === undefined || page === '' ? 'now' : PAGES.find((known) => known === page)
  const isWrong = rest.length > 0 || (about !== undefined && name !== 'messages' && name !== 'topics')
  return {
    queue: queue === '' ? undefined : queue,
    page: isWrong ? undefined : name,
    about: about === '' ? undefined : about,
    query,
  }
}

function decode(segment: string): string {
  try {
    return nameOfSegment(segment)
  } catch {
    return segment
  }
}

export type Query = Readonly<Record<string, string | number | undefined>>

/** A link inside the queue that is shown, or in another one. The zone goes along: it is part of what one sees. */
export function linkTo(page: PageName, query: Query = {}, about?: string, queue = place.value.queue): string {
  const segments = [
    queue ?? '',
    ...(page === 'now' ? [] : [page]),
    ...(about === undefined ? [] : [about]),
  ].map(segmentOf)
  const all = { zone: place.value.query.get('zone') ?? undefined, ...query }
  return `${UI}/${segments.join('/')}${search(all)}`
}

export function linkToQueues(): string {
  return `${UI}/`
}

function search(query: Query): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') params.set(name, String(value))
  }
  const text = params.toString()
  return text === '' ? '' : `?${text}`
}

export function go(href: string, how: 'push' | 'replace' = 'push'): void {
  if (how === 'push') history.pushState(null, '', href)
  else history.replaceState(null, '', href)
  arrive()
}

/** The same page with another query: `undefined` takes a word out. */
export function changeQuery(changes: Query, how: 'push' | 'replace' = 'push'): void {
  go(queryHref(changes), how)
}

export function queryHref(changes: Query): string {
  const all: Record<string, string | number | undefined> = Object.fromEntries(place.value.query)
  Object.assign(all, changes)
  return location.pathname + search(all)
}

function arrive(): void {
  const before = place.value
  place.value = read()
  const { queue, page, about } = place.value
  if (queue !== before.queue || page !== before.page || about !== before.about) {
    window.scrollTo(0, 0)
    document.getElementById('main')?.focus({ preventScroll: true })
  }
}

/** Plain clicks on links of ours change the page without loading it. */
export function startRouting(): void {
  window.addEventListener('popstate', arrive)
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a') : null
    if (link === null || event.defaultPrevented || event.button !== 0) return
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || link.target !== '') return
    const isOurs = link.origin === location.origin && `${link.pathname}/`.startsWith(`${UI}/`)
    if (!isOurs || link.hash !== '') return
    event.preventDefault()
    go(link.pathname + link.search)
  })
}
