/** A moment: what the clock shows in the chosen zone, and how far that is from now. */
import type { JSX } from 'preact'
import { now } from '../state/clock.ts'
import { zone } from '../state/preferences.ts'
import { distance, isoMoment, moment } from '../time/words.ts'

export function When({ at }: { readonly at: number }): JSX.Element {
  return (
    <time class="when" dateTime={new Date(at).toISOString()} title={isoMoment(at, zone.value)}>
      <span>{moment(at, zone.value)}</span> <span class="soft">{distance(at, now.value)}</span>
    </time>
  )
}
