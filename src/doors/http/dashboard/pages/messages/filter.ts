/** The filter of the page, as the address holds it, as the server takes it, and in words. */
import { plainName } from '../../parts/name.tsx'
import { zone } from '../../state/preferences.ts'
import type { ManyFilter } from '../../state/wire.ts'
import { dayAndTime } from '../../time/words.ts'

export const STATES = ['all', 'delayed', 'ready', 'running', 'dead'] as const
export type ListedState = (typeof STATES)[number]

export type PageFilter = {
  readonly state: ListedState
  readonly topic: string | undefined
  readonly tag: string | undefined
  readonly key: string | undefined
  readonly text: string | undefined
  readonly dueFrom: number | undefined
  readonly dueUntil: number | undefined
  /** A word that is looked for in ids, tags and payloads. */
  readonly find: string | undefined
}

export function filterOf(query: URLSearchParams): PageFilter {
  const word = (name: string): string | undefined => query.get(name) ?? undefined
  const moment = (name: string): number | undefined => {
    const found = Number(query.get(name) ?? Number.NaN)
    return Number.isFinite(found) ? found : undefined
  }
  const find = word('find')
  return {
    state: STATES.find((known) => known === query.get('state')) ?? (find === undefined ? 'delayed' : 'all'),
    topic: word('topic'),
    tag: word('tag'),
    key: word('key'),
    text: word('text'),
    dueFrom: moment('dueFrom'),
    dueUntil: moment('dueUntil'),
    find,
  }
}

export function isNarrow({ topic, tag, key, text, dueFrom, dueUntil, find }: PageFilter): boolean {
  return [topic, tag, key, text, dueFrom, dueUntil, find].some((part) => part !== undefined)
}

/** As the server takes it, without the word that is looked for. */
function partsOf({ find: _find, state, ...parts }: PageFilter): Record<string, string | number> {
  const given = Object.entries({ ...parts, state: state === 'all' ? undefined : state })
  return Object.fromEntries(given.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
}

const WORD_MAX = 200

/** One question after the other: what a word is looked for in has a question each. */
export function questionsOf(filter: PageFilter, order: 'due' | '-due'): readonly string[] {
  const { find } = filter
  const parts = partsOf(filter)
  const ask = (more: Record<string, string>): string =>
    new URLSearchParams(
      Object.entries({ ...parts, ...more }).map(([name, value]) => [name, String(value)]),
    ).toString()
  if (find === undefined) return [ask(isSearched(filter) ? {} : { order })]
  const isName = find.length <= WORD_MAX
  return [
    ...(isName ? [ask({ idPrefix: find, order })] : []),
    ...(isName && filter.tag === undefined ? [ask({ tag: find, order })] : []),
    ...(filter.text === undefined ? [ask({ text: find })] : []),
  ]
}

/**
 * A text, or a key of whatever topic, is looked for as the store keeps its messages: in the order of their moments each page
 * would look at all of them again.
 */
export function isSearched({ text, key, topic }: PageFilter): boolean {
  return text !== undefined || (key !== undefined && topic === undefined)
}

/** For acting on all that match. */
export function manyFilter(filter: PageFilter): ManyFilter {
  return partsOf(filter)
}

export function filterText({ state, topic, tag, key, text, dueFrom, dueUntil }: PageFilter): string {
  return [
    state === 'all' ? 'All messages' : `All ${state} messages`,
    topic === undefined ? '' : ` of ${plainName(topic)}`,
    tag === undefined ? '' : ` with the tag ${plainName(tag)}`,
    key === undefined ? '' : ` with the key ${plainName(key)}`,
    dueFrom === undefined ? '' : ` due from ${dayAndTime(dueFrom, zone.value)}`,
    dueUntil === undefined
      ? ''
      : `${dueFrom === undefined ? ' due' : ''} until ${dayAndTime(dueUntil, zone.value)}`,
    text === undefined ? '' : ` with “${plainName(text)}” in the payload`,
    '.',
  ].join('')
}
