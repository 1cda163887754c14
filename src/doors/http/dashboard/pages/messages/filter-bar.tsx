/** State as tabs with their counts; topic, tag, time and text in one line, which a narrow window opens when it is wanted. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { MomentField } from '../../parts/moment-field.tsx'
import { plainName } from '../../parts/name.tsx'
import { TopicInput } from '../../parts/topic-input.tsx'
import { changeQuery, queryHref } from '../../state/address.ts'
import { stats } from '../../state/live.ts'
import { count, short } from '../../time/words.ts'
import { isNarrow, STATES, type ListedState, type PageFilter } from './filter.ts'

const STATE_TITLES = {
  all: 'All',
  delayed: 'Delayed',
  ready: 'Ready',
  running: 'Running',
  dead: 'Dead',
} as const

export function countIn(state: ListedState): number | undefined {
  const counts = stats.value?.counts
  if (counts === undefined || state !== 'all') return counts?.[state as Exclude<ListedState, 'all'>]
  return counts.delayed + counts.ready + counts.running + counts.dead
}

export function StateTabs({ filter }: { readonly filter: PageFilter }): JSX.Element {
  return (
    <nav class="tabs" aria-label="State">
      {STATES.map((state) => {
        const n = countIn(state)
        return (
          <a
            key={state}
            href={queryHref({ state, cursor: undefined, sort: undefined })}
            aria-current={state === filter.state ? 'true' : undefined}
            class={`state-${state}`}
          >
            {STATE_TITLES[state]}
            <span class="tab-count" title={n === undefined ? '' : count(n)}>
              {n === undefined ? '' : short(n)}
            </span>
          </a>
        )
      })}
    </nav>
  )
}

export function FilterBar({ filter }: { readonly filter: PageFilter }): JSX.Element {
  const [isOpen, setOpen] = useState(false)
  return (
    <form
      class={isOpen ? 'filters is-open' : 'filters'}
      aria-label="Filter"
      onSubmit={(event) => event.preventDefault()}
    >
      <button type="button" class="filters-toggle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isNarrow(filter) ? 'Filter (on)' : 'Filter'}
      </button>
      {filter.find !== undefined && (
        <a class="button found" href={queryHref({ find: undefined, cursor: undefined })}>
          <span class="name-cut">“{plainName(filter.find)}”</span> ✕
        </a>
      )}
      <TopicInput value={filter.topic ?? ''} onChange={(topic) => change('topic', topic)} />
      <TextField name="tag" label="Tag" value={filter.tag} />
      <TextField name="key" label="Key" value={filter.key} />
      <MomentField
        label="Due from 2026-11-16"
        value={filter.dueFrom}
        onTake={(at) => change('dueFrom', at)}
      />
      <MomentField
        label="Due until 2026-11-17"
        value={filter.dueUntil}
        onTake={(at) => change('dueUntil', at)}
      />
      <TextField name="text" label="Text in payload" value={filter.text} />
      {isNarrow(filter) && (
        <a class="button quiet clear" href={queryHref(NOTHING)}>
          Clear
        </a>
      )}
    </form>
  )
}

function change(name: keyof PageFilter, value: string | number | undefined): void {
  changeQuery({ [name]: value, cursor: undefined })
}

const NOTHING = {
  topic: undefined,
  tag: undefined,
  key: undefined,
  text: undefined,
  dueFrom: undefined,
  dueUntil: undefined,
  find: undefined,
  cursor: undefined,
}

type TextFieldProps = {
  readonly name: 'tag' | 'key' | 'text'
  readonly label: string
  readonly value: string | undefined
}

function TextField({ name, label, value }: TextFieldProps): JSX.Element {
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={label}
      value={value ?? ''}
      autocomplete="off"
      spellcheck={false}
      onChange={(event) =>
        change(name, event.currentTarget.value === '' ? undefined : event.currentTarget.value)
      }
    />
  )
}
