/** The filter of the page, as the address holds it, as the server takes it, and in words. */
import { zone } from '../../state/preferences.ts'
import type { ManyFilter } from '../../state/wire.ts'
import { dayAndTime } from '../../time/words.ts'

export const STATES = ['delayed', 'ready', 'running', 'dead'] as const
export type ListedState = (typeof STATES)[number]

export type PageFilter = {
  readonly state: ListedState
  readonly topic: string | undefined
  readonly tag: string | undefined
  readonly text: string | undefined
  readonly dueFrom: number | undefined
  readonly dueUntil: number | undefined
}

export function filterOf(query: URLSearchParams): PageFilter {
  const word = (name: string): string | undefined => query.get(name) ?? undefined
  const moment = (name: string): number | undefined => {
    const found = Number(query.get(name) ?? Number.NaN)
    return Number.isFinite(found) ? found : undefined
  }
  return {
    state: STATES.find((known) => known === query.get('state')) ?? 'delayed',
    topic: word('topic'),
    tag: word('tag'),
    text: word('text'),
    dueFrom: moment('dueFrom'),
    dueUntil: moment('dueUntil'),
  }
}

export function isNarrow({ topic, tag, text, dueFrom, dueUntil }: PageFilter): boolean {
  return [topic, tag, text, dueFrom, dueUntil].some((part) => part !== undefined)
}

/** For a list. */
export function filterQuery(filter: PageFilter): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(filter)) {
    if (value !== undefined) params.set(name, String(value))
  }
  return params.toString()
}

/** For acting on all that match. */
export function manyFilter(filter: PageFilter): ManyFilter {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined))
}

export function filterText({ state, topic, tag, text, dueFrom, dueUntil }: PageFilter, now: number): string {
  const when = (at: number): string => dayAndTime(at, zone.value, now)
  return [
    `All ${state} messages`,
    topic === undefined ? '' : ` of ${topic}`,
    tag === undefined ? '' : ` with the tag ${tag}`,
    dueFrom === undefined ? '' : ` due from ${when(dueFrom)}`,
    dueUntil === undefined ? '' : `${dueFrom === undefined ? ' due' : ''} until ${when(dueUntil)}`,
    text === undefined ? '' : ` with “${text}” in the payload`,
    '.',
  ].join('')
}
