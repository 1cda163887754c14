/**
 * What the first page will ask, asked as soon as we know who looks: while it is drawn, the store counts. All other pages are
 * quick enough without.
 */
import { effect, untracked } from '@preact/signals'
import {
  edgesOf,
  forecastPath,
  FORECAST_VIEW,
  minuteOf,
  NOW_VIEW,
  pastPath,
  shownBy,
} from '../charts/range.ts'
import { place } from '../state/address.ts'
import { askAhead } from '../state/ask.ts'
import { now } from '../state/clock.ts'
import { zone } from '../state/preferences.ts'
import { session } from '../state/session.ts'

const VIEWS = { now: NOW_VIEW, forecast: FORECAST_VIEW } as const

export function startAskingAhead(): void {
  let isAsked = false
  effect(() => {
    if (isAsked || session.value.kind !== 'in') return
    isAsked = true
    untracked(askForFirstPage)
  })
}

function askForFirstPage(): void {
  const { queue, page, query } = place.value
  if (queue === undefined || (page !== 'now' && page !== 'forecast')) return
  const { barsMax, fallback } = VIEWS[page]
  const shown = shownBy(query, minuteOf(now.value), fallback)
  if (shown === undefined) return
  askAhead(forecastPath(edgesOf(shown, barsMax, zone.value), query.get('topic') ?? undefined))
  askAhead(pastPath(now.value))
}
