/** State as tabs with their counts; topic, tag, time and text beside each other. */
import type { JSX } from 'preact'
import { TopicInput } from '../../parts/topic-input.tsx'
import { changeQuery, queryHref } from '../../state/address.ts'
import { stats } from '../../state/live.ts'
import { zone } from '../../state/preferences.ts'
import { fromField, toField } from '../../time/typed.ts'
import { count } from '../../time/words.ts'
import { isNarrow, STATES, type PageFilter } from './filter.ts'

const STATE_TITLES = { delayed: 'Delayed', ready: 'Ready', running: 'Running', dead: 'Dead' } as const

export function FilterBar({ filter }: { readonly filter: PageFilter }): JSX.Element {
  return (
    <>
      <nav class="tabs" aria-label="State">
        {STATES.map((state) => (
          <a
            key={state}
            href={queryHref({ state, cursor: undefined })}
            aria-current={state === filter.state ? 'true' : undefined}
            class={`state-${state}`}
          >
            {STATE_TITLES[state]}
            <span class="tab-count">{stats.value === undefined ? '' : count(stats.value.counts[state])}</span>
          </a>
        ))}
      </nav>
      <form class="filters" aria-label="Filter" onSubmit={(event) => event.preventDefault()}>
        <label>
          Topic
          <TopicInput value={filter.topic ?? ''} onChange={(topic) => change('topic', topic)} />
        </label>
        <TextField name="tag" label="Tag" value={filter.tag} onTake={change} />
        <MomentField name="dueFrom" label="Due from" value={filter.dueFrom} onTake={change} />
        <MomentField name="dueUntil" label="Due until" value={filter.dueUntil} onTake={change} />
        <TextField name="text" label="Text in payload" value={filter.text} onTake={change} />
        {isNarrow(filter) && (
          <a class="button quiet clear" href={queryHref(NOTHING)}>
            Clear
          </a>
        )}
      </form>
    </>
  )
}

function change(name: keyof PageFilter, value: string | number | undefined): void {
  changeQuery({ [name]: value, cursor: undefined })
}

const NOTHING = {
  topic: undefined,
  tag: undefined,
  text: undefined,
  dueFrom: undefined,
  dueUntil: undefined,
  cursor: undefined,
}

type FieldProps<T> = {
  readonly name: keyof PageFilter
  readonly label: string
  readonly value: T | undefined
  readonly onTake: (name: keyof PageFilter, value: T | undefined) => void
}

function TextField({ name, label, value, onTake }: FieldProps<string>): JSX.Element {
  return (
    <label>
      {label}
      <input
        type="search"
        value={value ?? ''}
        autocomplete="off"
        spellcheck={false}
        onChange={(event) =>
          onTake(name, event.currentTarget.value === '' ? undefined : event.currentTarget.value)
        }
      />
    </label>
  )
}

function MomentField({ name, label, value, onTake }: FieldProps<number>): JSX.Element {
  return (
    <label>
      {label}
      <input
        type="datetime-local"
        step="1"
        value={value === undefined ? '' : toField(value, zone.value)}
        onChange={(event) => onTake(name, fromField(event.currentTarget.value, zone.value))}
      />
    </label>
  )
}
