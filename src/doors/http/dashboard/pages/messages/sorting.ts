/**
 * How the rows are sorted, by a word in the address: `due`, `-topic`. By the moment the server sorts all that there are; by anything
 * else the rows of this page are sorted.
 */
import type { ShownMessage } from '../../state/wire.ts'
import type { ListedState } from './filter.ts'

export const SORTABLE = ['due', 'state', 'id', 'topic', 'key', 'attempt', 'size'] as const
export type SortName = (typeof SORTABLE)[number]

export type RowSort = {
  readonly by: SortName
  readonly isFalling: boolean
  /** What the server is asked for. */
  readonly order: 'due' | '-due'
}

/** What died last comes first; everything else begins with what is due next. */
export function sortOf(word: string | null, state: ListedState): RowSort {
  const usual = state === 'dead' ? '-due' : 'due'
  const isFalling = (word ?? usual).startsWith('-')
  const by = SORTABLE.find((name) => name === (word ?? usual).replace('-', '')) ?? 'due'
  return { by, isFalling, order: by === 'due' ? (isFalling ? '-due' : 'due') : usual }
}

const KEYS: Readonly<Record<Exclude<SortName, 'due'>, (message: ShownMessage) => string | number>> = {
  state: ({ state }) => state,
  id: ({ id }) => id,
  topic: ({ topic }) => topic,
  key: ({ key = '' }) => key,
  attempt: ({ attempt }) => attempt,
  size: ({ payloadBytes }) => payloadBytes,
}

export function sorted(items: readonly ShownMessage[], { by, isFalling }: RowSort): readonly ShownMessage[] {
  if (by === 'due') return items
  const keyOf = KEYS[by]
  const sign = isFalling ? -1 : 1
  return items.toSorted((a, b) => {
    const [x, y] = [keyOf(a), keyOf(b)]
    return x < y ? -sign : x > y ? sign : 0
  })
}

/** The word for a click on this column. */
export function nextSort({ by, isFalling }: RowSort, name: SortName): string {
  return by === name && !isFalling ? `-${name}` : name
}
