/** What stands out, in words, with what can be done about it. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { DueBar } from '../../../../index.ts'
import { ManyDialog } from '../actions/many.tsx'
import { linkTo } from '../state/address.ts'
import { now } from '../state/clock.ts'
import { plainName } from '../parts/name.tsx'
import { isReachable } from '../state/live.ts'
import { zone } from '../state/preferences.ts'
import { mayOperate } from '../state/session.ts'
import { barName, count, dayAndTime, span } from '../time/words.ts'
import { findBursts, isTooMuch, spreadFor, type Burst } from './bursts.ts'

export type BurstListProps = {
  readonly bars: readonly DueBar[]
  readonly perSecond: number | undefined
  readonly topic: string | undefined
}

export function BurstList({ bars, perSecond, topic }: BurstListProps): JSX.Element | null {
  const [open, setOpen] = useState<Burst | undefined>(undefined)
  const bursts = findBursts(bars, perSecond).filter(({ until }) => until > now.value)
  if (bursts.length === 0) return null
  return (
    <>
      <ul class="bursts">
        {bursts.map((burst) => (
          <li key={burst.from}>
            <span>
              <strong>{dayAndTime(burst.from, zone.value)}</strong>: {describeBurst(burst, perSecond)}
            </span>
            <span class="actions">
              <a
                class="button"
                href={linkTo('messages', {
                  state: 'delayed',
                  topic,
                  dueFrom: burst.from,
                  dueUntil: burst.until,
                })}
              >
                List
              </a>
              {mayOperate() && isTooMuch(burst) && (
                <button disabled={!isReachable.value} onClick={() => setOpen(burst)}>
                  Spread over {spreadFor(burst)}…
                </button>
              )}
            </span>
          </li>
        ))}
      </ul>
      {open !== undefined && (
        <ManyDialog
          wish={{
            action: 'spread',
            filter: {
              state: 'delayed',
              dueFrom: open.from,
              dueUntil: open.until,
              ...(topic === undefined ? {} : { topic }),
            },
            about: `What is due ${barName(open.from, open.until, zone.value)}${topic === undefined ? '' : ` of ${plainName(topic)}`}.`,
            at: open.from,
            spread: spreadFor(open),
          }}
          onClose={() => setOpen(undefined)}
        />
      )}
    </>
  )
}

function describeBurst({ count: due, workMs }: Burst, perSecond: number | undefined): string {
  if (workMs === undefined || perSecond === undefined) return `${count(due)} due`
  const rate = perSecond < 10 ? Math.round(perSecond * 10) / 10 : Math.round(perSecond)
  return `${count(due)} due, ${span(Math.round(workMs / 1_000) * 1_000)} of work for workers that can do ${count(rate)}/s`
}
