/** A topic by name, with those that have most waiting offered. */
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { topics } from '../state/live.ts'

export type TopicInputProps = {
  readonly value: string
  readonly onChange: (topic: string | undefined) => void
}

export function TopicInput({ value, onChange }: TopicInputProps): JSX.Element {
  const [typed, setTyped] = useState(value)
  useEffect(() => setTyped(value), [value])
  const names = Object.keys(topics.value?.topics ?? {})
  const take = (text: string): void => {
    if (text !== value) onChange(text === '' ? undefined : text)
  }
  return (
    <>
      <input
        class="topic-input"
        type="search"
        list="known-topics"
        aria-label="Topic"
        placeholder="Every topic"
        autocomplete="off"
        spellcheck={false}
        value={typed}
        onInput={(event) => {
          const text = event.currentTarget.value
          setTyped(text)
          if (text === '' || names.includes(text)) take(text)
        }}
        onChange={(event) => take(event.currentTarget.value)}
      />
      <datalist id="known-topics">
        {names.slice(0, 200).map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  )
}
