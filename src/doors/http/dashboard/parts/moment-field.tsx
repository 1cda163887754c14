/** A moment in a form, as every moment is written here: `2026-11-16 09:00`, by the clock of the chosen zone. */
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { zone } from '../state/preferences.ts'
import { fromField, toField } from '../time/typed.ts'

export type MomentFieldProps = {
  readonly label: string
  readonly value: number | undefined
  /** Undefined: the field is empty. */
  readonly onTake: (at: number | undefined) => void
}

export function MomentField({ label, value, onTake }: MomentFieldProps): JSX.Element {
  const shown = value === undefined ? '' : toField(value, zone.value)
  const [typed, setTyped] = useState(shown)
  useEffect(() => setTyped(shown), [shown])
  const isWrong = typed.trim() !== '' && fromField(typed, zone.value) === undefined
  return (
    <input
      class="moment-field"
      aria-label={label}
      aria-invalid={isWrong}
      title={isWrong ? 'Write it as 2026-11-16 09:00' : label}
      placeholder={label}
      autocomplete="off"
      spellcheck={false}
      value={typed}
      onInput={(event) => setTyped(event.currentTarget.value)}
      onChange={(event) => {
        const text = event.currentTarget.value
        const at = fromField(text, zone.value)
        if (at !== undefined || text.trim() === '') onTake(at)
      }}
    />
  )
}
