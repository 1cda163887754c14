/** "In 10 minutes", or "on that day at that hour" by the clock of the chosen zone. */
import type { JSX } from 'preact'
import { MomentField } from '../parts/moment-field.tsx'
import { zone } from '../state/preferences.ts'
import { zoneName } from '../time/zone.ts'

export type Chosen = {
  readonly kind: 'delay' | 'at'
  readonly delay: string
  /** Epoch milliseconds. */
  readonly at: number | undefined
}

/** As the server takes it. */
export function chosenBody({ kind, delay, at }: Chosen): { delay: string } | { at: number } {
  return kind === 'delay' || at === undefined ? { delay } : { at }
}

export type MomentFormProps = { readonly chosen: Chosen; readonly onChange: (chosen: Chosen) => void }

export function MomentForm({ chosen, onChange }: MomentFormProps): JSX.Element {
  return (
    <fieldset class="moment-form">
      <legend>New moment</legend>
      <label class="choice">
        <input
          type="radio"
          name="moment-kind"
          checked={chosen.kind === 'delay'}
          onChange={() => onChange({ ...chosen, kind: 'delay' })}
        />
        From now, in
      </label>
      <input
        class="short"
        aria-label="How long from now"
        value={chosen.delay}
        placeholder="10m"
        onInput={(event) => onChange({ ...chosen, kind: 'delay', delay: event.currentTarget.value })}
      />
      <label class="choice">
        <input
          type="radio"
          name="moment-kind"
          checked={chosen.kind === 'at'}
          onChange={() => onChange({ ...chosen, kind: 'at' })}
        />
        At
      </label>
      <MomentField
        label={`Date and time, ${zoneName(zone.value)}`}
        value={chosen.at}
        onTake={(at) => at !== undefined && onChange({ ...chosen, kind: 'at', at })}
      />
      <p class="soft">
        Lengths are written 30s, 10m, 2h or 1d, moments 2026-11-16 09:00. The clock is that of{' '}
        {zoneName(zone.value)}.
      </p>
    </fieldset>
  )
}
